"""openmem-engine: its engine's recall (BM25, then activation along links, where there are any)."""

from typing import Any

from openmem import MemoryEngine  # type: ignore[import-not-found]

from bench.peers.serve import Ask, serve


def load(folder: str, texts: list[str], order: dict[str, Any]) -> Ask:
    engine = MemoryEngine(f"{folder}/openmem.db")
    connection = engine.store.conn
    (held,) = connection.execute("PRAGMA synchronous").fetchone()
    connection.execute("PRAGMA synchronous = OFF")  # for loading only
    ids = [engine.add(text).id for text in texts]
    for source, target, weight in order.get("edges", ()):
        engine.link(ids[source], ids[target], "mentions", weight)
    connection.execute(f"PRAGMA synchronous = {held}")

    def ask(question: dict[str, Any]) -> Any:
        return engine.recall(question["text"], top_k=question["k"])

    return ask


if __name__ == "__main__":
    serve("openmem-engine", load)
