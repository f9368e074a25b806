// Map: memories with coordinates on a plan with a scale; success and failure differ in shape and colour.
import { api } from "../api.js";
import { byId, chartWidth, h, replace, svg } from "../dom.js";
import { plural, shorten } from "../format.js";
import { change, filterOf } from "../route.js";

const MARGIN = 40;
let last = "";

export function open(main) {
  last = "";
  replace(main, h("div", { class: "wide" }, h("h1", null, "Map"), h("div", { id: "answer" })));
}

export async function update(main, values) {
  const key = JSON.stringify([values.field, filterOf(values), values.x, values.y, values.within]);
  if (key === last) return;
  last = key;
  const { fields, places } = await api.places({ field: values.field, filter: filterOf(values), limit: 1000 });
  if (key !== last) return;
  if (!places.length) return replace(byId("answer"), h("p", { class: "empty" }, "No memory has coordinates. A context such as ", h("code", null, '{"spatial": {"position": [1.0, 0.5]}}'), " puts it on the map."));
  const field = values.field || fields[0].field;
  const shown = places.filter((place) => place.field === field);
  const near = values.within ? shown.filter((place) => Math.hypot(place.point[0] - values.x, place.point[1] - values.y) <= Number(values.within)) : shown;
  const choice = h("select", { "aria-label": "Coordinates", onchange: (event) => change({ field: event.target.value }) }, fields.map((each) => h("option", { value: each.field }, `${each.field} (${each.memories})`)));
  choice.value = field;
  const radius = h("label", { class: "small" }, "Radius ", h("input", { type: "number", min: 0, step: "any", value: values.within || "", placeholder: "all", size: 6, onchange: (event) => change({ within: event.target.value, x: values.x ?? shown[0].point[0], y: values.y ?? shown[0].point[1] }) }));
  replace(byId("answer"), h("div", { class: "row" }, choice, radius, values.within && h("button", { type: "button", class: "plain", onclick: () => change({ within: "", x: "", y: "" }) }, "show all")),
    plan(shown, values), h("p", { class: "dim small" }, `${plural(near.length, "memory", "memories")}${values.within ? ` within ${values.within} of (${values.x}, ${values.y})` : ""}. Circles worked or are neutral, crosses failed. Click on the plan to centre the radius there.`),
    h("ul", { class: "results" }, near.slice(0, 100).map((place) => h("li", { class: "result", tabindex: 0, "data-memory": place.memory.id, onclick: () => change({ open: place.memory.id, tab: "memory" }), onkeydown: (event) => { if (event.key === "Enter") change({ open: place.memory.id, tab: "memory" }); } }, h("div", null, failed(place) && h("b", { class: "badge danger" }, "failed"), " ", shorten(place.memory.text, 140), h("div", { class: "meta num" }, place.point.map((each) => Number(each.toFixed(3))).join(", ")))))));
}

const failed = (place) => place.success === false;

function plan(places, values) {
  const WIDTH = chartWidth(), HEIGHT = Math.round(Math.min(460, WIDTH * 0.6));
  const xs = places.map((place) => place.point[0]), ys = places.map((place) => place.point[1] ?? 0);
  const pad = (all) => { const [least, most] = [Math.min(...all), Math.max(...all)], edge = (most - least || 1) * 0.06; return [least - edge, most + edge]; };
  const [[left, right], [low, high]] = [pad(xs), pad(ys)];
  const scale = Math.min((WIDTH - 2 * MARGIN) / (right - left || 1), (HEIGHT - 2 * MARGIN) / (high - low || 1));
  const x = (value) => MARGIN + (value - left) * scale, y = (value) => HEIGHT - MARGIN - (value - low) * scale;
  const unit = 10 ** Math.floor(Math.log10(120 / scale)), bar = [5, 2, 1].map((each) => each * unit).find((each) => each * scale <= 140) || unit;
  const ticks = (from, length) => { const found = []; for (let at = Math.ceil(from / bar) * bar; (at - from) * scale <= length; at += bar) found.push(Number(at.toPrecision(6))); return found; };
  const grid = [...ticks(left, WIDTH - 2 * MARGIN).map((at) => [svg("line", { class: "axis", x1: x(at), x2: x(at), y1: MARGIN / 2, y2: HEIGHT - MARGIN }), svg("text", { x: x(at), y: HEIGHT - MARGIN + 16, "text-anchor": "middle" }, at)]),
    ...ticks(low, HEIGHT - 1.5 * MARGIN).map((at) => [svg("line", { class: "axis", x1: MARGIN, x2: WIDTH - MARGIN / 2, y1: y(at), y2: y(at) }), svg("text", { x: MARGIN - 6, y: y(at) + 4, "text-anchor": "end" }, at)])];
  const dots = places.map((place) => {
    const [px, py] = [x(place.point[0]), y(place.point[1] ?? 0)];
    const pick = (event) => { event.stopPropagation(); change({ open: place.memory.id, tab: "memory" }); };
    const shape = failed(place) ? svg("path", { d: `M${px - 5} ${py - 5}l10 10m0-10l-10 10`, stroke: "currentColor", "stroke-width": 2.5, class: "danger" }) : svg("circle", { cx: px, cy: py, r: 5, class: "dot" });
    return svg("g", { tabindex: 0, role: "button", "aria-label": place.memory.text, onclick: pick, onkeydown: (event) => { if (event.key === "Enter") pick(event); } }, shape, svg("title", null, place.memory.text));
  });
  const chart = svg("svg", { class: "chart graph-canvas plan", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Plan" },
    grid,
    values.within && svg("circle", { class: "ring", cx: x(Number(values.x)), cy: y(Number(values.y)), r: Number(values.within) * scale }), dots);
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * WIDTH, py = ((event.clientY - box.top) / box.height) * HEIGHT;
    change({ x: (left + (px - MARGIN) / scale).toFixed(3), y: (low + (HEIGHT - MARGIN - py) / scale).toFixed(3), within: values.within || Number(((right - left || 1) / 4).toPrecision(2)) });
  });
  return chart;
}
