// What kind of place each place is: why, and how a person corrects it.

import { get } from "./api.js";
import { $, option, trouble } from "./dom.js";
import { state } from "./state.js";
import { printable } from "./words.js";

/** What a policy calls the kind of a place that has none. */
const NO_KIND = "none";

/** @typedef {{value: string, name: string, depth: number}} Kind */
/** All kinds, by taxonomy; "" is the standard one. @type {Map<string, Promise<Kind[]>>} */
const offered = new Map();
/** The place whose kind is asked for, or of which the line below the tree is. @type {string | null} */
let place = null;
/** @type {(place: string, kind: string | null) => void} */
let correct;

/** @param {typeof correct} onChoice is told of a place and its kind, which is null if it is to be guessed again */
export function listenToKinds(onChoice) {
  correct = onChoice;
  $("kind-change").onclick = () => place !== null && askKind(place);
  $("kind-search").oninput = () => list();
  $("kind-search").onkeydown = (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    $("kind-list").focus();
  };
  $("kind-list").ondblclick = () => $("kind-use").click();
  $("kind-list").onkeydown = (event) => {
    if (event.key === "Enter") $("kind-use").click();
  };
  $("kind-list").onchange = () => {
    $("kind-use").disabled = !$("kind-list").value;
  };
  $("kind-form").onsubmit = async (event) => {
    event.preventDefault();
    // Somebody may type faster than the kinds come.
    if (!$("kind-list").value) await list();
    if ($("kind").open && $("kind-list").value) choose($("kind-list").value);
  };
  $("kind-none").onclick = () => choose(NO_KIND);
  $("kind-guess").onclick = () => choose(null);
  $("kind-cancel").onclick = () => $("kind").close();
  $("kind").onclose = forgetKind;
}

/** Why a place is of its kind; "" if that cannot be changed. @param {string} name @param {string | null} kind */
export function why(name, kind) {
  const { choices, counts, told } = state;
  // A * would stand for other places, too, and a place that only the target has is no affair of the person's.
  if (choices.by === "kind" || !counts.get(name) || name.includes("*")) return "";
  const reason = told.get(name)?.reason;
  return `Kind: ${kind === null ? "not known" : printable(kind)}${reason ? ` (${printable(reason)})` : ""}`;
}

/** The line below the tree. @param {string | null} active @param {string} words why it is of its kind */
export function showKind(active, words) {
  if (!$("kind").open) place = active;
  $("kind-place").textContent = active === null ? "" : printable(active);
  $("kind-words").textContent = active === null ? "Go to a place to see where its kind comes from." : words;
  $("kind-change").classList.toggle("blank", active === null);
}

/** @param {string} name of a place */
export async function askKind(name) {
  place = name;
  $("kind-title").textContent = `What kind of place is ${printable(name)}?`;
  $("kind-guess").hidden = given(name) === undefined;
  $("kind-search").value = "";
  $("kind-list").replaceChildren();
  $("kind").showModal();
  await list();
}

/** Leaves no name of a place. */
export function forgetKind() {
  if ($("kind").open) $("kind").close();
  $("kind-title").textContent = "";
}

/** No taxonomy of the person's own is known any more. */
export function forgetKinds() {
  forgetKind();
  for (const taxonomy of offered.keys()) if (taxonomy) offered.delete(taxonomy);
}

/** Lists the kinds that have the text in their names, the best matches first, or the whole tree. */
async function list() {
  let kinds;
  try {
    kinds = await allKinds();
  } catch (error) {
    $("kind").close();
    return trouble($("protect-trouble"), error);
  }
  const wanted = $("kind-search").value.trim().toLowerCase();
  /** @type {Kind[]} */
  const above = [];
  const found = kinds.flatMap((kind) => {
    above.length = kind.depth;
    above[kind.depth] = kind;
    const rank = likeness(kind.name.toLowerCase(), wanted);
    if (rank < 0) return [];
    // What is found is shown with where it belongs; a whole tree shows that itself.
    const name = printable(kind.name);
    const path = above.slice(0, kind.depth).map((one) => printable(one.name)).reverse();
    const inside = path.length ? `${name} (${path.join(", ")})` : name;
    return [{ rank, made: option(kind.value, wanted ? inside : "\u2003".repeat(kind.depth) + name) }];
  });
  const made = found.sort((one, other) => one.rank - other.rank).map((one) => one.made);
  $("kind-list").replaceChildren(...made);
  const now = wanted ? (made[0]?.value ?? "") : (given(place ?? "") ?? "");
  $("kind-list").value = now;
  $("kind-use").disabled = !$("kind-list").value;
}

/** How well a text fits a name, 0 being best; -1 if it does not. @param {string} name @param {string} wanted */
function likeness(name, wanted) {
  if (!wanted || name === wanted) return 0;
  if (name.split(/\W+/u).includes(wanted)) return 1;
  return name.includes(wanted) ? 2 : -1;
}

/** The kind that the person gave to a place. @param {string} name @returns {string | undefined} */
function given(name) {
  return Object.hasOwn(state.choices.kinds, name) ? state.choices.kinds[name] : undefined;
}

function allKinds() {
  const taxonomy = state.choices.taxonomy ?? "";
  const kinds = offered.get(taxonomy) ?? get(`kinds${taxonomy && `?${new URLSearchParams({ taxonomy })}`}`);
  offered.set(taxonomy, kinds);
  kinds.catch(() => offered.delete(taxonomy));
  return kinds;
}

/** @param {string | null} kind */
function choose(kind) {
  const name = place ?? "";
  $("kind").close();
  correct(name, kind);
}
