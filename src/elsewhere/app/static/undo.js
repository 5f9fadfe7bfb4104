// Undo and redo for every choice.

import { $ } from "./dom.js";
import { state } from "./state.js";

/** The most choices that can be undone. */
const MOST = 200;

/** @typedef {{choices: typeof state.choices, ticks: typeof state.ticks}} Chosen */
/** @type {Chosen[]} */
let past = [];
/** @type {Chosen[]} */
let future = [];

/** @param {(before: Chosen) => void} onChange called with the choices before an undo or a redo */
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

/** Call this before a choice changes. */
export function remember() {
  past = [...past.slice(1 - MOST), now()];
  future = [];
  show();
}

/** Clears everything, for another history. */
export function forgetChoices() {
  past = [];
  future = [];
  show();
}

/** @returns {Chosen} */
function now() {
  return { choices: { ...state.choices }, ticks: state.ticks.copy() };
}

/** Whether the target is a text field, which has its own undo. @param {EventTarget | null} target */
function isTyped(target) {
  const fields = "input:not([type=range], [type=radio], [type=checkbox]), textarea";
  return target instanceof Element && target.matches(fields);
}

function show() {
  $("undo").disabled = !past.length;
  $("redo").disabled = !future.length;
}
