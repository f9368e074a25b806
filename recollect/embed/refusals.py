"""Texts that an embedder refuses: told apart from the others, which get their vectors all the same."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.embed.base import Embedder, Refused, Vectors
from recollect.embed.token_sketch import encode


def encode_most(embedder: Embedder, texts: Sequence[str]) -> tuple[list[tuple[Vectors, bytes] | None], dict[str, str]]:
    """What ``encode`` gives, with None for a text that is refused; and why each of those is, by text."""
    reasons: dict[str, str] = {}
    while True:  # each time with fewer texts; what was made before comes from the cache, where there is one
        try:
            made = iter(encode(embedder, [text for text in texts if text not in reasons]))
        except Refused as refused:
            if refused.reasons.keys().isdisjoint(texts):  # an embedder around ours has asked for other texts
                raise
            reasons |= refused.reasons
        else:
            return [None if text in reasons else next(made) for text in texts], reasons
