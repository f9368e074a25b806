// Conflicts: pairs that may state different values of the same thing, side by side, to decide.
import { api } from "../api.js";
import { byId, h, replace, toast } from "../dom.js";
import { day, difference, plural } from "../format.js";
import { change, filterOf } from "../route.js";

export function open(main) {
  replace(main, h("div", { class: "wide" }, h("h1", null, "Conflicts"), h("p", { class: "dim" }, "Pairs of memories that may state different values of the same thing, found by rule. Nothing changes until you decide."), h("div", { id: "answer" })));
}

let last = "";

export async function update(main, values) {
  const key = JSON.stringify(filterOf(values));
  if (byId("answer").childElementCount && key === last) return;
  last = key;
  replace(byId("answer"), h("div", { class: "skeleton" }));
  const { conflicts } = await api.conflicts({ filter: filterOf(values), limit: 50 });
  if (!conflicts.length) return replace(byId("answer"), h("p", { class: "empty" }, "No two memories seem to disagree."));
  replace(byId("answer"), h("p", { class: "small dim", role: "status" }, plural(conflicts.length, "pair")), conflicts.map(pair));
}

function pair({ older, newer, reason }) {
  const side = (memory, title, parts) => h("div", { class: "side" }, h("div", { class: "dim small" }, `${title}, ${day(memory.created)}`), h("div", null, parts), h("button", { type: "button", class: "plain small", onclick: () => change({ open: memory.id, tab: "around" }) }, "around"));
  const pieces = difference(older.text, newer.text);
  const without = (name) => pieces.map((piece) => (typeof piece === "string" ? piece : piece.tagName === name ? null : piece.cloneNode(true))).filter((piece) => piece !== null);
  const decide = async (call, text) => {
    try {
      await call();
      box.remove();
      toast(text, "Undo", () => api.undo().then(() => { last = "none"; dispatchEvent(new HashChangeEvent("hashchange")); }).catch((error) => toast(error.message)));
    } catch (error) { toast(error.message); }
  };
  const box = h("article", { class: "pair" }, side(older, "Earlier", without("INS")), side(newer, "Newer", without("DEL")),
    h("div", { class: "decide row" }, h("span", { class: "dim small" }, reason), h("button", { type: "button", class: "primary", onclick: () => decide(() => api.supersede(older.id, { new: newer.id }), "The newer one holds.") }, "Keep the newer"),
      h("button", { type: "button", onclick: () => box.remove() }, "Keep both"), h("button", { type: "button", onclick: () => decide(() => api.contradict({ a: older.id, b: newer.id }), "Marked as a contradiction.") }, "They contradict")));
  return box;
}
