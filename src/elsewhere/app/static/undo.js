// Undo and redo: every choice can be taken back.

import { $ } from "./dom.js";
import { state } from "./state.js";

/** So many choices can be taken back. */
const MOST = 200;

/** @typedef {{choices: typeof state.choices, ticks: typeof state.ticks}} Chosen */
/** @type {Chosen[]} */
let past = [];
/** @type {Chosen[]} */
let future = [];

/** @param {(before: Chosen) => void} onChange is told what was chosen before something else is again */
export function listenToUndo(onChange) {
  const go = (from, to) => {
    const chosen = from.pop();
    if (!chosen) return;
    const before = now();
    to.push(before);
    Object.assign(state, chosen);
    show();
    onChange(before);
  };
  const undo = () => go(past, future);
  const redo = () => go(future, past);
  $("undo").onclick = () => {
    undo();
    if ($("undo").disabled) $("redo").focus();
  };
  $("redo").onclick = () => {
    redo();
    if ($("redo").disabled) $("undo").focus();
  };
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyped(event.target)) return;
    if (!state.history || document.querySelector("dialog[open]") || !["z", "y"].includes(key)) return;
    event.preventDefault();
    if (key === "z" && !event.shiftKey) undo();
    else redo();
  });
  show();
}

/** Is called before something else is chosen. */
export function remember() {
  past = [...past.slice(1 - MOST), now()];
  future = [];
  show();
}

/** For another history there is nothing to take back. */
export function forgetChoices() {
  past = [];
  future = [];
  show();
}

/** @returns {Chosen} */
function now() {
  return { choices: { ...state.choices }, ticks: state.ticks.copy() };
}

/** A field of text has an undo of its own. @param {EventTarget | null} target */
function isTyped(target) {
  const fields = "input:not([type=range], [type=radio], [type=checkbox]), textarea";
  return target instanceof Element && target.matches(fields);
}

function show() {
  $("undo").disabled = !past.length;
  $("redo").disabled = !future.length;
}
