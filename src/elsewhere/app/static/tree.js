// The kinds of place as a tree of check boxes, with keyboard navigation. A branch ticks everything below it.

import { Rows } from "./rows.js";
import { number, printable, some } from "./words.js";

/**
 * @typedef {{id: string, name: string, parent: string | null, count: number, known: boolean, own: string[],
 *   locations: string[]}} Kind
 * @typedef {{name: string, text: string, count: number, places: string[], whole: string | null, parent: Item | null,
 *   level: number, branch: boolean, id: string, unfolded: boolean, found: boolean, at: number, position: number,
 *   element: HTMLElement | null}} Item
 * @typedef {{tick: (places: string[], whole: string | null) => void, kind: (place: string) => void,
 *   why: (place: string, kind: string | null) => string, active: (place: string | null, why: string) => void}} Told
 */

/** A tree with at most this many places is shown unfolded. */
const UNFOLDED = 40;

export class Tree {
  /** @param {HTMLElement} root @param {Told} told called with ticks, with places whose kind should change, and with
   * the active place; `why` returns the reason for the kind of a place, "" if there is none */
  constructor(root, told) {
    this.root = root;
    this.told = told;
    /** The branches that the person folded or unfolded, by id. @type {Map<string, boolean>} */
    this.folds = new Map();
    /** All items, parents before their children. @type {Item[]} */
    this.items = [];
    /** The items that are neither folded away nor filtered out. @type {Item[]} */
    this.seen = [];
    /** The number of shown items of each branch, and of the tree itself. @type {Map<Item | null, number>} */
    this.sizes = new Map();
    /** The item in the tab order. @type {Item | null} */
    this.active = null;
    /** The item of an older tree that had the focus. @type {Item | null} */
    this.focused = null;
    /** @type {WeakMap<Element, Item>} */
    this.itemOf = new WeakMap();
    /** @type {import("./ticks.js").Ticks | null} */
    this.ticks = null;
    this.rows = new Rows(root, (at) => this.#drawn(this.seen[at]));
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => this.#pressed(event));
    // A screen reader may put the focus anywhere.
    root.addEventListener("focusin", ({ target }) => {
      this.#activate(this.itemOf.get(/** @type {Element} */ (target)));
      this.rows.draw();
    });
  }

  /** Sets other nodes, which the next search shows.
   * @param {Kind[]} nodes parents before their children @param {Map<string, number>} counts */
  show(nodes, counts) {
    // Another target adds other places, but must not take the focus away.
    this.focused = this.root.contains(document.activeElement) ? this.active : null;
    this.unfolded = counts.size <= UNFOLDED;
    this.items = [];
    this.active = null;
    const inside = placesBelow(nodes);
    /** @type {Map<string | null, Item | null>} */
    const branches = new Map([[null, null]]);
    const add = (name, count, places, whole, parent, branch, id) => {
      const level = (parent?.level ?? 0) + 1;
      const text = printable(name).toLowerCase();
      const folding = { unfolded: this.unfolded, found: true, at: -1, position: 0, element: null };
      this.items.push({ name, text, count, places, whole, parent, level, branch, id, ...folding });
      return this.items.at(-1) ?? null;
    };
    for (const { id, name, parent, count, known, own, locations } of nodes) {
      const above = branches.get(parent);
      if (above === undefined) continue;
      // A kind with a single place of the same name is shown as that place.
      if (locations.length === 1 && own.length === 1 && own[0].toLowerCase() === name.toLowerCase()) {
        add(own[0], count, own, null, above, false, id);
        continue;
      }
      const branch = add(name, count, locations, known ? id : null, above, true, id);
      branches.set(id, branch);
      // A place that also belongs to a kind below is shown there.
      const below = inside.get(id);
      const here = own.filter((place) => !below?.has(place));
      for (const place of here) add(place, counts.get(place) ?? 0, [place], null, branch, false, "");
    }
    this.rows.scroller.scrollTop = 0;
  }

  /** @param {import("./ticks.js").Ticks} ticks */
  mark(ticks) {
    this.ticks = ticks;
    this.rows.draw();
  }

  /** Shows the items with the text in their names, with everything above and below them. @param {string} text */
  search(text) {
    const wanted = text.trim().toLowerCase();
    const places = new Set();
    const whole = new Set();
    for (const item of this.items) {
      const match = item.text.includes(wanted);
      if (match) item.places.forEach((place) => places.add(place));
      if (match || whole.has(item.parent)) whole.add(item);
      item.found = whole.has(item);
      if (match) for (let above = item.parent; above && !above.found; above = above.parent) above.found = true;
      item.unfolded = wanted !== "" || (this.folds.get(item.id) ?? this.unfolded);
    }
    this.#arrange();
    const { focused } = this;
    if (focused) this.#enter(this.seen.find(({ name, branch }) => name === focused.name && branch === focused.branch));
    this.focused = null;
    return places.size;
  }

  /** Scrolls to a place, wherever it is in the tree. @param {string} place */
  reveal(place) {
    const item = this.items.find(({ name, branch, found }) => name === place && !branch && found);
    if (!item) return;
    for (let above = item.parent; above; above = above.parent) above.unfolded = true;
    const focused = this.root.contains(document.activeElement);
    this.active = item;
    this.#arrange();
    this.rows.reveal(item.at);
    if (focused) this.#enter(item);
  }

  /** Computes the rows to show. */
  #arrange() {
    this.seen = [];
    this.sizes.clear();
    for (const item of this.items) {
      const above = item.parent;
      const seen = item.found && (!above || (above.at >= 0 && above.unfolded));
      item.at = seen ? this.seen.push(item) - 1 : -1;
      if (seen) this.sizes.set(above, (item.position = (this.sizes.get(above) ?? 0) + 1));
    }
    this.#activate(this.active && this.active.at >= 0 ? this.active : this.seen[0]);
    this.rows.show(this.seen.length);
  }

  /** The updated element of an item. @param {Item} item */
  #drawn(item) {
    const element = (item.element ??= this.#made(item));
    element.tabIndex = item === this.active ? 0 : -1;
    element.ariaChecked = this.ticks?.state(item.places) ?? "false";
    if (item.branch) element.ariaExpanded = String(item.unfolded);
    element.ariaPosInSet = String(item.position);
    element.ariaSetSize = String(this.sizes.get(item.parent));
    return element;
  }

  /** @param {Item} item */
  #made(item) {
    const name = printable(item.name);
    const element = document.createElement("li");
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-label", `${name}, ${item.count ? some(item.count, "visit") : "never visited"}`);
    const why = this.#why(item);
    if (why) element.setAttribute("aria-description", why);
    if (why) element.setAttribute("aria-keyshortcuts", "K");
    element.setAttribute("aria-level", String(item.level));
    element.style.setProperty("--level", String(item.level - 1));
    element.classList.toggle("branch", item.branch);
    element.title = why ? `${name}\n${why}` : name;
    element.append(part("span", "twist"), part("span", "box"), part("bdi", "name", name));
    // Only for the mouse: the keyboard has K, and there is a button below the tree for everybody else.
    const pen = part("span", "pen");
    pen.ariaHidden = "true";
    if (why) element.append(pen);
    element.append(part("span", "count", item.count ? number(item.count) : "–"));
    this.itemOf.set(element, item);
    return element;
  }

  /** The reason for the kind of a place. @param {Item} item */
  #why({ name, branch, parent, id }) {
    if (branch) return "";
    // An item with an id is a kind itself; places without a kind are below a branch that is not a kind.
    return this.told.why(name, id ? name : parent?.whole ? parent.name : null);
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const element = target.closest("li");
    const item = element && this.itemOf.get(element);
    if (!item) return;
    this.#enter(item);
    if (target.closest(".twist") && item.branch) this.#fold(item, item.unfolded);
    else if (target.closest(".pen")) this.told.kind(item.name);
    else this.told.tick(item.places, item.whole);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const item = this.active;
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.#enter(this.seen[item.at + 1]),
      ArrowUp: () => this.#enter(this.seen[item.at - 1]),
      Home: () => this.#enter(this.seen[0]),
      End: () => this.#enter(this.seen.at(-1)),
      ArrowRight: () => {
        if (item.branch && !item.unfolded) this.#fold(item, false);
        else if (item.branch) this.#enter(this.seen[item.at + 1]);
      },
      ArrowLeft: () => (item.branch && item.unfolded ? this.#fold(item, true) : this.#enter(item.parent)),
      " ": () => this.told.tick(item.places, item.whole),
      Enter: () => this.told.tick(item.places, item.whole),
      k: () => this.#why(item) && this.told.kind(item.name),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @param {Item} item @param {boolean} folded */
  #fold(item, folded) {
    item.unfolded = !folded;
    this.folds.set(item.id, !folded);
    this.#arrange();
  }

  /** Puts the focus on an item. @param {Item | null | undefined} item */
  #enter(item) {
    if (!item) return;
    this.#activate(item);
    this.rows.reveal(item.at);
    item.element?.focus({ preventScroll: true });
  }

  /** Puts one item into the tab order. @param {Item | undefined} item */
  #activate(item) {
    this.active = item ?? null;
    this.rows.pinned = item ? item.at : null;
    const why = item ? this.#why(item) : "";
    this.told.active(item && why ? item.name : null, why);
  }
}

/** The places of all kinds right below each kind, by its id. @param {Kind[]} nodes */
function placesBelow(nodes) {
  /** @type {Map<string, Set<string>>} */
  const below = new Map();
  for (const { parent, locations } of nodes) {
    if (parent === null) continue;
    const places = below.get(parent) ?? new Set();
    locations.forEach((place) => places.add(place));
    below.set(parent, places);
  }
  return below;
}

/** @param {string} tag @param {string} className @param {string} [text] */
function part(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
