// The first look: what the file reveals, in plain words, each with a button to hide it.

import { get } from "./api.js";
import { $, button, element } from "./dom.js";
import { ofHistory, state, tickOf } from "./state.js";
import { number, printable, some } from "./words.js";

/** The number of visible lines; the others can be unfolded. */
const SHOWN = 6;
/** The most lines, and the most unrecognised places, that are listed. */
const [UNFOLDED, LISTED] = [100, 20];

/** @typedef {{sentence: string, places: string[]}} Line */
/** The buttons, with the places that each hides. @type {Map<any, string[]>} */
const buttons = new Map();

/** Fetches and shows what the history reveals. @param {(places: string[]) => void} toggle */
export async function showLook(toggle) {
  const { history } = state;
  /** @type {{lines: Line[], unrecognised: string[]}} */
  const { lines, unrecognised } = await get(ofHistory("look"));
  if (state.history !== history) return;
  buttons.clear();
  // Lines about many places, or all of them, stay visible.
  const single = lines.filter(({ places }) => places.length === 1);
  const rest = single.slice(SHOWN);
  const folded = new Set(rest);
  $("look-list").replaceChildren(...lines.filter((line) => !folded.has(line)).map((line) => row(line, toggle)));
  fold("look-more", "look-rest", rest, UNFOLDED, toggle);
  $("look-more-title").textContent = some(rest.length, "more finding");
  const unknown = unrecognised.map((place) => ({ sentence: place, places: [place] }));
  fold("look-lost", "look-unknown", unknown, LISTED, toggle);
  $("look").hidden = false;
}

/** @param {import("./ticks.js").Ticks} ticks */
export function markLook(ticks) {
  for (const [made, places] of buttons) made.ariaPressed = String(ticks.state(places.map(tickOf)) === "true");
}

/** Clears everything about a history. */
export function clearLook() {
  buttons.clear();
  for (const id of ["look-list", "look-rest", "look-unknown"]) $(id).replaceChildren();
  $("look").hidden = true;
}

/** @param {string} details @param {string} list @param {Line[]} lines @param {number} most that are listed
 * @param {(places: string[]) => void} toggle */
function fold(details, list, lines, most, toggle) {
  $(details).hidden = !lines.length;
  $(details).open = false;
  const more = lines.length - most;
  const last = more > 0 ? [element("li", "soft small", `… and ${number(more)} more, in the tree below.`)] : [];
  $(list).replaceChildren(...lines.slice(0, most).map((line) => row(line, toggle)), ...last);
}

/** @param {Line} line @param {(places: string[]) => void} toggle */
function row({ sentence, places }, toggle) {
  const made = element("li");
  made.append(element("bdi", "", printable(sentence)));
  if (!places.length) return made;
  const hide = button("Hide", () => toggle([...new Set(places.map(tickOf))]));
  hide.ariaLabel = `Hide ${places.length === 1 ? printable(places[0]) : some(places.length, "place")}`;
  buttons.set(hide, places);
  made.append(hide);
  return made;
}
