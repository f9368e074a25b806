"""What an embedder is, and how its answer is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbeddingError

Vectors = NDArray[np.float32]


class Refused(EmbeddingError):
    """Texts that a model does not take, each with the reason; and the vectors of the others, which it made."""

    def __init__(self, reasons: Mapping[str, str], made: Mapping[str, Any]) -> None:
        first = next(iter(reasons.values()))
        super().__init__(first if len(reasons) == 1 else f"{len(reasons)} texts are refused; of the first: {first}")
        self.reasons, self.made = reasons, made


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one dimension. Two embedders with one name must give the same vectors.

    class Mine:
        name, dim = "mine-v1", 3
        def embed(self, texts, query=False):
            return [[len(t), t.count("a"), t.count("e")] for t in texts]
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        """One vector a text, as a list of lists or an array. ``query`` tells a question from a memory."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The tokens of a text in their order, without the model's own marks, and a vector of unit length for each."""

    tokens: tuple[str, ...]
    vectors: Vectors  # one row a token
    whole: Vectors  # that of the text, as ``embed`` gives it


@runtime_checkable
class TokenEmbedder(Protocol):
    """What some embedders can do beside: a vector for every token, so that texts can be compared word by word.

    The text's own vector comes from the same pass.
    """

    @property
    def name(self) -> str: ...

    def token_vectors(self, texts: Sequence[str]) -> Sequence[TokenVectors]: ...


def checked(embedder: Embedder, texts: Sequence[str], query: bool = False) -> Vectors:
    """The embedder's vectors at unit length (so a dot product is the cosine), or an EmbeddingError."""
    try:
        answer = np.asarray(embedder.embed(texts, query=query), dtype=np.float32)
    except EmbeddingError:  # it says itself what was wrong
        raise
    except Exception as problem:
        raise _failed(embedder, problem) from problem
    return sound(embedder, texts, answer)


def checked_tokens(
    embedder: Embedder, texts: Sequence[str], query: bool = False
) -> tuple[Vectors, Sequence[TokenVectors] | None]:
    """The same, and from the same pass the vectors of the tokens, where the embedder has them."""
    if not isinstance(embedder, TokenEmbedder):
        return checked(embedder, texts, query), None
    try:
        tokens = [_sound_tokens(embedder, each) for each in embedder.token_vectors(texts)]
        answer = np.array([each.whole for each in tokens], dtype=np.float32)
    except EmbeddingError:  # it says itself what was wrong
        raise
    except Exception as problem:
        raise _failed(embedder, problem) from problem
    return sound(embedder, texts, answer), tokens


def _failed(embedder: Embedder, problem: Exception) -> EmbeddingError:
    said = str(problem).rstrip(".") or type(problem).__name__
    return EmbeddingError(f"Embedder {embedder.name!r} failed: {said}.")


def _sound_tokens(embedder: Embedder, text: TokenVectors) -> TokenVectors:
    vectors = np.asarray(text.vectors, dtype=np.float32)
    if vectors.shape != (len(text.tokens), embedder.dim) or not np.isfinite(vectors).all():
        raise EmbeddingError(
            f"Embedder {embedder.name!r} gave vectors of shape {vectors.shape} for {len(text.tokens)} tokens; "
            f"it must be ({len(text.tokens)}, {embedder.dim}), without NaN or infinity."
        )
    return TokenVectors(text.tokens, _unit(vectors), text.whole)


def sound(embedder: Embedder, texts: Sequence[str], answer: Vectors) -> Vectors:
    """The vectors at unit length, if they are those of so many texts."""
    if answer.shape != (len(texts), embedder.dim):
        raise EmbeddingError(
            f"Embedder {embedder.name!r} gave an array of shape {answer.shape}; "
            f"it must be ({len(texts)}, {embedder.dim}), a row a text."
        )
    if not np.isfinite(answer).all():
        raise EmbeddingError(f"Embedder {embedder.name!r} gave a vector with NaN or infinity in it.")
    return _unit(answer)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def known_dim(embedder: Embedder) -> int | None:
    """Its dimensions, unless it would have to ask a service for them."""
    return embedder.known_dim if hasattr(embedder, "known_dim") else embedder.dim
