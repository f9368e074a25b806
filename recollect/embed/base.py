"""The embedder protocols, checks of what an embedder returns, and whether it was trained on a language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbeddingError
from recollect.model import limit
from recollect.model.limits import limit_message
from recollect.protocols import supports
from recollect.text.languages import NAMES

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one dimension. Two embedders with one name must give the same vectors.

    One that anybody can write::

        class Mine:
            name, dim = "mine-v1", 3
            def embed(self, texts, query=False):
                return [[len(t), t.count("a"), t.count("e")] for t in texts]
    """

    @property
    def name(self) -> str:
        """The name of the model, which is stored with its vectors."""

    @property
    def dim(self) -> int:
        """The dimensions of its vectors."""

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        """One vector per text, as a list of lists or an array. ``query`` is true for queries, false for memories."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The tokens of a text in order, without special tokens, and a unit vector for each."""

    tokens: tuple[str, ...]
    vectors: Vectors  # one row per token
    text_vector: Vectors  # the same as from ``embed``
    words: tuple[tuple[str, int], ...] | None = None  # with their numbers of tokens; None: tokens are pieces of words

    def word_tokens(self) -> list[tuple[str, slice]]:
        """The words of the text, and where the tokens of each are."""
        if self.words is None:
            return join_pieces(self.tokens)
        ends = accumulate(count for _, count in self.words)
        return [(word, slice(end - count, end)) for (word, count), end in zip(self.words, ends, strict=True)]


def join_pieces(tokens: Sequence[str]) -> list[tuple[str, slice]]:
    """The words that the tokens are pieces of, and where the tokens of each are."""
    words: list[tuple[str, slice]] = []
    for at, token in enumerate(tokens):
        if token.startswith("##") and words:
            word, pieces = words[-1]
            words[-1] = word + token[2:], slice(pieces.start, at + 1)
        else:
            words.append((token, slice(at, at + 1)))
    return words


# Optional capabilities of embedders.


@runtime_checkable
class TokenEmbedder(Protocol):
    """Gives a vector for every token, so that texts can be compared token by token.

    ``dim`` is not a member: Python 3.11 reads members to check for them, and a service may have to be asked for it.
    """

    @property
    def name(self) -> str:
        """The name of the model, which is stored with its vectors."""

    def token_vectors(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        """The token vectors and the text's own vector, from one pass of the model."""


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A token of a text, and the characters of the text that it stands for."""

    token: str
    start: int
    end: int


@runtime_checkable
class TokenSpanEmbedder(Protocol):
    """Says where the tokens of ``token_vectors`` are in a text, without running the model."""

    def token_spans(self, texts: Sequence[str]) -> Sequence[Sequence[TokenSpan]]:
        """The tokens of each text in order, without special tokens; none where it is not known."""


@runtime_checkable
class SketchEmbedder(Protocol):
    """Gives vectors together with token sketches, without computing them again for a text that it has seen."""

    def embed_with_sketches(self, texts: Sequence[str]) -> list[tuple[Vectors, bytes]]:
        """The vector and the token sketch of each text."""


@runtime_checkable
class ScriptAwareEmbedder(Protocol):
    """Knows which scripts its model was trained on."""

    def can_read(self, text: str) -> bool:
        """Is the text mostly in scripts that the model was trained on?"""


@runtime_checkable
class LanguageAwareEmbedder(Protocol):
    """Knows which languages its model was trained on."""

    def knows_language(self, language: str) -> bool:
        """Was the model trained on a language, by its code of ISO 639-1?"""


@runtime_checkable
class GlossaryEmbedder(Protocol):
    """Reads some languages that its model was not trained on word by word, in one that it was."""

    def translates(self, language: str) -> bool:
        """Are the words of a language translated, by its code of ISO 639-1?"""


@runtime_checkable
class VocabularyEmbedder(Protocol):
    """Knows which words its model has a token for, so that they are not taken for typos."""

    def knows_word(self, word: str) -> bool:
        """Does the model have a token for this word?"""


@runtime_checkable
class LazyEmbedder(Protocol):
    """May have to ask a service or load a model for its dimensions."""

    @property
    def known_dim(self) -> int | None:
        """The dimensions, or None when they are not known yet."""


@runtime_checkable
class BatchingEmbedder(Protocol):
    """Prefers a number of texts per call."""

    @property
    def batch_size(self) -> int | None:
        """Texts per call; None for the usual number."""


@runtime_checkable
class QueryAwareEmbedder(Protocol):
    """Says whether a query gets another vector than a memory of the same text. Others are assumed to do so."""

    @property
    def distinguishes_queries(self) -> bool:
        """Does a query get another vector than a memory with the same text?"""


@runtime_checkable
class CachedByDefault(Protocol):
    """Says whether its vectors are cached unless the user decides otherwise. Others are not."""

    @property
    def cached_by_default(self) -> bool:
        """Are its vectors cached unless the user decides otherwise?"""


@runtime_checkable
class VersionedEmbedder(Protocol):
    """Has earlier versions, which made the vectors of older files and are used for those."""

    @property
    def earlier_versions(self) -> Sequence[Embedder]:
        """Embedders that make the vectors of older files."""


@runtime_checkable
class IdentifiedEmbedder(Protocol):
    """Tells models of the same name apart, by provider and by a fingerprint of the settings without secrets."""

    @property
    def provider(self) -> str:
        """Who runs the model, such as openai."""

    @property
    def fingerprint(self) -> str:
        """A hash of the settings, without secrets."""


@runtime_checkable
class ServiceEmbedder(Protocol):
    """Has the model's name as its service knows it, without the provider."""

    @property
    def model(self) -> str:
        """The name of the model at its service."""


def version_named(embedder: Embedder, name: str) -> Embedder | None:
    """The embedder, or an earlier version of it, that has this name."""
    earlier = embedder.earlier_versions if isinstance(embedder, VersionedEmbedder) else ()
    return next((each for each in (embedder, *earlier) if each.name == name), None)


def provider_name(embedder: Embedder) -> str:
    return embedder.provider if isinstance(embedder, IdentifiedEmbedder) else "local"


def model_name(embedder: Embedder) -> str:
    return embedder.model if isinstance(embedder, ServiceEmbedder) else embedder.name


def known_dim(embedder: Embedder) -> int | None:
    """The dimensions, or None when a service would have to be asked for them."""
    return embedder.known_dim if isinstance(embedder, LazyEmbedder) else embedder.dim


def preferred_batch_size(embedder: Embedder | None, default: int) -> int:
    """How many texts to give an embedder at a time."""
    return (embedder.batch_size if isinstance(embedder, BatchingEmbedder) else None) or default


class TextsRejected(EmbeddingError):
    """Texts that a model rejects, each with the reason; and the vectors of the other texts."""

    def __init__(self, reasons: Mapping[str, str], vectors: Mapping[str, Any]) -> None:
        first = next(iter(reasons.values()))
        super().__init__(first if len(reasons) == 1 else f"{len(reasons)} texts were rejected; the first: {first}")
        self.reasons, self.vectors = reasons, vectors


def embed_texts(embedder: Embedder, texts: Sequence[str], query: bool = False) -> Vectors:
    """The embedder's vectors at unit length (so a dot product is the cosine), or an EmbeddingError."""
    try:
        vectors = np.asarray(embedder.embed(texts, query=query), dtype=np.float32)
    except EmbeddingError:
        raise
    except Exception as problem:
        raise _failure(embedder, problem) from problem
    return unit_vectors(embedder, texts, vectors)


def embed_with_tokens(
    embedder: Embedder, texts: Sequence[str], query: bool = False
) -> tuple[Vectors, Sequence[TokenVectors] | None]:
    """The same, with the vectors of the tokens from the same pass where the embedder is a TokenEmbedder."""
    token_embedder: object = embedder
    if not supports(token_embedder, TokenEmbedder):
        return embed_texts(embedder, texts, query), None
    try:
        tokens = [check_tokens(embedder, each) for each in token_embedder.token_vectors(texts)]
        vectors = np.array([each.text_vector for each in tokens], dtype=np.float32)
    except EmbeddingError:
        raise
    except Exception as problem:
        raise _failure(embedder, problem) from problem
    return unit_vectors(embedder, texts, vectors), tokens


def _failure(embedder: Embedder, problem: Exception) -> EmbeddingError:
    message = str(problem).rstrip(".") or type(problem).__name__
    return EmbeddingError(f"Embedder {embedder.name!r} failed: {message}.")


def check_tokens(embedder: Embedder, text: TokenVectors) -> TokenVectors:
    vectors = np.asarray(text.vectors, dtype=np.float32)
    if vectors.shape != (len(text.tokens), embedder.dim) or not np.isfinite(vectors).all():
        raise EmbeddingError(
            f"Embedder {embedder.name!r} returned vectors of shape {vectors.shape} for {len(text.tokens)} tokens; "
            f"the shape must be ({len(text.tokens)}, {embedder.dim}), without NaN or infinity."
        )
    return replace(text, vectors=_normalised(vectors))


def unit_vectors(embedder: Embedder, texts: Sequence[str], vectors: Vectors) -> Vectors:
    """The vectors at unit length, after a check of their shape and values."""
    if vectors.shape != (len(texts), embedder.dim):
        raise EmbeddingError(
            f"Embedder {embedder.name!r} returned an array of shape {vectors.shape}; "
            f"the shape must be ({len(texts)}, {embedder.dim}), one row per text."
        )
    if embedder.dim > limit("vector_dimensions"):
        raise EmbeddingError(
            limit_message("vector_dimensions", f"Embedder {embedder.name!r} makes {embedder.dim:,} dimensions")
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"Embedder {embedder.name!r} returned a vector with NaN or infinity.")
    return _normalised(vectors)


def _normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def knows_language(embedder: Embedder | None, language: str) -> bool:
    """Whether an embedder was trained on a language; assumed where it cannot say."""
    aware: object = embedder
    return not supports(aware, LanguageAwareEmbedder) or aware.knows_language(language)


def translates(embedder: Embedder | None, language: str) -> bool:
    """Whether an embedder translates the words of a language."""
    aware: object = embedder
    return supports(aware, GlossaryEmbedder) and aware.translates(language)


def language_note(embedder: Embedder | None, language: str) -> str:
    """A sentence about a language that the embedder was not trained on; empty where it was."""
    if embedder is None or knows_language(embedder, language):
        return ""
    return (
        f"{embedder.name} was not trained on {NAMES[language]}, so words count more than its vectors. For "
        f"{NAMES[language]} texts use a multilingual embedder, for example ollama:bge-m3 (see docs/embedders.md)."
    )
