// Conflicts: pairs that may state different values of the same thing, side by side, to decide.
import { api } from "../api.js";
import { byId, h, replace, toast } from "../dom.js";
import { count, day, differing, plural } from "../format.js";
import { change, filterOf } from "../route.js";

export function open(main) {
  last = "";
  replace(main, h("div", { class: "wide" }, h("h1", null, "Conflicts"), h("p", { class: "dim" }, "Pairs of memories that may state different values of the same thing, found by rule. Nothing changes until you decide."), h("div", { id: "answer" })));
  return () => { if (request) request.abort(); };
}

const AT_ONCE = 20000; // memories that are compared without asking
let last = "";
let request = null;

export async function update(main, values) {
  const key = JSON.stringify(filterOf(values));
  if (byId("answer").childElementCount && key === last) return;
  last = key;
  const { total } = await api.list({ filter: filterOf(values), limit: 1 });
  if (key !== last || !byId("answer")) return;
  if (total <= AT_ONCE) return compare(values);
  replace(byId("answer"), h("p", null, `Each of ${count(total)} memories is compared with those near it; that takes a while.`),
    h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: () => change({ since: "last month" }) }, "Only since last month"), h("button", { type: "button", onclick: () => compare(values) }, "Compare all")));
}

async function compare(values) {
  if (request) request.abort();
  request = new AbortController();
  const bar = h("progress", { max: 1, "aria-label": "Comparing" }), text = h("span", { class: "dim small" });
  replace(byId("answer"), h("div", { class: "row" }, bar, text));
  const progress = (done, total) => { bar.max = total; bar.value = done; text.textContent = `${count(done)} of ${count(total)}`; };
  try {
    const { conflicts } = await api.conflicts({ filter: filterOf(values), limit: 50 }, request.signal, progress);
    show(conflicts);
  } catch (error) {
    if (error.name !== "AbortError" && byId("answer")) replace(byId("answer"), h("p", { class: "empty", role: "alert" }, error.message, " ", error.hint));
  }
}

function show(conflicts) {
  if (!byId("answer")) return;
  if (!conflicts.length) return replace(byId("answer"), h("p", { class: "empty" }, "No two memories seem to disagree."));
  replace(byId("answer"), h("p", { class: "small dim", role: "status" }, plural(conflicts.length, "pair")), [...new Set(conflicts.map((each) => each.reason))].map((reason) => [h("h2", null, reason), conflicts.filter((each) => each.reason === reason).map(pair)]));
}

function pair({ older, newer }) {
  const side = (memory, title, parts) => h("button", { type: "button", class: "side", title: "What was said around it", onclick: () => change({ open: memory.id, tab: memory.session ? "around" : "memory" }) }, h("span", { class: "dim small" }, `${title}, ${[day(memory.created), memory.speaker].filter(Boolean).join(" · ")}`), h("span", { class: "text", dir: "auto" }, parts));
  const decide = async (call, text) => {
    try {
      await call();
      box.remove();
      toast(text, "Undo", () => api.undo().then(() => { last = "none"; dispatchEvent(new HashChangeEvent("hashchange")); }).catch((error) => toast(error.message)));
    } catch (error) { toast(error.message); }
  };
  const box = h("article", { class: "pair" }, side(older, "Earlier", differing(older.text, newer.text, "del")), side(newer, "Newer", differing(newer.text, older.text, "ins")),
    h("div", { class: "decide row" }, h("button", { type: "button", class: "primary", onclick: () => decide(() => api.supersede(older.id, { new: newer.id }), "The newer one holds.") }, "Keep the newer"),
      h("button", { type: "button", onclick: () => decide(() => api.link({ source: newer.id, target: older.id, kind: "distinct_from", weight: 0 }), "Both stay, and are not reported again.") }, "Keep both"), h("button", { type: "button", onclick: () => decide(() => api.contradict({ a: older.id, b: newer.id }), "Marked as a contradiction.") }, "They contradict")));
  return box;
}
