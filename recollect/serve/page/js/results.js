// Memories as one reads them: a row for each, and lists that are read page by page.
import { api } from "./api.js";
import { h, replace, toast } from "./dom.js";
import { stackedBar, terms } from "./explain.js";
import { marked, moment, plural, score, shorten } from "./format.js";
import { change, read } from "./route.js";

const PAGE = 30; // memories that are read at a time

/** Whose a memory is, in the fields in which those of a list differ. */
const owner = (memory, differingOwners) => differingOwners.filter((field) => memory[field]).map((field) => h("span", { class: "owner", title: `${field} ${memory[field]}` }, h("span", { class: "dim" }, `${field} `), shorten(memory[field], 24)));
export const differingOwners = (memories) => ["user", "agent", "collection"].filter((field) => new Set(memories.map((memory) => memory[field] || "")).size > 1);

const DATES = /\d{4}-\d\d-\d\d/g;

/** One memory, as one reads it; a result also with what made its score. */
export function row({ memory, rank, score: value, why, shares, notes, explanation, matched_words: similar = [] }, best, owners) {
  const matching = explanation ? [...terms(explanation)] : [];
  const opening = () => change({ open: memory.id, tab: "" });
  return h("li", { class: `result status-${memory.status}`, role: "option", tabindex: 0, "aria-selected": "false", "data-memory": memory.id, "aria-description": likeness(memory.text, similar), onclick: opening, onkeydown: (event) => { if (event.key === "Enter") opening(); } },
    rank && h("span", { class: "rank num" }, rank),
    h("div", null, h("div", { class: "text", dir: "auto" }, marked(memory.text, matching, similar)),
      notes.map((note) => h("div", { class: "note" }, note.replace(DATES, (date) => date.replaceAll("-", "\u2011")))), // a date stays on one line
      h("div", { class: "meta" }, shares && stackedBar(shares, value, best), shares && h("span", { class: "num", title: why }, score(value)), memory.status !== "active" && h("b", { class: "badge" }, memory.status), owner(memory, owners), moment(memory.created), (memory.speaker || memory.role === "assistant") && h("span", null, memory.speaker || memory.role), memory.session && h("span", { class: "session", title: `Session ${memory.session}` }, shorten(memory.session, 24)),
        (memory.tags || []).slice(0, 8).map((tag) => h("span", { class: "tag" }, `#${tag}`)), memory.source && h("span", null, shorten(memory.source, 40)), memory.path && h("span", { class: "mono" }, memory.path))));
}

/** The words that are dotted, in words. */
const likeness = (text, similar) => similar.map((word) => `“${[...text].slice(word.start, word.end).join("")}” matches “${word.query_word}” in meaning`).join(", ") || null;

export function select(id) {
  for (const item of document.querySelectorAll("[data-memory]")) item.setAttribute("aria-selected", String(item.dataset.memory === id));
}

export const more = (text, act) => h("button", { type: "button", class: "more", onclick: (event) => { event.target.disabled = true; act().catch((error) => toast(error.message)); } }, text);

/** All memories that pass a filter, in pages: how many there are, and what to show of them. */
export async function pages(filter, sort, signal) {
  const page = (cursor) => api.list({ filter, sort, limit: PAGE, cursor }, signal);
  const list = h("ul", { class: "results", role: "listbox", "aria-label": "Memories" }), further = h("div");
  let listed = [], owners = [];
  const add = ({ memories, next_cursor: next }) => {
    listed = [...listed, ...memories];
    const now = differingOwners(listed), same = String(now) === String(owners);
    owners = now;
    const rows = (same ? memories : listed).map((memory) => row({ memory, notes: [] }, 0, owners));
    if (same) list.append(...rows); else replace(list, rows);
    select(read().values.open);
    replace(further, next && more("Show more", async () => add(await page(next))));
  };
  const first = await page();
  add(first);
  return { total: first.total, parts: [h("p", { class: "dim small" }, `${plural(first.total, "memory", "memories")}, ${sort} first`), list, further] };
}
