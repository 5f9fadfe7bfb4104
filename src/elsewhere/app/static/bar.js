// The bar that is always visible: what is hidden, what that changes, and a button to save.

import { $ } from "./dom.js";
import { aimed, state, unit } from "./state.js";
import { sentences, some } from "./words.js";

export function showBar() {
  const { answer, counts, history, ticks } = state;
  $("bar").hidden = !history;
  const hidden = ticks.places.size
    ? `Hidden: ${some(ticks.places.size, unit())} with ${some(ticks.visits(counts), "visit")}`
    : aimed() && answer?.possible
      ? null
      : "Nothing is hidden yet";
  // How noticeable the change is, is shown above; there is little room here.
  const [changed] = answer?.possible ? answer.plain.split(":") : [null];
  $("bar-words").textContent = history ? sentences(hidden, changed) : "";
}
