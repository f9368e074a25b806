// Elements without markup: texts only ever become text nodes, so nothing that is stored can run.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else node.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** h("a", {href: "#/"}, "text", h("b")) */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((each) => each !== undefined && each !== null && each !== false));
}

/** The width of a chart in its own units: those of the screen, so that its letters are as large as others. */
export const chartWidth = () => Math.max(280, byId("answer").clientWidth);

export const byId = (id) => document.getElementById(id);

/** Call a function when it has not been called for some milliseconds. */
export function debounced(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

/** A message at the bottom, with an action such as Undo. */
export function toast(text, label, action) {
  const close = () => note.remove();
  const button = label && h("button", { type: "button", onclick: () => { close(); action(); } }, label);
  const note = h("div", { class: "toast" }, h("span", null, text), button);
  byId("toasts").append(note);
  setTimeout(close, label ? 10000 : 4000);
}

/** Show a dialog; resolves to the values of its form, or to null. */
export function ask(title, body, confirm, dangerous = false) {
  const dialog = byId("dialog");
  return new Promise((resolve) => {
    const done = (value) => { dialog.close(); replace(dialog); resolve(value); };
    const form = h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); done(Object.fromEntries(new FormData(form))); } },
      h("h1", { id: "dialog-title" }, title), body,
      h("div", { class: "row end" },
        h("button", { type: "button", onclick: () => done(null) }, confirm ? "Cancel" : "Close"),
        confirm && h("button", { class: dangerous ? "danger" : "primary" }, confirm)));
    replace(dialog, form);
    dialog.setAttribute("aria-labelledby", "dialog-title");
    dialog.oncancel = () => done(null);
    dialog.showModal();
  });
}
