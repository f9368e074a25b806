"""A second opinion on the head of the list, as its new order or blended into its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.recall.expressions import Expr, difference, leaf, product, ratio, total
from recollect.recall.hits import Annotate, Hits, Operation, Reorder, Rescore
from recollect.recall.run import Run, Skip
from recollect.rerank import Reranker, RerankError, checked, resolve
from recollect.store.base import Floats, Rows

SNIPPET = 280  # J6: letters of a memory that has neither title nor summary


def rerank_text(memory: Memory) -> str:
    """What a reranker reads (J6): title and summary, or the one that there is, or the beginning of the content."""
    said = "\n".join(part for part in (memory.title.strip(), memory.summary.strip()) if part)
    return said or memory.text.strip()[:SNIPPET]


@dataclass(frozen=True, slots=True)
class Rerank:
    """The head in the order of the reranker's scores; the tail follows as it was (J5).

    Scores stay: the reranker's own are remarks and stand in the trace. When it fails, or is late, the order stays, too.
    """

    reranker: Reranker | str | None  # "late" for the local one
    head: int = 20  # J3
    text: Callable[[Memory], str] = rerank_text
    name: str = "rerank"

    def __post_init__(self) -> None:
        _check(self.reranker, self.head)

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        reranker, scores = _opinion(run, hits, self.reranker, self.head, self.text)
        order = np.argsort(-scores, kind="stable")
        run.note("scores", [round(score, 4) for score in scores[order].tolist()])
        remarks = {
            int(hits.keys[old]): [f"reranked from {old + 1} to {new}: {scores[old]:.4f} by {reranker.name}"]
            for new, old in enumerate(order.tolist(), 1)
        }
        return [Reorder(_before_the_rest(order, len(hits)), "by the reranker's scores"), Annotate(remarks)]


@dataclass(frozen=True, slots=True)
class PositionBlend:
    """w × retrieval + (1 − w) × rerank, where w depends on the rank before: the best keep most of what they had (O21).

    ``retrieval`` is score ÷ best, or 1 ÷ rank as QMD itself has it. ``rerank`` is the reranker's score among the head,
    (score − worst) ÷ (best − worst), or as it is when it lies in 0–1 anyway. Below the head, where nothing is
    reranked, it counts 0; so all scores have one scale and the tail stays below the head.
    """

    reranker: Reranker | str | None  # "late" for the local one
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

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        _, scores = _opinion(run, hits, self.reranker, self.head, self.text)
        run.note("scores", [round(score, 4) for score in scores.tolist()])
        score = self._blend(hits, scores)
        order = _before_the_rest(np.argsort(-score.values[: len(scores)], kind="stable"), len(hits))
        falling = np.diff(score.values[order]) <= 0
        if not hits.ordered and (falling | (np.diff(hits.page[order]) > 0)).all():  # the scores give that order
            return [Rescore(score)]
        return [Rescore(score), Reorder(order, "the tail stays below the head")]

    def _blend(self, hits: Hits, scores: Floats) -> Expr:
        ranks = np.arange(1, len(hits) + 1)
        share = np.array([self._share(rank) for rank in ranks.tolist()])
        kept = leaf(share, lambda at: f"weight of retrieval at rank {at + 1}")
        left = leaf(1 - share, lambda at: f"weight of the reranker at rank {at + 1}")
        return total(
            "blend by position",
            product("retrieval", kept, self._retrieval(hits, ranks)),
            product("rerank", left, self._rerank(scores, len(hits))),
        )

    def _share(self, rank: int) -> float:
        return next(share for end, share in self.weights if end is None or rank <= end)

    def _retrieval(self, hits: Hits, ranks: Rows) -> Expr:
        if self.retrieval == "rank":
            return ratio("1 ÷ rank", leaf(1.0, "one"), leaf(ranks, "rank before"))
        best = float(hits.score.values[hits.page == hits.page[0]].max())
        if best <= 0:
            return leaf(np.zeros(len(hits)), "no score above 0")
        return ratio("÷ best", hits.score, leaf(best, "best score"))

    def _rerank(self, scores: Floats, count: int) -> Expr:
        low, high = float(scores.min()), float(scores.max())

        def whole(mine: Floats, others: float) -> Expr:
            named = ["the reranker's score"] * len(mine) + ["below the head: not reranked"] * (count - len(mine))
            return leaf(np.concatenate([mine, np.full(count - len(mine), others)]), lambda at: named[at])

        if self.over == "itself":
            if low < 0 or high > 1:
                raise RerankError(f"The reranker's scores reach from {low:g} to {high:g}; over='itself' needs 0 to 1.")
            return whole(scores, 0.0)
        if not np.isfinite(high - low):
            raise RerankError(f"The reranker's scores reach from {low:g} to {high:g}: too far to be compared.")
        if high == low:  # nothing to tell them apart by
            return whole(np.ones(len(scores)), 0.0)
        above = difference("above the worst", whole(scores, low), leaf(low, "worst of the head"))
        return ratio("÷ range", above, leaf(high - low, "best − worst"))


def _check(reranker: Reranker | str | None, head: int) -> None:
    resolve(reranker)
    if head < 1:
        raise InvalidInput(f"head must be at least 1, not {head}.")


def _opinion(
    run: Run, hits: Hits, given: Reranker | str | None, head: int, text: Callable[[Memory], str]
) -> tuple[Reranker, Floats]:
    """What the reranker makes of the head, which ends with its page: asking for more must not change the first."""
    reranker = resolve(given)
    if reranker is None:
        raise Skip("there is no reranker")
    other = hits.page[:head] != hits.page[0]
    size = int(np.argmax(other)) if other.any() else len(other)
    texts = [text(memory) for memory in run.memories(hits.keys[:size])]
    question = run.question.text
    run.note("reranker", reranker.name)
    run.note("head", size)
    return reranker, run.in_time(lambda: checked(reranker, question, texts), "the head was reranked")


def _before_the_rest(order: Rows, count: int) -> Rows:
    return np.concatenate([order, np.arange(len(order), count)])
