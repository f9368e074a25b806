"""openmem-engine: its engine's recall (BM25, then activation along links, of which there are none here)."""

from typing import Any

from openmem import MemoryEngine  # type: ignore[import-not-found]

from bench.peers.serve import Ask, serve


def load(folder: str, texts: list[str], vectors: str) -> Ask:
    engine = MemoryEngine(f"{folder}/openmem.db")
    connection = engine.store.conn
    (held,) = connection.execute("PRAGMA synchronous").fetchone()
    connection.execute("PRAGMA synchronous = OFF")  # for loading only
    for text in texts:
        engine.add(text)
    connection.execute(f"PRAGMA synchronous = {held}")

    def ask(question: dict[str, Any]) -> Any:
        return engine.recall(question["text"], top_k=question["k"])

    return ask


if __name__ == "__main__":
    serve("openmem-engine", load)
