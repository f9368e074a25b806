"""Token sketches: the token vectors of a text at one bit per dimension, small enough to store with every memory.

A query is compared with a text token by token (late interaction). The query's vectors keep their precision; of the
text's only the signs are stored, 48 bytes per token for 384 dimensions. For unit vectors q and d, Σ q × sign(d) ÷
√(2n/π) is about their cosine. Measured on four open sets, R@10 of this comparison alone: .667 with full vectors, .658
with signs, .629 with the best 64 dimensions at 8 bits (64 bytes per token).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.embed.base import (
    Embedder,
    SketchEmbedder,
    TextsRejected,
    TokenEmbedder,
    TokenVectors,
    Vectors,
    embed_with_tokens,
)
from recollect.protocols import supports
from recollect.text.stopwords import ENGLISH

BATCH = 64  # texts: full token vectors are large and are dropped once they are sketches
MAX_TOKENS = 64  # of a sketch: in a longer text, tokens of similar meaning are merged


def embed_with_sketches(embedder: Embedder, texts: Sequence[str]) -> list[tuple[Vectors, bytes]]:
    """The vector and the token sketch of each text; the sketch is empty unless the embedder is a TokenEmbedder."""
    if supports(embedder, SketchEmbedder):
        return embedder.embed_with_sketches(texts)
    encoded: list[tuple[Vectors, bytes]] = []
    size = BATCH if supports(embedder, TokenEmbedder) else max(1, len(texts))
    for start in range(0, len(texts), size):
        vectors, tokens = embed_with_tokens(embedder, texts[start : start + size])
        sketches = [b""] * len(vectors) if tokens is None else [sketch_tokens(each) for each in tokens]
        encoded += zip(vectors, sketches, strict=True)
    return encoded


def embed_accepted(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[list[tuple[Vectors, bytes] | None], dict[str, str]]:
    """What ``embed_with_sketches`` gives, with None for rejected texts; and the reason of each rejection, by text."""
    reasons: dict[str, str] = {}
    while True:  # each time with fewer texts; the vectors made before come from the cache, if there is one
        try:
            encoded = iter(embed_with_sketches(embedder, [text for text in texts if text not in reasons]))
        except TextsRejected as rejected:
            if rejected.reasons.keys().isdisjoint(texts):  # a wrapper around the embedder changed the texts
                raise
            reasons |= rejected.reasons
        else:
            return [None if text in reasons else next(encoded) for text in texts], reasons


def sketch_tokens(text: TokenVectors) -> bytes:
    """The signs of the content tokens: without punctuation and stop words, unless there is nothing else.

    A text without tokens is sketched by its own vector, so that every text has a sketch.
    """
    if not text.tokens:
        return np.packbits(np.asarray(text.text_vector) > 0).tobytes()
    vectors = text.vectors[_sketched(text.tokens)]
    return np.packbits(_merge_similar(vectors, MAX_TOKENS) > 0, axis=1).tobytes()


def sketched_tokens(tokens: Sequence[str]) -> list[int] | None:
    """Which tokens of a text its sketch has, in the order of the sketch; None where some were merged."""
    places = _sketched(tokens)
    return places if len(places) <= MAX_TOKENS else None


def _sketched(tokens: Sequence[str]) -> list[int]:
    return [at for at, token in enumerate(tokens) if _is_content(token)] or [*range(len(tokens))]


def _is_content(token: str) -> bool:
    return token not in ENGLISH and any(letter.isalnum() for letter in token)


def _merge_similar(vectors: Vectors, max_vectors: int) -> Vectors:
    """At most so many vectors: those farthest from one another, each with the sum of its nearest others."""
    if len(vectors) <= max_vectors:
        return vectors
    similarity = vectors @ vectors.T
    chosen = [int(similarity.sum(axis=1).argmin())]
    nearest = similarity[chosen[0]].copy()
    while len(chosen) < max_vectors:
        chosen.append(int(nearest.argmin()))
        np.maximum(nearest, similarity[chosen[-1]], out=nearest)
    merged = np.zeros((max_vectors, vectors.shape[1]), dtype=np.float32)
    np.add.at(merged, similarity[:, chosen].argmax(axis=1), vectors)
    return merged[merged.any(axis=1)]  # fewer are left when tokens are all alike
