// The only module that talks to the server.

export class ApiError extends Error {
  constructor(shown, status) {
    super(shown.message || `The server answered ${status}.`);
    this.type = shown.type || "Error";
    this.hint = shown.hint || "";
    this.status = status;
  }
}

async function send(method, path, { query, body, signal, headers } = {}) {
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
  if (!response.ok) throw new ApiError((await json(response) || {}).error || {}, response.status);
  return response;
}

async function json(response) {
  const text = await response.text();
  try { return text ? JSON.parse(text) : null; } catch { return null; }
}

async function call(method, path, options) {
  const response = await send(method, path, options);
  return { value: await json(response), etag: response.headers.get("etag") };
}

/** A call that reports its progress as events; onProgress gets (done, total). */
async function long(path, query, signal, onProgress) {
  const response = await send("GET", path, { query, signal, headers: { accept: "text/event-stream" } });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    text += value || "";
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const [, kind, data] = event.match(/^event: (\w+)\ndata: (.*)$/s) || [];
      const content = data && JSON.parse(data);
      if (kind === "progress") onProgress(content.done, content.total);
      if (kind === "result") return content;
      if (kind === "error") throw new ApiError(content, 0);
    }
    if (done) throw new ApiError({ message: "The server ended the answer early." }, 0);
  }
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
  conflicts: (query, signal, onProgress) => long("/conflicts", query, signal, onProgress),
  usage: (query) => get("/usage", query),
  folders: () => get("/folders"),
  doctor: () => get("/doctor"),
  remember: (body) => post("/memories", body),
  rememberMany: (items) => post("/memories/batch", { items }),
  update: async (memory, changes, etag) => (await call("PATCH", `/memories/${id(memory)}`, { body: changes, headers: etag ? { "if-match": etag } : {} })).value,
  supersede: (old, body) => post(`/memories/${id(old)}/supersede`, body),
  link: (body) => post("/edges", body),
  contradict: (body) => post("/contradictions", body),
  forget: (ids) => post("/forget", { ids }),
  erase: (body) => post("/erase", body),
  undo: (body = {}) => post("/undo", body),
};

/** Follow changes of the memory; returns a function that ends it. */
export function follow(onChange) {
  const source = new EventSource("/v1/events");
  source.addEventListener("change", onChange);
  return () => source.close();
}
