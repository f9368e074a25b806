"""openmem-engine: its engine's recall."""

from collections.abc import Sequence

from openmem import MemoryEngine  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


def build(haystack: Haystack) -> Ask:
    engine = MemoryEngine(f"{haystack.folder}/openmem.db")
    engine.store.conn.execute("PRAGMA synchronous = OFF")
    places = {engine.add(text).id: at for at, text in enumerate(haystack.texts)}

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        return [places[each.memory.id] for each in engine.recall(text, top_k=k, token_budget=10**9)]

    return ask


if __name__ == "__main__":
    serve("openmem-engine", build)
