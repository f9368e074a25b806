// Usage: which memories are used most, and which never.
import { api } from "../api.js";
import { byId, chartWidth, h, replace, svg } from "../dom.js";
import { count, day, moment, plural, shorten } from "../format.js";
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
  replace(byId("answer"), h("p", { class: usage.memories ? "dim" : "empty" }, usage.memories ? `${count(usage.used)} of ${plural(usage.memories, "memory", "memories")} ${usage.used === 1 ? "has" : "have"} been used, ${usage.uses === 1 ? "once" : `${count(usage.uses)} times`} in all. Searches on this page do not count.` : "Nothing is remembered yet. What agents and people recall is counted here."),
    usage.uses > 0 && usage.over_time.length > 0 && plot(usage.over_time), table("Most used", usage.most_used, true), table("Never used", usage.unused, false));
}

function plot(periods) {
  const value = (each) => each.uses;
  const most = Math.max(...periods.map(value), 1), width = chartWidth(), step = (width - 40) / periods.length;
  return [h("h2", null, "Uses over time"), svg("svg", { class: "chart", viewBox: `0 0 ${width} 120`, role: "img", "aria-label": "Uses by period" }, periods.map((each, at) => svg("rect", { class: "column", x: 40 + at * step, width: Math.max(1, step - 3), y: 100 - (value(each) / most) * 90, height: (value(each) / most) * 90 }, svg("title", null, `${each.begins}: ${value(each)}`))), svg("line", { class: "axis", x1: 40, x2: width, y1: 100, y2: 100 }), svg("text", { x: 0, y: 16 }, count(most)), svg("text", { x: 40, y: 116 }, day(periods[0].begins)), svg("text", { x: width, y: 116, "text-anchor": "end" }, day(periods[periods.length - 1].begins)))];
}

const uses = ({ use = {} }) => (use.access_count || 0) + (use.recall_count || 0);
const lastUse = ({ use = {} }) => [use.last_accessed, use.last_recalled].filter(Boolean).sort().pop();

function table(title, memories, used) {
  if (!memories.length) return null;
  const cells = (each) => (used ? [h("td", { class: "num" }, count(uses(each))), h("td", null, lastUse(each) ? moment(lastUse(each)) : "–")] : [h("td", { class: "num" }), h("td", null, moment(each.created))]);
  return [h("h2", null, title), h("table", { class: "listed" }, h("tr", null, h("th", null, "Memory"), h("th", { class: "num" }, used ? "Uses" : ""), h("th", null, used ? "Last" : "Created")), memories.map((each) => h("tr", null, h("td", null, h("a", { href: "#", "data-memory": each.id, onclick: (event) => { event.preventDefault(); change({ open: each.id, tab: "memory" }); } }, shorten(each.text, 110))), cells(each))))];
}
