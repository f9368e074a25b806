// Dates, numbers, marked words and differences, for people to read.
import { h } from "./dom.js";

const YEAR = 31557600, MONTH = 2629800;
const UNITS = [["year", YEAR], ["month", MONTH], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat(navigator.language, { numeric: "auto" });
const whole = new Intl.NumberFormat(navigator.language);
export const count = (number) => whole.format(number);
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

export const bytes = (number) => { const [unit, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, each]) => number >= each) || ["bytes", 1]; return `${whole.format(Number((number / size).toPrecision(3)))} ${unit}`; };

/** Relative, with the exact moment as its title. */
export function moment(text) {
  if (!text) return null;
  const when = new Date(text);
  const seconds = (when - Date.now()) / 1000;
  const found = UNITS.find(([, each]) => Math.abs(seconds) >= each) || ["second", 1];
  const [unit, size] = Math.abs(seconds) < 2 * YEAR && found[1] === YEAR ? ["month", MONTH] : found; // 19 months are not two years
  return h("time", { datetime: text, title: when.toLocaleString() }, relative.format(Math.round(seconds / size), unit));
}

export const day = (text) => new Date(text).toLocaleDateString(navigator.language, { year: "numeric", month: "short", day: "numeric" });

export const month = (text) => new Date(text).toLocaleDateString(navigator.language, { year: "numeric", month: "short", timeZone: "UTC" });

/** The text in which some words are marked: those that match, and those that are near in meaning. */
export function marked(text, matching, near = []) {
  const find = (words) => words.filter((word) => word.length > 1).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = [...find(matching).map((word) => `(?<m>${word})`), ...find(near).map((word) => `(?<n>${word})`)];
  if (!parts.length) return [text];
  const sources = find([...matching, ...near]);
  const isMatch = new Set(matching.map((word) => word.toLowerCase()));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${sources.join("|")})[\\p{L}\\p{N}]*`, "giu");
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) pieces.push(text.slice(at, found.index));
    const lower = found[0].toLowerCase();
    const matches = [...isMatch].some((word) => lower.startsWith(word));
    pieces.push(h("mark", matches ? null : { class: "near" }, found[0]));
    at = found.index + found[0].length;
  }
  pieces.push(text.slice(at));
  return pieces;
}

/** Two texts as words that went and words that came. */
export function difference(before, after) {
  const a = before.split(/(\s+)/), b = after.split(/(\s+)/);
  if (a.length * b.length > 250000) return [h("del", null, before), " ", h("ins", null, after)];
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const pieces = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { pieces.push(a[i]); i++; j++; }
    else if (j < b.length && (i === a.length || table[i][j + 1] > table[i + 1][j])) pieces.push(h("ins", null, b[j++]));
    else pieces.push(h("del", null, a[i++]));
  }
  return pieces;
}

export const shorten = (text, most = 90) => { const line = text.replace(/\s+/g, " ").trim(); return line.length > most ? `${line.slice(0, most - 1)}…` : line; };
