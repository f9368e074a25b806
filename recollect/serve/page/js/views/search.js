// Search: results as one reads them, with what made each score, and the steps of the pipeline.
import { api } from "../api.js";
import { ask, byId, debounced, h, replace, toast } from "../dom.js";
import { legend } from "../explain.js";
import { count, plural, score } from "../format.js";
import { FILTERS, change, filterOf, go, read } from "../route.js";
import { differingOwners, more, pages, row, select } from "../results.js";

const TYPING = 140; // milliseconds without a key before the whole recipe runs
let request = null;
let last = "";
let opened = "";
let stepsOpen = false;
const FIRST = 20; // results; further ones are asked for
let wanted = FIRST;
let typing = false; // is there something in the box that was not asked yet?
let addressed = ""; // the query in the address

export function open(main) {
  last = "";
  typing = false;
  addressed = read().values.q || "";
  wanted = FIRST;
  const input = h("input", { id: "query", type: "search", placeholder: "Ask your memory…", "aria-label": "Query", autocomplete: "off", spellcheck: "false", value: read().values.q || "" });
  const submit = () => { if (!typing) return; typing = false; if ((read().values.q || "") !== input.value) change({ q: input.value, open: "", tab: "" }, true); };
  const later = debounced(TYPING, submit);
  input.addEventListener("input", () => { typing = true; quick(input.value); later(); });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") submit(); });
  const recipe = h("select", { id: "recipe", "aria-label": "Recipe", onchange: () => change({ recipe: recipe.value === "default" ? "" : recipe.value, open: "" }) }, h("option", { value: "default" }, "default"));
  api.recipes().then(({ recipes }) => { replace(recipe, recipes.map((each) => h("option", { value: each.name, title: each.about }, each.name))); recipe.value = read().values.recipe || "default"; }).catch(() => {});
  replace(main, h("div", { class: "beside" }, h("div", { class: "narrow" },
    h("div", { class: "searchbox", role: "search" }, input, h("button", { type: "button", title: "Add a memory (a)", onclick: () => go("new", {}) }, "Add")),
    h("div", { class: "filters row" }, h("div", { class: "row", id: "filters" }), recipe, h("button", { type: "button", class: "plain", title: "Compare recipes (c)", onclick: () => go("compare", read().values) }, "Compare")), h("div", { id: "answer" })), hint()));
  const again = () => { last = ""; update(main, read().values); };
  addEventListener("recollect:changed", again);
  if (!matchMedia("(pointer: coarse)").matches) input.focus(); // it would open the keyboard of a phone
  return () => removeEventListener("recollect:changed", again);
}

export async function update(main, values) {
  const input = byId("query");
  if ((values.q || "") !== addressed) typing = false; // another address counts more than what was being typed
  addressed = values.q || "";
  if (!typing) input.value = addressed;
  byId("recipe").value = values.recipe || "default";
  showFilters(values);
  select(values.open);
  const key = JSON.stringify([values.q, values.recipe, filterOf(values)]);
  if (key === last) return;
  if (last) wanted = FIRST;
  last = key;
  if (request) request.abort();
  request = new AbortController();
  if (!(values.q || "").trim()) return browse(values, request.signal);
  const skeleton = setTimeout(() => replace(byId("answer"), [1, 2, 3].map(() => h("div", { class: "skeleton" }))), 150);
  try {
    const found = await api.recall({ query: values.q, recipe: values.recipe || "default", filter: filterOf(values), k: wanted, explain: true, matched_words: true, trace: true, left_out: 20, track: false }, request.signal);
    render(found, values);
  } catch (error) {
    if (error.name === "AbortError") return;
    last = "";
    replace(byId("answer"), h("div", { class: "notice", role: "alert" }, h("p", null, h("b", null, error.message)), error.hint && h("p", null, error.hint), h("button", { type: "button", onclick: () => update(main, read().values) }, "Try again")));
  } finally {
    clearTimeout(skeleton);
  }
}

/** Beside the list, where no memory is selected and there is space. */
const hint = () => h("div", { class: "hint dim", "aria-hidden": "true" }, h("p", null, "Select a memory to see why it came, its way through the steps, its fields and versions, and what was said around it."),
  h("p", null, [["j", "k"], ["w"], ["n"], ["?"]].map((keys, at) => h("span", null, keys.map((key) => [h("kbd", null, key), " "]), ["next, previous", "why", "why not", "all keys"][at]))));

/** While one types: words alone, at once. What the whole recipe answered is never overwritten. */
const quick = debounced(20, async (text) => {
  const { values } = read();
  if (!text.trim() || values.recipe || values.q === text) return;
  try {
    const found = await api.recall({ query: text, filter: filterOf(values), k: 8, settings: { vectors: 0, tokens: 0 }, track: false });
    if (byId("query") && byId("query").value === text && read().values.q !== text) render({ ...found, confidence: null, low_confidence: false, missing_time: "" }, values);
  } catch { /* the whole recipe follows */ }
});

function showFilters(values) {
  const chips = FILTERS.filter((name) => values[name]).map((name) => h("span", { class: "chip" }, `${name}: ${values[name]}`, h("button", { type: "button", "aria-label": `Remove the filter ${name}`, onclick: () => change({ [name]: "" }) }, "✕")));
  replace(byId("filters"), chips, h("button", { type: "button", class: "plain", onclick: addFilter }, "+ filter"));
}

async function addFilter() {
  const form = await ask("Filter", [h("label", { for: "field" }, "Field"), h("select", { name: "field", id: "field" }, FILTERS.map((name) => h("option", null, name))), h("label", { for: "value" }, "Value (dates may be words: last month)"), h("input", { name: "value", id: "value", required: true })], "Add");
  if (form && form.value.trim()) change({ [form.field]: form.value.trim() });
}

/** Without a query: the newest memories, or how to begin. */
async function browse(values, signal) {
  const found = await pages(filterOf(values), "newest", signal);
  return replace(byId("answer"), found.total ? found.parts : filterOf(values) ? h("p", { class: "empty" }, "No memory matches these filters.") : firstRun());
}

const EXAMPLES = [
  { text: "Ida lives at 4 Mill Lane.", speaker: "Ida", created: "2025-03-01T09:00:00Z", tags: ["example"] },
  { text: "The blue cup is on the top shelf.", tags: ["example", "kitchen"] },
  { text: "Ida has moved: she lives at 12 Harbour Road now.", speaker: "Ida", tags: ["example"] },
];

function firstRun() {
  const add = async () => {
    try {
      await api.rememberMany(EXAMPLES);
      dispatchEvent(new Event("recollect:changed"));
      toast("Added three memories.", "Undo", () => api.undo().then(() => dispatchEvent(new Event("recollect:changed"))));
      change({ q: "where does Ida live now?" });
    } catch (error) { toast(error.message); }
  };
  return h("div", { class: "empty" }, h("h1", null, "Nothing is remembered yet"), h("p", null, "Add three example memories and ask where Ida lives now, or bring your own: ", h("code", null, "recollect import export.zip"), ", ", h("code", null, "recollect sync ~/notes"), "."),
    h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: add }, "Add three examples"), h("button", { type: "button", onclick: () => go("new", {}) }, "Write one")));
}

function render(found, values) {
  const doubt = found.missing_time ? `No memory is of the time asked for (${found.missing_time}); nearest:` : found.low_confidence ? `Nothing here seems to be about this${found.low_confidence_reason ? ` (${found.low_confidence_reason})` : ""}; nearest:` : "";
  const best = Math.max(...found.results.map((result) => result.score), 0);
  const owners = differingOwners(found.results.map((result) => result.memory));
  const names = found.results.flatMap((result) => result.shares.map((share) => share.name));
  const list = h("ul", { class: doubt ? "results low" : "results", role: "listbox", "aria-label": "Results" }, found.results.map((result) => row(result, best, owners)));
  const further = found.trace && found.results.length === wanted && more("Show more", () => { wanted += 40; last = ""; return update(byId("main"), values); });
  const confidence = found.confidence === null ? "" : `, confidence ${found.confidence.toFixed(2)}`;
  const steps = found.trace && strip(found);
  const shown = h("span", { class: "dim small", role: "status" }, `${plural(found.results.length, "result")} in ${Math.round(found.milliseconds)} ms${confidence}`);
  const link = steps && h("button", { type: "button", class: "plain small", id: "steps", "aria-expanded": String(stepsOpen), onclick: () => { stepsOpen = !stepsOpen; link.setAttribute("aria-expanded", String(stepsOpen)); steps.hidden = !stepsOpen; } }, "steps");
  if (steps) steps.hidden = !stepsOpen;
  replace(byId("answer"), doubt && found.results.length > 0 && h("p", { class: "notice", role: "status" }, doubt),
    h("div", { class: "row summary" }, shown, link), steps, found.results.length ? list : nothing(values), further,
    found.results.length > 0 && legend(names, found.results.some((result) => (result.matched_words || []).length > 0)));
  select(values.open);
}

/** What one can do when nothing was found. */
function nothing(values) {
  const none = Object.fromEntries(FILTERS.map((name) => [name, ""]));
  return h("div", { class: "empty" }, h("p", null, filterOf(values) ? "No memory that passes the filters was found." : "Nothing was found."),
    h("div", { class: "row" }, filterOf(values) && h("button", { type: "button", onclick: () => change(none) }, "Search without filters"),
      h("button", { type: "button", title: "n", onclick: () => change({ open: "-", tab: "whynot" }) }, "Why not a memory that I know of?")));
}

// The strip of steps: groups, each with its count; a click lists its steps and whom they left out.
const GROUPS = [["read", ["filter", "read"]], ["cues", ["cue"]], ["fuse", ["fuse"]], ["stages", ["stage"]], ["best", ["cut", "judge", "fetch", "after"]]];

function strip(found) {
  const details = h("div", { class: "steps", hidden: true });
  const buttons = GROUPS.map(([name, kinds]) => {
    const steps = found.trace.steps.filter((step) => kinds.includes(step.kind));
    const counts = steps.map((step) => step.out).filter((each) => each !== undefined);
    const number = name === "cues" ? counts.reduce((sum, each) => sum + each, 0) : counts[counts.length - 1];
    const time = steps.reduce((sum, step) => sum + step.milliseconds, 0);
    const show = () => { opened = opened === name ? "" : name; toggle(); };
    return h("button", { type: "button", "aria-expanded": "false", "data-group": name, onclick: show }, name, number === undefined ? "" : [" ", h("b", { class: "num" }, count(number))], h("span", { class: "dim num" }, ` ${milliseconds(time)}`));
  });
  const toggle = () => {
    buttons.forEach((button) => button.setAttribute("aria-expanded", String(button.dataset.group === opened)));
    const kinds = (GROUPS.find(([name]) => name === opened) || [null, []])[1];
    details.hidden = !opened;
    const steps = found.trace.steps.filter((step) => kinds.includes(step.kind));
    const [ran, skipped] = [steps.filter((step) => step.outcome !== "skipped"), steps.filter((step) => step.outcome === "skipped")];
    replace(details, ran.map(stepLine), skipped.length > 0 && h("details", { open: !ran.length }, h("summary", { class: "dim" }, `${plural(skipped.length, "step")} had nothing to do`), skipped.map(stepLine)));
  };
  toggle();
  return h("div", null, h("div", { class: "strip", "aria-label": "Steps of this recall" }, buttons.flatMap((button, at) => (at ? [h("span", { class: "sep" }, "▸"), button] : [button]))), details);
}

const milliseconds = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;
const detailText = (value) => (typeof value === "object" && value !== null ? Object.entries(value).map(([name, each]) => `${name} ${detailText(each)}`).join(", ") : typeof value === "number" ? String(Number(value.toPrecision(3))) : value === true ? "yes" : value === false ? "no" : String(value));

function stepLine(step) {
  const counts = step.out === undefined ? "" : step.in === undefined || step.in === step.out ? count(step.out) : `${count(step.in)} → ${count(step.out)}`;
  const detail = Object.entries(step.detail || {}).map(([name, value]) => `${name}: ${detailText(value)}`).join(" · ");
  const left = (step.left_out || []).map((group) => h("details", null, h("summary", null, `left out ${count(group.total)}: ${group.reason}`), h("ul", null, group.memories.map((memory) =>
    h("li", null, h("a", { href: "#", onclick: (event) => { event.preventDefault(); change({ open: memory.id, tab: "whynot" }); } }, memory.text), memory.value === null ? "" : h("span", { class: "dim num" }, ` ${score(memory.value)}${group.threshold === null ? "" : ` of ${score(group.threshold)}`}`))))));
  return h("div", { class: `step ${step.outcome}` }, h("b", null, step.name), h("span", { class: "num" }, counts), h("span", { class: "dim num" }, milliseconds(step.milliseconds)),
    h("div", { class: "dim" }, step.outcome === "ran" ? detail : `${step.outcome === "failed" ? "failed: " : ""}${step.reason}`, left));
}
