// Load a policy: restore choices that were saved earlier.

import { upload } from "./api.js";
import { $, historyPicker, quiet, trouble } from "./dom.js";
import { offerOwn, ownTable, say, showAgain, TABLES } from "./protect.js";
import { ofHistory, recall, state } from "./state.js";
import { remember } from "./undo.js";
import { printable } from "./words.js";

/** The number of files that were chosen here. */
let chosen = 0;
/** Takes the file that a policy needs. @type {(file: File) => void} */
let take;

export function listenToPolicies() {
  historyPicker("choose-policy", "policy-file", ([file]) => load(file, {}));
  historyPicker("choose-needed", "needed-file", ([file]) => take(file));
}

/** @param {File} policy @param {Record<string, string>} loaded the ids of files that it needs */
function load(policy, loaded) {
  return trying(async (current) => {
    const answer = await upload(ofHistory("policy", { name: policy.name, ...loaded }), policy, () => {});
    if (!current()) return;
    if (answer.needs) return ask(policy, loaded, answer.needs[0]);
    remember();
    recall(answer.question);
    await showAgain();
    if (current()) say(`The choices of ${printable(policy.name)} are set.`, ...answer.notes);
  });
}

/** @param {File} policy @param {Record<string, string>} loaded @param {{kind: string, name: string}} needed */
function ask(policy, loaded, { kind, name }) {
  const own = ownTable(kind, name);
  if (own) return load(policy, { ...loaded, [kind]: own });
  say(`This policy needs the file ${printable(name)}. Please choose it.`);
  $("choose-needed").textContent = `Choose ${printable(name)}`;
  $("choose-needed").hidden = false;
  $("choose-needed").focus();
  take = (file) =>
    trying(async (current) => {
      const table = await upload(`${TABLES[kind]}?${new URLSearchParams({ name: file.name })}`, file, () => {});
      if (!current()) return;
      offerOwn(kind, table);
      await load(policy, { ...loaded, [kind]: table.id });
    });
}

/** @param {(current: () => boolean) => Promise<void>} work can ask whether its answer is still the one to wait for */
async function trying(work) {
  const { history } = state;
  const mine = (chosen += 1);
  const current = () => mine === chosen && state.history === history;
  quiet($("protect-trouble"));
  if (document.activeElement === $("choose-needed")) $("choose-policy").focus(); // the button disappears
  $("choose-needed").hidden = true;
  say("");
  try {
    await work(current);
  } catch (error) {
    if (current()) trouble($("protect-trouble"), error);
  }
}
