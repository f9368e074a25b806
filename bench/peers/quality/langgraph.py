"""langgraph's store: semantic search of the in-memory one, the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.memory import InMemoryStore

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


def build(haystack: Haystack) -> Ask:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vector.tolist() for vector in haystack.embed(texts)]

    store = InMemoryStore(index={"dims": haystack.vectors.shape[1], "embed": embed, "fields": ["text"]})
    for at, text in enumerate(haystack.texts):
        store.put(("bench",), str(at), {"text": text})

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        return [int(item.key) for item in store.search(("bench",), query=text, limit=k)]

    return ask


if __name__ == "__main__":
    serve("langgraph", build)
