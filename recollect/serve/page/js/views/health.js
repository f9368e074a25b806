// Health: the file, its index, the embedder, the last backup, and what the doctor finds.
import { api } from "../api.js";
import { byId, h, replace } from "../dom.js";
import { bytes, count, moment, plural } from "../format.js";

export function open(main) {
  replace(main, h("div", { class: "narrow" }, h("h1", null, "Health"), h("div", { id: "answer" })));
}

export async function update() {
  const status = await api.status();
  const listed = (counts) => Object.entries(counts).map(([name, number]) => `${count(number)} ${name}`).join(", ") || "none";
  const rows = {
    Memories: listed(status.memories), Collections: listed(status.collections), Links: `${count(status.edges)} between memories, ${count(status.relations)} between names`, Words: count(status.words),
    Embedder: status.embedder || "none: words only", ...(status.embedder ? { "Without a vector": status.without_vector ? `${count(status.without_vector)} (made with the next writes, or by recollect reembed)` : "none" } : {}),
    ...(status.bytes === null ? {} : { File: bytes(status.bytes), Index: indexState(status.index), "Last backup": status.last_backup ? moment(status.last_backup) : ["never: ", h("code", null, "recollect backup FOLDER")] }),
    "Last change": status.last_change ? moment(status.last_change) : "never", Access: `${status.scope}${Object.keys(status.bound).length ? `, only ${Object.entries(status.bound).map(([name, value]) => `${name} ${value}`).join(", ")}` : ""}${status.readonly ? ", read only" : ""}`, Version: status.version,
  };
  replace(byId("answer"), status.note && h("p", { class: "notice" }, status.note), h("table", null, Object.entries(rows).map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value)))),
    h("h2", null, "Checks"), status.scope === "admin" && status.bytes !== null ? checks() : h("p", { class: "dim" }, "Run ", h("code", null, "recollect doctor"), " where the memory is stored to check the file, its indexes and its vectors."));
}

function indexState(index) {
  if (!index) return "kept by the database";
  if (index.state === "none") return "in memory; a larger one is written beside the file";
  if (index.state !== "usable") return "cannot be used; the next recall builds it again";
  return `${plural(index.segments, "file")}, ${bytes(index.bytes)}, ${plural(index.memories, "memory", "memories")}${index.changed ? `; ${count(index.changed)} changed since` : ""}`;
}

/** The doctor reads the whole file, so it runs when it is asked to. */
function checks() {
  const found = h("div", { role: "status" });
  const run = async () => {
    replace(found, h("div", { class: "skeleton" }));
    try {
      const { findings } = await api.doctor();
      replace(found, findings.length ? findings.map(finding) : h("p", null, "✓ The file, its indexes and its vectors are as they should be."));
    } catch (error) { replace(found, h("p", { role: "alert" }, error.message, " ", error.hint)); }
  };
  return [h("p", { class: "dim" }, "Reads the whole file, its indexes and some vectors; nothing is changed."), h("button", { type: "button", onclick: run }, "Check now"), found];
}

const finding = (each) => h("div", { class: "card finding" }, h("b", { class: each.level === "error" ? "danger" : "" }, `${each.level}: ${each.name}`), h("p", null, each.what), h("p", { class: "dim" }, each.means),
  each.examples.length > 0 && h("p", { class: "dim small" }, `Such as ${each.examples.join(", ")}`), each.fix ? h("p", { class: "small" }, h("code", null, "recollect doctor --fix"), ` ${each.fix}.`) : h("p", { class: "dim small" }, "doctor --fix cannot help here."));
