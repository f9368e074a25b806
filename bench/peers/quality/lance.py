"""LanceDB's hybrid search: full text and vectors, joined by its own reranker (RRF)."""

from collections.abc import Sequence

import lancedb  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


def build(haystack: Haystack) -> Ask:
    rows = [
        {"at": at, "text": text, "vector": vector}
        for at, (text, vector) in enumerate(zip(haystack.texts, haystack.vectors, strict=True))
    ]
    table = lancedb.connect(haystack.folder).create_table("bench", rows)
    table.create_fts_index("text")

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        search = table.search(query_type="hybrid").vector(vector).text(text).limit(k)
        return [int(at) for at in search.to_arrow()["at"].to_pylist()]

    return ask


if __name__ == "__main__":
    serve("lancedb", build)
