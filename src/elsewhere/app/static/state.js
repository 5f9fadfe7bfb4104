// The state of the page. The parts of the page read and change it; nothing of it is stored.

import { NAMES, Ticks } from "./ticks.js";

export const state = {
  /** The samples, profiles and defaults of the program. @type {any} */
  start: null,
  /** @type {any} */
  history: null,
  /** Visits by location, for all locations that a release may have. @type {Map<string, number>} */
  counts: new Map(),
  /** Every place of the history and the target, with its kind and the reason for it.
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

/** The default choices. */
export function fresh() {
  return {
    goal: "hide",
    /** @type {string | null} */
    target: null,
    /** The person's own taxonomy. @type {string | null} */
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
    /** The level of the kinds, if a policy sets it. @type {number | null} */
    depth: null,
    /** Compare with the target although it matches little. */
    mismatch: false,
    /** Allow more visits to places of often sensitive kinds. */
    rise: false,
    /** Draw the release at random, if the goal supports it. */
    drawn: false,
    /** Other places that may get visits. @type {string[]} */
    candidates: [],
    /** An earlier release that this one continues. @type {string | null} */
    lower: null,
    /** The choices below More, by their names in a policy; missing ones are defaults.
     * @type {Record<string, any>} */
    other: {},
  };
}

const OTHER = ["quality", "privacy", "method", "size", "redistribute", "visited_only"];

/** Restores the choices and ticks of a question. @param {any} question */
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

/** What is ticked: names of places, or kinds of place, which depend on the kinds that the person gave.
 */
export function ground() {
  const { by, taxonomy, kinds, depth } = state.choices;
  return by === "name" ? NAMES : JSON.stringify([taxonomy, kinds, depth]);
}

/** The word for a location. */
export const unit = () => (state.choices.by === "kind" ? "kind" : "place");

/** The name of a place of the history in a release. @param {string} place */
export function locationOf(place) {
  return state.choices.by === "kind" ? (state.told.get(place)?.kind ?? place) : place;
}

/** The name of a place of the history among the ticks. They follow the choices once the new tree is there.
 * @param {string} place */
export function tickOf(place) {
  return state.ticks.ground === NAMES ? place : (state.told.get(place)?.kind ?? place);
}

/** Whether there is a target. */
export const aimed = () => state.choices.goal !== "hide";

/** Whether the goal supports drawn releases. */
export const drawable = () => Boolean(state.start?.methods[state.choices.goal].includes("drawn"));

/** Whether the release is drawn at random. */
export const drawn = () => drawable() && state.choices.drawn;

/** Whether to find the smallest change that meets a distance; a drawn release needs a limit instead. */
export const leastLoss = () => aimed() && state.choices.least && state.choices.wanted !== null && !drawn();

/** @param {Record<string, string>} [parts] of the query */
export function ofHistory(what = "", parts = {}) {
  const query = new URLSearchParams(parts).toString();
  return `histories/${state.history.id}${what && `/${what}`}${query && `?${query}`}`;
}

/** The question, with the names of a policy. */
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

/** Rounds up to four digits: a limit just below the least possible one would not work. @param {number} loss */
export function roundedUp(loss) {
  if (!(loss > 0)) return 0;
  const unit = 10 ** (Math.floor(Math.log10(loss)) - 3);
  return Number((Math.ceil(loss / unit) * unit).toPrecision(4));
}

let number = 0;

/** Continues from the last number before a reload, even if the clock was set back. @param {number} last */
export function countFrom(last) {
  number = Math.max(number, last);
}

/** Numbers increase, also after a reload, so that the program can tell older questions from newer ones. */
function nextNumber() {
  number = Math.max(number + 1, Date.now());
  return number;
}
