// Dates, numbers, marked words and differences, for people to read.
import { h } from "./dom.js";

const FOUR_WEEKS = 4 * 604800; // seconds
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat(navigator.language, { numeric: "auto" });
const whole = new Intl.NumberFormat(navigator.language);
export const count = (number) => whole.format(number);
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

export const bytes = (number) => { const [unit, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, each]) => number >= each) || ["bytes", 1]; return `${whole.format(Number((number / size).toPrecision(3)))} ${unit}`; };

/** Relative within four weeks, further away the date; the title has the exact moment, and how long ago it was. */
export function moment(text) {
  if (!text) return null;
  const when = new Date(text), seconds = (when - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) || ["second", 1];
  const distance = relative.format(Math.round(seconds / size), unit);
  return h("time", { datetime: text, title: `${when.toLocaleString()}, ${distance}` }, Math.abs(seconds) > FOUR_WEEKS ? day(text) : distance);
}

export const day = (text) => new Date(text).toLocaleDateString(navigator.language, { year: "numeric", month: "short", day: "numeric" });

export const month = (text) => new Date(text).toLocaleDateString(navigator.language, { year: "numeric", month: "short", timeZone: "UTC" });

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // written without spaces

/** The text in which the words that match are marked, and dotted those that match a word of the query in meaning alone. */
export function marked(text, matching, similar = []) {
  const known = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const sources = matching.filter((word) => word.length > 1 || UNSPACED.test(word)).map((word) => (UNSPACED.test(word) ? known(word) : `(?<![\\p{L}\\p{N}])${known(word)}[\\p{L}\\p{N}]*`));
  const found = sources.length ? [...text.matchAll(new RegExp(sources.join("|"), "giu"))].map((each) => [each.index, each.index + each[0].length, null]) : [];
  const letters = similar.length ? [...text] : []; // the API counts code points
  const place = (at) => letters.slice(0, at).join("").length;
  const dotted = similar.map((word) => [place(word.start), place(word.end), word.query_word]).filter(([start, end]) => !found.some(([from, to]) => start < to && from < end));
  const parts = [];
  let at = 0;
  for (const [start, end, like] of [...found, ...dotted].sort((a, b) => a[0] - b[0])) {
    const part = text.slice(start, end);
    parts.push(text.slice(at, start), like === null ? h("mark", null, part) : h("span", { class: "similar", title: `matches “${like}” in meaning` }, part));
    at = end;
  }
  return [...parts, text.slice(at)].filter((part) => part !== "");
}

/** What an undo took back: “Undone: remember, 3 minutes ago. Removed “The dock is …”, and 2 more”. */
export function describeUndo(begin, undone) {
  if (!undone) return "Nothing is left to undo.";
  const named = undone.memories.map((each) => `${each.change} “${shorten(each.text, 60)}”`), rest = undone.removed + undone.ids.length - named.length;
  return `${begin} ${undone.verb}, ${moment(undone.at).textContent}${named.length ? `: ${named.join(", ")}` : ""}${rest > 0 && named.length ? `, and ${count(rest)} more` : ""}`;
}

const WORD = /[\p{L}\p{N}]+(?:[.,:'’\-/][\p{L}\p{N}]+)*/gu;

/** The words of a text as [start, end, word in lower case]; a number, a date or an address is one word. */
const wordsOf = (text) => [...text.matchAll(WORD)].flatMap((found) => (UNSPACED.test(found[0]) ? [...found[0].matchAll(/./gsu)] : [found]).map((each) => { const at = each === found ? found.index : found.index + each.index; return [at, at + each[0].length, each[0].toLowerCase()]; }));

/** A text in which the words are marked that another text does not have: those with a figure, or those that two statements of the same
    thing differ in. Where most words differ, only figures are marked, or nothing. */
export function differing(text, other, kind) {
  const known = new Set(wordsOf(other).map(([, , word]) => word)), own = wordsOf(text);
  const differs = own.filter(([, , word]) => !known.has(word)), figures = differs.filter(([, , word]) => /\p{N}/u.test(word));
  const chosen = figures.length ? figures : differs.length * 2 <= own.length ? differs : [];
  const parts = [];
  let at = 0;
  for (const [start, end] of chosen) { parts.push(text.slice(at, start), h(kind, null, text.slice(start, end))); at = end; }
  return [...parts, text.slice(at)].filter((part) => part !== "");
}

/** Two texts as pieces of [kind, text], where the kind is "same", "del" or "ins". Words are compared, not letters. */
export function pieces(before, after) {
  const cut = (text) => text.split(/(\s+|[^\p{L}\p{N}\s]+)/u).filter(Boolean);
  const a = cut(before), b = cut(after);
  if (a.length * b.length > 250000) return [["del", before], ["ins", after]];
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + (/[\p{L}\p{N}]/u.test(a[i]) ? 2 : 1) : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const found = [];
  const add = (kind, text) => { const end = found[found.length - 1]; if (end && end[0] === kind) end[1] += text; else found.push([kind, text]); };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add("same", a[i]); i++; j++; }
    else if (i < a.length && (j === b.length || table[i + 1][j] >= table[i][j + 1])) add("del", a[i++]);
    else add("ins", b[j++]);
  }
  return found;
}

/** Two texts as one, with what went and what came. */
export const difference = (before, after) => pieces(before, after).map(([kind, text]) => (kind === "same" ? text : h(kind, null, text)));

export const shorten = (text, most = 90) => { const line = text.replace(/\s+/g, " ").trim(); return line.length > most ? `${line.slice(0, most - 1)}…` : line; };
