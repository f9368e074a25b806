// The frame: views, the panel of the selected memory, keys and the theme.
import { api, follow } from "./api.js";
import { ask, byId, h, replace, svg, toast } from "./dom.js";
import { describeUndo, plural } from "./format.js";
import { closePanel, showPanel } from "./panel.js";
import { change, go, read } from "./route.js";
import { applyTheme, themeButton } from "./theme.js";

const VIEWS = {
  search: ["Search", "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm4-1 4 4"],
  timeline: ["Timeline", "M2 14V7m4 7V3m4 11V9m4 5V5"],
  graph: ["Graph", "M4 5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0-9a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5 5l6 7M6 3h4"],
  map: ["Map", "M8 15s5-5 5-9A5 5 0 0 0 3 6c0 4 5 9 5 9Zm0-7a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z"],
  conflicts: ["Conflicts", "M8 2 1 14h14L8 2Zm0 5v3m0 2v.5"],
  folders: ["Folders", "M1 4h5l2 2h7v8H1z"],
  usage: ["Usage", "M2 14c2-7 5-7 6-3s4 1 6-8"],
  health: ["Health", "M1 8h3l2-5 3 10 2-5h4"],
};
const FIRST = ["search", "timeline", "graph", "conflicts"]; // on a phone; the others are behind More
const loaded = {};
let leave = null;
let shown = "";

async function show() {
  const { view } = read();
  const name = VIEWS[view] || view === "compare" || view === "new" ? view : "search";
  const main = byId("main");
  for (const link of document.querySelectorAll("#sidebar a.view")) {
    if (link.dataset.view === (name === "compare" || name === "new" ? "search" : name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown !== name) {
    if (leave) leave();
    leave = null;
    shown = name;
    replace(main);
    document.title = `${(VIEWS[name] || [name === "compare" ? "Compare" : "New memory"])[0]} – Recollect`;
    loaded[name] = loaded[name] || (await import(`./views/${name}.js`));
    if (shown !== name) return;
    leave = loaded[name].open(main) || null;
    if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
  if (loaded[name]) {
    try {
      await loaded[name].update(main, read().values);
    } catch (error) {
      if (error.name !== "AbortError") replace(main, failure(error));
    }
  }
  const now = read().values; // it may have changed meanwhile
  if (now.open) showPanel(now);
  else closePanel();
}

export function failure(error) {
  return h("div", { class: "empty", role: "alert" }, h("p", null, h("b", null, error.message)), error.hint && h("p", null, error.hint),
    error.status === 401 && h("p", null, "Run ", h("code", null, "recollect ui"), " to open this page with a new code."));
}

function sidebar() {
  const links = Object.entries(VIEWS).map(([name, [title, path]]) =>
    h("a", { class: FIRST.includes(name) ? "view" : "view further", href: `#/${name}`, "data-view": name, title }, svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: path })), h("span", { class: "label" }, title)));
  const theme = themeButton("plain");
  const help = h("button", { type: "button", class: "plain", onclick: showHelp, title: "Keys (?)" }, "Keys");
  replace(byId("sidebar"), h("a", { class: "brand", href: "#/search" }, h("img", { src: "icon.svg", alt: "" }), h("span", { class: "label" }, "Recollect")),
    links, h("button", { type: "button", class: "view-more", "aria-haspopup": "dialog", onclick: showMore }, svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: "M2 8h.5M8 8h.5M14 8h.5" })), h("span", { class: "label" }, "More")), h("div", { class: "grow" }), h("div", { class: "row tools" }, theme, help), h("div", { class: "foot", id: "foot" }));
}

/** The views that have no place in the bar of a phone. */
function showMore() {
  const close = () => byId("dialog").close();
  ask("More", h("ul", { class: "views" }, Object.entries(VIEWS).filter(([name]) => !FIRST.includes(name)).map(([name, [title]]) => h("li", null, h("a", { href: `#/${name}`, onclick: close }, title))), h("li", null, themeButton("plain"))));
}

let about = null; // the status, which does not change while the page is open

async function footer() {
  try {
    const { total } = await api.list({ limit: 1 }); // the status counts much more, and takes longer
    about = about || (await api.status());
    const bound = Object.entries(about.bound).map(([name, value]) => `${name} ${value}`).join(", ");
    replace(byId("foot"), h("div", null, plural(total, "memory", "memories")), bound && h("div", null, `only ${bound}`), h("div", null, `version ${about.version}`));
  } catch (error) {
    if (error.status === 401) replace(byId("main"), failure(error));
  }
}

const KEYS = [["/", "search"], ["j k", "next, previous"], ["Enter", "open"], ["w", "why"], ["n", "why not another memory"], ["c", "compare recipes"], ["e", "edit"], ["a", "add a memory"], ["z", "undo"], ["Esc", "close"], ["?", "these keys"]];
const showHelp = () => ask("Keys", h("table", null, KEYS.map(([key, what]) => h("tr", null, h("td", null, key.split(" ").map((each) => [h("kbd", null, each), " "])), h("td", null, what)))));

const RECENT = 600000; // milliseconds; what is older is probably not what was to be undone

async function undo() {
  try {
    const { undone: planned } = await api.undo({ dry_run: true });
    if (!planned) return toast("Nothing is left to undo.");
    const old = Date.now() - Date.parse(planned.at) > RECENT;
    if (old && !(await ask("Undo this?", h("p", null, describeUndo("Undo", planned)), "Undo"))) return null;
    const { undone } = await api.undo();
    toast(describeUndo("Undone:", undone));
  } catch (error) {
    toast(error.message);
  }
  return null;
}

function onKey(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || document.querySelector("dialog[open]");
  if ((event.metaKey || event.ctrlKey) && event.key === "k") { event.preventDefault(); return focusSearch(); }
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    event.preventDefault(); // or the browser would empty the search box, while results and address stay
    if (typing) event.target.blur(); else change({ open: "", tab: "" });
    return;
  }
  if (typing) return;
  const { values } = read();
  const actions = {
    "/": focusSearch, "?": showHelp, z: undo, a: () => go("new", {}),
    c: () => go("compare", { ...values, open: "" }),
    w: () => values.open && change({ tab: "why" }), n: () => change({ open: values.open || "-", tab: "whynot" }),
    e: () => values.open && values.open !== "-" && change({ tab: "edit" }),
    j: () => move(1), k: () => move(-1),
  };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
}

function focusSearch() {
  if (read().view !== "search") go("search", {});
  setTimeout(() => { const box = byId("query"); if (box) { box.focus(); box.select(); } }, 60);
}

function move(by) {
  const items = [...document.querySelectorAll("[data-memory]")];
  if (!items.length) return;
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  const item = items[Math.min(items.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))];
  item.focus();
  item.scrollIntoView({ block: "nearest" });
  change({ open: item.dataset.memory }, true);
}

applyTheme();
sidebar();
addEventListener("hashchange", show);
addEventListener("keydown", onKey);
addEventListener("recollect:changed", footer);
show();
footer();
follow(() => dispatchEvent(new Event("recollect:changed")));
