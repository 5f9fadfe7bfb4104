// A list that may be long: only the rows in sight, and some around them, are drawn.

/** So many rows above and below are drawn as well: scrolling stays smooth, and a short list is there whole. */
const AROUND = 60;

export class Rows {
  /**
   * @param {HTMLElement} list inside an element that scrolls; style.css gives its rows their height and their places
   * @param {(at: number) => HTMLElement} row brings the element of a row up to date
   */
  constructor(list, row) {
    this.list = list;
    this.row = row;
    this.scroller = /** @type {HTMLElement} */ (list.parentElement);
    this.count = 0;
    /** A row that is drawn wherever it is, so that it does not lose the focus. @type {number | null} */
    this.pinned = null;
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  /** @param {number} count */
  show(count) {
    this.count = count;
    this.list.style.setProperty("--rows", String(count));
    this.draw();
  }

  draw() {
    const [first, last] = this.#inSight();
    const drawn = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
    if (this.pinned !== null && this.pinned < first) drawn.unshift(this.pinned);
    if (this.pinned !== null && this.pinned >= last && this.pinned < this.count) drawn.push(this.pinned);
    const elements = drawn.map((at) => {
      const element = this.row(at);
      element.style.setProperty("--at", String(at));
      return element;
    });
    put(this.list, elements);
  }

  /** Scrolls until the row is in sight. @param {number} at */
  reveal(at) {
    const height = this.#height();
    const { scrollTop, clientHeight } = this.scroller;
    // The element that scrolls has an edge of its own.
    const edge = this.list.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top + scrollTop;
    const least = (at + 1) * height + 2 * edge - clientHeight;
    this.scroller.scrollTop = Math.max(Math.min(scrollTop, at * height), least);
    this.draw();
  }

  #height() {
    return this.list.getBoundingClientRect().height / Math.max(1, this.count);
  }

  #inSight() {
    // What is hidden has no height.
    const height = this.#height() || 32;
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.floor(scrollTop / height) - AROUND;
    return [Math.max(0, first), Math.min(this.count, Math.ceil((scrollTop + clientHeight) / height) + AROUND)];
  }
}

/** Leaves alone what is there already: an element that is moved loses the focus.
 * @param {HTMLElement} list @param {HTMLElement[]} elements */
function put(list, elements) {
  const wanted = new Set(elements);
  for (const old of [...list.children]) if (!wanted.has(/** @type {HTMLElement} */ (old))) old.remove();
  let next = list.firstChild;
  for (const element of elements) {
    if (element === next) next = next.nextSibling;
    else list.insertBefore(element, next);
  }
}
