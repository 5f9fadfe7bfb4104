// What is ticked: places, and the presets and branches that ticked them.

/** The ground of ticks that are names of places. */
export const NAMES = "names";

const isPreset = (whole) => whole?.startsWith("preset:") ?? false;

export class Ticks {
  /** @param {Iterable<string>} places @param {Iterable<[string, string[]]>} wholes
   * @param {string} ground `NAMES`, or the kinds of place that are ticked like places */
  constructor(places = [], wholes = [], ground = NAMES) {
    this.ground = ground;
    /** @type {Set<string>} */
    this.places = new Set(places);
    /** Presets and branches that the person ticked as a whole, with their places. @type {Map<string, string[]>} */
    this.wholes = new Map(wholes);
  }

  copy() {
    return new Ticks(this.places, this.wholes, this.ground);
  }

  /**
   * Ticks the places, or unticks them if all are ticked. A place that another ticked preset or branch also covers stays
   * ticked: presets overlap, and a place is hidden as long as one of them covers it.
   * @param {string[]} places @param {string | null} whole the preset or branch that they are
   * @returns {string[]} the presets and branches because of which something stays ticked
   */
  toggle(places, whole) {
    if (this.state(places) !== "true") {
      this.#tick(places, whole);
      return [];
    }
    const others = this.#others(places, whole);
    const kept = new Set(others.flatMap((other) => this.wholes.get(other) ?? []));
    const inside = new Set(places);
    const loose = places.filter((place) => !kept.has(place));
    // Nothing can be unticked, so the press means that these places should be hidden in their own right.
    if (!loose.length && whole && !this.wholes.has(whole)) this.wholes.set(whole, places);
    else this.#untick(loose, whole);
    return others.filter((other) => this.wholes.get(other)?.some((place) => inside.has(place)));
  }

  clear() {
    this.places.clear();
    this.wholes.clear();
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

  /** The same ticks in another tree: wholes may have more places now, and places may be missing.
   * @param {Map<string, string[]>} wholes all presets and branches @param {Set<string>} places all places */
  moveTo(wholes, places) {
    this.places = new Set([...this.places].filter((place) => places.has(place)));
    const kept = [...this.wholes.keys()].filter((whole) => wholes.has(whole));
    this.wholes = new Map();
    kept.forEach((whole) => this.#tick(wholes.get(whole) ?? [], whole));
  }

  /** Converts the ticks: from kinds to their places, or from places to their kinds. Everything that was ticked stays
   * covered, so more may be ticked afterwards.
   * @param {string} ground of the new ticks @param {Map<string, Map<string, string>>} kinds of all places, by ground
   * @returns {boolean} whether that changed anything */
  become(ground, kinds) {
    if (ground === this.ground) return false;
    const [before, after] = [kinds.get(this.ground), kinds.get(ground)];
    const named = before ? [...before.keys()].filter((place) => this.places.has(before.get(place) ?? "")) : this.places;
    const changed = this.places.size > 0;
    this.places = new Set(after ? [...named].map((place) => after.get(place) ?? place) : named);
    this.ground = ground;
    return changed;
  }

  /** The wholes that keep their places ticked if these are unticked. A single place can be unticked by its name, and a
   * branch within the branch that contains it, but nothing else.
   * @param {string[]} places @param {string | null} whole */
  #others(places, whole) {
    if (whole === null && places.length === 1) return [];
    const around = (those) => ((all) => places.every((place) => all.has(place)))(new Set(those));
    return [...this.wholes.keys()].filter((other) => {
      if (other === whole) return false;
      return isPreset(whole) || isPreset(other) || !around(this.wholes.get(other) ?? []);
    });
  }

  /** @param {string[]} places @param {string | null} whole */
  #tick(places, whole) {
    places.forEach((place) => this.places.add(place));
    if (whole) this.wholes.set(whole, places);
  }

  /** @param {string[]} places @param {string | null} whole */
  #untick(places, whole) {
    places.forEach((place) => this.places.delete(place));
    if (whole) this.wholes.delete(whole);
    for (const [other, those] of this.wholes) {
      if (!those.every((place) => this.places.has(place))) this.wholes.delete(other);
    }
  }
}
