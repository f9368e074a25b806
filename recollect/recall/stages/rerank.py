"""Reranking the first hits with a model: by its scores alone, or blended with the retrieval scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recollect.chat import ChatModel
from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.recall.expressions import Expression, difference, leaf, product, ratio, total
from recollect.recall.hits import Annotate, HitOperation, Hits, Reorder, Rescore
from recollect.recall.run import Run, Skip
from recollect.rerank import AnyReranker, RerankDocument, RerankError, rerank_documents, resolve_reranker
from recollect.store.base import Floats, Rows

SNIPPET_CHARACTERS = 280  # J6: of a memory that has neither title nor summary


def rerank_text(memory: Memory, snippet_characters: int = SNIPPET_CHARACTERS) -> str:
    """The text for a reranker (J6): title and summary, or one of them, or the beginning of the text."""
    described = "\n".join(part for part in (memory.title.strip(), memory.summary.strip()) if part)
    return described or memory.text.strip()[:snippet_characters]


@dataclass(frozen=True, slots=True)
class Rerank:
    """Sorts the first hits by the reranker's scores; the rest follow as they were (J5).

    Scores stay; the reranker's own are in notes and in the trace. When it fails or is late, the order stays, too.
    """

    reranker: AnyReranker | ChatModel | str | None  # "late" for the local one
    head: int = 20  # J3
    text: Callable[[Memory], str] = rerank_text
    name: str = "rerank"

    def __post_init__(self) -> None:
        _check(self.reranker, self.head)

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        reranker, scores = _rerank_head(run, hits, self.reranker, self.head, self.text)
        order = np.argsort(-scores, kind="stable")
        run.log("scores", [round(score, 4) for score in scores[order].tolist()])
        notes = {
            int(hits.keys[old]): [f"reranked from {old + 1} to {new}: {scores[old]:.4f} by {reranker.name}"]
            for new, old in enumerate(order.tolist(), 1)
        }
        return [Reorder(_head_then_tail(order, len(hits)), "by the reranker's scores"), Annotate(notes)]


@dataclass(frozen=True, slots=True)
class PositionBlend:
    """w × retrieval + (1 − w) × rerank, where w depends on the rank before: the first keep most of their score (O21).

    ``retrieval`` is score ÷ best, or 1 ÷ rank as in QMD. ``rerank`` is the reranker's score normalised over the head,
    (score − worst) ÷ (best − worst), or unchanged where it is within 0–1 anyway. Below the head it is 0, so that all
    scores have one scale and the tail stays below the head.
    """

    reranker: AnyReranker | ChatModel | str | None  # "late" for the local one
    head: int = 40
    weights: tuple[tuple[int | None, float], ...] = ((3, 0.75), (10, 0.60), (None, 0.40))  # up to this rank: w
    retrieval: Literal["score", "rank"] = "score"
    over: Literal["range", "itself"] = "range"
    text: Callable[[Memory], str] = rerank_text
    name: str = "position blend"

    def __post_init__(self) -> None:
        _check(self.reranker, self.head)
        last, shares = self.weights[-1][0] if self.weights else 0, [share for _, share in self.weights]
        ends = [end for end, _ in self.weights[:-1]]
        if last is not None or None in ends or not all(0 <= share <= 1 for share in shares):
            raise InvalidInput("weights must be pairs (up to rank, 0–1), the last of them (None, 0–1) for all others.")

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        _, scores = _rerank_head(run, hits, self.reranker, self.head, self.text)
        run.log("scores", [round(score, 4) for score in scores.tolist()])
        score = self._blend(hits, scores)
        order = _head_then_tail(np.argsort(-score.values[: len(scores)], kind="stable"), len(hits))
        falling = np.diff(score.values[order]) <= 0
        if not hits.ordered and (falling | (np.diff(hits.page[order]) > 0)).all():  # the scores give that order
            return [Rescore(score)]
        return [Rescore(score), Reorder(order, "the tail stays below the head")]

    def _blend(self, hits: Hits, scores: Floats) -> Expression:
        ranks = np.arange(1, len(hits) + 1)
        share = np.array([self._share(rank) for rank in ranks.tolist()])
        retrieval_weight = leaf(share, lambda at: f"weight of retrieval at rank {at + 1}")
        reranker_weight = leaf(1 - share, lambda at: f"weight of the reranker at rank {at + 1}")
        return total(
            "blend by position",
            product("retrieval", retrieval_weight, self._retrieval(hits, ranks)),
            product("rerank", reranker_weight, self._rerank(scores, len(hits))).tag("component", "rerank"),
        )

    def _share(self, rank: int) -> float:
        return next(share for end, share in self.weights if end is None or rank <= end)

    def _retrieval(self, hits: Hits, ranks: Rows) -> Expression:
        if self.retrieval == "rank":
            return ratio("1 ÷ rank", leaf(1.0, "1"), leaf(ranks, "rank before")).tag("component", "rank before")
        best = float(hits.score.values[hits.page == hits.page[0]].max())
        if best <= 0:
            return leaf(np.zeros(len(hits)), "no score above 0")
        return ratio("÷ best", hits.score, leaf(best, "best score"))

    def _rerank(self, scores: Floats, count: int) -> Expression:
        low, high = float(scores.min()), float(scores.max())

        def with_tail(head: Floats, tail: float) -> Expression:
            labels = ["the reranker's score"] * len(head) + ["below the head: not reranked"] * (count - len(head))
            return leaf(np.concatenate([head, np.full(count - len(head), tail)]), lambda at: labels[at])

        if self.over == "itself":
            if low < 0 or high > 1:
                raise RerankError(f"The reranker's scores reach from {low:g} to {high:g}; over='itself' needs 0 to 1.")
            return with_tail(scores, 0.0)
        if not np.isfinite(high - low):
            raise RerankError(f"The reranker's scores reach from {low:g} to {high:g}: too large to be normalised.")
        if high == low:  # all scores are equal
            return with_tail(np.ones(len(scores)), 0.0)
        above = difference("above the worst", with_tail(scores, low), leaf(low, "worst of the head"))
        return ratio("÷ range", above, leaf(high - low, "best − worst"))


def _check(reranker: AnyReranker | ChatModel | str | None, head: int) -> None:
    resolve_reranker(reranker)
    if head < 1:
        raise InvalidInput(f"head must be at least 1, not {head}.")


def _rerank_head(
    run: Run, hits: Hits, choice: AnyReranker | ChatModel | str | None, head: int, text: Callable[[Memory], str]
) -> tuple[AnyReranker, Floats]:
    """The reranker's scores of the head, which ends with its page: requesting more never changes the first results."""
    reranker = resolve_reranker(choice)
    if reranker is None:
        raise Skip("there is no reranker")
    other = hits.page[:head] != hits.page[0]
    size = int(np.argmax(other)) if other.any() else len(other)
    documents = [RerankDocument(memory.id, text(memory)) for memory in run.memories(hits.keys[:size])]
    query = run.query.text
    run.log("reranker", reranker.name)
    run.log("head", size)
    return reranker, run.within_deadline(lambda: rerank_documents(reranker, query, documents), "the head was reranked")


def _head_then_tail(order: Rows, count: int) -> Rows:
    return np.concatenate([order, np.arange(len(order), count)])
