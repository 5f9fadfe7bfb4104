// Protect: what nobody should know, and whom to resemble or avoid.

import { get, upload } from "./api.js";
import { $, all, button, option, picker, quiet, trouble } from "./dom.js";
import { aimed, ofHistory, state } from "./state.js";
import { Ticks } from "./ticks.js";
import { Tree } from "./tree.js";
import { listed, number, some } from "./words.js";

const tree = new Tree($("tree"), toggle);
/** @type {() => void} */
let changed;
/** How often the tree was asked for. */
let planted = 0;

/** @param {() => void} onChange is called when something else is asked */
export function listenToProtect(onChange) {
  changed = onChange;
  picker("choose-target", "target-file", ([file]) => own("targets", file));
  picker("choose-taxonomy", "taxonomy-file", ([file]) => own("taxonomies", file));
  $("shipped").onclick = () => choose({ taxonomy: null });
  $("profile").onchange = () => choose({ target: $("profile").value || null });
  for (const radio of all("input[name=goal]")) radio.onchange = () => choose({ goal: radio.value, wanted: null });
  $("search").oninput = () => {
    const places = tree.search($("search").value);
    $("found").textContent = $("search").value.trim() ? some(places, "place") : "";
  };
  $("clear").onclick = () => {
    $("search").focus();
    toggle([...state.ticks.places], null);
  };
}

export function offerProfiles() {
  const profiles = state.start.profiles.map(({ name, label }) => option(name, label));
  $("profile").append(option("", "Choose …"), ...profiles);
}

export function clearSearch() {
  $("search").value = $("found").textContent = "";
}

/** Leaves no place of a history, and no table that came with it. */
export function uproot() {
  planted += 1;
  state.counts = new Map();
  state.ticks = new Ticks();
  tree.show([], state.counts);
  clearSearch();
  $("presets").replaceChildren();
  for (const one of [...$("profile").options]) if (one.dataset.own) one.remove();
  quiet($("protect-trouble"));
  showChoices();
  showTicks();
}

/** Fetches the kinds of place that the history, and the target if there is one, have. */
export async function plant() {
  const { choices, history, ticks } = state;
  const target = aimed() && choices.target ? { target: choices.target } : {};
  const taxonomy = choices.taxonomy ? { taxonomy: choices.taxonomy } : {};
  planted += 1;
  const mine = planted;
  const { nodes, presets } = await get(ofHistory("tree", { ...target, ...taxonomy }));
  // A newer one is on its way.
  if (mine !== planted) return;
  const known = nodes.filter((node) => node.known).map((node) => [node.id, node.locations]);
  state.counts = new Map(nodes.flatMap((node) => node.own.map((place) => [place, 0])));
  for (const { name, count } of history.locations) state.counts.set(name, count);
  ticks.moveTo(new Map([...Object.entries(presets), ...known]), new Set(state.counts.keys()));
  tree.show(nodes, state.counts);
  tree.search($("search").value);
  showPresets(presets);
  showTicks();
}

export function showChoices() {
  const { choices, start } = state;
  for (const radio of all("input[name=goal]")) radio.checked = radio.value === choices.goal;
  $("target").hidden = !aimed();
  $("profile-title").textContent = choices.goal === "avoid" ? "Whom to avoid" : "Whom to resemble";
  const offered = [...$("profile").options].map((one) => one.value);
  const own = choices.target && !offered.includes(choices.target);
  if (own) offerOwn(choices.target ?? "", "A table of my own");
  $("profile").value = choices.target ?? "";
  $("profile-words").textContent = start.profiles.find(({ name }) => name === choices.target)?.description ?? "";
  $("shipped").hidden = !choices.taxonomy;
  if (!choices.taxonomy) $("taxonomy-name").textContent = "";
}

/** @param {string} id @param {string} name */
function offerOwn(id, name) {
  const made = option(id, name);
  made.dataset.own = "true";
  $("profile").append(made);
}

/** Another goal, target or taxonomy: other places may be named. @param {Partial<typeof state.choices>} choice */
async function choose(choice) {
  Object.assign(state.choices, choice, { limit: null });
  showChoices();
  quiet($("protect-trouble"));
  const { history } = state;
  try {
    await plant();
  } catch (error) {
    if (state.history === history) trouble($("protect-trouble"), error);
  }
  if (state.history === history) changed();
}

/** A file of the person's own instead of what comes along. @param {"targets" | "taxonomies"} kind @param {File} file */
async function own(kind, file) {
  quiet($("protect-trouble"));
  const { history } = state;
  try {
    const { id, name } = await upload(`${kind}?${new URLSearchParams({ name: file.name })}`, file, () => {});
    // It belongs to a history that was forgotten meanwhile.
    if (state.history?.id !== history.id) return;
    if (kind === "targets") offerOwn(id, name);
    else $("taxonomy-name").textContent = name;
    await choose(kind === "targets" ? { target: id } : { taxonomy: id });
  } catch (error) {
    trouble($("protect-trouble"), error);
  }
}

/** @param {Record<string, string[]>} presets with the places that each covers here */
function showPresets(presets) {
  const described = new Map(state.start.presets.map((preset) => [preset.id, preset]));
  const found = Object.keys(presets).filter((id) => presets[id].length);
  $("presets").replaceChildren(
    ...found.map((id) => {
      const { name, description } = described.get(id) ?? { name: id.replace("preset:", ""), description: "" };
      const made = button(`${name} ${number(presets[id].length)}`, () => toggle(presets[id], id));
      made.dataset.preset = id;
      made.title = description;
      made.ariaLabel = `${name}, ${some(presets[id].length, "place")}`;
      return made;
    }),
  );
  const none = Object.keys(presets).length - found.length;
  const kinds = some(none, found.length ? "other kind" : "kind");
  $("presets-none").textContent =
    (none ? `No name speaks of ${kinds} that ${none === 1 ? "is" : "are"} often sensitive. ` : "") +
    "Names do not tell everything: look for yourself, too.";
}

/** @param {string[]} places @param {string | null} whole the preset or branch that they are */
function toggle(places, whole) {
  const { ticks } = state;
  if (ticks.state(places) === "true") ticks.untick(places);
  else ticks.tick(places, whole);
  showTicks();
  changed();
}

function showTicks() {
  const { counts, ticks } = state;
  tree.mark(ticks);
  for (const preset of $("presets").children) preset.ariaPressed = String(ticks.wholes.has(preset.dataset.preset));
  const names = [...ticks.places].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  const visits = some(ticks.visits(counts), "visit");
  $("ticked").textContent = names.length
    ? `${some(names.length, "place")} with ${visits} ticked: ${listed(names)}`
    : "Nothing is ticked.";
  $("clear").hidden = !names.length;
}
