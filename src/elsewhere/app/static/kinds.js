// The kind of each place: the reason, and how a person corrects it.

import { get } from "./api.js";
import { $, option, trouble } from "./dom.js";
import { state } from "./state.js";
import { printable } from "./words.js";

/** A policy's word for a place without a kind. */
const NO_KIND = "none";

/** @typedef {{value: string, name: string, depth: number}} Kind */
/** All kinds, by taxonomy; "" is the standard one. @type {Map<string, Promise<Kind[]>>} */
const offered = new Map();
/** The place in the dialog, or in the line below the tree. @type {string | null} */
let place = null;
/** @type {(place: string, kind: string | null) => void} */
let correct;

/** @param {typeof correct} onChoice called with a place and its kind, which is null to guess it again */
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
    if (event.key === "Enter") $("kind-form").requestSubmit();
  };
  $("kind-list").onchange = () => {
    $("kind-use").disabled = !$("kind-list").value;
  };
  $("kind-form").onsubmit = async (event) => {
    event.preventDefault();
    const asked = place;
    // The person may type faster than the kinds arrive.
    if (!$("kind-list").value) await list();
    // Meanwhile the dialog may have been opened for another place.
    if ($("kind").open && place === asked && $("kind-list").value) choose($("kind-list").value);
  };
  $("kind-none").onclick = () => choose(NO_KIND);
  $("kind-guess").onclick = () => choose(null);
  $("kind-cancel").onclick = () => $("kind").close();
  $("kind").onclose = () => {
    if (!$("kind").open) forgetKind(); // it may be open again
  };
}

/** The reason for the kind of a place; "" if it is fixed. @param {string} name @param {string | null} kind */
export function why(name, kind) {
  const { choices, counts, told } = state;
  // A * would also match other places, and places of the target only are not the person's.
  if (choices.by === "kind" || !counts.get(name) || name.includes("*")) return "";
  const reason = told.get(name)?.reason;
  return `Kind: ${kind === null ? "not known" : printable(kind)}${reason ? ` (${printable(reason)})` : ""}`;
}

/** The line below the tree. @param {string | null} active @param {string} words the reason for its kind */
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
  $("kind-use").disabled = false; // until the kinds are there
  $("kind").showModal();
  await list();
}

/** Clears all names of places. */
export function forgetKind() {
  if ($("kind").open) $("kind").close();
  $("kind-title").textContent = "";
  $("kind-list").replaceChildren();
}

/** Drops the person's own taxonomies. */
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
    if (!$("kind").open) return;
    $("kind").close();
    return trouble($("protect-trouble"), error);
  }
  if (!$("kind").open) return;
  const wanted = $("kind-search").value.trim().toLowerCase();
  /** @type {Kind[]} */
  const above = [];
  const found = kinds.flatMap((kind) => {
    above.length = kind.depth;
    above[kind.depth] = kind;
    const rank = likeness(kind.name.toLowerCase(), wanted);
    if (rank < 0) return [];
    // Search results show the path to the kind; the whole tree shows it anyway.
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

/** How well a text matches a name: 0 is best, -1 means not at all. @param {string} name @param {string} wanted */
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
