// See: what changes, the quality loss, and the limit on it.

import { eachLine, get, newestOnly, post, postFor, Trouble } from "./api.js";
import { Bars } from "./bars.js";
import { Curve } from "./curve.js";
import { $, button, element } from "./dom.js";
import { choose } from "./protect.js";
import { aimed, drawn, ground, leastLoss, limit, ofHistory, question, roundedUp, state, unit } from "./state.js";
import { remember } from "./undo.js";
import { figure, number, sentences, some } from "./words.js";

const bars = new Bars($("bars"), $("bars-table"), $("bars-details"));
const curve = new Curve($("curve"), $("curve-table"), dragged, () => {
  // It was not dragged if its ends were not known yet.
  if (sliding) $("slider").dispatchEvent(new Event("change"));
});
const questions = newestOnly(answered);
const NOTHING = { quality_loss: null, privacy_distance: null, bars: null };
/** Milliseconds after which the page shows that it is working. */
const SLOW = 300;
const DRAWING = "Computing what each limit achieves …";
/** Time limit in seconds while the slider moves; the optimum can wait until it rests. */
const QUICK = 0.08;
/** Milliseconds without a movement after which the slider rests. Before that, a proof would delay the next picture. */
const REST = 100;

/** Milliseconds between questions whether the solvers are being compiled, and seconds after which to show it: loading
 * compiled solvers takes less. */
const LOOK = 1000;
const COMPILES = 3;

let frontierIsOld = true;
/** The button that stops the current curve; null if there is none, or if it is quick. @type {HTMLElement | null} */
let stopWay = null;
let sliding = false;
/** The time of the last slider movement that no picture shows yet. @type {number | null} */
let moved = null;
/** @type {{asked: () => void, answered: () => void, failed: (error: Trouble) => void}} */
let tell;

/** @param {typeof tell} told called with a question, with a final answer, and with errors for the flow */
export function listenToSee(told) {
  tell = told;
  $("slider").oninput = $("slider").onchange = slid;
  $("limit").onchange = () => $("limit").reportValidity() && setLimit(entered("limit"));
  $("suggest").onclick = () => {
    if (state.frontier?.stopped) askAnew();
    else setLimit(null);
    $("slider").focus();
  };
  $("wanted").onchange = () => {
    if (!$("wanted").reportValidity()) return;
    remember();
    state.choices.wanted = entered("wanted");
    askAnew();
  };
  $("least").onchange = () => {
    remember();
    state.choices.least = $("least").checked;
    askAgain();
  };
}

/** @param {string} id of a field @returns {number | null} */
function entered(id) {
  return $(id).value === "" ? null : Number($(id).value);
}

/** Asks again after a change of anything but the limit. */
export function askAnew() {
  frontierIsOld = true;
  return ask({ settled: true });
}

/** Asks again after a change of the limit only. */
export function askAgain() {
  return ask({ settled: true });
}

/** The question is about to change: until it has, no answer to the old one may be shown or saved. */
export function stopAsking() {
  questions.drop();
  moved = null;
  sliding = false;
  frontierIsOld = true;
  showWays([]); // they are remedies for the old one
  tell.asked();
}

/** Clears the picture of another history, and its pending questions. */
export function clearSee() {
  stopAsking();
  bars.clear();
  curve.show(null, null);
  showParts();
  showFigures(NOTHING);
  say("", [], true);
  showGuesses([]);
  $("proof-words").textContent = "";
}

/** @param {{settled: boolean, slid?: boolean}} job */
function ask(job) {
  tell.asked();
  return questions.ask(job);
}

/** @param {number | null} chosen */
function setLimit(chosen) {
  remember();
  Object.assign(state.choices, { limit: chosen, least: false });
  askAgain();
}

/** @param {Event} event of the slider */
function slid({ type, timeStamp }) {
  // One undo takes back a whole movement.
  if (!sliding) remember();
  sliding = type === "input";
  Object.assign(state.choices, { limit: curve.limitAt(Number($("slider").value)), least: false });
  if (type === "input") moved = timeStamp;
  ask({ settled: type === "change", slid: true });
}

/** @param {number} step */
function dragged(step) {
  if ($("slider").disabled) return;
  $("slider").value = step;
  $("slider").dispatchEvent(new Event("input"));
}

/** @param {{settled: boolean, slid?: boolean, refines?: boolean}} job nothing is settled while a slider moves
 * @param {AbortSignal} signal */
async function answered(job, signal) {
  const { settled } = job;
  const missing = whatIsMissing();
  if (missing) return showAsItIs(missing);
  const since = moved;
  const working = setTimeout(() => {
    showWorking(true);
    sayCompiling(() => running && !signal.aborted);
  }, SLOW);
  let running = true;
  try {
    if (aimed() && frontierIsOld) await draw(signal);
    // Something has changed meanwhile, and the next question is about it.
    if (aimed() && frontierIsOld) return;
    // Show a quick picture first, then the best one.
    if (settled && aimed() && !leastLoss() && !drawn()) await sketch(signal);
    job.refines = isSketched();
    if (job.refines && job.slid) await rest(signal);
    await fetchAnswer(settled, signal);
    showAnswer(settled);
    if (since !== null) measure(since);
    if (moved === since) moved = null;
    // If the choices have changed meanwhile, this answer must not be shown for them.
    if (settled && isSame(question(), state.question)) tell.answered();
  } catch (error) {
    if (signal.aborted || !(error instanceof Trouble)) throw error;
    if ([0, 404, 409].includes(error.status)) tell.failed(error);
    else showAsItIs(sentences(error.message, error.hint), waysOn(error));
  } finally {
    running = false;
    clearTimeout(working);
    showWorking(false);
  }
}

/** Waits until the slider rests. @param {AbortSignal} signal */
async function rest(signal) {
  await new Promise((resolve) => {
    setTimeout(resolve, REST);
    signal.addEventListener("abort", resolve);
  });
  signal.throwIfAborted();
}

/** Shows a first answer, unless there is one or it needs an explanation. @param {AbortSignal} signal */
async function sketch(signal) {
  if (!isSame(question(), state.question)) await fetchAnswer(false, signal);
  if (isSketched() && state.answer.possible) showAnswer(false);
}

/** Whether the current answer came while the slider moved, and is for the current question. */
function isSketched() {
  return Boolean(state.answer?.draft) && isSame(question(), state.question);
}

/** Asks, unless the best answer is already there. @param {boolean} settled @param {AbortSignal} signal */
async function fetchAnswer(settled, signal) {
  const asked = question();
  const isThere = isSame(asked, state.question) && state.answer?.status === "optimal";
  if (isThere && !(settled && state.answer.draft)) return;
  const sent = { ...asked, time_limit: settled ? null : QUICK, draft: !settled };
  const answer = await postFor(ofHistory("release"), sent, signal);
  signal.throwIfAborted();
  state.answer = answer;
  state.question = asked;
}

/** Whether two questions are the same except for their numbers. @param {any} one @param {any} other */
function isSame(one, other) {
  return JSON.stringify({ ...one, number: 0 }) === JSON.stringify({ ...other, number: 0 });
}

/** @param {boolean} working */
function showWorking(working) {
  $("see").classList.toggle("working", working);
  $("see").ariaBusy = String(working);
}

/** Shows how long compiling the solvers has taken, if it is under way. @param {() => boolean} waiting for an answer */
async function sayCompiling(waiting) {
  let said = false;
  while (waiting()) {
    const { seconds } = await get("compiling").catch(() => ({ seconds: null }));
    if (!waiting()) return;
    const compiling = seconds !== null && seconds > COMPILES;
    // A screen reader should say it once, not every second.
    if (compiling) say(`Compiling the solvers, once on this computer: ${Math.round(seconds)} s so far …`, stopWays(), !said);
    else if (said && stopWay) say(DRAWING, stopWays(), true);
    said = compiling;
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}

const stopWays = () => (stopWay ? [stopWay] : []);

/** Fetches the curve, and shows its points as they arrive if it takes a while. @param {AbortSignal} signal */
async function draw(signal) {
  const asked = question();
  const began = performance.now();
  /** @type {import("./curve.js").Frontier} */
  const partial = { points: [], suggested: null, needed: null, sentence: null, exact: true, stopped: false, budgets: [] };
  const slow = setTimeout(() => {
    stopWay = stopButton(asked.number);
    say(DRAWING, stopWays(), true);
    showFound(partial);
  }, SLOW);
  // Set before the answer arrives: a change in the meantime marks it as old again.
  frontierIsOld = false;
  try {
    /** @type {import("./curve.js").Frontier | null} */
    let frontier = null;
    await eachLine(await post(ofHistory("frontier"), asked, signal), (line) => {
      if (line.budgets) Object.assign(partial, line);
      if (line.point) addPoint(partial.points, line.point);
      if (line.point && stopWay) showFound(partial);
      frontier = line.frontier ?? frontier;
    });
    signal.throwIfAborted();
    // A stopped curve has more limits than points.
    state.frontier = frontier && { ...frontier, limits: partial.budgets };
  } catch (error) {
    frontierIsOld = true;
    throw error;
  } finally {
    clearTimeout(slow);
    stopWay = null;
    $("slider").disabled = false;
  }
  curve.show(state.frontier, state.choices.wanted);
  performance.measure("curve", { start: began, end: performance.now() });
}

/** @param {number} asked the number of the question @returns {HTMLElement} */
function stopButton(asked) {
  return button("Stop", () => {
    $("see-title").focus(); // the button disappears
    post(ofHistory("stop"), { number: asked }).catch(() => {}); // then the curve fails, too
  });
}

/** Adds a point, which may arrive twice. @param {import("./curve.js").Point[]} points @param {import("./curve.js").Point} point */
function addPoint(points, point) {
  const others = points.filter((other) => other.max_quality_loss !== point.max_quality_loss);
  others.push(point);
  points.splice(0, points.length, ...others.sort((a, b) => a.max_quality_loss - b.max_quality_loss));
}

/** Shows the points of the curve so far. @param {import("./curve.js").Frontier} partial */
function showFound(partial) {
  if (!partial.points.length) return;
  $("slider").disabled = true; // its ends are not known yet
  $("budget").hidden = false;
  curve.show(partial, state.choices.wanted);
}

/** What must be chosen before there is a question. */
function whatIsMissing() {
  const { choices, history, ticks } = state;
  if (!history) return "Load a history first.";
  // Names are ticked instead of kinds, or the other way round.
  if (ticks.ground !== ground()) return "Sorting the places by kind …";
  if (!aimed() && !ticks.places.size) return "Tick the places to hide. Until then, you see your history.";
  if (aimed() && !choices.target) return `Choose a profile to ${choices.goal}. Until then, you see your history.`;
  return null;
}

/** The remedies for a refused question. @param {Trouble} error */
function waysOn({ ways }) {
  const choices = {
    kind: ["Compare kinds of place instead", { by: "kind" }],
    mismatch: ["Compare anyway", { mismatch: true }],
    curve: ["Draw the curve", { limit: state.choices.limit }],
  };
  return ways.map((way) => {
    const [words, choice] = choices[way];
    return button(words, () => {
      $("see-title").focus(); // the button disappears
      choose(choice);
    });
  });
}

/** The history without a release. @param {string} words why there is none @param {HTMLElement[]} ways on */
function showAsItIs(words, ways = []) {
  state.answer = null;
  bars.show(historyAlone(), true);
  showParts();
  showFigures(NOTHING);
  showGuesses([]);
  say(words, ways, true);
  tell.answered();
}

/** @returns {import("./bars.js").Bar[]} */
function historyAlone() {
  const visited = [...state.counts].filter(([, count]) => count > 0);
  const rows = visited.map(([name, count]) => {
    return { location: name, before: count, after: null, target: null, sensitive: state.ticks.places.has(name) };
  });
  return rows.sort((a, b) => b.before - a.before);
}

/** @param {boolean} settled */
function showAnswer(settled) {
  const { answer } = state;
  const shown = answer.possible ? answer : (answer.best ?? NOTHING);
  showParts();
  bars.show(shown.bars ?? historyAlone(), settled);
  $("key-target").hidden = !shown.bars?.some((bar) => bar.target !== null);
  showFigures(shown);
  if (leastLoss() && answer.possible) state.choices.limit = roundedUp(answer.quality_loss);
  if (aimed()) showLimit(shown.privacy_distance);
  if (answer.possible) say([answer.plain, ...answer.words].join(" "), [], settled, answer.notes);
  else sayWhyNot(answer, settled);
  showGuesses(answer.possible ? answer.guesses : []);
  $("proof").classList.toggle("blank", !answer.possible);
  $("proof-words").textContent = answer.certificate ?? "";
  $("exact-words").textContent = shown.exact ?? "";
}

/** Shows the parts of the page that the current choices need. */
function showParts() {
  $("budget").hidden = !aimed() || frontierIsOld || !state.frontier?.points.length;
  $("privacy-figure").hidden = !aimed();
  $("key-target").hidden = true;
  $("exact-words").textContent = "";
  $("proof").classList.add("blank");
  if (document.activeElement !== $("wanted")) $("wanted").value = state.choices.wanted ?? "";
  $("least").checked = state.choices.least && !drawn();
  $("least").disabled = state.choices.wanted === null || drawn();
  $("wanted-words").textContent = `Only if the distance is at ${state.choices.goal === "avoid" ? "least" : "most"}`;
}

/** Shows why there is no release, with a remedy. @param {any} answer @param {boolean} settled */
function sayWhyNot({ sentence, hint, needed_quality_loss: needed, best }, settled) {
  const notes = best?.notes ?? [];
  const within = leastLoss() ? "The" : `With a quality loss of at most ${figure(limit())}, the`;
  const unmet =
    best && `${within} best distance is ${figure(best.privacy_distance)}, not ${figure(state.choices.wanted)}`;
  if (!aimed() || needed === null) {
    const never = unmet && "No quality loss is enough";
    return say(sentences(unmet ?? sentence, never, hint), [], settled, notes);
  }
  // The search for the curve may have missed it for lack of time.
  if (best && state.frontier && needed < (state.frontier.needed ?? Infinity)) {
    state.frontier.needed = needed;
    curve.show(state.frontier, state.choices.wanted);
    showLimit(best.privacy_distance); // the axis may end elsewhere now
  }
  const enough = roundedUp(needed);
  const from = unmet && `A quality loss of ${figure(enough)} is enough`;
  const way = button(`Allow a quality loss of ${figure(enough)}`, () => setLimit(enough));
  say(sentences(unmet ?? sentence, from), [way], settled, notes);
}

/** @param {number | null} distance that the limit reaches */
function showLimit(distance) {
  const { frontier } = state;
  curve.place(limit(), distance);
  if (document.activeElement !== $("limit")) $("limit").value = limit();
  // While it is dragged, the slider is ahead of the answer.
  const there = curve.limitAt(Number($("slider").value)) === limit(); // several steps may round to one limit
  if (!there && !$("slider").matches(":active")) $("slider").value = curve.stepAt(limit());
  $("slider").setAttribute("aria-valuetext", `quality loss at most ${figure(limit())}`);
  const suggested = frontier?.suggested == null ? limit() : roundedUp(frontier.suggested);
  $("suggest").disabled = suggested === limit() && !frontier?.stopped;
  $("suggest").textContent = frontier?.stopped ? "Draw the whole curve" : `◇ Suggested: ${figure(suggested)}`;
}

/** @param {any} figures */
function showFigures({ quality_loss, privacy_distance, quality_words, privacy_words, bars: shown }) {
  const { counts, ticks } = state;
  const value = (distance) => (shown && distance === null ? "infinite" : figure(distance));
  // The sentence begins with the figure, which is already shown above.
  const scale = (words) => (words ?? "").replace(/^\S+ /, "");
  $("quality-loss").textContent = value(quality_loss);
  $("quality-words").textContent = scale(quality_words);
  $("privacy-distance").textContent = value(privacy_distance);
  $("privacy-words").textContent = scale(privacy_words);
  const visits = number(ticks.visits(counts));
  $("hidden-visits").textContent = shown && ticks.places.size ? `${visits} → 0` : visits;
  $("hidden-words").textContent = ticks.places.size ? `at ${some(ticks.places.size, unit())}` : "nothing is ticked";
}

/** The first figure is visible, after what is unknown; its source and the others can be unfolded.
 * @param {{sentence: string, source: string | null}[]} guesses none if there is no release */
function showGuesses(guesses) {
  const first = Math.max(0, guesses.findIndex(({ source }) => source));
  const others = guesses.slice(first + 1);
  const words = guesses.slice(0, first + 1).map(({ sentence }) => sentence);
  $("guess").textContent = words.join(" ") || "This is shown when there is a release.";
  $("guess").classList.toggle("soft", !words.length);
  const source = guesses[first]?.source ?? null;
  const folded = [{ sentence: "", source }, ...others].map(({ sentence, source }) => {
    const item = element("li", "", sentence);
    if (source) item.append(" ", element("span", "soft", source));
    return item;
  });
  $("guess-list").replaceChildren(...folded.filter((item) => item.textContent));
  const more = others.length ? `${number(others.length)} more` : null;
  $("guess-title").textContent = [source && "How this was measured", more].filter(Boolean).join(", and ");
  $("guess-details").classList.toggle("blank", !$("guess-list").children.length);
}

/** @param {string} words @param {HTMLElement[]} ways @param {boolean} aloud whether a screen reader says it
 * @param {string[]} notes further notes */
function say(words, ways, aloud, notes = []) {
  $("outcome-words").textContent = words;
  showWays(ways);
  $("outcome-notes").replaceChildren(...notes.map((note) => element("li", "", note)));
  if (aloud) $("outcome-aloud").textContent = [words, ...notes].join(" ");
}

/** @param {HTMLElement[]} ways */
function showWays(ways) {
  $("outcome-way").hidden = !ways.length;
  // Elements that stay keep the focus.
  const shown = [...$("outcome-way").children];
  if (shown.length !== ways.length || shown.some((way, at) => way !== ways[at])) $("outcome-way").replaceChildren(...ways);
}

/** Measures the time from the movement of the slider to the new picture. @param {number} since */
function measure(since) {
  requestAnimationFrame(() => {
    const painted = new MessageChannel();
    painted.port1.onmessage = () => performance.measure("slider", { start: since, end: performance.now() });
    painted.port2.postMessage(null);
  });
}
