// Dropped or chosen files, with their paths.

/** @typedef {{path: string, file: File}} Named */

/** @param {DataTransfer} transfer @returns {Promise<Named[]>} */
export async function dropped(transfer) {
  // Get the entries before the first await, because the transfer is empty after it.
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
  // A reader returns some entries at a time, and none at the end.
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map(walk))).flat());
  }
}
