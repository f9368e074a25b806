// Folders: notes that are synced into the memory, and what could not be read.
import { api } from "../api.js";
import { byId, h, replace } from "../dom.js";
import { count, moment } from "../format.js";
import { address } from "../route.js";

export function open(main) {
  replace(main, h("div", { class: "wide" }, h("h1", null, "Folders"), h("div", { id: "answer" })));
}

export async function update() {
  const { folders } = await api.folders();
  if (!folders.length) return replace(byId("answer"), h("p", { class: "empty" }, "No folder is synced. ", h("code", null, "recollect sync ~/notes"), " indexes a folder of Markdown, and ", h("code", null, "recollect watch"), " follows your edits."));
  replace(byId("answer"), folders.map((folder) => {
    const problems = Object.entries(folder.problems);
    return h("section", null, h("h2", null, h("a", { href: address("search", { collection: folder.collection }) }, folder.collection)), h("p", null, `${count(folder.files)} files, ${count(folder.chunks)} passages`, folder.synced ? [", synced ", moment(folder.synced)] : "", folder.root && h("span", { class: "mono dim" }, ` ${folder.root}`)),
      problems.length > 0 && h("details", { open: true }, h("summary", { class: "danger" }, `${count(problems.length)} files could not be read`), h("table", null, problems.map(([path, problem]) => h("tr", null, h("td", { class: "mono" }, path), h("td", null, problem))))));
  }));
}
