// The flow: load, protect, see, take; and what happens after a reload or if the program has ended.

import { get, post, remove, Trouble } from "./api.js";
import { $, all, button, quiet, trouble } from "./dom.js";
import { clearLoaded, listenToLoad, offerSamples, showLoaded } from "./load.js";
import { listenToPolicies } from "./policies.js";
import {
  clearSearch,
  listenToProtect,
  offerProfiles,
  plant,
  showAgain,
  showChoices,
  tellLook,
  uproot,
} from "./protect.js";
import { askAgain, askAnew, clearSee, listenToSee } from "./see.js";
import { countFrom, fresh, ofHistory, recall, state } from "./state.js";
import { Ticks } from "./ticks.js";
import { clearTake, closeTake, listenToTake, showTake } from "./take.js";
import { forgetChoices, listenToUndo } from "./undo.js";

const KEEP_EVERY = 20_000;
const THEMES = ["system", "light", "dark"];

begin();

async function begin() {
  listenToTheme();
  listenToLoad(opened);
  listenToProtect(askAnew);
  listenToPolicies();
  listenToUndo(takenBack);
  listenToSee({ asked: closeTake, answered, failed });
  listenToTake();
  $("forget").onclick = forget;
  setInterval(keep, KEEP_EVERY);
  try {
    state.start = await get("start");
  } catch (error) {
    return lost(error);
  }
  $("version").textContent = `Version ${state.start.version}.`;
  offerSamples();
  offerProfiles();
  await restore();
}

/** A history was loaded. @param {any} history */
async function opened(history) {
  const old = state.history;
  state.choices = fresh();
  state.ticks = new Ticks();
  forgetChoices();
  clearSearch();
  await show(history);
  if (old && old.id !== history.id) remove(`histories/${old.id}`).catch(() => {});
  // A person who has moved on meanwhile stays where they are.
  if (!document.activeElement?.closest("#protect, #see, #take")) $("look-title").focus();
}

/** @param {any} history */
async function show(history) {
  state.history = history;
  state.answer = state.question = state.frontier = null;
  // Store only the id, because the browser may write it to the disk.
  sessionStorage.setItem("history", history.id);
  clearSee();
  clearTake();
  showLoaded();
  showChoices();
  showSections(true);
  await Promise.all([plant(), tellLook()]);
  askAnew();
}

/** After a reload, the program still has the history and the last question. */
async function restore() {
  const id = sessionStorage.getItem("history");
  if (!id) return;
  try {
    const history = await get(`histories/${id}`);
    if (history.question) {
      countFrom(history.question.number);
      recall(history.question);
    }
    await show(history);
  } catch (error) {
    if (error instanceof Trouble && error.status === 0) lost(error);
    else gone(error);
  }
}

/** @param {{choices: any}} before the choices before an undo or a redo */
function takenBack({ choices: before }) {
  const now = state.choices;
  const others = ({ limit, ...rest }) => JSON.stringify(rest);
  if (before.limit !== now.limit && others(before) === others(now)) askAgain();
  else showAgain();
}

/** A final answer has arrived. */
function answered() {
  quiet($("connection"));
  showTake();
}

/** @param {Trouble} error of a question */
function failed(error) {
  if (error.status === 404) gone(error);
  // Also if another tab asked later about the same history: two tabs that retry would go on for ever.
  else lost(error);
}

/** Tells the program that the page is still open; otherwise it drops the history. */
async function keep() {
  const { history } = state;
  try {
    if (history) await post(ofHistory("keep"), {});
    else await get("start");
    quiet($("connection"));
  } catch (error) {
    // Another one may have been loaded meanwhile.
    if (history !== state.history) return;
    if (error instanceof Trouble && error.status === 404) gone(error);
    else lost(error);
  }
}

async function forget() {
  const path = ofHistory();
  close();
  $("choose-file").focus();
  await remove(path).catch(lost);
}

/** @param {unknown} error */
function gone(error) {
  close();
  trouble($("load-trouble"), error);
}

/** @param {unknown} error */
function lost(error) {
  trouble($("connection"), error, [button("Try again", retry)]);
}

async function retry() {
  if (!state.start) return location.reload();
  await keep();
  if ($("connection").hidden && state.history) askAnew();
}

/** Back to the start: clears the history from the page. */
function close() {
  state.history = state.answer = state.question = state.frontier = null;
  state.choices = fresh();
  forgetChoices();
  sessionStorage.removeItem("history");
  uproot();
  clearSee();
  clearTake();
  clearLoaded();
  quiet($("connection"));
  showSections(false);
}

/** @param {boolean} shown */
function showSections(shown) {
  document.body.classList.toggle("loaded", shown);
  for (const section of all("#protect, #see, #take")) section.classList.toggle("waiting", !shown);
}

function listenToTheme() {
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    sessionStorage.setItem("theme", theme);
    $("theme").textContent = `Theme: ${theme}`;
  };
  use(sessionStorage.getItem("theme") ?? THEMES[0]);
  const now = () => THEMES.indexOf(document.documentElement.dataset.theme ?? "");
  $("theme").onclick = () => use(THEMES[(now() + 1) % THEMES.length]);
}
