// Numbers and names in words, for people.

const whole = new Intl.NumberFormat("en");

/** @param {number} count @param {string} what */
export function some(count, what) {
  return `${whole.format(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** A count, or a target's number, which may be fractional. @param {number} count */
export function number(count) {
  if (Number.isInteger(count)) return whole.format(count);
  return count >= 100 ? whole.format(Math.round(count)) : String(Number(count.toPrecision(3)));
}

/** A distance, to four digits. @param {number | null | undefined} distance */
export function figure(distance) {
  return distance == null ? "–" : String(Number(distance.toPrecision(4)));
}

/** White space, control characters, characters that change the direction of text, and lone surrogates. */
const UNPRINTABLE = /[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+/gu;

/** A name for display; requests use the name itself. @param {string} name */
export function printable(name) {
  return name.replace(UNPRINTABLE, " ").trim() || "(no name)";
}

/** Lines of text, with a mark for each character that is invisible or changes the direction of others.
 * @param {string} text */
export function printableLines(text) {
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}]/gu, "\ufffd");
}

/** The first names in one line, and the number of the others. @param {string[]} names */
export function listed(names, most = 4) {
  const shown = names.slice(0, most).map(printable).join(", ");
  return names.length > most ? `${shown} and ${number(names.length - most)} more` : shown;
}

/** A number of bytes in a readable unit. @param {number} bytes */
export function bytes(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** @param {(string | null | undefined)[]} parts sentences, with or without their capitals and full stops */
export function sentences(...parts) {
  return parts.flatMap((part) => part || []).map(sentence).join(" ");
}

/** A name at the beginning stays as it is. @param {string} text */
function sentence(text) {
  const begun = /^[a-z]+ /.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
  return begun + (/[.!?]$/.test(text) ? "" : ".");
}
