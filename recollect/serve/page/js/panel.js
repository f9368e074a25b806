// The panel of one memory: why it came, why not, the memory itself, and what is around it.
import { api } from "./api.js";
import { ask, byId, h, replace, svg, toast } from "./dom.js";
import { cueValues, meaning, stageValues, tree, waterfall } from "./explain.js";
import { count, day, describeUndo, difference, moment, plural, score, shorten } from "./format.js";
import { change, filterOf, read } from "./route.js";

const TABS = { why: "Why", path: "Path", whynot: "Why not", memory: "Memory", around: "Around", edit: "Edit" };
const HIDDEN = ["id", "text", "use", "position"];
const AROUND = 100; // turns before and after, of which the nearest are shown: many may have the same moment
const LINKS = 30; // that are listed; the graph has more
let current = "";

export function closePanel() {
  byId("panel").hidden = true;
  current = "";
}

export async function showPanel(values) {
  const { q: query } = read().values;
  const tab = TABS[values.tab] ? values.tab : query && values.open !== "-" ? "why" : values.open === "-" ? "whynot" : "memory";
  const key = JSON.stringify([values.open, tab, query, values.recipe, filterOf(values)]);
  if (key === current) return;
  current = key;
  const panel = byId("panel");
  panel.hidden = false;
  const tabs = h("div", { class: "tabs", role: "tablist" }, Object.entries(TABS).map(([name, title]) =>
    h("button", { type: "button", role: "tab", "aria-selected": String(name === tab), onclick: () => change({ tab: name }, true) }, title)));
  const close = h("button", { type: "button", class: "plain close", "aria-label": "Close", title: "Close (Esc)", onclick: () => change({ open: "", tab: "" }) }, "✕");
  const body = h("div", { role: "tabpanel" });
  setTimeout(() => { if (!body.childElementCount) replace(body, [1, 2, 3].map(() => h("div", { class: "skeleton" }))); }, 150);
  replace(panel, h("button", { type: "button", class: "back", onclick: () => change({ open: "", tab: "" }) }, "← Back"), close, tabs, body);
  try {
    const parts = await content(tab, values, query);
    if (current === key) replace(body, ...parts);
  } catch (error) {
    if (current === key) replace(body, h("p", { role: "alert" }, error.message), error.hint && h("p", { class: "dim small" }, error.hint));
  }
}

async function content(tab, values, query) {
  if (tab === "whynot") return whyNot(values, query);
  if (values.open === "-") return [h("p", { class: "dim" }, "No memory is selected.")];
  const { value: memory, etag } = await api.show(values.open);
  if (tab === "why") return why(memory, values, query);
  if (tab === "path") return path(memory, values, query);
  if (tab === "around") return around(memory);
  if (tab === "edit") return edit(memory, etag);
  return details(memory);
}

const question = (values, query) => ({ query, recipe: values.recipe || "default", filter: filterOf(values), k: 50 });

async function why(memory, values, query) {
  if (!query) return [quote(memory), h("p", { class: "dim" }, "Search for something to see why this memory comes.")];
  let explained;
  try {
    explained = await api.why({ ...question(values, query), id: memory.id });
  } catch (error) {
    if (error.type !== "NotFound" && error.type !== "InvalidInput") throw error;
    return [quote(memory), h("p", null, "This query does not return it."), h("button", { type: "button", onclick: () => change({ tab: "whynot" }, true) }, "Why not?")];
  }
  const arithmetic = h("div", { class: "tree" });
  const open = (row) => replace(arithmetic, h("h3", null, row.label), h("ul", null, tree(row.node, 0, row.skip)));
  return [quote(memory), h("p", { class: "sentence" }, explained.summary), waterfall(explained.explanation, open),
    h("p", { class: "dim small" }, "The parts add up to the score. Select one to see its arithmetic."), arithmetic,
    h("details", { class: "tree" }, h("summary", null, "The whole calculation"), h("ul", null, tree(explained.explanation)))];
}

/** The way of one memory through the pipeline: what each step made of it. */
async function path(memory, values, query) {
  if (!query) return [quote(memory), h("p", { class: "dim" }, "Search for something to see the way of this memory through the pipeline.")];
  const found = await api.recall({ ...question(values, query), explain: true, trace: true, track: false });
  const result = found.results.find((each) => each.memory.id === memory.id);
  if (!result) return [quote(memory), h("p", null, "This query does not return it."), h("button", { type: "button", onclick: () => change({ tab: "whynot" }, true) }, "Why not?")];
  const cues = cueValues(result.explanation), stages = stageValues(result.explanation);
  let before = null;
  const rows = found.trace.steps.filter((step) => ["filter", "cue", "fuse", "stage", "cut"].includes(step.kind)).map((step) => {
    let what = "", changed = false;
    if (step.outcome !== "ran") what = `${step.outcome}: ${step.reason}`;
    else if (step.kind === "filter") what = `one of ${count(step.out)} that the filter lets in`;
    else if (step.kind === "cue") { changed = cues.has(step.name); what = changed ? `found it: ${score(cues.get(step.name))} of the blend` : "did not find it"; }
    else if (step.kind === "fuse") { changed = true; before = stages.get(step.name) ?? null; what = before === null ? "merged the lists" : score(before); }
    else if (step.kind === "cut") { changed = true; what = `rank ${result.rank} of ${count(step.in ?? step.out)}, score ${score(result.score)}`; }
    else { const after = stages.get(step.name); changed = after !== undefined && (before === null || Math.abs(after - before) > 1e-9); what = changed ? `${before === null ? "" : `${score(before)} → `}${score(after)}` : "unchanged"; before = after ?? before; }
    const matters = step.outcome === "ran" && (changed || step.kind === "filter");
    return [matters, h("tr", { class: matters ? "" : "dim" }, h("th", { scope: "row" }, step.kind === "cue" ? meaning(step.name) : step.name), h("td", null, what))];
  });
  const table = (wanted) => h("table", { class: "path" }, rows.filter(([matters]) => matters === wanted).map(([, row]) => row));
  const others = rows.filter(([matters]) => !matters).length;
  return [quote(memory), table(true), others > 0 && h("details", { class: "small" }, h("summary", null, `${plural(others, "step")} that changed nothing for it`), table(false))];
}

const figure = (value) => (Number.isInteger(value) ? count(value) : score(value)); // ranks and counts are whole

async function whyNot(values, query) {
  const chosen = values.open === "-" ? "" : values.open;
  const input = h("input", { name: "id", placeholder: "id, or words of the memory", value: chosen, "aria-label": "Memory", required: true });
  const found = h("div");
  const form = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); pick(input.value.trim(), found); } }, input, h("button", null, "Why not?"));
  const head = [h("p", null, query ? ["Why is a memory not among the answers to “", h("b", null, shorten(query, 60)), "”?"] : "Search for something first, then ask why a memory is not among the answers."), form, found];
  if (!chosen || !query) return head;
  const verdict = await api.whyNot({ ...question(values, query), k: 10, id: chosen });
  const { value: memory } = await api.show(chosen);
  const rows = Object.entries(verdict.cues || {}).map(([cue, text]) => h("tr", null, h("th", { scope: "row" }, meaning(cue)), h("td", null, text)));
  const compared = !verdict.returned && verdict.value !== null && verdict.value !== undefined && h("p", { class: "num" }, `value ${figure(verdict.value)}`, verdict.threshold === null ? "" : `, needed ${figure(verdict.threshold)}`);
  return [...head, h("h2", null, verdict.returned ? "It is among the answers" : `Left out by: ${verdict.step}`), quote(memory), h("p", null, verdict.reason), compared,
    rows.length > 0 && [h("h3", null, "What each cue says"), h("table", { class: "path" }, rows)]];
}

async function pick(text, place) {
  try {
    const { value } = await api.show(text);
    return change({ open: value.id, tab: "whynot" }, true);
  } catch { /* not an id: search for it by words */ }
  const { results } = await api.recall({ query: text, k: 5, track: false });
  replace(place, h("p", { class: "dim small" }, "Which one?"), results.map(({ memory }) => h("button", { type: "button", class: "card", onclick: () => change({ open: memory.id, tab: "whynot" }, true) }, shorten(memory.text, 120))));
  return null;
}

const quote = (memory) => h("blockquote", { class: "card" }, h("div", { class: "text", dir: "auto" }, memory.text), h("div", { class: "dim small" }, [memory.speaker, memory.created && day(memory.created)].filter(Boolean).join(" · ")));

/** A date, and how long ago it was where that is not the date itself. */
function dated(text) {
  const when = moment(text);
  return when.textContent === day(text) ? when : [day(text), " ", h("span", { class: "dim" }, when)];
}

async function details(memory) {
  const [{ versions }, { edges }] = await Promise.all([api.history(memory.id), api.edges([memory.id])]);
  const fields = Object.entries(memory).filter(([name, value]) => !HIDDEN.includes(name) && value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  const shown = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value));
  const use = memory.use || {};
  const changes = [...versions.map(({ until, memory: former }) => [until, former.text]), [null, memory.text]];
  const diffs = changes.slice(1).map(([, text], at) => h("li", null, h("span", { class: "who" }, day(changes[at][0]), ": "), difference(changes[at][1], text)));
  const others = await Promise.all(edges.slice(0, LINKS).map((edge) => link(edge, memory)));
  return [h("blockquote", { class: "card whole", dir: "auto" }, memory.text),
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => change({ tab: "edit" }, true) }, "Edit"), h("button", { type: "button", onclick: () => supersede(memory) }, "Supersede"),
      h("button", { type: "button", onclick: () => forget(memory) }, "Forget"), h("button", { type: "button", class: "danger", onclick: () => erase(memory) }, "Erase…"),
      h("a", { class: "small", href: `#/graph?id=${encodeURIComponent(memory.id)}` }, "Graph")),
    h("h2", null, "Fields"), h("dl", { class: "fields" }, h("dt", null, "id"), h("dd", { class: "mono" }, memory.id), fields.map(([name, value]) => [h("dt", null, name), h("dd", null, /created|updated|valid_|expires/.test(name) ? dated(value) : shown(value))])),
    h("h2", null, "Use"), useOf(use),
    others.length > 0 && [h("h2", null, "Links"), h("ul", { class: "turns small" }, others), edges.length > LINKS && h("p", { class: "dim small" }, `${count(edges.length - LINKS)} more are in the graph.`)],
    diffs.length > 0 && [h("h2", null, "Versions"), h("ol", { class: "turns small" }, diffs)]];
}

/** One edge of a memory, with the text of the memory at its other end. */
async function link(edge, memory) {
  const outgoing = edge.source === memory.id, other = outgoing ? edge.target : edge.source;
  const text = await api.show(other).then(({ value }) => value.text).catch(() => other);
  return h("li", null, h("div", { class: "who" }, `${outgoing ? edge.kind : `← ${edge.kind}`}${edge.weight === 1 ? "" : `, weight ${Number(edge.weight.toPrecision(2))}`}`), h("a", { href: "#", onclick: (event) => { event.preventDefault(); change({ open: other, tab: "memory" }); } }, shorten(text, 140)));
}

/** When it was used, as a line of dots from its first use to today. */
function usePlot(times) {
  if (times.length < 2) return null;
  const width = 400, moments = times.map((each) => Date.parse(each)).sort((a, b) => a - b), now = Date.now(), range = now - moments[0] || 1;
  const x = (at) => (5 + ((at - moments[0]) / range) * (width - 10)).toFixed(1);
  return svg("svg", { class: "chart use", viewBox: `0 0 ${width} 32`, role: "img", "aria-label": `Used ${times.length} times since ${day(times[0])}` }, svg("line", { class: "axis", x1: 5, x2: width - 5, y1: 8, y2: 8 }), moments.map((at) => svg("circle", { class: "c-words", cx: x(at), cy: 8, r: 4 })),
    svg("text", { x: 0, y: 28 }, day(moments[0])), svg("text", { x: width, y: 28, "text-anchor": "end" }, "today"));
}

function useOf(use) {
  const counts = [["accessed", use.access_count], ["recalled", use.recall_count], ["returned", use.return_count]].filter(([, number]) => number);
  const lastUse = [use.last_accessed, use.last_recalled].filter(Boolean).sort().pop();
  if (!counts.length) return h("p", { class: "small dim" }, "Never used.");
  return [h("p", { class: "small" }, counts.map(([what, number]) => `${what} ${number === 1 ? "once" : `${count(number)} times`}`).join(", "), lastUse && [", last ", moment(lastUse)]), usePlot(use.recall_times || [])];
}

async function around(memory) {
  if (!memory.session) return [h("p", { class: "dim" }, "This memory belongs to no session.")];
  const filter = { session: memory.session, collection: memory.collection, ...(memory.user ? { user: memory.user } : {}) };
  const some = async (sort, bounds) => (await api.list({ filter: { ...filter, ...bounds }, sort, limit: AROUND })).memories;
  const found = [...(await some("newest", { until: new Date(Date.parse(memory.created) + 1).toISOString() })), memory, ...(await some("oldest", { since: memory.created }))];
  const turns = [...new Map(found.map((turn) => [turn.id, turn])).values()].sort((a, b) => (a.position ?? 0) - (b.position ?? 0) || a.created.localeCompare(b.created));
  const at = turns.findIndex((turn) => turn.id === memory.id);
  const near = turns.slice(Math.max(0, at - 6), at + 7);
  return [h("h3", null, `Session ${memory.session}, ${day(memory.created)}`), h("ol", { class: "turns" }, near.map((turn) =>
    h("li", { class: turn.id === memory.id ? "current" : "", "aria-current": turn.id === memory.id ? "true" : null }, h("div", { class: "who" }, turn.speaker || turn.role || ""), turn.text)))];
}

function edit(memory, etag) {
  const text = h("textarea", { name: "text", "aria-label": "Text" }, memory.text);
  const tags = h("input", { name: "tags", value: (memory.tags || []).join(", ") });
  const save = async (event) => {
    event.preventDefault();
    try {
      await api.update(memory.id, { text: text.value, tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) }, etag);
      done("Saved.", memory.id);
    } catch (error) { toast(error.message); }
  };
  return [h("form", { onsubmit: save }, h("label", null, "Text", text), h("label", null, h("span", { class: "small dim" }, "Tags, separated by commas"), tags), h("div", { class: "row end" }, h("button", { type: "button", onclick: () => change({ tab: "memory" }, true) }, "Cancel"), h("button", { class: "primary" }, "Save"))),
    h("p", { class: "dim small" }, "The earlier text stays in the versions. If the fact has changed, supersede it instead: both stay, and the newer one comes first.")];
}

async function supersede(memory) {
  const form = await ask("Supersede", [h("p", { class: "dim" }, memory.text), h("label", { for: "new" }, "What is true now"), h("textarea", { name: "new", id: "new", required: true })], "Supersede");
  if (!form || !form.new.trim()) return;
  try {
    const made = await api.supersede(memory.id, { new: form.new });
    done("Superseded.", made.id);
  } catch (error) { toast(error.message); }
}

async function forget(memory) {
  try {
    await api.forget([memory.id]);
    done("Forgotten: it is no longer recalled.", "");
  } catch (error) { toast(error.message); }
}

/** Asks with the counts of what goes; the code of the dry run confirms exactly this set. */
async function erase(memory) {
  try {
    const plan = await api.erase({ ids: [memory.id] });
    const going = Object.entries(plan.removed).filter(([, number]) => number).map(([what, number]) => h("li", null, `${what.replace(/_/g, " ")}: ${count(number)}`));
    const staying = plan.remaining.map((each) => h("li", null, `${each.what}: ${each.why}`));
    const form = await ask("Erase for good?", [h("p", null, "This cannot be undone. It removes:"), h("ul", null, going), staying.length > 0 && [h("p", null, "It does not reach:"), h("ul", null, staying)]], "Erase", true);
    if (!form) return;
    const gone = await api.erase({ ids: [memory.id], code: plan.code });
    changed();
    toast(gone.pending.length ? `Erased; still pending: ${gone.pending[0]}` : "Erased.");
    change({ open: "", tab: "" });
  } catch (error) { toast(error.message); }
}

const changed = () => dispatchEvent(new Event("recollect:changed"));

function done(text, open) {
  current = "";
  changed();
  toast(text, "Undo", async () => { try { const { undone } = await api.undo(); changed(); toast(describeUndo("Undone:", undone)); } catch (error) { toast(error.message); } });
  change({ open, tab: open ? "memory" : "" });
  dispatchEvent(new HashChangeEvent("hashchange"));
}
