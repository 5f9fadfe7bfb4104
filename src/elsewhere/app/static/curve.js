// The privacy distance for each limit on the quality loss, as a curve with a draggable point, and as a table.

import { shape } from "./bars.js";
import { fill } from "./dom.js";
import { roundedUp } from "./state.js";
import { figure } from "./words.js";

/**
 * @typedef {{max_quality_loss: number, quality_loss: number, privacy_distance: number | null}} Point
 * @typedef {{points: Point[], suggested: number | null, needed: number | null, sentence: string | null,
 *   exact: boolean, stopped: boolean, limits?: number[], budgets?: number[]}} Frontier limits are those of all points;
 *   while points are still arriving, they are the budgets
 */

// In pixels; style.css aligns the slider with the left and right ones.
const LEFT = 48;
const RIGHT = 16;
const ABOVE = 18;
const BELOW = 34;
const STEPS = 1000;

export class Curve {
  /**
   * @param {SVGSVGElement} svg @param {HTMLTableElement} table
   * @param {(step: number) => void} onDrag with the slider's step @param {() => void} onDrop
   */
  constructor(svg, table, onDrag, onDrop) {
    this.svg = svg;
    this.table = table;
    /** @type {Frontier | null} */
    this.frontier = null;
    /** @type {number | null} */
    this.wanted = null;
    this.limit = 0;
    this.distance = null;
    const step = (event) => {
      const { left, width } = svg.getBoundingClientRect();
      return Math.round(STEPS * Math.min(1, Math.max(0, (event.clientX - left - LEFT) / (width - LEFT - RIGHT))));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      onDrag(step(event));
    });
    svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && onDrag(step(event)));
    svg.addEventListener("lostpointercapture", onDrop);
    new ResizeObserver(() => this.#draw()).observe(svg);
  }

  /** @param {Frontier | null} frontier @param {number | null} wanted the privacy distance that must be met */
  show(frontier, wanted) {
    this.frontier = frontier;
    this.wanted = wanted;
    this.#draw();
    fill(
      this.table,
      ["quality loss at most", `privacy distance${this.#atBest()}`],
      (frontier?.points ?? []).map((point) => [figure(point.max_quality_loss), distanceWords(point.privacy_distance)]),
    );
  }

  /** The limit at a step of the slider: steps are finer where the curve is steep. @param {number} step */
  limitAt(step) {
    const [least, most] = this.#ends();
    const limit = Number((least + (most - least) * (step / STEPS) ** 2).toPrecision(3));
    return limit >= least ? limit : roundedUp(least);
  }

  /** @param {number} limit */
  stepAt(limit) {
    return Math.round(STEPS * this.#along(limit));
  }

  /** @param {number} limit @param {number | null} distance what it reaches */
  place(limit, distance) {
    this.limit = limit;
    this.distance = distance;
    this.#drawPoint();
  }

  /** The curve of a long history shows bounds, not releases. */
  #atBest() {
    return this.frontier?.exact === false ? ", at best" : "";
  }

  #ends() {
    const limits = this.frontier?.budgets ?? this.frontier?.limits ?? [];
    const least = limits[0] ?? 0;
    const most = limits.at(-1) ?? 1;
    return [least, Math.max(most, this.frontier?.needed ?? 0, least + 1e-9)];
  }

  /** From 0 to 1, for the limits of the curve. @param {number} limit */
  #along(limit) {
    const [least, most] = this.#ends();
    return Math.sqrt(Math.min(1, Math.max(0, (limit - least) / (most - least))));
  }

  #x = (limit) => LEFT + this.#along(limit) * (this.width - LEFT - RIGHT);
  #y = (distance) => ABOVE + (1 - distance / this.top) * (this.height - ABOVE - BELOW);

  #draw() {
    const { frontier, svg } = this;
    this.width = svg.clientWidth;
    this.height = svg.clientHeight;
    svg.replaceChildren();
    if (!frontier?.points.length || !this.width) return;
    const reached = frontier.points.map((point) => point.privacy_distance).filter((distance) => distance !== null);
    this.top = Math.max(...reached, this.wanted ?? 0, 1e-9) * 1.05;
    this.#drawAxes();
    this.#drawWanted();
    const finite = frontier.points.filter((point) => point.privacy_distance !== null);
    // The distance of a limit holds until the next limit, so the curve has steps.
    const way = finite.map((point) => `${this.#x(point.max_quality_loss)},${this.#y(point.privacy_distance)}`);
    svg.append(shape("polyline", { class: "way", points: way.join(" ") }));
    if (frontier.budgets) for (const point of finite) this.#drawFound(point);
    this.#drawSuggested();
    this.#drawPoint();
  }

  /** A point of a curve that is not complete yet. @param {Point} point */
  #drawFound({ max_quality_loss: limit, privacy_distance: distance }) {
    this.svg.append(shape("circle", { class: "found", cx: this.#x(limit), cy: this.#y(distance), r: 3 }));
  }

  #drawAxes() {
    const bottom = this.height - BELOW;
    for (const distance of ticks(this.top)) {
      const y = this.#y(distance);
      const line = distance ? "grid" : "axis";
      this.svg.append(shape("line", { class: line, x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
      this.svg.append(shape("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, figureShort(distance)));
    }
    this.svg.append(shape("text", { x: 0, y: 11 }, `distance from the target${this.#atBest()}`));
    const [least, most] = this.#ends();
    for (const part of this.width > 500 ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1]) {
      const limit = least + (most - least) * part ** 2;
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      this.svg.append(shape("text", { x: this.#x(limit), y: bottom + 16, "text-anchor": anchor }, figureShort(limit)));
    }
    this.svg.append(shape("text", { x: this.width - RIGHT, y: this.height - 3, "text-anchor": "end" }, "quality loss"));
  }

  /** The wanted distance, and the limits that do not reach it. */
  #drawWanted() {
    if (this.wanted === null) return;
    const needed = this.frontier?.needed ?? null;
    const [y, bottom] = [this.#y(this.wanted), this.height - BELOW];
    if (needed === null && (this.frontier?.budgets || this.frontier?.stopped)) {
      // It is not known, or not yet, which limits reach it.
      this.svg.append(shape("line", { class: "wanted", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
      return;
    }
    const end = needed === null ? this.width - RIGHT : this.#x(needed);
    const unmet = { x: LEFT, y: ABOVE, width: end - LEFT, height: bottom - ABOVE };
    this.svg.append(shape("rect", { fill: "url(#unmet)", ...unmet }));
    this.svg.append(shape("line", { class: "wanted", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
    this.svg.append(shape("line", { class: "wanted", x1: end, x2: end, y1: ABOVE, y2: bottom }));
    const words = needed === null ? "not met" : `met from ${figure(roundedUp(needed))} on`;
    const left = end > this.width - 150;
    const place = { x: end + (left ? -6 : 6), y: ABOVE + 12, "text-anchor": left ? "end" : "start" };
    this.svg.append(shape("text", { class: "of-wanted", ...place }, words));
  }

  #drawSuggested() {
    const knee = this.frontier?.points.find((point) => point.max_quality_loss === this.frontier?.suggested);
    if (!knee || knee.privacy_distance === null) return;
    const [x, y] = [this.#x(knee.max_quality_loss), this.#y(knee.privacy_distance)];
    this.svg.append(shape("path", { class: "knee", d: `M${x} ${y - 7}l7 7l-7 7l-7-7z` }));
  }

  #drawPoint() {
    this.svg.querySelectorAll(".handle, .drop-line").forEach((old) => old.remove());
    if (!this.frontier?.points.length || !this.width || this.frontier.budgets) return;
    const x = this.#x(this.limit);
    const y = this.distance === null ? this.height - BELOW : this.#y(Math.min(this.distance, this.top));
    this.svg.append(shape("line", { class: "drop-line", x1: x, x2: x, y1: y, y2: this.height - BELOW }));
    this.svg.append(shape("circle", { class: "handle", cx: x, cy: y, r: 9 }));
  }
}

/** A few round numbers from 0 to the top. @param {number} top */
function ticks(top) {
  const power = 10 ** Math.floor(Math.log10(top));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((size) => top / size < 5) ?? power;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
}

function figureShort(value) {
  return String(Number(Number(value).toPrecision(2)));
}

function distanceWords(distance) {
  return distance === null ? "infinite" : figure(distance);
}
