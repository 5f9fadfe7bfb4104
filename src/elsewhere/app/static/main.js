// The flow: load, protect, see, take; and what happens after a reload or if the program has ended.

import { get, post, remove, Trouble } from "./api.js";
import { $, all, button, quiet, trouble } from "./dom.js";
import { clearLoaded, listenToLoad, offerSamples, showLoaded } from "./load.js";
import { listenToPolicies } from "./policies.js";
import {
  clearPlaces,
  follow,
  isPlanted,
  listenToProtect,
  offerProfiles,
  plant,
  showAgain,
  showChoices,
  tellLook,
  uproot,
} from "./protect.js";
import { askAgain, askAnew, clearSee, listenToSee, stopAsking } from "./see.js";
import { countFrom, fresh, ofHistory, recall, state } from "./state.js";
import { Ticks } from "./ticks.js";
import { clearTake, closeTake, listenToTake, showTake } from "./take.js";
import { forgetChoices, listenToUndo } from "./undo.js";

const KEEP_EVERY = 20_000;
/** Where a person may be at work while a history arrives: also at another file. */
const BUSY = "#loading:not([hidden]), #progress:not([hidden]), #look, #protect, #see, #take";
const THEMES = ["system", "light", "dark"];

/** The first answers; null if they are missing. @type {Promise<void> | null} */
let started = null;
/** The error in the band at the top, if it is shown. @type {Trouble | null} */
let missed = null;

begin();

async function begin() {
  listenToTheme();
  listenToLoad(ready, opened);
  listenToProtect({ changing: stopAsking, changed: askAnew, failed });
  listenToPolicies();
  listenToUndo(takenBack);
  listenToSee({ asked: closeTake, answered, failed });
  listenToTake();
  $("forget").onclick = forget;
  setInterval(() => keep(), KEEP_EVERY);
  await ready().catch(lost);
}

/** Waits until the page knows what the program offers, and what was loaded before a reload. A file may be dropped
 * before. Asks again if the program did not answer. @returns {Promise<void>} */
function ready() {
  started ??= start().catch((error) => {
    started = null;
    throw error;
  });
  return started;
}

async function start() {
  if (!state.start) {
    state.start = await get("start");
    $("version").textContent = `Version ${state.start.version}.`;
    offerSamples();
    offerProfiles();
  }
  await restore();
  quiet($("connection"));
}

/** A history was loaded. @param {any} history */
async function opened(history) {
  const old = state.history;
  state.choices = fresh();
  state.ticks = new Ticks();
  forgetChoices();
  clearPlaces();
  try {
    await show(history);
  } finally {
    if (old && old.id !== history.id) remove(`histories/${old.id}`).catch(() => {});
  }
  // A person who has moved on meanwhile stays where they are.
  const there = document.activeElement?.closest(BUSY);
  if (state.history === history && !there) $("look-title").focus();
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
  // Only the places belong to loading; what goes wrong with an answer is no reason to drop the history.
  const shown = plant().then((current) => {
    if (current) askAnew();
  });
  try {
    await Promise.all([shown, tellLook()]);
  } catch (error) {
    // Nobody waits for the places of a history that was replaced or forgotten meanwhile.
    if (state.history === history) throw error;
  }
}

/** After a reload, the program still has the history and the last question. */
async function restore() {
  const id = sessionStorage.getItem("history");
  if (!id) return;
  let history;
  try {
    history = await get(`histories/${id}`);
  } catch (error) {
    if (error instanceof Trouble && error.status === 0) throw error;
    return gone(error);
  }
  if (history.question) {
    countFrom(history.question.number);
    recall(history.question);
  }
  // A new file need not wait for the places of the old one.
  show(history).catch((error) => (error instanceof Trouble && error.status === 0 ? lost(error) : gone(error)));
}

/** @param {{choices: any}} before the choices before an undo or a redo */
function takenBack({ choices: before }) {
  const now = state.choices;
  const others = ({ limit, ...rest }) => JSON.stringify(rest);
  if (before.limit !== now.limit && others(before) === others(now)) askAgain();
  else showAgain();
}

/** A final answer is shown. */
function answered() {
  showTake();
  if ($("connection").hidden) return;
  quiet($("connection"));
  tellMissing();
}

/** @param {Trouble} error of a question or of a request for the places */
function failed(error) {
  if (error.status === 404) gone(error);
  // Also if another tab asked later about the same history: two tabs that ask again by themselves would go on for ever.
  else lost(error);
}

/** Tells the program that the page is still open; otherwise it drops the history. @param {boolean} again asks again */
async function keep(again = false) {
  const { history } = state;
  try {
    if (history) await post(ofHistory("keep"), {});
    else await (started ? get("start") : ready());
    if ($("connection").hidden || !(again || missed?.status === 0)) return;
    quiet($("connection"));
    if (history !== state.history) return;
    if (history && isPlanted()) askAnew();
    tellMissing();
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

/** @param {any} error */
function lost(error) {
  missed = error;
  trouble($("connection"), error, [button("Try again", tryAgain)]);
}

function tryAgain() {
  $("see-title").focus(); // the button disappears
  keep(true);
}

/** The places, or what the history reveals, may have got lost. */
function tellMissing() {
  const { history } = state;
  if (!history) return;
  if (!isPlanted()) follow();
  if ($("look").hidden) tellLook().catch((error) => history === state.history && lost(error));
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
