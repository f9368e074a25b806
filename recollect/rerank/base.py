"""The reranker protocol, checks of its scores, and choosing one by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollect.chat import ChatModel, chat_model
from recollect.errors import InvalidInput, RecollectError
from recollect.protocols import supports

Scores = NDArray[np.float64]


class RerankError(RecollectError):
    """The reranker failed, or its scores could not be used."""


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each text answers a query.

    class Shortest:
        name = "shortest first"
        def rerank(self, query, texts):
            return [-len(text) for text in texts]
    """

    @property
    def name(self) -> str:
        """The name that the trace shows."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float] | NDArray[Any]:
        """One score per text, in order; higher is better, on any scale."""


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """A text to score and the id of its memory."""

    id: str
    text: str


@runtime_checkable
class DocumentReranker(Protocol):
    """A reranker that also gets the ids: to cache its scores, or to read more of a memory than its text.

    class Known:
        name = "known scores"
        def rerank_documents(self, query, documents):
            return [SCORES[document.id] for document in documents]
    """

    @property
    def name(self) -> str:
        """The name that the trace shows."""

    def rerank_documents(self, query: str, documents: Sequence[RerankDocument]) -> Sequence[float] | NDArray[Any]:
        """One score per document, in order; higher is better, on any scale."""


AnyReranker = Reranker | DocumentReranker


def rerank_texts(reranker: Reranker, query: str, texts: Sequence[str]) -> Scores:
    """The reranker's scores, one finite number per text, or a RerankError."""
    return _scores(reranker, lambda: reranker.rerank(query, texts), texts)


def rerank_documents(reranker: AnyReranker, query: str, documents: Sequence[RerankDocument]) -> Scores:
    """The same for texts with ids, which a DocumentReranker gets, too."""
    texts = [document.text for document in documents]
    if supports(reranker, DocumentReranker):
        return _scores(reranker, lambda: reranker.rerank_documents(query, documents), texts)
    assert isinstance(reranker, Reranker)
    return rerank_texts(reranker, query, texts)


def _scores(
    reranker: AnyReranker, rerank: Callable[[], Sequence[float] | NDArray[Any]], texts: Sequence[str]
) -> Scores:
    if not texts:
        return np.empty(0)
    try:
        scores = np.asarray(rerank(), dtype=np.float64)
    except Exception as problem:
        raise RerankError(f"Reranker {reranker.name!r} failed: {str(problem) or type(problem).__name__}") from problem
    if scores.ndim != 1:
        raise RerankError(
            f"Reranker {reranker.name!r} returned an array of shape {scores.shape}; it must return one score per text."
        )
    if len(scores) != len(texts):
        count = "a single text" if len(texts) == 1 else f"{len(texts)} texts"
        raise RerankError(f"Reranker {reranker.name!r} returned {len(scores)} scores for {count}.")
    if not np.isfinite(scores).all():
        raise RerankError(f"Reranker {reranker.name!r} returned a score that is NaN or infinite.")
    return scores


def resolve_reranker(reranker: AnyReranker | ChatModel | str | None) -> AnyReranker | None:
    """``"late"`` compares token by token with the local model, None means none, a ChatModel (or its text, see
    ``chat_model``) becomes a ChatReranker; else it must be a reranker."""
    if reranker is None:
        return None
    if reranker == "late":
        from recollect.rerank.local import LateInteraction

        return LateInteraction()
    if isinstance(reranker, ChatModel) or (isinstance(reranker, str) and (reranker == "chat" or "://" in reranker)):
        from recollect.rerank.services import ChatReranker

        return ChatReranker.of(chat_model(reranker, "reranker"))
    if isinstance(reranker, str | type) or not isinstance(reranker, Reranker | DocumentReranker):
        raise InvalidInput(
            "reranker must be 'late', 'chat', 'URL MODEL', None or an object with name and rerank(query, texts) or "
            f"rerank_documents(query, documents), not {reranker!r}."
        )
    return reranker
