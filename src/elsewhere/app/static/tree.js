// The kinds of place as a tree of check boxes: a branch ticks all below it, and the keyboard walks it.

import { number, some } from "./words.js";

/**
 * @typedef {{id: string, name: string, parent: string | null, count: number, known: boolean, own: string[],
 *   locations: string[]}} Kind
 * @typedef {{places: string[], whole: string | null, element: HTMLLIElement, text: string}} Item
 */

/** A tree of at most so many places is shown unfolded. */
const UNFOLDED = 40;

export class Tree {
  /** @param {HTMLUListElement} root @param {(places: string[], whole: string | null) => void} onTick */
  constructor(root, onTick) {
    this.root = root;
    this.onTick = onTick;
    /** @type {Map<HTMLLIElement, Item>} */
    this.items = new Map();
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** @param {Kind[]} nodes parents before their children @param {Map<string, number>} counts */
  show(nodes, counts) {
    this.items.clear();
    this.unfolded = counts.size <= UNFOLDED;
    const groups = new Map([[null, this.root]]);
    const top = document.createDocumentFragment();
    for (const node of nodes) {
      const parent = node.parent === null ? top : groups.get(node.parent);
      const only = node.locations.length === 1 ? node.locations[0] : null;
      // A kind whose one place is called the same is that place.
      if (only !== null && node.own.length === 1 && only.toLowerCase() === node.name.toLowerCase()) {
        parent?.append(this.#leaf(only, counts));
        continue;
      }
      const branch = this.#item(node.name, node.count, node.locations, node.known ? node.id : null);
      branch.classList.add("branch");
      branch.setAttribute("aria-expanded", String(this.unfolded));
      const group = document.createElement("ul");
      group.setAttribute("role", "group");
      branch.append(group);
      groups.set(node.id, group);
      // What belongs to a kind below as well is shown there.
      const below = new Set(nodes.filter((other) => other.parent === node.id).flatMap((other) => other.locations));
      group.append(...node.own.filter((place) => !below.has(place)).map((place) => this.#leaf(place, counts)));
      parent?.append(branch);
    }
    this.root.replaceChildren(top);
    const first = this.root.querySelector("li");
    if (first) first.tabIndex = 0;
  }

  /** @param {import("./ticks.js").Ticks} ticks */
  mark(ticks) {
    for (const { element, places } of this.items.values()) element.ariaChecked = ticks.state(places);
  }

  /** Leaves what has the text in its name, with what is above and below it. @param {string} text */
  search(text) {
    const wanted = text.trim().toLowerCase();
    const found = new Set();
    for (const item of this.items.values()) {
      const inside = item.text.includes(wanted);
      if (inside) item.places.forEach((place) => found.add(place));
      item.element.hidden = !inside;
      if (item.element.ariaExpanded) item.element.ariaExpanded = String(wanted !== "" || this.unfolded);
    }
    for (const { element } of [...this.items.values()].filter((item) => !item.element.hidden)) {
      element.querySelectorAll("li").forEach((below) => (below.hidden = false));
      for (let above = parentOf(element); above; above = parentOf(above)) above.hidden = false;
    }
    this.#enter(this.#seen()[0], false);
    return found.size;
  }

  /** @param {string} place @param {Map<string, number>} counts */
  #leaf(place, counts) {
    return this.#item(place, counts.get(place) ?? 0, [place], null);
  }

  /** @param {string} name @param {number} count @param {string[]} places @param {string | null} whole */
  #item(name, count, places, whole) {
    const element = document.createElement("li");
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-label", `${name}, ${count ? some(count, "visit") : "never visited"}`);
    element.tabIndex = -1;
    const row = document.createElement("div");
    row.className = "row";
    row.append(part("span", "twist"), part("span", "box"), part("bdi", "name", name));
    row.append(part("span", "count", count ? number(count) : "–"));
    element.append(row);
    this.items.set(element, { places, whole, element, text: name.toLowerCase() });
    return element;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const element = target.closest("li");
    if (!element) return;
    this.#enter(element, true);
    if (target.closest(".twist") && element.ariaExpanded) fold(element, element.ariaExpanded === "true");
    else this.#tick(element);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const at = /** @type {HTMLElement} */ (event.target).closest("li");
    if (!at || event.ctrlKey || event.altKey || event.metaKey) return;
    const seen = this.#seen();
    const place = seen.indexOf(at);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.#enter(seen[place + 1]),
      ArrowUp: () => this.#enter(seen[place - 1]),
      Home: () => this.#enter(seen[0]),
      End: () => this.#enter(seen.at(-1)),
      ArrowRight: () => {
        if (at.ariaExpanded === "false") fold(at, false);
        else if (at.ariaExpanded) this.#enter(seen[place + 1]);
      },
      ArrowLeft: () => (at.ariaExpanded === "true" ? fold(at, true) : this.#enter(parentOf(at))),
      " ": () => this.#tick(at),
      Enter: () => this.#tick(at),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @param {HTMLLIElement} element */
  #tick(element) {
    const item = this.items.get(element);
    if (item) this.onTick(item.places, item.whole);
  }

  /** Puts one item into the tab order, and the focus on it. @param {HTMLLIElement | null | undefined} element */
  #enter(element, focus = true) {
    if (!element) return;
    this.root.querySelectorAll('[tabindex="0"]').forEach((other) => other.setAttribute("tabindex", "-1"));
    element.tabIndex = 0;
    if (focus) {
      element.focus({ preventScroll: true });
      element.querySelector(".row")?.scrollIntoView({ block: "nearest" });
    }
  }

  /** The items that are neither folded away nor filtered out. */
  #seen() {
    return [...this.root.querySelectorAll("li")].filter(
      (element) => !element.hidden && !element.parentElement?.closest('[aria-expanded="false"], [hidden]'),
    );
  }
}

/** @param {HTMLLIElement} element @param {boolean} folded */
function fold(element, folded) {
  element.ariaExpanded = String(!folded);
}

/** @param {HTMLLIElement} element @returns {HTMLLIElement | null} */
function parentOf(element) {
  return element.parentElement?.closest("li") ?? null;
}

/** @param {string} tag @param {string} className @param {string} [text] */
function part(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
