// What was dropped or chosen, as files with their paths.

/** @typedef {{path: string, file: File}} Named */

/** @param {DataTransfer} transfer @returns {Promise<Named[]>} */
export async function dropped(transfer) {
  // The entries must be asked for before the first wait: the transfer is empty after it.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  return (await Promise.all(entries.map(walk))).flat();
}

/** @param {FileList} files @returns {Named[]} */
export function chosen(files) {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** @param {FileSystemEntry} entry @returns {Promise<Named[]>} */
async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ""), file }];
  }
  const reader = entry.createReader();
  const found = [];
  // A reader gives some entries at a time, and none when there are no more.
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map(walk))).flat());
  }
}
