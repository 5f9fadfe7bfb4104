// Load a policy: restore choices that were saved earlier.

import { upload } from "./api.js";
import { $, button, picker, quiet, trouble } from "./dom.js";
import { offerOwn, ownTable, say, showAgain } from "./protect.js";
import { ofHistory, recall, state } from "./state.js";
import { remember } from "./undo.js";
import { printable } from "./words.js";

/** Takes the file that a policy needs. @type {(file: File) => void} */
let take;

export function listenToPolicies() {
  picker("choose-policy", "policy-file", ([file]) => load(file, {}));
  picker("choose-needed", "needed-file", ([file]) => take(file));
}

/** @param {File} policy @param {Record<string, string>} loaded the ids of files that it needs */
function load(policy, loaded) {
  return trying(async (history) => {
    const answer = await upload(ofHistory("policy", { name: policy.name, ...loaded }), policy, () => {});
    if (state.history !== history) return;
    if (answer.needs) return ask(policy, loaded, answer.needs[0]);
    remember();
    recall(answer.question);
    await showAgain();
    say(`The choices of ${printable(policy.name)} are set.`, ...answer.notes);
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
    trying(async (history) => {
      const path = { target: "targets", taxonomy: "taxonomies", lower: "releases" }[kind];
      const table = await upload(`${path}?${new URLSearchParams({ name: file.name })}`, file, () => {});
      if (state.history !== history) return;
      offerOwn(kind, table);
      await load(policy, { ...loaded, [kind]: table.id });
    });
}

/** @param {(history: any) => Promise<void>} work */
async function trying(work) {
  quiet($("protect-trouble"));
  $("choose-needed").hidden = true;
  say("");
  try {
    await work(state.history);
  } catch (error) {
    trouble($("protect-trouble"), error);
  }
}
