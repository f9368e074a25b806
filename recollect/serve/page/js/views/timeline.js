// Timeline: a histogram to brush, sessions as lanes, and facts that were superseded as steps.
import { api } from "../api.js";
import { byId, chartWidth, h, replace, svg } from "../dom.js";
import { count, day, month, plural, shorten } from "../format.js";
import { pages } from "../results.js";
import { address, change, filterOf } from "../route.js";

const HEIGHT = 168, LEFT = 132, LANES = 40, MOST = 1500; // LEFT: the names of sessions, in pixels
let last = "";

export function open(main) {
  last = "";
  replace(main, h("div", { class: "wide" }, h("div", { class: "row" }, h("h1", null, "Timeline"), h("select", { id: "period", "aria-label": "Period", onchange: (event) => change({ period: event.target.value }) }, ["day", "week", "month"].map((each) => h("option", null, each)))),
    h("div", { id: "answer" })));
}

export async function update(main, values) {
  const period = values.period || "month";
  byId("period").value = period;
  const key = JSON.stringify([period, filterOf(values)]);
  if (key === last) return;
  last = key;
  const filter = filterOf(values);
  const [{ periods, total }, page, listed] = await Promise.all([api.timeline({ period, filter }), api.list({ filter, limit: 1000, sort: "newest" }), pages(filter, "newest")]);
  if (key !== last) return;
  if (!total) return replace(byId("answer"), h("p", { class: "empty" }, filter ? "No memory matches these filters." : "Nothing is remembered yet."));
  const chosen = (values.since || values.until) && h("p", null, `Only ${values.since || "…"} to ${values.until || "…"} `, h("button", { type: "button", class: "plain", onclick: () => change({ since: "", until: "" }) }, "show all"));
  const memories = page.memories.reverse(); // oldest first
  const chains = await supersessions(memories);
  const shown = withGaps(periods, period), ends = after(shown[shown.length - 1].begins, period);
  replace(byId("answer"), h("p", { class: "dim" }, plural(total, "memory", "memories"), ". Drag over the columns to choose a time; the list below follows."), chosen, histogram(shown, period === "month" ? month : day),
    chosen && h("div", { class: "row" }, h("a", { href: address("search", { since: values.since, until: values.until, user: values.user }) }, "Search in this time")),
    chains.length > 0 && [h("h2", null, "Facts that changed"), chains], lanes(memories, Date.parse(shown[0].begins), Date.parse(ends), total > memories.length), h("h2", null, chosen ? "Memories of this time" : "Memories"), listed.parts);
}

/** The first day of the period after the one that begins on a day. */
function after(begins, period) {
  const at = new Date(`${begins}T00:00Z`);
  if (period === "month") at.setUTCMonth(at.getUTCMonth() + 1); else at.setUTCDate(at.getUTCDate() + (period === "week" ? 7 : 1));
  return at.toISOString().slice(0, 10);
}

/** Periods without a memory, too, so that distances are times; where that would be too many, only those with one. */
function withGaps(periods, period) {
  const known = new Map(periods.map((each) => [each.begins, each]));
  const all = [], end = periods[periods.length - 1].begins;
  for (let begins = periods[0].begins; begins <= end && all.length < MOST; begins = after(begins, period)) all.push(known.get(begins) || { begins, memories: 0 });
  return all[all.length - 1].begins === end ? all : periods;
}

function histogram(periods, label) {
  const most = Math.max(...periods.map((each) => each.memories));
  const WIDTH = chartWidth(), left = 0, step = (WIDTH - left) / periods.length, gap = Math.min(8, step / 5), few = step >= 28;
  const bars = periods.map((each, at) => {
    const size = (each.memories / most) * (HEIGHT - 44), x = left + at * step + gap / 2, y = HEIGHT - 20 - size, width = Math.max(0.6, step - gap);
    return [svg("rect", { class: "column", x: x.toFixed(1), y: y.toFixed(1), width: width.toFixed(1), height: size.toFixed(1), rx: few ? 2 : 0, tabindex: each.memories ? 0 : null, role: "button", "aria-label": `${each.begins}: ${plural(each.memories, "memory", "memories")}`, onkeydown: (event) => { if (event.key === "Enter") choose(at, at); } }, svg("title", null, `${each.begins}: ${count(each.memories)}`)),
      few && each.memories > 0 && svg("text", { x: x + width / 2, y: y - 5, "text-anchor": "middle" }, count(each.memories))];
  });
  const every = Math.ceil(periods.length / ((WIDTH - left) / 90));
  const labels = periods.map((each, at) => at % every === 0 && left + at * step + 52 < WIDTH && svg("text", { x: left + at * step + gap / 2, y: HEIGHT - 4 }, label(each.begins)));
  const brush = svg("rect", { class: "brush", y: 0, height: HEIGHT - 20, width: 0 });
  const chart = svg("svg", { class: "chart histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Memories by time" }, svg("line", { class: "axis", x1: left, x2: WIDTH, y1: HEIGHT - 20, y2: HEIGHT - 20 }), !few && svg("text", { x: 0, y: 14 }, `at most ${count(most)}`), bars, labels, brush);
  const place = (event) => { const box = chart.getBoundingClientRect(); return Math.min(periods.length - 1, Math.max(0, Math.floor((((event.clientX - box.left) / box.width) * WIDTH - left) / step))); };
  let from = null;
  const draw = (a, b) => { brush.setAttribute("x", left + Math.min(a, b) * step); brush.setAttribute("width", (Math.abs(a - b) + 1) * step); };
  chart.addEventListener("pointerdown", (event) => { from = place(event); chart.setPointerCapture(event.pointerId); draw(from, from); });
  chart.addEventListener("pointermove", (event) => { if (from !== null) draw(from, place(event)); });
  chart.addEventListener("pointerup", (event) => { const to = place(event); choose(Math.min(from, to), Math.max(from, to)); from = null; });
  function choose(a, b) {
    change({ since: periods[a].begins, until: b + 1 < periods.length ? periods[b + 1].begins : "" });
  }
  return chart;
}

/** Sessions as lanes below the columns, the newest first; each dot is a memory. */
function lanes(memories, from, to, more) {
  const sessions = new Map();
  for (const memory of memories) if (memory.session) sessions.set(memory.session, [...(sessions.get(memory.session) || []), memory]);
  if (sessions.size < 2) return null;
  const width = Math.max(80, chartWidth() - (chartWidth() < 560 ? 90 : LEFT) - 40); // beside the names and the counts
  const x = (memory) => 5 + ((Date.parse(memory.created) - from) / (to - from || 1)) * (width - 10);
  const rows = [...sessions].reverse().slice(0, LANES).map(([session, turns]) => h("div", { class: "lane" }, h("a", { href: address("search", { session }), title: session }, shorten(session, 18)),
    svg("svg", { viewBox: `0 0 ${width} 16`, "aria-hidden": "true" }, svg("line", { class: "axis", x1: 0, x2: width, y1: 8, y2: 8 }), turns.map((turn) => svg("circle", { cx: x(turn).toFixed(1), cy: 8, r: 4, class: "c-words" }, svg("title", null, shorten(turn.text, 120))))), h("span", { class: "dim num" }, count(turns.length))));
  return [h("h2", null, "Sessions"), h("div", { class: "lanes" }, rows), (more || sessions.size > LANES) && h("p", { class: "dim small" }, "The newest sessions; choose a time above to see others.")];
}

async function supersessions(memories) {
  const old = memories.filter((memory) => memory.status === "superseded");
  if (!old.length) return [];
  const { edges } = await api.edges(old.map((memory) => memory.id).slice(0, 200));
  const newer = new Map(edges.filter((edge) => edge.kind === "supersedes").map((edge) => [edge.target, edge.source]));
  const known = new Map(memories.map((memory) => [memory.id, memory]));
  const starts = old.filter((memory) => ![...newer.values()].includes(memory.id));
  return starts.slice(0, 20).map((memory) => {
    const chain = [memory];
    while (newer.has(chain[chain.length - 1].id) && chain.length < 20) { const next = known.get(newer.get(chain[chain.length - 1].id)); if (!next) break; chain.push(next); }
    return chain.length > 1 && h("ol", { class: "chain" }, chain.map((each) => h("li", null, h("div", { class: "dim small" }, day(each.created)), h("a", { href: "#", onclick: (event) => { event.preventDefault(); change({ open: each.id }); } }, shorten(each.text, 70)))));
  });
}
