// Health: the file, the embedder, and what is missing.
import { api } from "../api.js";
import { byId, h, replace } from "../dom.js";
import { count, moment } from "../format.js";

export function open(main) {
  replace(main, h("div", { class: "narrow" }, h("h1", null, "Health"), h("div", { id: "answer" })));
}

export async function update() {
  const status = await api.status();
  const listed = (counts) => Object.entries(counts).map(([name, number]) => `${count(number)} ${name}`).join(", ") || "none";
  const rows = {
    Memories: listed(status.memories), Collections: listed(status.collections), Links: `${count(status.edges)} between memories, ${count(status.relations)} between names`, Words: count(status.words),
    Embedder: status.embedder || "none: words only", "Without a vector": status.without_vector ? `${count(status.without_vector)} (made with the next writes, or by recollect reembed)` : "none",
    "Last change": status.last_change ? moment(status.last_change) : "never", Access: `${status.scope}${Object.keys(status.bound).length ? `, only ${Object.entries(status.bound).map(([name, value]) => `${name} ${value}`).join(", ")}` : ""}${status.readonly ? ", read only" : ""}`, Version: status.version,
  };
  replace(byId("answer"), status.note && h("p", { class: "notice" }, status.note), h("table", null, Object.entries(rows).map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value)))),
    h("h2", null, "Checks"), h("p", { class: "dim" }, "Run ", h("code", null, "recollect doctor"), " where the memory is stored to check the file, its indexes and its vectors, and ", h("code", null, "recollect backup"), " to copy it while it is in use."));
}
