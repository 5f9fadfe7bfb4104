// A list that may be long: only the visible rows, and some around them, are drawn.

/** Rows that are also drawn above and below, so that scrolling is smooth and a short list is complete. */
const AROUND = 60;

export class Rows {
  /**
   * @param {HTMLElement} list inside an element that scrolls; style.css gives its rows their height and their places
   * @param {(at: number) => HTMLElement} row updates the element of a row
   */
  constructor(list, row) {
    this.list = list;
    this.row = row;
    this.scroller = /** @type {HTMLElement} */ (list.parentElement);
    this.count = 0;
    /** A row that is always drawn, so that it does not lose the focus. @type {number | null} */
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

  /** Scrolls until the row is visible. @param {number} at */
  reveal(at) {
    const height = this.#height();
    const { scrollTop, clientHeight } = this.scroller;
    // The scrolling element has its own border.
    const edge = this.list.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top + scrollTop;
    const least = (at + 1) * height + 2 * edge - clientHeight;
    this.scroller.scrollTop = Math.max(Math.min(scrollTop, at * height), least);
    this.draw();
  }

  #height() {
    return this.list.getBoundingClientRect().height / Math.max(1, this.count);
  }

  #inSight() {
    // A hidden element has no height.
    const height = this.#height() || 32;
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.floor(scrollTop / height) - AROUND;
    return [Math.max(0, first), Math.min(this.count, Math.ceil((scrollTop + clientHeight) / height) + AROUND)];
  }
}

/** Does not move existing elements, because a moved element loses the focus.
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
