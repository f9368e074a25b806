// A form for a new memory.
import { api } from "../api.js";
import { h, replace, toast } from "../dom.js";
import { go } from "../route.js";

export function open(main) {
  const field = (name, label, attributes = {}) => h("label", null, h("div", { class: "small dim" }, label), h("input", { name, ...attributes }));
  const text = h("textarea", { name: "text", required: true, "aria-label": "Text", placeholder: "The blue cup is on the top shelf." });
  const form = h("form", { class: "narrow", onsubmit: save }, h("h1", null, "New memory"), text,
    h("div", { class: "form-grid" }, field("tags", "Tags, separated by commas"), field("speaker", "Speaker"), field("source", "Source"), field("created", "When (empty: now)", { type: "datetime-local" })),
    h("p"), h("div", { class: "row" }, h("button", { class: "primary" }, "Remember"), h("button", { type: "button", onclick: () => history.back() }, "Cancel")));
  async function save(event) {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form));
    const body = { text: values.text };
    if (values.tags) body.tags = values.tags.split(",").map((tag) => tag.trim()).filter(Boolean);
    for (const name of ["speaker", "source"]) if (values[name]) body[name] = values[name];
    if (values.created) body.created = new Date(values.created).toISOString();
    try {
      const memory = await api.remember(body);
      dispatchEvent(new Event("recollect:changed"));
      toast("Remembered.", "Undo", () => api.undo().then(() => dispatchEvent(new Event("recollect:changed"))));
      go("search", { open: memory.id, tab: "memory" });
    } catch (error) { toast(error.message); }
  }
  replace(main, form);
  text.focus();
}

export function update() {}
