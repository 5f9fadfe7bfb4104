// How numbers and things are said to a person.

const whole = new Intl.NumberFormat("en");

/** @param {number} count @param {string} what */
export function some(count, what) {
  return `${whole.format(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** A count, or a target's number, which need not be whole. @param {number} count */
export function number(count) {
  if (Number.isInteger(count)) return whole.format(count);
  return count >= 100 ? whole.format(Math.round(count)) : String(Number(count.toPrecision(3)));
}

/** A distance, to four digits. @param {number | null | undefined} distance */
export function figure(distance) {
  return distance == null ? "–" : String(Number(distance.toPrecision(4)));
}

/** Names in one line, the later ones only counted. @param {string[]} names */
export function listed(names, most = 4) {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** The parts of a number of bytes that a person wants. @param {number} bytes */
export function bytes(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** @param {(string | null | undefined)[]} parts sentences, with or without their full stops */
export function sentences(...parts) {
  return parts.filter(Boolean).map((part) => (/[.!?]$/.test(part ?? "") ? part : `${part}.`)).join(" ");
}
