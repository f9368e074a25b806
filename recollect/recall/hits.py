"""Candidates on their way: what a cue found, the fused hits, and the operations that stages ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.recall.expressions import Expr, beside, leaf
from recollect.store.base import Floats, Rows


@dataclass(frozen=True, slots=True)
class Found:
    """A cue's candidates, best first."""

    cue: str
    keys: Rows
    score: Expr
    total: int  # how many matched, before the cut
    detail: dict[str, Any] = field(default_factory=dict)


def nothing(cue: str) -> Found:
    return Found(cue, np.empty(0, dtype=np.int64), leaf(np.empty(0), cue), 0)


@dataclass(frozen=True, slots=True)
class Hits:
    """Candidates in their present order, with the arithmetic of their scores.

    ``page`` keeps an answer stable: candidates of a later page, fetched because more results were asked for, never
    come before those of an earlier one. ``ordered`` says that a stage has set the order, so scores no longer do.
    """

    keys: Rows
    score: Expr
    page: NDArray[np.int64]
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, places: NDArray[np.int64], ordered: bool | None = None) -> Hits:
        keep = self.ordered if ordered is None else ordered
        return Hits(self.keys[places], self.score.take(places), self.page[places], keep)

    def sorted(self) -> Hits:
        """By page, then score, best first; equals stay as they are."""
        if self.ordered:
            return self
        order = np.lexsort((-self.score.values, self.page))
        if (order[1:] > order[:-1]).all():
            return self
        return self.take(order)


@dataclass(frozen=True, slots=True)
class Rescore:
    """New scores for all hits; the expression usually has the old ones among its parts."""

    score: Expr


@dataclass(frozen=True, slots=True)
class Drop:
    """Leave out the hits where ``keep`` is false, because a value missed a threshold."""

    keep: NDArray[np.bool_]
    values: Floats
    threshold: float
    what: str  # "confidence is below"


@dataclass(frozen=True, slots=True)
class Reorder:
    """Another order, without touching the scores."""

    places: NDArray[np.int64]
    why: str


@dataclass(frozen=True, slots=True)
class Add:
    """More hits, with scores of their own: neighbours that a stage has found. They must have passed the mask."""

    keys: Rows
    score: Expr


@dataclass(frozen=True, slots=True)
class Annotate:
    """Remarks beside some hits: a warning, a timeline. They change nothing."""

    remarks: dict[int, list[str]]  # by key


Operation = Rescore | Drop | Reorder | Add | Annotate


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a step left out, for those who ask why_not."""

    keys: Rows
    values: Floats
    threshold: float
    what: str


def apply(operation: Operation, hits: Hits) -> tuple[Hits, Dropped | None]:
    """The hits after an operation, and what it left out. The caller sorts, once all of a stage's are applied."""
    match operation:
        case Rescore(score):
            return Hits(hits.keys, score, hits.page, hits.ordered), None
        case Add(keys, score):
            later = np.full(len(keys), hits.page.min(initial=0))
            return Hits(
                np.concatenate([hits.keys, keys]),
                beside(hits.score, score),
                np.concatenate([hits.page, later]),
                hits.ordered,
            ), None
        case Annotate():
            return hits, None
        case Drop(keep, values, threshold, what):
            out = ~keep
            dropped = Dropped(hits.keys[out], values[out], threshold, what)
            return hits.take(np.flatnonzero(keep)), dropped
        case Reorder(places, _):
            return hits.take(places, ordered=True), None
