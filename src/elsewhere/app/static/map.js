// The map: a dot for each place with coordinates. Dots that would overlap are merged; a merged dot zooms in.

import { get } from "./api.js";
import { shape } from "./bars.js";
import { $ } from "./dom.js";
import { ofHistory, state, tickOf } from "./state.js";
import { number, printable, some } from "./words.js";

/**
 * @typedef {{name: string, x: number, y: number, count: number}} Place in degrees to the east and to the north
 * @typedef {{places: Place[], x: number, y: number, count: number, element: any}} Dot on the picture
 */

const [WIDTH, HEIGHT] = [400, 300];
/** Dots closer than this many units are merged. They are searched in cells of that size and their neighbours. */
const CELL = 14;
const AROUND = [-1, 0, 1].flatMap((right) => [-1, 0, 1].map((down) => [right, down]));
/** The least and the most degrees of latitude in the picture. */
const [NEAREST, FARTHEST] = [0.004, 260];
const KM_PER_DEGREE = 111.2;

/** @type {Place[]} */
let places = [];
/** @type {Dot[]} */
let dots = [];
/** The middle of the picture, and the degrees of latitude that it shows. */
let view = { x: 0, y: 0, span: FARTHEST };
/** The places of often sensitive kinds. @type {Set<string>} */
let delicate = new Set();
/** The dot in the tab order. */
let active = 0;
/** The number of requests for land. */
let asked = 0;
/** @type {(places: string[]) => void} */
let toggle;

/** @param {typeof toggle} onTick */
export function listenToMap(onTick) {
  toggle = onTick;
  $("map-in").onclick = () => zoom(0.5);
  $("map-out").onclick = () => zoom(2);
  $("map-all").onclick = () => fit(places);
  $("map-picture").onclick = clicked;
  $("map-picture").onkeydown = pressed;
  // A screen reader may put the focus anywhere.
  $("map-dots").addEventListener("focusin", ({ target }) => activate(dots.findIndex(({ element }) => element === target)));
}

/** Fetches the coordinates of the places, and shows them if the file has any. */
export async function showMap() {
  const { history } = state;
  const found = (await get(ofHistory("map"))).places;
  if (state.history !== history) return;
  const counts = new Map(history.locations.map(({ name, count }) => [name, count]));
  const east = unwrapped(found.map(({ longitude }) => longitude));
  places = found.map(({ name, latitude, longitude }) => {
    return { name, x: east(longitude), y: latitude, count: counts.get(name) ?? 0 };
  });
  places.sort((one, other) => other.count - one.count);
  $("map").hidden = !places.length;
  const all = places.length === history.length ? "" : `${number(places.length)} of `;
  $("map-words").textContent =
    `${all}${some(history.length, "place")}, larger with more visits. Choose a dot to hide its place, or the map to ` +
    "zoom in. The tree below has the same places.";
  if (places.length) fit(places);
}

/** Shows what is ticked. @param {Iterable<string>} [sensitive] the places of often sensitive kinds, if they changed */
export function markMap(sensitive) {
  if (sensitive) delicate = new Set(sensitive);
  for (const dot of dots) mark(dot);
}

/** Clears everything about a history. */
export function clearMap() {
  asked += 1;
  places = [];
  dots = [];
  delicate.clear();
  $("map").hidden = true;
  $("map-dots").replaceChildren();
  $("map-land").removeAttribute("d");
}

/** Longitudes without a jump at the date line: they start after the widest gap between them.
 * @param {number[]} longitudes @returns {(longitude: number) => number} */
function unwrapped(longitudes) {
  const sorted = [...new Set(longitudes)].sort((a, b) => a - b);
  let [first, widest] = [sorted[0], sorted[0] + 360 - (sorted.at(-1) ?? 0)];
  sorted.slice(1).forEach((east, at) => {
    if (east - sorted[at] > widest) [first, widest] = [east, east - sorted[at]];
  });
  return (longitude) => (longitude < first ? longitude + 360 : longitude);
}

/** Zooms to these places. @param {Place[]} shown */
function fit(shown) {
  const [west, east] = ends(shown.map(({ x }) => x));
  const [south, north] = ends(shown.map(({ y }) => y));
  const y = (south + north) / 2;
  const span = 1.25 * Math.max(north - south, ((east - west) * narrowed(y) * HEIGHT) / WIDTH, 0.016);
  view = { x: (west + east) / 2, y, span: Math.min(FARTHEST, span) };
  draw();
}

/** @param {number[]} values */
function ends(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
}

/** @param {number} factor */
function zoom(factor) {
  view = { ...view, span: Math.min(FARTHEST, Math.max(NEAREST, view.span * factor)) };
  draw();
}

/** How much shorter a degree to the east is than one to the north. @param {number} latitude */
const narrowed = (latitude) => Math.max(0.1, Math.cos((latitude * Math.PI) / 180));

/** Units of the picture per degree, to the east and to the north. */
function scale() {
  const north = HEIGHT / view.span;
  return [north * narrowed(view.y), north];
}

function draw() {
  const focused = $("map-dots").contains(document.activeElement);
  dots = merged();
  active = 0;
  $("map-dots").replaceChildren(...dots.map((dot) => dot.element));
  dots.forEach(mark);
  if (focused) enter(0);
  $("map-in").disabled = view.span <= NEAREST;
  $("map-out").disabled = view.span >= FARTHEST;
  drawScale();
  drawLand();
}

/** The visible dots, the places with the most visits first. @returns {Dot[]} */
function merged() {
  const [east, north] = scale();
  /** @type {Map<string, Dot>} */
  const cells = new Map();
  for (const place of places) {
    const [x, y] = [WIDTH / 2 + (place.x - view.x) * east, HEIGHT / 2 - (place.y - view.y) * north];
    if (x < 0 || x > WIDTH || y < 0 || y > HEIGHT) continue;
    const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    const near = AROUND.map(([right, down]) => cells.get(`${column + right} ${row + down}`));
    // A cell has at most one dot, although its corners may be farther apart.
    const dot = cells.get(`${column} ${row}`) ?? near.find((one) => one && Math.hypot(one.x - x, one.y - y) < CELL);
    if (!dot) cells.set(`${column} ${row}`, { places: [place], x, y, count: place.count, element: null });
    else {
      dot.places.push(place);
      dot.count += place.count;
    }
  }
  const found = [...cells.values()].sort((one, other) => other.count - one.count);
  const most = Math.sqrt(found[0]?.count ?? 1);
  found.forEach((dot, at) => {
    const radius = 3 + (7 * Math.sqrt(dot.count)) / most;
    const [x, y] = [dot.x, dot.y].map((value) => value.toFixed(1));
    dot.element = shape("circle", { cx: x, cy: y, r: radius.toFixed(1), tabindex: at ? "-1" : "0" });
    dot.element.append(shape("title", {}));
  });
  return found;
}

/** Brings a dot up to date. @param {Dot} dot */
function mark({ places: inside, count, element }) {
  const hidden = state.ticks.state(inside.map(({ name }) => tickOf(name)));
  const sensitive = inside.some(({ name }) => delicate.has(tickOf(name)));
  const single = isTicked(inside);
  const what = inside.length === 1 ? printable(inside[0].name) : some(inside.length, "place");
  const about = `${what}, ${some(count, "visit")}${sensitive ? ", often sensitive" : ""}`;
  element.setAttribute("class", ["dot", single ? "" : "several", sensitive ? "sensitive" : "", `is-${hidden}`].join(" "));
  element.setAttribute("role", single ? "checkbox" : "button");
  element.setAttribute("aria-label", single ? about : `${about}. Zoom in`);
  if (single) element.setAttribute("aria-checked", hidden);
  element.firstChild.textContent = about;
}

/** Whether a dot ticks its places: if it has one, or several that no zoom level separates. @param {Place[]} inside */
const isTicked = (inside) => inside.length === 1 || view.span <= NEAREST;

/** Ticks the places of a dot, or zooms in if it has several. @param {Dot} dot */
function choose({ places: inside }) {
  if (isTicked(inside)) return toggle([...new Set(inside.map(({ name }) => tickOf(name)))]);
  const before = view.span;
  fit(inside);
  if (view.span > before / 2) zoom(before / 2 / view.span);
}

/** @param {MouseEvent} event */
function clicked(event) {
  const at = dots.findIndex(({ element }) => element === event.target);
  if (at >= 0) {
    const dot = dots[at];
    enter(at);
    return choose(dot);
  }
  const box = $("map-picture").getBoundingClientRect();
  const [east, north] = scale();
  const x = ((event.clientX - box.left) / box.width - 0.5) * WIDTH;
  const y = ((event.clientY - box.top) / box.height - 0.5) * HEIGHT;
  view = { ...view, x: view.x + x / east, y: view.y - y / north };
  zoom(0.5);
}

/** Arrow keys go from dot to dot. @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !dots.length) return;
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowRight: () => enter(active + 1),
    ArrowDown: () => enter(active + 1),
    ArrowLeft: () => enter(active - 1),
    ArrowUp: () => enter(active - 1),
    Home: () => enter(0),
    End: () => enter(dots.length - 1),
    " ": () => choose(dots[active]),
    Enter: () => choose(dots[active]),
    "+": () => zoom(0.5),
    "-": () => zoom(2),
  };
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
}

/** Puts the focus on a dot. @param {number} at */
function enter(at) {
  const next = dots[Math.min(dots.length - 1, Math.max(0, at))];
  if (!next) return $("map-all").focus();
  activate(dots.indexOf(next));
  next.element.focus({ preventScroll: true });
}

/** Puts one dot into the tab order. @param {number} at */
function activate(at) {
  dots[active]?.element.setAttribute("tabindex", "-1");
  active = Math.max(0, at);
  dots[active]?.element.setAttribute("tabindex", "0");
}

/** A bar as long as a round number of kilometres. */
function drawScale() {
  const [, north] = scale();
  const room = (100 / north) * KM_PER_DEGREE;
  const power = 10 ** Math.floor(Math.log10(room));
  const long = power * ([5, 2, 1].find((digit) => digit * power <= room) ?? 1);
  $("map-scale").setAttribute("d", `M10 290h${((long / KM_PER_DEGREE) * north).toFixed(1)}`);
  $("map-scale-words").textContent = long < 1 ? `${Math.round(1000 * long)} m` : `${number(long)} km`;
}

/** The land arrives later, because it may have to be unpacked. */
async function drawLand() {
  asked += 1;
  const mine = asked;
  const [east, north] = scale();
  const [wide, high] = [WIDTH / 2 / east, HEIGHT / 2 / north];
  place(null);
  const edges = { west: view.x - wide, east: view.x + wide, south: view.y - high, north: view.y + high };
  const land = await get(`land?${new URLSearchParams(Object.entries(edges).map(([edge, at]) => [edge, String(at)]))}`).catch(
    () => null, // the map also works without land
  );
  if (mine === asked) place(land);
}

/** @param {{west: number, north: number, cell: number, path: string} | null} land */
function place(land) {
  if (!land) return $("map-land").removeAttribute("d");
  const [east, north] = scale();
  const [x, y] = [WIDTH / 2 + (land.west - view.x) * east, HEIGHT / 2 - (land.north - view.y) * north];
  $("map-land").setAttribute("transform", `translate(${x} ${y}) scale(${land.cell * east} ${land.cell * north})`);
  $("map-land").setAttribute("d", land.path);
}
