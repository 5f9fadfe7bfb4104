// Before, after and target, one row per location, as bars and as a table.

import { fill } from "./dom.js";
import { Rows } from "./rows.js";
import { number, printable } from "./words.js";

/**
 * @typedef {{location: string, before: number, after: number | null, target: number | null, sensitive: boolean}} Bar
 */

const SVG = "http://www.w3.org/2000/svg";
const COLUMNS = ["before", "after", "target"];

export class Bars {
  /** @param {HTMLOListElement} list @param {HTMLTableElement} table @param {HTMLDetailsElement} details around it */
  constructor(list, table, details) {
    this.table = table;
    this.details = details;
    /** The rows that have been drawn. @type {Map<string, Row>} */
    this.drawn = new Map();
    /** The bars in the order on the screen. @type {Bar[]} */
    this.bars = [];
    this.most = 1;
    this.rows = new Rows(list, (at) => this.#row(at));
    details.addEventListener("toggle", () => this.#tabulate());
  }

  /** Starts again, for another history or target. */
  clear() {
    this.drawn.clear();
    this.bars = [];
    this.rows.show(0);
    this.table.replaceChildren();
    this.most = 1;
  }

  /** @param {Bar[]} bars largest changes first @param {boolean} inOrder otherwise rows stay where they are */
  show(bars, inOrder) {
    // The scale only grows, so that an unchanged bar does not look changed.
    for (const bar of bars) this.most = Math.max(this.most, bar.before, bar.after ?? 0, bar.target ?? 0);
    this.bars = inOrder ? bars : asBefore(this.bars, bars);
    this.rows.show(bars.length);
    this.#tabulate();
  }

  /** @param {number} at */
  #row(at) {
    const bar = this.bars[at];
    const row = this.drawn.get(bar.location) ?? new Row(bar.location);
    this.drawn.set(bar.location, row);
    row.show(bar, this.most);
    row.element.ariaPosInSet = String(at + 1);
    row.element.ariaSetSize = String(this.bars.length);
    return row.element;
  }

  #tabulate() {
    if (!this.details.open) return;
    const columns = COLUMNS.filter((name) => this.bars.some((bar) => bar[name] !== null));
    fill(
      this.table,
      ["location", ...columns],
      this.bars.map((bar) => [
        printable(bar.location) + (bar.sensitive ? " (sensitive)" : ""),
        ...columns.map((name) => (bar[name] === null ? "–" : number(bar[name]))),
      ]),
    );
  }
}

/** The new bars in the order of the old ones, if they are of the same locations. @param {Bar[]} old @param {Bar[]} bars */
function asBefore(old, bars) {
  const byLocation = new Map(bars.map((bar) => [bar.location, bar]));
  const again = old.flatMap(({ location }) => byLocation.get(location) ?? []);
  return again.length === bars.length ? again : bars;
}

/** One location. */
class Row {
  /** @param {string} location */
  constructor(location) {
    this.element = document.createElement("li");
    this.name = document.createElement("bdi");
    this.name.className = "name";
    this.name.textContent = this.name.title = printable(location);
    this.mark = document.createElement("span");
    this.mark.className = "unseen";
    this.counts = document.createElement("span");
    this.counts.className = "counts";
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("aria-hidden", "true");
    this.before = shape("rect", { class: "before", y: "0%", height: "42%", rx: "2" });
    this.after = shape("rect", { class: "after", y: "52%", height: "42%", rx: "2" });
    this.target = shape("line", { class: "target", y1: "0%", y2: "100%" });
    svg.append(this.before, this.after, this.target);
    this.shown = "";
    this.element.append(this.name, svg, this.counts, this.mark);
  }

  /** @param {Bar} bar @param {number} most */
  show(bar, most) {
    const shown = JSON.stringify([bar, most]);
    // Most rows do not change when the slider moves a little, and drawing takes most of the time.
    if (shown === this.shown) return;
    this.shown = shown;
    this.element.classList.toggle("changed", bar.after !== null && bar.after !== bar.before);
    this.element.classList.toggle("sensitive", bar.sensitive);
    this.mark.textContent = bar.sensitive ? "sensitive" : "";
    const now = bar.after === null || bar.after === bar.before ? "" : ` → ${number(bar.after)}`;
    this.counts.textContent = number(bar.before) + now;
    this.before.setAttribute("width", share(bar.before, most));
    if (bar.sensitive) this.before.setAttribute("fill", "url(#hatch)");
    this.before.setAttribute("class", bar.sensitive ? "sensitive" : "before");
    this.after.setAttribute("width", share(bar.after ?? 0, most));
    this.target.setAttribute("visibility", bar.target ? "visible" : "hidden");
    for (const end of ["x1", "x2"]) this.target.setAttribute(end, share(bar.target ?? 0, most));
  }
}

/** Leaves a little space for a target's line at the end. @param {number} count @param {number} most */
function share(count, most) {
  return `${((98.5 * count) / most).toFixed(2)}%`;
}

/** @param {string} tag @param {Record<string, string>} attributes */
export function shape(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}
