// Graph: what is linked to a memory or a name, drawn and as a list.
import { api } from "../api.js";
import { byId, chartWidth, h, replace, svg, toast } from "../dom.js";
import { shorten } from "../format.js";
import { change, go } from "../route.js";

const HEIGHT = 480, ROUNDS = 260, MOST = 60;
const LABEL = 150; // pixels beside a node for its text
let last = "";

export function open(main) {
  last = "";
  const input = h("input", { id: "start", class: "long", placeholder: "a name, or words of a memory", "aria-label": "Name, or words of a memory" });
  const form = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); start(input.value.trim()); } }, input, h("button", null, "Show"));
  replace(main, h("div", { class: "wide" }, h("h1", null, "Graph"), form, h("p"), h("div", { id: "answer" })));
}

async function start(text) {
  if (!text) return;
  try {
    const { value } = await api.show(text);
    go("graph", { id: value.id });
  } catch { go("graph", { name: text }); }
}

export async function update(main, values) {
  const key = JSON.stringify([values.id, values.name]);
  if (key === last) return;
  last = key;
  byId("start").value = values.name || "";
  if (!values.id && !values.name) return suggest();
  const graph = await api.graph({ id: values.id, name: values.name, depth: 2, limit: MOST });
  if (key !== last) return;
  const others = graph.nodes.length < 2 && values.name ? (await api.recall({ query: values.name, k: 8, track: false })).results : [];
  if (others.length) return replace(byId("answer"), h("p", { class: "dim" }, "No name is linked that is written so. Memories about it:"), others.map(({ memory }) => beginning(memory)));
  if (graph.nodes.length < 2) return replace(byId("answer"), h("p", { class: "empty" }, "Nothing is linked to it. Link memories with ", h("code", null, "recollect link"), ", and names with ", h("code", null, "recollect relate"), "."));
  const center = values.id || graph.nodes[0].id;
  const about = graph.nodes.find((node) => node.id === center);
  replace(byId("answer"), about && about.type !== "name" && h("p", null, "Around “", h("a", { href: "#", onclick: (event) => { event.preventDefault(); change({ open: center, tab: "memory" }); } }, shorten(title(about), 120)), "”"), draw(graph, center), h("p", { class: "dim small" }, "Circles are memories, squares are names. Thick lines supersede, dashed ones contradict, dotted ones mention.", graph.complete ? "" : ` Only the first ${MOST} are shown.`), list(graph));
}

async function suggest() {
  const { edges } = await api.edges();
  const ids = [...new Set(edges.flatMap((edge) => [edge.source, edge.target]))].slice(0, 12);
  const memories = await Promise.all(ids.map((id) => api.show(id).then(({ value }) => value).catch(() => null)));
  replace(byId("answer"), ids.length ? [h("p", { class: "dim" }, "Begin with a linked memory, or type a name:"), memories.filter(Boolean).map(beginning)] : h("p", { class: "empty" }, "No memories are linked yet. Link two with ", h("code", null, "recollect link ID ID"), ", two names with ", h("code", null, "recollect relate Ida knows Ben"), ", or type a name to see its relations."));
}

const beginning = (memory) => h("button", { type: "button", class: "card", onclick: () => go("graph", { id: memory.id }) }, shorten(memory.text, 140));
const title = (node) => (node.type === "name" ? node.id.replace(/^name:/, "") : node.memory.text);

/** Springs along the edges, repulsion between all; the same graph is always drawn alike. */
function layout({ nodes, edges }, WIDTH) {
  const points = nodes.map((node, at) => ({ x: WIDTH / 2 + Math.cos(at * 2.4) * (20 + at * 6), y: HEIGHT / 2 + Math.sin(at * 2.4) * (20 + at * 4) }));
  const place = new Map(nodes.map((node, at) => [node.id, at]));
  const links = edges.map((edge) => [place.get(edge.source), place.get(edge.target)]).filter(([a, b]) => a !== undefined && b !== undefined);
  for (let round = 0; round < ROUNDS; round++) {
    const heat = 8 * (1 - round / ROUNDS);
    const force = points.map(() => ({ x: 0, y: 0 }));
    for (let a = 0; a < points.length; a++) for (let b = a + 1; b < points.length; b++) {
      const dx = points[a].x - points[b].x || 0.1, dy = points[a].y - points[b].y || 0.1, far = dx * dx + dy * dy + 1, push = 9000 / far;
      force[a].x += dx * push / Math.sqrt(far); force[a].y += dy * push / Math.sqrt(far); force[b].x -= dx * push / Math.sqrt(far); force[b].y -= dy * push / Math.sqrt(far);
    }
    for (const [a, b] of links) {
      const dx = points[b].x - points[a].x, dy = points[b].y - points[a].y, pull = (Math.hypot(dx, dy) - 110) * 0.04;
      const size = Math.hypot(dx, dy) || 1;
      force[a].x += (dx / size) * pull * 10; force[a].y += (dy / size) * pull * 10; force[b].x -= (dx / size) * pull * 10; force[b].y -= (dy / size) * pull * 10;
    }
    points.forEach((point, at) => {
      const size = Math.hypot(force[at].x, force[at].y) || 1, step = Math.min(heat, size);
      point.x = Math.min(WIDTH - 40, Math.max(40, point.x + (force[at].x / size) * step + (WIDTH / 2 - point.x) * 0.002));
      point.y = Math.min(HEIGHT - 30, Math.max(24, point.y + (force[at].y / size) * step + (HEIGHT / 2 - point.y) * 0.004));
    });
  }
  return { points: fit(points, WIDTH), place };
}

/** The points spread over the space that there is; names of nodes are written to the right of them. */
function fit(points, width) {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, top, wide, high] = [Math.min(...xs), Math.min(...ys), Math.max(...xs) - Math.min(...xs) || 1, Math.max(...ys) - Math.min(...ys) || 1];
  const across = Math.min((width - 40 - LABEL) / wide, 2.4), down = Math.min((HEIGHT - 64) / high, 2.4);
  const [dx, dy] = [(width - LABEL - wide * across) / 2, (HEIGHT - high * down) / 2];
  return points.map(({ x, y }) => ({ x: Math.max(20, dx) + (x - left) * across, y: dy + (y - top) * down }));
}

function draw(graph, center) {
  const WIDTH = chartWidth();
  const { points, place } = layout(graph, WIDTH);
  const lines = graph.edges.map((edge) => { const a = points[place.get(edge.source)], b = points[place.get(edge.target)]; return a && b && [svg("line", { class: edge.kind, x1: a.x, y1: a.y, x2: b.x, y2: b.y }), svg("text", { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 3, "text-anchor": "middle" }, edge.kind)]; });
  const nodes = graph.nodes.map((node, at) => {
    const { x, y } = points[at], name = node.type === "name", text = shorten(title(node), graph.nodes.length > 20 || WIDTH < 560 ? 24 : 40);
    const pick = () => (name ? go("graph", { name: title(node) }) : change({ open: node.id, tab: "memory" }));
    return svg("g", { class: `node ${node.type} ${node.id === center ? "center" : ""}`, tabindex: 0, role: "button", "aria-label": title(node), onclick: pick, ondblclick: () => !name && go("graph", { id: node.id }), onkeydown: (event) => { if (event.key === "Enter") pick(); } },
      name ? svg("rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 2 }) : svg("circle", { cx: x, cy: y, r: 8 }), svg("text", { x: x + 11, y: y + 4 }, text), svg("title", null, title(node)));
  });
  return svg("svg", { class: "graph-canvas", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Graph; the same is a list below" }, lines, nodes);
}

function list(graph) {
  const titles = new Map(graph.nodes.map((node) => [node.id, title(node)]));
  return h("details", null, h("summary", null, "As a list"), h("ul", { class: "small" }, graph.edges.map((edge) => h("li", null, `${shorten(titles.get(edge.source) || edge.source, 60)} — ${edge.kind} → ${shorten(titles.get(edge.target) || edge.target, 60)}`))));
}

export const failed = (error) => toast(error.message);
