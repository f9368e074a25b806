"""bm25s with its own English stop words."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s  # type: ignore[import-not-found]

from bench.peers.quality.serve import Ask, Haystack, Vectors, serve


def build(haystack: Haystack) -> Ask:
    retriever = bm25s.BM25()
    tokens = bm25s.tokenize(haystack.texts, stopwords="en", show_progress=False)
    if tokens.vocab:
        retriever.index(tokens, show_progress=False)

    def ask(text: str, vector: Vectors, k: int) -> Sequence[int]:
        words = bm25s.tokenize(text, stopwords="en", show_progress=False, return_ids=False)
        if not tokens.vocab or not any(words):
            return []
        places, scores = retriever.retrieve(words, k=min(k, len(haystack.texts)), show_progress=False)
        return [int(at) for at, score in zip(places[0], scores[0], strict=True) if score > 0]

    return ask


if __name__ == "__main__":
    serve("bm25s", build)
