"""The embedding cache: no text is embedded twice (O16)."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from recollect.embed.base import (
    Embedder,
    IdentifiedEmbedder,
    LanguageAwareEmbedder,
    QueryAwareEmbedder,
    ScriptAwareEmbedder,
    TextsRejected,
    TokenEmbedder,
    TokenSpan,
    TokenSpanEmbedder,
    TokenVectors,
    Vectors,
    VocabularyEmbedder,
    check_tokens,
    embed_texts,
    known_dim,
    model_name,
    preferred_batch_size,
    provider_name,
    translates,
    unit_vectors,
)
from recollect.embed.token_sketch import BATCH as TOKEN_BATCH
from recollect.embed.token_sketch import embed_with_sketches
from recollect.errors import StoreError

log = logging.getLogger("recollect")
BATCH = 256  # texts that are embedded and written to the cache at a time: a failure loses no more
# What an entry holds. It is hashed with the text, so that one text can have an entry of each kind.
VECTOR, QUERY_VECTOR = b".", b"?"
VECTOR_AND_SKETCH, TOKEN_VECTORS = b"sketch 1:", b"tokens 2:"


class ModelKey(NamedTuple):
    """Identifies a model: two embedders with equal keys give the same vector for the same text."""

    provider: str
    model: str
    fingerprint: str  # of the settings; without secrets


class EmbeddingCache(Protocol):
    """Stores entries by model and by the hash of their text."""

    def get(self, model: ModelKey, hashes: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The entries that are cached, by hash."""

    def put(self, model: ModelKey, entries: Mapping[bytes, bytes]) -> None:
        """Add entries."""


def cache_embeddings(embedder: Embedder, cache: EmbeddingCache) -> CachedEmbedder:
    """The embedder, with a cache in front of it. A TokenEmbedder stays one."""
    if isinstance(embedder, TokenEmbedder):
        return CachedTokenEmbedder(embedder, cache)
    return CachedEmbedder(embedder, cache)


class CachedEmbedder:
    """An embedder that looks into a cache first. Cached vectors are equal to the computed ones bit for bit (float32).

    When the cache fails, the model is used and the problem is logged.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self.embedder = embedder
        self.cache = cache
        self._dim: int | None = None  # as seen in vectors

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def known_dim(self) -> int | None:
        return known_dim(self.embedder) or self._dim

    @property
    def dim(self) -> int:
        return self.known_dim or self.embed(["dimensions"]).shape[1]

    @property
    def batch_size(self) -> int | None:
        return preferred_batch_size(self.embedder, 0) or None

    @property
    def provider(self) -> str:
        return provider_name(self.embedder)

    @property
    def model(self) -> str:
        return model_name(self.embedder)

    @property
    def fingerprint(self) -> str:
        return self._model_key.fingerprint

    @property
    def distinguishes_queries(self) -> bool:
        return not isinstance(self.embedder, QueryAwareEmbedder) or self.embedder.distinguishes_queries

    def can_read(self, text: str) -> bool:
        return not isinstance(self.embedder, ScriptAwareEmbedder) or self.embedder.can_read(text)

    def knows_language(self, language: str) -> bool:
        return not isinstance(self.embedder, LanguageAwareEmbedder) or self.embedder.knows_language(language)

    def translates(self, language: str) -> bool:
        return translates(self.embedder, language)

    def knows_word(self, word: str) -> bool:
        """Without a vocabulary every word counts as known, so that none is taken for a typo."""
        return not isinstance(self.embedder, VocabularyEmbedder) or self.embedder.knows_word(word)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        kind = QUERY_VECTOR if query and self.distinguishes_queries else VECTOR

        def compute(missing: list[str]) -> list[bytes]:
            try:
                vectors = embed_texts(self.embedder, missing, query)
            except TextsRejected as rejected:
                if rejected.vectors:  # the other texts will be requested again, and are paid for
                    others = np.asarray([*rejected.vectors.values()], np.float32)
                    self._put(
                        kind, [*rejected.vectors], _rows(unit_vectors(self.embedder, [*rejected.vectors], others))
                    )
                raise
            return _rows(vectors)

        entries = self._entries(kind, texts, preferred_batch_size(self.embedder, BATCH), compute)
        if not entries:
            return np.empty((0, self.dim), dtype=np.float32)
        vectors = np.stack([np.frombuffer(entry, dtype="<f4") for entry in entries])
        self._dim = vectors.shape[1]
        return vectors

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.embedder!r}, {self.cache!r})"

    @property
    def _model_key(self) -> ModelKey:
        if isinstance(self.embedder, IdentifiedEmbedder):
            return ModelKey(self.embedder.provider, self.embedder.name, self.embedder.fingerprint)
        return ModelKey("own", self.embedder.name, "")

    def _entries(
        self, kind: bytes, texts: Sequence[str], batch: int, compute: Callable[[list[str]], list[bytes]]
    ) -> list[bytes]:
        """An entry for each text, from the cache or computed and then cached, a batch at a time."""
        hashes = [_hash(kind, text) for text in texts]
        entries = dict(self._get(hashes))
        missing = {hash: text for hash, text in zip(hashes, texts, strict=True) if hash not in entries}
        for start in range(0, len(missing), batch):
            part = [*missing.values()][start : start + batch]
            computed = compute(part)
            entries.update(zip((_hash(kind, text) for text in part), computed, strict=True))
            self._put(kind, part, computed)
        return [entries[hash] for hash in hashes]

    def _get(self, hashes: Sequence[bytes]) -> Mapping[bytes, bytes]:
        try:
            return self.cache.get(self._model_key, hashes)
        except StoreError as problem:
            log.warning("The embedding cache could not be read: %s", problem)
            return {}

    def _put(self, kind: bytes, texts: Sequence[str], entries: Sequence[bytes]) -> None:
        try:
            self.cache.put(
                self._model_key, {_hash(kind, text): entry for text, entry in zip(texts, entries, strict=True)}
            )
        except StoreError as problem:
            log.warning("The embedding cache could not be written: %s", problem)


class CachedTokenEmbedder(CachedEmbedder):
    """Caches the token sketches of memories with their vectors, and the token vectors of queries."""

    embedder: Embedder

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        if query:
            vectors = [each.text_vector for each in self.token_vectors(texts)]
        else:
            vectors = [vector for vector, _ in self.embed_with_sketches(texts)]
        return np.array(vectors, dtype=np.float32).reshape(len(texts), self.dim)

    def embed_with_sketches(self, texts: Sequence[str]) -> list[tuple[Vectors, bytes]]:
        def compute(missing: list[str]) -> list[bytes]:
            return [
                vector.astype("<f4").tobytes() + sketch
                for vector, sketch in embed_with_sketches(self.embedder, missing)
            ]

        size = 4 * self.dim  # bytes of the vector; the rest is the sketch
        entries = self._entries(VECTOR_AND_SKETCH, texts, preferred_batch_size(self.embedder, BATCH), compute)
        return [(np.frombuffer(entry[:size], dtype="<f4"), entry[size:]) for entry in entries]

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        def compute(missing: list[str]) -> list[bytes]:
            assert isinstance(self.embedder, TokenEmbedder)
            texts = self.embedder.token_vectors(missing)
            unit_vectors(self.embedder, missing, np.array([each.text_vector for each in texts], dtype=np.float32))
            return [_pack_tokens(self.embedder, each) for each in texts]

        entries = self._entries(TOKEN_VECTORS, texts, TOKEN_BATCH, compute)
        return [_unpack_tokens(entry, self.dim) for entry in entries]

    def token_spans(self, texts: Sequence[str]) -> Sequence[Sequence[TokenSpan]]:
        embedder: object = self.embedder
        return embedder.token_spans(texts) if isinstance(embedder, TokenSpanEmbedder) else [()] * len(texts)


def _pack_tokens(embedder: Embedder, text: TokenVectors) -> bytes:
    """The length of the tokens and words as JSON, these, the text's vector and the tokens' vectors."""
    check_tokens(embedder, text)  # as given, not at unit length: whoever reads them normalises them once
    tokens = json.dumps([text.tokens, text.words]).encode()
    vectors = (text.text_vector, text.vectors)
    return len(tokens).to_bytes(4) + tokens + b"".join(np.asarray(each, "<f4").tobytes() for each in vectors)


def _unpack_tokens(entry: bytes, dim: int) -> TokenVectors:
    start = 4 + int.from_bytes(entry[:4])
    vectors = np.frombuffer(entry[start:], dtype="<f4").reshape(-1, dim)
    tokens, words = json.loads(entry[4:start])
    return TokenVectors(tuple(tokens), vectors[1:], vectors[0], words and tuple((word, count) for word, count in words))


def _rows(vectors: Vectors) -> list[bytes]:
    return [row.astype("<f4").tobytes() for row in vectors]


def text_hashes(text: str) -> list[bytes]:
    """By what the entries of a text of a memory are found."""
    return [_hash(kind, text) for kind in (VECTOR, VECTOR_AND_SKETCH)]


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.sha256(kind + text.encode("utf-8", "surrogatepass")).digest()
