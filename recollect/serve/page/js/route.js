// The address of what is shown: #/view?name=value. It can be shared, reloaded and left with the back button.

export function read() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "search", values: Object.fromEntries(new URLSearchParams(search || "")) };
}

export function address(view, values = {}) {
  const search = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== ""));
  const text = search.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Go to an address; with ``quiet`` it replaces the present one in the history of the browser. */
export function go(view, values, quiet = false) {
  const target = address(view, values);
  if (target === location.hash) return;
  if (quiet) {
    history.replaceState(null, "", target);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = target;
}

export const change = (values, quiet = false) => { const now = read(); go(now.view, { ...now.values, ...values }, quiet); };

const FIELDS = ["user", "agent", "session", "speaker", "role", "kind", "topic", "source", "collection", "status"];

/** The filter in the address, as the API takes it; undefined if there is none. */
export function filterOf(values) {
  const filter = {};
  for (const name of [...FIELDS, "since", "until"]) if (values[name]) filter[name] = values[name];
  if (values.tags) filter.tags = values.tags.split(",");
  return Object.keys(filter).length ? filter : undefined;
}

export const FILTERS = [...FIELDS, "tags", "since", "until"];
