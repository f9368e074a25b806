"""mempalace: drawers in a palace, found by its own search (vectors, then BM25 and distance together)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mempalace.embedding import get_embedding_function  # type: ignore[import-not-found]
from mempalace.palace import get_collection  # type: ignore[import-not-found]
from mempalace.searcher import search_memories  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve

AT_ONCE = 1_000


def build(haystack: Haystack) -> Ask:
    model = get_embedding_function()
    model._download_model_if_not_exists = lambda: None
    model._forward = lambda documents, batch_size=32: haystack.embed(documents)
    kept = get_collection(haystack.folder)
    for start in range(0, len(haystack.texts), AT_ONCE):
        texts = haystack.texts[start : start + AT_ONCE]
        places = range(start, start + len(texts))
        about: list[dict[str, Any]] = [
            {"wing": "bench", "room": "bench", "source_file": f"{at}.txt", "chunk_index": 0} for at in places
        ]
        kept.upsert(documents=texts, ids=[f"drawer_{at}" for at in places], metadatas=about)

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        found = search_memories(text, haystack.folder, n_results=k)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [int(str(each["source_file"]).split("/")[-1].removesuffix(".txt")) for each in found["results"]]

    return ask


if __name__ == "__main__":
    serve("mempalace", build)
