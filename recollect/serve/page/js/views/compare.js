// Compare: one column a recipe, with lines between the same memories.
import { api } from "../api.js";
import { byId, debounced, h, replace, svg } from "../dom.js";
import { score, shorten } from "../format.js";
import { change, filterOf, read } from "../route.js";

let last = "";

export function open(main) {
  last = "";
  const input = h("input", { id: "query", type: "search", placeholder: "Compare the recipes on…", "aria-label": "Query" });
  input.addEventListener("input", debounced(250, () => change({ q: input.value }, true)));
  replace(main, h("div", { class: "wide" }, h("h1", null, "Compare recipes"), h("div", { class: "searchbox" }, input), h("div", { class: "filters row", id: "choice" }), h("div", { id: "answer" })));
  api.recipes().then(({ recipes }) => replace(byId("choice"), recipes.map((each) => {
    const box = h("input", { type: "checkbox", name: each.name, checked: chosen().includes(each.name), onchange: () => change({ recipes: [...document.querySelectorAll("#choice input:checked")].map((one) => one.name).join(",") }, true) });
    return h("label", { title: each.about }, box, ` ${each.name}`);
  }))).catch(() => {});
  const redraw = debounced(100, lines);
  addEventListener("resize", redraw);
  return () => removeEventListener("resize", redraw);
}

const chosen = () => (read().values.recipes || `${read().values.recipe || "default"},openmem,jeffsbrain`).split(",").filter(Boolean).slice(0, 4);

export async function update(main, values) {
  const input = byId("query");
  if (document.activeElement !== input) input.value = values.q || "";
  const names = [...new Set(chosen())];
  const key = JSON.stringify([values.q, names, filterOf(values)]);
  if (key === last) return;
  last = key;
  if (!(values.q || "").trim()) return replace(byId("answer"), h("p", { class: "empty" }, "Type a query, and choose two or more recipes."));
  const { recipes } = await api.compare({ query: values.q, recipes: names, k: 10, filter: filterOf(values) });
  if (key !== last) return;
  const holders = {};
  for (const [name, column] of Object.entries(recipes)) for (const { memory } of column.results) (holders[memory.id] = holders[memory.id] || new Set()).add(name);
  const columns = Object.entries(recipes).map(([name, { results, milliseconds }]) => h("div", { "data-recipe": name }, h("h2", null, name, h("span", { class: "dim small" }, ` ${Math.round(milliseconds)} ms`)),
    results.length ? results.map(({ memory, rank, score: value, why }) => h("button", { type: "button", class: holders[memory.id].size === 1 && names.length > 1 ? "card only" : "card", "data-card": memory.id, title: why, onmouseenter: () => highlight(memory.id), onfocus: () => highlight(memory.id), onclick: () => change({ open: memory.id, recipe: name === "default" ? "" : name, tab: "why" }) },
      h("div", { class: "text" }, shorten(memory.text, 160)), h("div", { class: "dim num" }, `${rank} · ${score(value)}${holders[memory.id].size === 1 && names.length > 1 ? ` · only ${name}` : ""}`))) : h("p", { class: "dim" }, "nothing")));
  const grid = h("div", { class: "columns", id: "columns" }, svg("svg", { class: "moves", "aria-hidden": "true" }), columns);
  grid.style.gridTemplateColumns = `repeat(${columns.length}, minmax(0, 1fr))`;
  replace(byId("answer"), grid);
  requestAnimationFrame(lines);
}

/** Lines from a memory in one column to the same in the next one that has it. */
function lines() {
  const grid = byId("columns");
  if (!grid) return;
  const frame = grid.getBoundingClientRect();
  const columns = [...grid.querySelectorAll("[data-recipe]")];
  const paths = [];
  for (let at = 0; at + 1 < columns.length; at++) {
    for (const left of columns[at].querySelectorAll("[data-card]")) {
      const right = columns.slice(at + 1).flatMap((column) => [...column.querySelectorAll("[data-card]")]).find((card) => card.dataset.card === left.dataset.card);
      if (!right) continue;
      const a = left.getBoundingClientRect(), b = right.getBoundingClientRect();
      const [x1, y1, x2, y2] = [a.right - frame.left, a.top + 20 - frame.top, b.left - frame.left, b.top + 20 - frame.top];
      paths.push(svg("path", { d: `M${x1} ${y1}C${x1 + 24} ${y1} ${x2 - 24} ${y2} ${x2} ${y2}`, "data-line": left.dataset.card }));
    }
  }
  replace(grid.querySelector(".moves"), paths);
}

function highlight(id) {
  for (const path of document.querySelectorAll("[data-line]")) path.classList.toggle("active", path.dataset.line === id);
}
