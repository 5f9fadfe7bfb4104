// Take: save the release that is shown, its report and policy, and the same as a command or a script.

import { postFor, upload } from "./api.js";
import { showBar } from "./bar.js";
import { $, all, element, picker, quiet, trouble } from "./dom.js";
import { ofHistory, state } from "./state.js";
import { printable, printableLines } from "./words.js";

/** The number of questions so far, to recognise answers to older ones. */
let asked = 0;
/** Whether the last question has its answer. */
let open = false;
/** The commands as they are copied. @type {Map<HTMLElement, string>} */
const texts = new Map();

export function listenToTake() {
  $("save-unchanged").onclick = () => $("unchanged").close("save");
  $("keep-unchanged").onclick = () => $("unchanged").close();
  for (const one of all("[data-take]")) one.onclick = () => save(one.dataset.take);
  picker("choose-saved", "saved-file", ([file]) => verify(file));
  for (const details of all("details[data-show]")) {
    details.ontoggle = () => showText(details);
    details.querySelector("[data-copy]").onclick = async () => {
      await navigator.clipboard.writeText(texts.get(details) ?? "");
      $("take-words").textContent = "Copied.";
    };
  }
}

/** Disables saving until the current question is answered. */
export function closeTake() {
  asked += 1;
  open = false;
  if ($("unchanged").open) $("unchanged").close(); // it is about the old answer
  for (const one of all("#take button, #bar button")) one.disabled = true;
  $("verify-words").replaceChildren();
  showBar();
}

/** Clears everything about another history. */
export function clearTake() {
  closeTake();
  texts.clear();
  for (const shown of all("#take pre")) shown.textContent = "";
  $("take-words").textContent = "";
  $("limited").hidden = true;
  quiet($("take-trouble"));
}

export function showTake() {
  open = true;
  const possible = Boolean(state.answer?.possible);
  for (const one of all("[data-take], #choose-saved")) one.disabled = !possible;
  showBar();
  $("limited").hidden = !possible || state.answer.status === "optimal" || state.question.method === "drawn";
  $("limited").textContent =
    `The search stopped after ${state.start.limits.seconds} seconds. The command and the script have the same limit, ` +
    "and may find a better or a worse release.";
  $("take-words").textContent = possible ? "" : "Nothing to save yet.";
  quiet($("take-trouble"));
  all("details[data-show]").forEach(showText);
}

/** @param {any} details that show the same as text */
async function showText(details) {
  if (!details.open || !open) return;
  const mine = asked;
  try {
    const text = state.answer?.possible ? await take(details.dataset.show, "text") : "";
    if (mine !== asked) return;
    texts.set(details, text);
    details.querySelector("pre").textContent = printableLines(text);
    details.querySelector("[data-copy]").disabled = !text;
  } catch (error) {
    if (mine === asked) trouble($("take-trouble"), error);
  }
}

/** @param {string} what */
async function save(what) {
  quiet($("take-trouble"));
  const { history } = state;
  const unchanged = what.startsWith("release.") && state.answer?.unchanged;
  if (unchanged && !(await confirmed())) return;
  try {
    const link = element("a");
    link.href = URL.createObjectURL(await take(what, "blob", unchanged ? { allow_unchanged: "1" } : {}));
    link.download = what;
    link.click();
    URL.revokeObjectURL(link.href);
    if (state.history === history) $("take-words").textContent = `Your browser saved ${what}.`;
  } catch (error) {
    if (state.history === history) trouble($("take-trouble"), error);
  }
}

/** Shows whether a file satisfies the current choices. @param {File} file */
async function verify(file) {
  if ($("choose-saved").disabled) return; // the choices have changed while the browser's dialog was open
  quiet($("take-trouble"));
  $("verify-words").replaceChildren();
  const mine = asked;
  try {
    const { id } = await upload(`releases?${new URLSearchParams({ name: file.name })}`, file, () => {});
    if (mine !== asked) return;
    const checked = await postFor(ofHistory("verify", { release: id }), state.question);
    if (mine !== asked) return;
    $("verify-words").classList.toggle("unmet", !checked.ok);
    $("verify-words").replaceChildren(...checked.sentences.map((text) => element("li", "", printable(text))));
  } catch (error) {
    if (mine === asked) trouble($("take-trouble"), error);
  }
}

/** Whether the person wants to save the history itself. @returns {Promise<boolean>} */
function confirmed() {
  const dialog = $("unchanged");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "save");
  });
}

/** @param {string} what @param {"text" | "blob"} as @param {Record<string, string>} [more] */
function take(what, as, more = {}) {
  return postFor(ofHistory("take", { what, ...more }), state.question, undefined, as);
}
