// More: choices that few people need. They are those of a policy.

import { $, all, option } from "./dom.js";
import { aimed, state } from "./state.js";
import { printable } from "./words.js";

/** The names of the distances. */
const DISTANCES = {
  js: "Jensen–Shannon divergence",
  jeffreys: "Jeffreys divergence",
  variational: "variational distance",
  l2: "Euclidean distance",
  "squared-l2": "squared Euclidean distance",
  pearson: "Pearson divergence",
  neyman: "Neyman divergence",
};

/** @param {(choice: any) => void} choose called with a choice */
export function listenToMore(choose) {
  for (const field of all("[data-other]")) {
    field.onchange = () => {
      if (!field.reportValidity()) return;
      const { [field.dataset.other]: _, ...others } = state.choices.other;
      const value = entered(field);
      choose({ other: value === null ? others : { ...others, [field.dataset.other]: value } });
    };
  }
  $("candidates").onchange = () => {
    const names = $("candidates").value.split("\n").map((name) => name.trim());
    choose({ candidates: [...new Set(names.filter(Boolean))] });
  };
  $("no-earlier").onclick = () => {
    $("choose-earlier").focus(); // the button disappears
    choose({ lower: null });
  };
}

/** @param {any} field @returns {string | number | boolean | null} null for the default */
function entered(field) {
  if (field.type === "checkbox") return field.checked || null;
  if (field.type === "number") return field.value === "" ? null : Number(field.value);
  return field.value || null;
}

/** Fills the lists of distances. */
export function offerDistances() {
  for (const field of all("[data-other=quality], [data-other=privacy]")) {
    // The first one is the default, which a policy need not name.
    field.append(...state.start.distances.map((name, at) => option(at ? name : "", DISTANCES[name] ?? name)));
  }
}

/** Shows what is chosen. @param {string | undefined} earlier the name of the earlier release */
export function showMore(earlier) {
  const { other, candidates, lower } = state.choices;
  for (const field of all("[data-other]")) {
    const value = other[field.dataset.other];
    if (field.type === "checkbox") field.checked = value === true;
    // Somebody may be writing a number while the places of an earlier choice arrive.
    else if (field.type !== "number" || field !== document.activeElement) field.value = value === undefined ? "" : String(value);
  }
  for (const label of all("#more [data-aimed]")) label.hidden = !aimed();
  for (const label of all("#more [data-hides]")) label.hidden = aimed();
  if (document.activeElement !== $("candidates")) $("candidates").value = candidates.join("\n");
  $("no-earlier").hidden = !lower;
  $("earlier-name").textContent = lower ? printable(earlier ?? "An earlier release") : "";
  // Choices must stay visible.
  if (Object.keys(other).length || candidates.length || lower) $("more").open = true;
}
