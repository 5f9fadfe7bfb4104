// Small helpers to put something on the screen.

import { Trouble } from "./api.js";
import { state } from "./state.js";
import { printable, sentences } from "./words.js";

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/** @param {string} selector @returns {any[]} */
export const all = (selector) => [...document.querySelectorAll(selector)];

/** @param {string} tag @param {string} className @param {string} [text] @returns {any} */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (tag === "button") /** @type {HTMLButtonElement} */ (made).type = "button";
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

/** @param {string} text @param {() => void} go */
export function button(text, go) {
  const made = element("button", "", text);
  made.onclick = go;
  return made;
}

/** @param {string} value @param {string} text */
export function option(value, text) {
  const made = element("option", "", text);
  made.value = value;
  return made;
}

/** @param {HTMLTableElement} table @param {string[]} head @param {string[][]} rows the first cell of each names it */
export function fill(table, head, rows) {
  const top = element("thead");
  top.append(line(head, () => ["th", "col"]));
  const body = element("tbody");
  body.append(...rows.map((cells) => line(cells, (at) => (at === 0 ? ["th", "row"] : ["td", null]))));
  table.replaceChildren(top, body);
}

/** @param {string[]} cells @param {(at: number) => [string, string | null]} kind the tag and the scope of a cell */
function line(cells, kind) {
  const row = element("tr");
  cells.forEach((text, at) => {
    const [tag, scope] = kind(at);
    const cell = element(tag, "", text);
    if (scope) cell.scope = scope;
    cell.dir = "auto";
    row.append(cell);
  });
  return row;
}

/** Shows an error with remedies. @param {HTMLElement} where @param {unknown} error @param {HTMLElement[]} ways */
export function trouble(where, error, ways = []) {
  if (!(error instanceof Trouble)) throw error;
  where.replaceChildren(element("p", "", printable(sentences(error.message))));
  if (error.hint) where.append(element("p", "soft", sentences(error.hint)));
  if (ways.length) {
    const row = element("p", "buttons");
    row.append(...ways);
    where.append(row);
  }
  where.hidden = false;
}

/** @param {HTMLElement} where */
export function quiet(where) {
  where.hidden = true;
  where.replaceChildren();
}

/** A button that opens the browser's dialog. @param {string} id of the button @param {string} input
 * @param {(files: FileList) => void} use */
export function picker(id, input, use) {
  $(id).onclick = () => $(input).click();
  $(input).onchange = () => {
    if ($(input).files.length) use($(input).files);
    $(input).value = "";
  };
}

/** A button for files that are about the history, which may be gone when the browser's dialog closes.
 * @param {string} id @param {string} input @param {(files: FileList) => void} use */
export function historyPicker(id, input, use) {
  picker(id, input, (files) => state.history && use(files));
}
