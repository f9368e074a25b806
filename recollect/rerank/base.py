"""The reranker protocol, checks of its scores, and choosing one by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, RecollectError

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
    def name(self) -> str: ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float] | NDArray[Any]:
        """One score per text, in order; higher is better, on any scale."""


def rerank_texts(reranker: Reranker, query: str, texts: Sequence[str]) -> Scores:
    """The reranker's scores, one finite number per text, or a RerankError."""
    if not texts:
        return np.empty(0)
    try:
        scores = np.asarray(reranker.rerank(query, texts), dtype=np.float64)
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


def resolve_reranker(reranker: Reranker | str | None) -> Reranker | None:
    """``"late"`` compares token by token with the local model, None means none, else it must be a reranker."""
    if reranker is None:
        return None
    if reranker == "late":
        from recollect.rerank.late_interaction import LateInteraction

        return LateInteraction()
    if isinstance(reranker, str | type) or not isinstance(reranker, Reranker):
        raise InvalidInput(
            f"reranker must be 'late', None or an object with name and rerank(query, texts), not {reranker!r}."
        )
    return reranker
