// Load a history from a file, a folder or a sample.

import { remove, Trouble, upload } from "./api.js";
import { $, button, element, historyPicker, option, picker, quiet, trouble } from "./dom.js";
import { chosen, dropped } from "./drop.js";
import { ofHistory, state } from "./state.js";
import { bytes, printable, some } from "./words.js";

/** @type {() => Promise<void>} */
let ready;
/** @type {(history: any) => Promise<void>} */
let use;
/** The number of loads. */
let loads = 0;
/** Ends the current load. @type {AbortController | null} */
let stop = null;

/** @param {typeof ready} begun what a load has to wait for @param {typeof use} opened called with a new history */
export function listenToLoad(begun, opened) {
  ready = begun;
  use = opened;
  picker("choose-file", "file", (files) => loadFiles(chosen(files)));
  picker("choose-folder", "folder", (files) => loadFiles(chosen(files)));
  historyPicker("choose-labels", "labels", ([file]) =>
    load(file.name, (signal) => upload(ofHistory("labels", { name: file.name }), file, progress, signal)),
  );
  $("another").onclick = () => {
    swap("loading");
    $("choose-file").focus();
  };
  $("back").onclick = () => {
    swap("loaded");
    $("another").focus();
  };
  listenToDrops();
}

/** Shows the samples. */
export function offerSamples() {
  const { samples } = state.start;
  if (samples.length) $("samples").append(element("p", "soft", "No file at hand? Try a made-up history:"));
  for (const { id, name, description } of samples) {
    const sample = button("", () => load(name, (signal) => upload(`samples/${id}`, null, progress, signal)));
    sample.append(element("b", "", name), element("span", "soft small", description));
    $("samples").append(sample);
  }
}

/** A short description of what is loaded. */
export function showLoaded() {
  const { name, size, length, format, notes } = state.history;
  $("loaded-name").textContent = printable(name);
  $("loaded-words").textContent = `${some(size, "visit")} to ${some(length, "place")} (${format})`;
  $("notes").hidden = !notes.length;
  $("notes").open = true;
  $("notes-title").textContent = some(notes.length, "note");
  $("notes-list").replaceChildren(...notes.map((note) => element("li", "", note)));
  $("choose-labels").hidden = $("labels-words").hidden = format !== "timeline";
  quiet($("load-trouble"));
  swap("loaded");
}

/** Back to the beginning, unless something else is being loaded. */
export function clearLoaded() {
  for (const id of ["loaded-name", "loaded-words", "notes-list"]) $(id).replaceChildren();
  if ($("progress").hidden) $("progress-words").replaceChildren();
  swap($("progress").hidden ? "loading" : "progress");
}

/** @param {"loading" | "progress" | "loaded"} shown */
function swap(shown) {
  for (const id of ["loading", "progress", "loaded"]) $(id).hidden = id !== shown;
  $("back").hidden = !state.history;
}

/** @param {string} name @param {(signal: AbortSignal, more: Record<string, string>) => Promise<any>} read
 * @param {Record<string, string>} more options of reading */
async function load(name, read, more = {}) {
  loads += 1;
  stop?.abort();
  const mine = (stop = new AbortController());
  quiet($("load-trouble"));
  $("progress-words").textContent = `Reading ${printable(name)} …`;
  $("progress-bar").value = 0;
  swap("progress");
  $("cancel").onclick = () => mine.abort();
  $("cancel").focus();
  try {
    await Promise.race([ready(), stopped(mine.signal)]);
    swap("progress"); // what was loaded before a reload may be shown now
    const history = await read(mine.signal, more);
    mine.signal.throwIfAborted();
    await use(history);
  } catch (error) {
    // A newer one is being loaded.
    if (mine !== stop) return;
    swap(state.history ? "loaded" : "loading");
    $(state.history ? "another" : "choose-file").focus();
    if (mine.signal.aborted) return;
    const users = error instanceof Trouble ? error.users : [];
    const ways = users.length ? pickUser(users, (user) => load(name, read, { user })) : [];
    trouble($("load-trouble"), error, [...ways, button("Choose how to read it", showHowToRead)]);
    ways[0]?.focus();
  }
}

/** Fails when a load is stopped. @param {AbortSignal} signal @returns {Promise<never>} */
function stopped(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** The users of a file, to pick one from. @param {{name: string, visits: number}[]} users
 * @param {(user: string) => void} use */
function pickUser(users, use) {
  const list = element("select");
  list.ariaLabel = "User";
  list.append(...users.map(({ name, visits }) => option(name, `${printable(name)} (${some(visits, "visit")})`)));
  return [list, button("Load this user", () => use(list.value))];
}

/** @param {import("./drop.js").Named[]} files */
function loadFiles(files) {
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  const most = state.start?.limits.upload_bytes ?? Infinity;
  if (!files.length) {
    trouble($("load-trouble"), new Trouble("This folder has no files.", "Choose another file or folder.", 400));
  } else if (size > most) {
    const sentence = `${printable(files[0].path)} has ${bytes(size)}. The page can load up to ${bytes(most)}.`;
    trouble($("load-trouble"), new Trouble(sentence, "The command line reads files of any size.", 413));
  } else if (new Set(files.map(({ path }) => path.split("/")[0])).size > 1) {
    const sentence = "The page loads one file or one folder at a time.";
    trouble($("load-trouble"), new Trouble(sentence, "Drop one of these files, or the folder that they are in.", 400));
  } else if (files.length === 1) {
    const [{ path, file }] = files;
    const name = path.split("/").at(-1) ?? path;
    load(name, (signal, more) =>
      upload(`histories?${query({ name, ...howToRead(), ...more })}`, file, progress, signal),
    );
  } else {
    const name = files[0].path.split("/")[0];
    load(name, (signal, more) => uploadFolder(name, files, size, more, signal));
  }
}

/** @param {string} name @param {import("./drop.js").Named[]} files @param {number} size
 * @param {Record<string, string>} more options of reading @param {AbortSignal} signal */
async function uploadFolder(name, files, size, more, signal) {
  const { id } = await upload(`folders?${query({ name })}`, null, () => {}, signal);
  let sent = 0;
  try {
    for (const { path, file } of files) {
      const onProgress = (_, share) => progress("sent", (sent + share * file.size) / Math.max(1, size));
      await upload(`folders/${id}/files?${query({ name: path })}`, file, onProgress, signal);
      sent += file.size;
    }
    return await upload(`folders/${id}/read?${query({ ...howToRead(), ...more })}`, null, progress, signal);
  } catch (error) {
    // Files that were sent must not stay on the server.
    remove(`folders/${id}`).catch(() => {});
    throw error;
  }
}

/** Sending is the first third of the bar, reading the rest. @param {"sent" | "read"} part @param {number} share */
function progress(part, share) {
  $("progress-bar").value = part === "sent" ? share / 3 : 1 / 3 + (2 * share) / 3;
}

function showHowToRead() {
  swap("loading");
  $("reading").open = true;
  $("reading").querySelector("select").focus();
}

function howToRead() {
  const fields = [...$("reading").querySelectorAll("input, select")].filter((field) => field.value.trim());
  return Object.fromEntries(fields.map((field) => [field.name, field.value.trim()]));
}

/** A file may be dropped anywhere, at any time. */
function listenToDrops() {
  let depth = 0;
  const mark = (change) => document.body.classList.toggle("dragging", (depth = Math.max(0, depth + change)) > 0);
  document.addEventListener("dragenter", () => mark(1));
  document.addEventListener("dragleave", () => mark(-1));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    mark(-depth);
    if (!event.dataTransfer?.types.includes("Files")) return;
    const mine = (loads += 1);
    const files = await dropped(event.dataTransfer).catch(() => null);
    // Something else was dropped or chosen while a large folder was searched.
    if (mine !== loads) return;
    if (files) loadFiles(files);
    else trouble($("load-trouble"), new Trouble("Your browser cannot read this.", "Choose another file or folder.", 400));
  });
}

/** @param {Record<string, string>} parts */
function query(parts) {
  return new URLSearchParams(parts).toString();
}
