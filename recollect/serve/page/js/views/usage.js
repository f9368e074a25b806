// Usage: which memories are used most, and which never.
import { api } from "../api.js";
import { byId, chartWidth, h, replace, svg } from "../dom.js";
import { count, moment, shorten } from "../format.js";
import { change, filterOf } from "../route.js";

export function open(main) {
  replace(main, h("div", { class: "wide" }, h("h1", null, "Usage"), h("div", { id: "answer" })));
}

let last = "";

export async function update(main, values) {
  const key = JSON.stringify(filterOf(values));
  if (byId("answer").childElementCount && key === last) return;
  last = key;
  const usage = await api.usage({ filter: filterOf(values), limit: 20 });
  replace(byId("answer"), h("p", null, `${count(usage.used)} of ${count(usage.memories)} memories have been used, ${count(usage.uses)} times in all. Searches on this page do not count.`),
    usage.over_time.length > 0 && plot(usage.over_time), table("Most used", usage.most_used), table("Never used", usage.unused));
}

function plot(periods) {
  const value = (each) => each.uses;
  const most = Math.max(...periods.map(value), 1), width = chartWidth(), step = (width - 40) / periods.length;
  return [h("h2", null, "Uses over time"), svg("svg", { class: "chart", viewBox: `0 0 ${width} 120`, role: "img", "aria-label": "Uses by period" }, periods.map((each, at) => svg("rect", { class: "column", x: 40 + at * step, width: Math.max(1, step - 3), y: 100 - (value(each) / most) * 90, height: (value(each) / most) * 90 }, svg("title", null, `${each.begins}: ${value(each)}`))), svg("line", { class: "axis", x1: 40, x2: width, y1: 100, y2: 100 }), svg("text", { x: 0, y: 16 }, count(most)), svg("text", { x: 40, y: 116 }, periods[0].begins))];
}

const uses = ({ use = {} }) => (use.access_count || 0) + (use.recall_count || 0);
const lastUse = ({ use = {} }) => [use.last_accessed, use.last_recalled].filter(Boolean).sort().pop();

function table(title, memories) {
  if (!memories.length) return null;
  return [h("h2", null, title), h("table", null, h("tr", null, h("th", null, "Memory"), h("th", { class: "num" }, "Uses"), h("th", null, "Last")), memories.map((each) => h("tr", null, h("td", null, h("a", { href: "#", "data-memory": each.id, onclick: (event) => { event.preventDefault(); change({ open: each.id, tab: "memory" }); } }, shorten(each.text, 110))), h("td", { class: "num" }, count(uses(each))), h("td", null, lastUse(each) ? moment(lastUse(each)) : "–"))))];
}
