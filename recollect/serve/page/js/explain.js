// Explanations as pictures: the stacked bar of a result, and the waterfall from its parts to its score.
import { h, svg } from "./dom.js";
import { score } from "./format.js";

const CUES = ["words", "vectors", "tokens", "time", "session", "history", "trigrams"];
const LINKS = ["spread", "related names", "links", "edges"];
const MEANINGS = { words: "same words", vectors: "meaning", tokens: "meaning, word by word", time: "the time asked for", session: "its session", history: "the turns before", trigrams: "similar spelling", links: "links" };
export const colour = (name) => (CUES.includes(name) ? `c-${name}` : LINKS.includes(name) ? "c-links" : "c-other");
export const meaning = (name) => MEANINGS[name] || name;

/** One thin bar: its length is the score among the results, its parts are what made it. */
export function stackedBar(shares, value, best, width = 140) {
  const length = Math.max(3, width * Math.min(1, best > 0 ? value / best : 0));
  let x = 0;
  const parts = (shares.length ? shares : [{ name: "other", share: 1 }]).map(({ name, share }) => {
    const part = svg("rect", { x: x.toFixed(2), y: 0, width: Math.max(0, share * length).toFixed(2), height: 8, class: colour(name) }, svg("title", null, `${meaning(name)} ${Math.round(share * 100)}%`));
    x += share * length;
    return part;
  });
  const label = shares.map(({ name, share }) => `${meaning(name)} ${Math.round(share * 100)}%`).join(", ");
  return svg("svg", { class: "bar", width, height: 8, viewBox: `0 0 ${width} 8`, role: "img", "aria-label": label || "score" }, parts);
}

const place = (name) => (CUES.indexOf(name) + CUES.length + 1) % (CUES.length + 1); // other names come last

/** What the colours mean and, if there are any, the dotted words. */
export function legend(names, dotted = false) {
  return h("div", { class: "legend" }, [...new Set(names)].sort((a, b) => place(a) - place(b)).map((name) => h("span", null, h("i", { class: colour(name) }), meaning(name))), dotted && h("span", { title: "Point at a dotted word to see which word of the query it matches." }, h("span", { class: "similar" }, "dotted"), ": another word, similar meaning"));
}

const components = (node) => (node.parts || []).filter((part) => part.role === "component");
const hasBlend = (node) => components(node).length > 0 || (node.parts || []).some(hasBlend);

/** The steps from the parts of the blend to the score; each is {label, from, to, node, cue}. The numbers add up. */
export function steps(root) {
  const path = [];
  let node = root;
  for (;;) {
    const inner = (node.parts || []).find((part) => part.role !== "component" && hasBlend(part));
    if (!inner) break;
    path.unshift([inner, node]);
    node = inner;
  }
  const listed = [];
  let total = 0;
  if (node && components(node).length) {
    for (const part of node.parts) {
      if (part.value === 0) continue;
      listed.push({ label: meaning(part.name || part.label), from: total, to: total + part.value, node: part, cue: part.name || "other" });
      total += part.value;
    }
  } else {
    listed.push({ label: node.label, from: 0, to: node.value, node, cue: "other" });
    total = node.value;
  }
  for (const [inner, outer] of path) {
    if (Math.abs(outer.value - inner.value) < 5e-4) continue; // 0.000 on the screen
    const others = outer.parts.filter((part) => part !== inner);
    const [only] = others.length === 1 ? others : [];
    const label = only && outer.operation === "×" ? `${only.label === "share" ? "shared with its session" : only.label} ×${Number(only.value.toPrecision(3))}` : only && only.role === "component" ? meaning(only.name) : outer.label;
    listed.push({ label, from: inner.value, to: outer.value, node: outer, cue: only && only.role === "component" ? only.name : null, skip: inner });
  }
  return listed;
}

/** From parts to result; a click on a bar opens its arithmetic. */
export function waterfall(root, onOpen) {
  const rows = [...steps(root), { label: "score", from: 0, to: root.value, node: root, cue: "total" }];
  const height = 26, width = 400, left = 190, right = 58;
  const top = Math.max(...rows.map((row) => Math.max(row.from, row.to)), 1e-9);
  const x = (value) => left + (Math.max(0, value) / top) * (width - left - right);
  const drawn = rows.map((row, at) => {
    const y = at * height, change = row.to - row.from;
    const kind = row.cue === "total" ? "c-total" : row.cue ? colour(row.cue) : change < 0 ? "c-minus" : "c-plus";
    const shown = row.label.length > 30 ? `${row.label.slice(0, 29)}…` : row.label;
    return svg("g", { class: "step", tabindex: 0, role: "button", "aria-label": `${row.label}: ${change >= 0 ? "+" : ""}${score(change)}`, onclick: () => onOpen(row), onkeydown: (event) => { if (event.key === "Enter") onOpen(row); } },
      svg("rect", { class: "ground", x: 0, y, width, height }),
      svg("text", { x: 0, y: y + 17 }, shown, svg("title", null, row.label)),
      svg("rect", { x: x(Math.min(row.from, row.to)).toFixed(1), y: y + 6, width: Math.max(1.5, Math.abs(x(row.to) - x(row.from))).toFixed(1), height: 14, rx: 2, class: kind }),
      svg("text", { class: "value", x: width, y: y + 17, "text-anchor": "end" }, row.cue === "total" ? score(row.to) : `${change >= 0 ? "+" : "−"}${score(Math.abs(change))}`));
  });
  return svg("svg", { class: "waterfall", viewBox: `0 0 ${width} ${rows.length * height}` }, drawn);
}

/** The arithmetic as a tree that can be opened. */
export function tree(node, depth = 0, stop = null) {
  const line = [h("span", { class: "num" }, score(node.value)), " ", node.operation && node.parts ? `${node.operation} ` : "", node.label];
  const parts = (node.parts || []).filter((part) => part !== stop);
  if (!parts.length) return h("li", null, line);
  return h("li", null, h("details", depth < 2 ? { open: true } : null, h("summary", null, line), h("ul", null, parts.map((part) => tree(part, depth + 1, stop)))));
}

/** The words of the query that a result matches. */
export function terms(node, found = new Set()) {
  if (node.role === "term" && node.value > 0) node.name.split(" in ")[0].replace(/[*"]|^compounds of /g, "").split(/\s+/).forEach((word) => found.add(word));
  (node.parts || []).forEach((part) => terms(part, found));
  return found;
}

/** What each cue gave: its part of the blend, by name. */
export function cueValues(root) {
  const found = new Map();
  const walk = (node) => { if (node.role === "component" && node.value !== 0) found.set(node.name || node.label, node.value); (node.parts || []).forEach(walk); };
  walk(root);
  return found;
}

/** The score after each step that changed it, by the name of the step. */
export function stageValues(root) {
  const found = new Map();
  const walk = (node) => { const name = (node.label || "").replace(/^after /, ""); if (!found.has(name)) found.set(name, node.value); (node.parts || []).filter((part) => part.role !== "component").forEach(walk); };
  walk(root);
  return found;
}
