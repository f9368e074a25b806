"""The embedding cache: no text is given to a model twice (O16)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from recollect.embed.base import Embedder, Refused, Vectors, checked, known_dim, sound
from recollect.errors import StoreError

log = logging.getLogger("recollect")
AT_ONCE = 256  # texts that are embedded before the next are, and kept: a failure loses no more


class Maker(NamedTuple):
    """Who made a vector: vectors of one maker for one text are the same."""

    provider: str
    model: str
    settings: str  # a fingerprint; no secret is in it


class Shelf(Protocol):
    """Where vectors are kept, by their maker and the hash of their text."""

    def take(self, maker: Maker, hashes: Sequence[bytes]) -> Mapping[bytes, bytes]: ...

    def put(self, maker: Maker, vectors: Mapping[bytes, bytes]) -> None: ...


class Cached:
    """An embedder that looks on the shelf first. Vectors are kept as float32: a kept one is the same to the bit.

    When the shelf fails, the model is asked, and the log says so.
    """

    def __init__(self, embedder: Embedder, shelf: Shelf) -> None:
        self.embedder = embedder
        self.shelf = shelf
        self._dim: int | None = None  # as kept vectors tell it

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def known_dim(self) -> int | None:
        return known_dim(self.embedder) or self._dim

    @property
    def dim(self) -> int:
        return self.known_dim or self.embed(["dimensions"]).shape[1]

    def __getattr__(self, name: str) -> Any:
        """Whatever else is known of the embedder: its provider, its settings, how many texts it likes at a time."""
        if name == "embedder":  # not there yet: a copy is being made
            raise AttributeError(name)
        return getattr(self.embedder, name)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        maker = _maker(self.embedder)
        asked = query and getattr(self.embedder, "tells_questions", True)
        hashes = [_hash(text, asked) for text in texts]
        held = {hash: np.frombuffer(kept, dtype="<f4") for hash, kept in self._taken(maker, hashes).items()}
        missing = {hash: text for hash, text in zip(hashes, texts, strict=True) if hash not in held}
        size = getattr(self.embedder, "at_once", None) or AT_ONCE
        for start in range(0, len(missing), size):
            part = list(missing)[start : start + size]
            try:
                made = checked(self.embedder, [missing[hash] for hash in part], query)
            except Refused as refused:
                if refused.made:  # the others will be asked for again, and are paid for
                    made = sound(self.embedder, [*refused.made], np.asarray([*refused.made.values()], np.float32))
                    self._put(maker, [_hash(text, asked) for text in refused.made], made)
                raise
            held.update(zip(part, made, strict=True))
            self._put(maker, part, made)
        if not hashes:
            return np.empty((0, self.dim), dtype=np.float32)
        vectors = np.stack([held[hash] for hash in hashes])
        self._dim = vectors.shape[1]
        return vectors

    def __repr__(self) -> str:
        return f"Cached({self.embedder!r}, {self.shelf!r})"

    def _taken(self, maker: Maker, hashes: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            return self.shelf.take(maker, hashes)
        except StoreError as problem:
            log.warning("The embedding cache could not be read: %s", problem)
            return {}

    def _put(self, maker: Maker, hashes: Sequence[bytes], made: Vectors) -> None:
        try:
            self.shelf.put(maker, {hash: row.astype("<f4").tobytes() for hash, row in zip(hashes, made, strict=True)})
        except StoreError as problem:
            log.warning("The embedding cache could not be written: %s", problem)


def _maker(embedder: Embedder) -> Maker:
    return Maker(getattr(embedder, "provider", "own"), embedder.name, getattr(embedder, "fingerprint", ""))


def _hash(text: str, question: bool) -> bytes:
    return hashlib.sha256((b"?" if question else b".") + text.encode("utf-8", "surrogatepass")).digest()
