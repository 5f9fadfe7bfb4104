// The page asks about places whose kind leaves open whether they are sensitive.

import { $, element } from "./dom.js";
import { state, unit } from "./state.js";
import { number, printable, some } from "./words.js";

/** The boxes, with their places. @type {Map<HTMLInputElement, string>} */
const boxes = new Map();

/** @param {string[]} places most visited first @param {(place: string) => void} toggle */
export function showUnsure(places, toggle) {
  $("unsure").hidden = !places.length;
  $("unsure-title").textContent = places.length === 1 ? "Is this sensitive?" : "Is any of these sensitive?";
  $("unsure-words").textContent =
    `The page cannot tell for ${places.length === 1 ? `this ${unit()}` : `these ${some(places.length, unit())}`}. ` +
    "Tick the places to hide.";
  boxes.clear();
  $("unsure-list").replaceChildren(...places.map((place) => row(place, toggle)));
}

/** @param {import("./ticks.js").Ticks} ticks */
export function markUnsure(ticks) {
  for (const [box, place] of boxes) box.checked = ticks.places.has(place);
}

/** @param {string} place @param {(place: string) => void} toggle */
function row(place, toggle) {
  const made = element("li");
  const label = element("label");
  const box = element("input");
  box.type = "checkbox";
  boxes.set(box, place);
  box.onchange = () => toggle(place);
  label.append(box, element("bdi", "name", printable(place)));
  label.append(element("span", "count", number(state.counts.get(place) ?? 0)));
  made.append(label);
  return made;
}
