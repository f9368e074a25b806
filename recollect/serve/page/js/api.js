// The only module that talks to the server.

export class ApiError extends Error {
  constructor(shown, status) {
    super(shown.message || `The server answered ${status}.`);
    this.type = shown.type || "Error";
    this.hint = shown.hint || "";
    this.status = status;
  }
}

async function call(method, path, { query, body, signal, headers } = {}) {
  const url = new URL(`/v1${path}`, location.origin);
  for (const [name, value] of Object.entries(query || {})) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) {
      url.searchParams.append(name, typeof each === "object" ? JSON.stringify(each) : each);
    }
  }
  let response;
  try {
    response = await fetch(url, {
      method, signal, credentials: "same-origin",
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError({ message: "The server does not answer.", hint: "Is recollect serve or recollect ui still running?" }, 0);
  }
  const text = await response.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { value = null; }
  if (!response.ok) throw new ApiError((value && value.error) || {}, response.status);
  return { value, etag: response.headers.get("etag") };
}

const get = async (path, query, signal) => (await call("GET", path, { query, signal })).value;
const post = async (path, body, signal) => (await call("POST", path, { body, signal })).value;
const id = encodeURIComponent;

export const api = {
  recall: (body, signal) => post("/recall", body, signal),
  why: (body) => post("/why", body),
  whyNot: (body) => post("/why-not", body),
  compare: (body, signal) => post("/compare", body, signal),
  recipes: () => get("/recipes"),
  status: () => get("/status"),
  show: (memory) => call("GET", `/memories/${id(memory)}`),
  list: (query, signal) => get("/memories", query, signal),
  history: (memory) => get(`/memories/${id(memory)}/history`),
  edges: (ids) => get("/edges", { ids }),
  graph: (query) => get("/graph", query),
  timeline: (query, signal) => get("/timeline", query, signal),
  places: (query) => get("/places", query),
  conflicts: (query) => get("/conflicts", query),
  usage: (query) => get("/usage", query),
  folders: () => get("/folders"),
  remember: (body) => post("/memories", body),
  rememberMany: (items) => post("/memories/batch", { items }),
  update: async (memory, changes, etag) => (await call("PATCH", `/memories/${id(memory)}`, { body: changes, headers: etag ? { "if-match": etag } : {} })).value,
  supersede: (old, body) => post(`/memories/${id(old)}/supersede`, body),
  contradict: (body) => post("/contradictions", body),
  forget: (ids) => post("/forget", { ids }),
  erase: (body) => post("/erase", body),
  undo: () => post("/undo", {}),
};

/** Follow changes of the memory; returns a function that ends it. */
export function follow(onChange) {
  const source = new EventSource("/v1/events");
  source.addEventListener("change", onChange);
  return () => source.close();
}
