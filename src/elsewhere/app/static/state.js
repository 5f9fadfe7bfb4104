// What the page knows at this moment. The parts of the page read and change it; nothing of it is stored.

import { NAMES, Ticks } from "./ticks.js";

export const state = {
  /** What the program offers. @type {any} */
  start: null,
  /** @type {any} */
  history: null,
  /** Visits by location, of all that a release may name. @type {Map<string, number>} */
  counts: new Map(),
  /** Every place of the history and the target, with its kind and what tells it.
   * @type {Map<string, {kind: string, reason: string | null, confidence: number | null}>} */
  told: new Map(),
  ticks: new Ticks(),
  choices: fresh(),
  /** @type {import("./curve.js").Frontier | null} */
  frontier: null,
  /** The last answer, and the question that it belongs to. @type {any} */
  answer: null,
  /** @type {any} */
  question: null,
};

/** The choices of somebody who has made none. */
export function fresh() {
  return {
    goal: "hide",
    /** @type {string | null} */
    target: null,
    /** A taxonomy of the person's own. @type {string | null} */
    taxonomy: null,
    /** The limit on the quality loss, if it is not the suggested one. @type {number | null} */
    limit: null,
    /** The privacy distance that must be met. @type {number | null} */
    wanted: null,
    /** Change only as much as meets that distance. */
    least: false,
    /** The kinds that the person gave to places. @type {Record<string, string>} */
    kinds: {},
    /** Whether the release shows the "name" of each place or its "kind". */
    by: "name",
    /** The level of the kinds, if a policy says it. @type {number | null} */
    depth: null,
    /** Compare with the target although it matches little. */
    mismatch: false,
    /** Let visits to places of often sensitive kinds rise. */
    rise: false,
    /** Let chance decide, where the goal has a method for it. */
    drawn: false,
    /** Other places that may get visits. @type {string[]} */
    candidates: [],
    /** An earlier release that this one continues. @type {string | null} */
    lower: null,
    /** The choices below More, by their names in a policy; those that are missing are as usual.
     * @type {Record<string, any>} */
    other: {},
  };
}

const OTHER = ["quality", "privacy", "method", "size", "redistribute", "visited_only"];

/** Makes the choices that a question has, and its ticks. @param {any} question */
export function recall(question) {
  state.choices = {
    goal: question.goal,
    target: question.target ?? null,
    taxonomy: question.taxonomy === "shipped" ? null : (question.taxonomy ?? null),
    limit: question.max_quality_loss ?? null,
    wanted: question.max_distance ?? question.min_distance ?? null,
    least: question.goal !== "hide" && (question.aim === "least-loss" || question.max_quality_loss == null),
    kinds: question.kinds ?? {},
    by: question.by ?? "name",
    depth: question.depth ?? null,
    mismatch: question.allow_mismatch ?? false,
    rise: question.allow_sensitive_rise ?? false,
    drawn: question.method === "drawn",
    candidates: question.candidates ?? [],
    lower: question.lower ?? null,
    other: Object.fromEntries(OTHER.flatMap((key) => (question[key] == null ? [] : [[key, question[key]]]))),
  };
  if (state.choices.drawn) delete state.choices.other.method;
  const wholes = question.sensitive.map((whole) => [whole, []]);
  state.ticks = new Ticks(question.ticked, wholes, ground());
}

/** What is ticked: the names of places, or else kinds of place, which are others for other kinds of the person's own.
 */
export function ground() {
  const { by, taxonomy, kinds, depth } = state.choices;
  return by === "name" ? NAMES : JSON.stringify([taxonomy, kinds, depth]);
}

/** What a location is called. */
export const unit = () => (state.choices.by === "kind" ? "kind" : "place");

/** What a place of the history is called in a release. @param {string} place */
export function locationOf(place) {
  return state.choices.by === "kind" ? (state.told.get(place)?.kind ?? place) : place;
}

/** Whether there is a target. */
export const aimed = () => state.choices.goal !== "hide";

/** Whether chance can decide about the goal. */
export const drawable = () => Boolean(state.start?.methods[state.choices.goal].includes("drawn"));

/** Whether chance decides. */
export const drawn = () => drawable() && state.choices.drawn;

/** Whether the smallest change is asked for that meets a distance; a draw needs a limit instead. */
export const leastLoss = () => aimed() && state.choices.least && state.choices.wanted !== null && !drawn();

/** @param {Record<string, string>} [parts] of the query */
export function ofHistory(what = "", parts = {}) {
  const query = new URLSearchParams(parts).toString();
  return `histories/${state.history.id}${what && `/${what}`}${query && `?${query}`}`;
}

/** What is asked, in the words of a policy. */
export function question() {
  const { choices, ticks } = state;
  const wholes = [...ticks.wholes.keys()];
  const branches = wholes.some((whole) => !whole.startsWith("preset:"));
  return {
    ...choices.other,
    number: nextNumber(),
    goal: choices.goal,
    sensitive: wholes,
    ticked: [...ticks.places],
    taxonomy: choices.taxonomy ?? (branches ? "shipped" : null),
    target: aimed() ? choices.target : null,
    max_quality_loss: aimed() && !leastLoss() ? limit() : null,
    aim: leastLoss() ? "least-loss" : null,
    max_distance: choices.goal === "resemble" ? choices.wanted : null,
    min_distance: choices.goal === "avoid" ? choices.wanted : null,
    kinds: choices.kinds,
    by: choices.by,
    depth: choices.depth,
    method: drawn() ? "drawn" : (choices.other.method ?? null),
    candidates: choices.candidates,
    lower: choices.lower,
    allow_mismatch: aimed() ? choices.mismatch : null,
    allow_sensitive_rise: aimed() ? choices.rise : null,
  };
}

/** The limit that was chosen, or the suggested one. */
export function limit() {
  const { choices, frontier } = state;
  return choices.limit ?? roundedUp(frontier?.suggested ?? frontier?.points[0]?.max_quality_loss ?? 0);
}

/** To four digits, and not below: a limit just under the least that is possible would not do. @param {number} loss */
export function roundedUp(loss) {
  if (!(loss > 0)) return 0;
  const unit = 10 ** (Math.floor(Math.log10(loss)) - 3);
  return Number((Math.ceil(loss / unit) * unit).toPrecision(4));
}

let number = 0;

/** Goes on from the last number before a reload, even if the clock was set back. @param {number} last */
export function countFrom(last) {
  number = Math.max(number, last);
}

/** Numbers grow, also after a reload, so that the program can tell an older question from a newer one. */
function nextNumber() {
  number = Math.max(number + 1, Date.now());
  return number;
}
