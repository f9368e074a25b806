"""The page in a browser: ``python bench/page.py [--size 100000]``, after ``make test-page`` has installed one.

From the moment a query is typed until its answer is painted: first by words alone, then by the whole recipe, which
waits until the typing rests. Beside it the CPU of the same two recalls without a server and a browser. Vectors are made
from hashes of the texts, so that the model is not measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(HOME.parent))

from playwright.sync_api import sync_playwright  # noqa: E402

from bench.serve import fill, open_mind  # noqa: E402
from recollect import Mind  # noqa: E402
from recollect.serve.backend import Backend  # noqa: E402
from recollect.serve.server import running  # noqa: E402
from recollect.serve.settings import ServerSettings  # noqa: E402
from recollect.serve.tokens import TokenFile  # noqa: E402
from recollect.service import Service, find_operation  # noqa: E402

RESTS_MS = 900  # between two queries
KINDS: dict[str, dict[str, Any]] = {  # as the page asks for them
    "words": {"k": 8, "settings": {"vectors": 0, "tokens": 0}},
    "recipe": {"k": 20, "explain": True, "trace": True, "left_out": 20},
}
WATCH = """() => {
  window.painted = [];
  const box = document.querySelector("#query");
  box.addEventListener("input", () => {
    const begun = performance.now(), text = box.value, before = document.querySelector(".results"), seen = new Set();
    new MutationObserver((_, observer) => {
      const list = document.querySelector(".results");
      if (!list || list === before || box.value !== text) return;
      const kind = document.querySelector(".strip") ? "recipe" : "words"; // only a whole recall has its steps
      if (seen.has(kind)) return;
      seen.add(kind);
      const { port1, port2 } = new MessageChannel(); // its message comes after the frame is drawn
      port1.onmessage = () => window.painted.push([text, kind, performance.now() - begun]);
      requestAnimationFrame(() => port2.postMessage(null));
      if (kind === "recipe") observer.disconnect();
    }).observe(document.querySelector("#answer"), { childList: true, subtree: true });
  });
}"""


def time_in_browser(url: str, code: str, queries: list[str], chromium: str) -> dict[str, list[float]]:
    """Milliseconds until each query's answers were painted."""
    painted: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}/login?code={code}")
        page.wait_for_selector(".result")
        page.evaluate(WATCH)
        for query in queries:
            page.fill("#query", "")
            page.wait_for_timeout(RESTS_MS)
            page.fill("#query", query)  # one event, as of a key
            page.wait_for_function(
                "query => window.painted.some((each) => each[0] === query && each[1] === 'recipe')", arg=query
            )
            for text, kind, milliseconds in page.evaluate("window.painted.splice(0)"):
                if text == query:
                    painted[kind].append(milliseconds)
        browser.close()
    return painted


def time_in_process(mind: Mind, queries: list[str]) -> dict[str, list[float]]:
    """Milliseconds of CPU for each query, as the server computes its answers."""
    service, operation = Service(mind, "admin"), find_operation("recall")
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for query in queries:
        for kind, arguments in KINDS.items():
            before = time.thread_time()
            operation.run(service, {"query": query, "track": False, **arguments})
            spent[kind].append((time.thread_time() - before) * 1e3)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="recollect-page-"))
    path = folder / "memory.db"
    try:
        queries = fill(path, options.size)[: options.queries]
        tokens, made = TokenFile.beside(path), list[Backend]()
        with open_mind(path) as mind:
            time_in_process(mind, queries[:3])
            spent = time_in_process(mind, queries)

            def make(settings: ServerSettings) -> Backend:
                made.append(Backend(mind, tokens, settings))
                return made[0]

            with running(make, ServerSettings(port=0)) as url:
                code = made[0].control.make_code(tokens.create("bench", "admin")[1].access)
                painted = time_in_browser(url, code, queries, options.chromium)
        for kind in KINDS:
            typed, own = statistics.median(painted[kind]), statistics.median(spent[kind])
            print(f"{kind:<7} painted after {typed:5.0f} ms (median of {len(queries)}), its recall {own:5.1f} ms CPU")
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
