// Protect: the places to hide, and the profile to resemble or avoid.

import { postFor, upload } from "./api.js";
import { $, all, button, historyPicker, option, quiet, trouble } from "./dom.js";
import { askKind, forgetKind, forgetKinds, listenToKinds, showKind, why } from "./kinds.js";
import { listenToMore, offerDistances, showMore } from "./more.js";
import { clearMap, listenToMap, markMap, showMap } from "./map.js";
import { clearLook, markLook, showLook } from "./look.js";
import { aimed, drawable, ground, locationOf, ofHistory, state, unit } from "./state.js";
import { NAMES, Ticks } from "./ticks.js";
import { Tree } from "./tree.js";
import { remember } from "./undo.js";
import { markUnsure, showUnsure } from "./unsure.js";
import { listed, number, printable, sentences, some } from "./words.js";

const tree = new Tree($("tree"), { tick: toggle, kind: askKind, why, active: showKind });
/** @type {{changing: () => void, changed: () => void, failed: (error: any) => void}} */
let tell;
/** The number of requests for the tree. */
let planted = 0;
/** The places that each preset covers here. @type {Record<string, string[]>} */
let presets = {};
/** The places of presets and branches, by their ids. @type {Map<string, string[]>} */
let wholes = new Map();
/** The names of presets and branches. @type {Map<string, string>} */
let names = new Map();
/** The request that the current tree answers; null if there is no tree. @type {string | null} */
let planting = null;
/** The kinds of all places, by the ground of ticks. @type {Map<string, Map<string, string>>} */
let kindsOf = new Map();
/** The number of locations of often sensitive kinds. */
let watched = 0;
/** Where each kind of the person's own tables is loaded. */
export const TABLES = { target: "targets", taxonomy: "taxonomies", lower: "releases" };
/** The number of choices of each: a table may arrive after a later one. */
const picked = { target: 0, taxonomy: 0, lower: 0 };
/** The person's own tables that were loaded. @type {{kind: string, id: string, name: string}[]} */
let tables = [];

/** @param {typeof tell} told called when the question is about to change, which may take a while, when it has, and if
 * the connection is lost or the history is gone meanwhile */
export function listenToProtect(told) {
  tell = told;
  historyPicker("choose-target", "target-file", ([file]) => own("target", file));
  historyPicker("choose-taxonomy", "taxonomy-file", ([file]) => own("taxonomy", file));
  historyPicker("choose-earlier", "earlier-file", ([file]) => own("lower", file));
  listenToKinds(correct);
  listenToMore(choose);
  listenToMap((places) => toggle(places, null));
  $("shipped").onclick = () => {
    $("choose-taxonomy").focus(); // the button disappears
    changeTaxonomy(null);
  };
  $("profile").onchange = () => choose({ target: $("profile").value || null, mismatch: false });
  for (const radio of all("input[name=by]")) radio.onchange = () => choose({ by: radio.value });
  $("rise").onchange = () => choose({ rise: $("rise").checked, limit: state.choices.limit });
  $("drawn").onchange = () => choose({ drawn: $("drawn").checked, limit: state.choices.limit });
  // The choices below More depend on the goal.
  const choice = (goal) => ({ goal, wanted: null, other: {} });
  for (const radio of all("input[name=goal]")) radio.onchange = () => choose(choice(radio.value));
  $("search").oninput = search;
  $("clear").onclick = () => {
    $("search").focus();
    remember();
    state.ticks.clear();
    showTicks();
    tell.changed();
  };
}

export function offerProfiles() {
  const profiles = state.start.profiles.map(({ name, label }) => option(name, label));
  $("profile").append(option("", "Choose …"), ...profiles);
  $("profile-notes").textContent = sentences(...state.start.notes);
  offerDistances();
}

function search() {
  const places = tree.search($("search").value);
  $("found").textContent = $("search").value.trim() ? some(places, unit()) : "";
}

/** Clears all places of a history. */
export function clearPlaces() {
  overtake(picked);
  planted += 1;
  state.counts = new Map();
  state.told = new Map();
  state.ticks = new Ticks();
  presets = {};
  wholes.clear();
  names.clear();
  planting = null;
  watched = 0;
  forgetKind();
  showUnsure([], () => {});
  clearLook();
  clearMap();
  $("search").value = "";
  tree.folds.clear();
  kindsOf.clear();
  tree.show([], state.counts);
  search();
  $("presets").replaceChildren();
  $("choose-needed").hidden = true;
  say("");
  quiet($("protect-trouble"));
  showTicks();
}

/** Clears all places of a history, and the tables that were loaded with it. */
export function uproot() {
  clearPlaces();
  tables = [];
  forgetKinds();
  for (const one of [...$("profile").options]) if (one.dataset.own) one.remove();
  showChoices();
}

/** Fetches the kinds of place of the history, and of the target if there is one.
 * @returns {Promise<boolean>} false if nobody waits for them any more: a newer request was made, or the history is gone */
export async function plant() {
  const { history } = state;
  planted += 1;
  const mine = planted;
  const asked = treeGround();
  let grown;
  try {
    grown = await postFor(ofHistory("tree"), asked);
  } catch (error) {
    if (mine === planted) throw error;
  }
  if (mine !== planted) return false;
  planting = JSON.stringify([history.id, asked]);
  watched = grown.watched;
  state.told = new Map(grown.places.map(({ name, ...told }) => [name, told]));
  if (ground() !== NAMES) kindsOf.set(ground(), new Map(grown.places.map(({ name, kind }) => [name, kind])));
  presets = grown.presets;
  const known = grown.nodes.filter((node) => node.known);
  names = new Map([...state.start.presets, ...known].map(({ id, name }) => [id, name]));
  state.counts = new Map(grown.nodes.flatMap((node) => node.own.map((place) => [place, 0])));
  for (const { name, count } of history.locations) {
    const location = locationOf(name);
    state.counts.set(location, (state.counts.get(location) ?? 0) + count);
  }
  wholes = new Map([...Object.entries(presets), ...known.map(({ id, locations }) => [id, locations])]);
  tree.show(grown.nodes, state.counts);
  search();
  showPresets();
  showUnsure(grown.unsure, (place) => toggle([place], null));
  showChoices();
  moveTicks();
  return true;
}

/** What the history reveals, with buttons that tick. */
export async function tellLook() {
  await Promise.all([showLook((places) => toggle(places, null)), showMap()]);
  markLook(state.ticks);
}

/** Whether the tree is that of the current choices. */
export function isPlanted() {
  return JSON.stringify([state.history.id, treeGround()]) === planting;
}

function treeGround() {
  const { target, taxonomy, kinds, by, depth } = state.choices;
  return { target: aimed() ? target : null, taxonomy, kinds, by, depth };
}

/** Keeps the current tree, even if another one is under way. */
function keepTree() {
  planted += 1;
  moveTicks();
}

/** Shows the ticks in the current tree. */
function moveTicks() {
  const moved = state.ticks.become(ground(), kindsOf);
  if (moved && unit() === "kind") sayBy("Your ticks now cover the whole kinds of these places. Please check them.");
  else if (moved) sayBy("Your ticks now cover every place of these kinds. Please check them.");
  state.ticks.moveTo(wholes, new Set(state.counts.keys()));
  showTicks();
}

/** Shows choices that were not made by hand, and asks for their results. */
export function showAgain() {
  overtake(picked);
  showChoices();
  return follow();
}

export function showChoices() {
  const { choices, start } = state;
  for (const radio of all("input[name=goal]")) radio.checked = radio.value === choices.goal;
  for (const radio of all("input[name=by]")) radio.checked = radio.value === choices.by;
  const shown = choices.by === "kind" ? "kinds of place" : "places";
  $("take-about").textContent = `The release has ${shown} and counts, and nothing else. Share it instead of your history.`;
  $("rise").checked = choices.rise;
  $("rise-row").hidden = !aimed() || !choices.target || !(watched || choices.rise);
  showDrawn();
  $("target").hidden = !aimed();
  $("profile-title").textContent = choices.goal === "avoid" ? "Profile to avoid" : "Profile to resemble";
  const offered = [...$("profile").options].map((one) => one.value);
  const own = choices.target && !offered.includes(choices.target);
  if (own) offerOwn("target", { id: choices.target ?? "", name: "My own table" });
  $("profile").value = choices.target ?? "";
  $("profile-words").textContent = start.profiles.find(({ name }) => name === choices.target)?.description ?? "";
  $("shipped").hidden = !choices.taxonomy;
  $("taxonomy-name").textContent = choices.taxonomy
    ? printable(tables.find(({ id }) => id === choices.taxonomy)?.name ?? "My own file")
    : "";
  showMore(tables.find(({ id }) => id === choices.lower)?.name);
}

/** Whether the release is drawn at random, with the benefits and the costs. */
function showDrawn() {
  $("drawn-row").hidden = !drawable();
  $("drawn").checked = state.choices.drawn;
  $("drawn-title").textContent = `Let chance decide ${aimed() ? "what changes" : "where the hidden visits go"}`;
  $("drawn-words").textContent = sentences(
    `The release is then harder to recognise, but ${aimed() ? "not the best one" : "has more quality loss than needed"}`,
    aimed() ? "Set a distance that must be met, or chance may change nothing" : null,
    "The secret key for it stays on this computer",
  );
}

/** A table that was loaded can be chosen. @param {string} kind @param {{id: string, name: string}} table */
export function offerOwn(kind, { id, name }) {
  tables.push({ kind, id, name });
  if (kind !== "target") return;
  const made = option(id, printable(name));
  made.dataset.own = "true";
  $("profile").append(made);
}

/** The id of the table of that name that was loaded last. @param {string} kind @param {string} name */
export function ownTable(kind, name) {
  return tables.filter((table) => table.kind === kind && table.name === name).at(-1)?.id;
}

/** @param {string[]} parts sentences about a policy */
export function say(...parts) {
  $("policy-words").textContent = sentences(...parts);
}

/** @param {string} words about what the release shows */
function sayBy(words) {
  $("by-words").textContent = words;
}

/** Sets another goal, target or taxonomy: other places are possible, and another limit is suggested.
 * @param {Partial<typeof state.choices>} choice */
export function choose(choice) {
  // A field that loses the focus because the history has gone may still report its text.
  if (!state.history) return;
  remember();
  overtake(choice);
  Object.assign(state.choices, { limit: null }, choice);
  showChoices();
  return follow();
}

/** Tables that are still being loaded must not replace newer choices. @param {object} choices */
function overtake(choices) {
  for (const what of Object.keys(picked)) if (what in choices) picked[what] += 1;
}

/** Drops the person's kinds, because they belong to the old taxonomy. @param {string | null} taxonomy */
async function changeTaxonomy(taxonomy) {
  const { history } = state;
  const corrected = Object.keys(state.choices.kinds).length;
  await choose({ taxonomy, kinds: {} });
  if (corrected && state.history === history) say("Your corrected kinds do not fit this file and were dropped. Undo brings them back.");
}

/** Corrects the kind of a place. @param {string} place @param {string | null} kind null: guess */
async function correct(place, kind) {
  const { [place]: _, ...others } = state.choices.kinds;
  const kinds = kind === null ? others : { ...others, [place]: kind };
  const { history } = state;
  await choose({ kinds, limit: state.choices.limit });
  if (state.history === history) tree.reveal(place);
}

/** Asks for the places that are possible now, and for a release. */
export async function follow() {
  quiet($("protect-trouble"));
  sayBy("");
  const { history } = state;
  let current = true;
  try {
    if (isPlanted()) keepTree();
    else {
      tell.changing();
      current = await plant();
    }
  } catch (error) {
    if (state.history !== history) return;
    if ([0, 404].includes(error.status)) return tell.failed(error);
    trouble($("protect-trouble"), error);
  }
  if (current && state.history === history) tell.changed();
}

/** Loads the person's own table, and chooses it. @param {keyof typeof TABLES} what @param {File} file */
async function own(what, file) {
  quiet($("protect-trouble"));
  const { history } = state;
  const mine = (picked[what] += 1);
  try {
    const table = await upload(`${TABLES[what]}?${new URLSearchParams({ name: file.name })}`, file, () => {});
    // It belongs to a history that was dropped meanwhile.
    if (state.history?.id !== history.id) return;
    offerOwn(what, table);
    // Another one was chosen meanwhile.
    if (mine !== picked[what]) return;
    if (what === "taxonomy") await changeTaxonomy(table.id);
    else await choose(what === "target" ? { target: table.id, mismatch: false } : { lower: table.id });
  } catch (error) {
    if (state.history?.id === history.id) trouble($("protect-trouble"), error);
  }
}

function showPresets() {
  const described = new Map(state.start.presets.map(({ id, description }) => [id, description]));
  const found = Object.keys(presets).filter((id) => presets[id].length);
  $("presets").replaceChildren(
    ...found.map((id) => {
      const made = button(`${names.get(id)} ${number(presets[id].length)}`, () => toggle(presets[id], id));
      made.dataset.preset = id;
      made.title = described.get(id) ?? "";
      made.ariaLabel = `${names.get(id)}, ${some(presets[id].length, unit())}`;
      return made;
    }),
  );
  const none = Object.keys(presets).length - found.length;
  const others = `${none} ${found.length ? "other " : ""}sensitive ${none === 1 ? "category" : "categories"}`;
  $("presets-none").textContent = sentences(
    none ? `We found nothing by name in ${others}` : null,
    "Names can mislead, so check the list too",
  );
}

/** @param {string[]} places @param {string | null} whole the preset or branch that they are */
function toggle(places, whole) {
  remember();
  showTicks(state.ticks.toggle(places, whole));
  tell.changed();
}

/** @param {string[]} keepers the presets and branches because of which something was not unticked */
function showTicks(keepers = []) {
  const { counts, ticks } = state;
  tree.mark(ticks);
  markUnsure(ticks);
  markLook(ticks);
  markMap(presets["preset:all"] ?? []);
  for (const preset of $("presets").children) {
    preset.ariaPressed = String(ticks.state(presets[preset.dataset.preset]) === "true");
  }
  const ticked = [...ticks.places].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  const words = `${some(ticked.length, unit())} with ${some(ticks.visits(counts), "visit")} ticked: ${listed(ticked)}`;
  const kept = keepers.length ? `What ${listed(keepers.map((id) => names.get(id) ?? id))} covers stays ticked` : null;
  $("ticked").textContent = ticked.length ? sentences(kept, words) : "Nothing is ticked.";
  $("clear").hidden = !ticked.length;
}
