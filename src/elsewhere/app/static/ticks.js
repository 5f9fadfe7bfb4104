// What is ticked: places, and the presets and branches through which they were.

export class Ticks {
  constructor() {
    /** @type {Set<string>} */
    this.places = new Set();
    /** Presets and branches that were ticked as a whole, with their places. @type {Map<string, string[]>} */
    this.wholes = new Map();
  }

  /** @param {string[]} places @param {string | null} whole the preset or branch that they are */
  tick(places, whole) {
    places.forEach((place) => this.places.add(place));
    if (whole) this.wholes.set(whole, places);
  }

  /** @param {string[]} places */
  untick(places) {
    places.forEach((place) => this.places.delete(place));
    for (const [whole, those] of this.wholes) {
      if (!those.every((place) => this.places.has(place))) this.wholes.delete(whole);
    }
  }

  /** @param {string[]} places @returns {"true" | "false" | "mixed"} */
  state(places) {
    const ticked = places.filter((place) => this.places.has(place)).length;
    return ticked === 0 ? "false" : ticked === places.length ? "true" : "mixed";
  }

  /** @param {Map<string, number>} counts */
  visits(counts) {
    return [...this.places].reduce((sum, place) => sum + (counts.get(place) ?? 0), 0);
  }

  /** The same ticks on other ground: wholes may stand for more places now, and places may be gone.
   * @param {Map<string, string[]>} wholes all presets and branches @param {Set<string>} places all there are */
  moveTo(wholes, places) {
    this.places = new Set([...this.places].filter((place) => places.has(place)));
    const kept = [...this.wholes.keys()].filter((whole) => wholes.has(whole));
    this.wholes = new Map();
    kept.forEach((whole) => this.tick(wholes.get(whole) ?? [], whole));
  }
}
