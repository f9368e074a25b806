"""The candidates of a cue, the fused hits, and the operations by which stages change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.recall.expressions import Expression, concatenate, leaf
from recollect.store.base import Floats, Rows


@dataclass(frozen=True, slots=True)
class Candidates:
    """What one cue found, best first."""

    cue: str
    keys: Rows
    score: Expression
    total: int  # how many matched, before the cut
    detail: dict[str, Any] = field(default_factory=dict)  # for the trace


def no_candidates(cue: str) -> Candidates:
    return Candidates(cue, np.empty(0, dtype=np.int64), leaf(np.empty(0), cue), 0)


@dataclass(frozen=True, slots=True)
class Hits:
    """Candidates in their current order, with the arithmetic of their scores.

    ``page`` keeps an answer stable: candidates of a later page, fetched because more results were requested, never
    precede those of an earlier one. ``ordered`` is set once a stage has defined the order, which scores then do not.
    """

    keys: Rows
    score: Expression
    page: NDArray[np.int64]
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, places: NDArray[np.int64], ordered: bool | None = None) -> Hits:
        keep = self.ordered if ordered is None else ordered
        return Hits(self.keys[places], self.score.take(places), self.page[places], keep)

    def sorted(self) -> Hits:
        """By page, then by score, best first; ties keep their order."""
        if self.ordered:
            return self
        order = np.lexsort((-self.score.values, self.page))
        if (order[1:] > order[:-1]).all():
            return self
        return self.take(order)


@dataclass(frozen=True, slots=True)
class Rescore:
    """New scores for all hits; the expression usually has the old ones among its parts."""

    score: Expression


@dataclass(frozen=True, slots=True)
class Drop:
    """Leave out the hits where ``keep`` is false, because a value missed a threshold."""

    keep: NDArray[np.bool_]
    values: Floats
    threshold: float
    reason: str  # "its score is below the minimum"


@dataclass(frozen=True, slots=True)
class Reorder:
    """Another order, with the scores as they are."""

    places: NDArray[np.int64]
    reason: str


@dataclass(frozen=True, slots=True)
class Add:
    """More hits with scores of their own, such as neighbours that a stage found. They must be in the scope.

    One that is a hit already, perhaps on a later page, is replaced.
    """

    keys: Rows
    score: Expression


@dataclass(frozen=True, slots=True)
class Annotate:
    """Notes about some hits: a warning, a timeline, why a stage moved them. They change no score and no rank."""

    notes: dict[int, list[str]]  # by key
    second_to: dict[int, int] = field(default_factory=dict)  # by key: the hit that states the same for the asked time
    outdated: frozenset[int] = frozenset()  # the keys of hits that a newer statement replaces


HitOperation = Rescore | Drop | Reorder | Add | Annotate


@dataclass(frozen=True, slots=True)
class DroppedHits:
    """What a step left out, for why_not."""

    keys: Rows
    values: Floats
    threshold: float
    reason: str


def apply(operation: HitOperation, hits: Hits) -> tuple[Hits, DroppedHits | None]:
    """The hits after an operation, and what it left out. The caller sorts after the last operation of a stage."""
    match operation:
        case Rescore(score):
            return Hits(hits.keys, score, hits.page, hits.ordered), None
        case Add(keys, score):
            pages = np.full(len(keys), hits.page.min(initial=0))
            remaining = np.flatnonzero(~np.isin(hits.keys, keys))
            hits = hits if len(remaining) == len(hits) else hits.take(remaining)
            return Hits(
                np.concatenate([hits.keys, keys]),
                concatenate(hits.score, score),
                np.concatenate([hits.page, pages]),
                hits.ordered,
            ), None
        case Annotate():
            return hits, None
        case Drop(keep, values, threshold, reason):
            out = ~keep
            dropped = DroppedHits(hits.keys[out], values[out], threshold, reason)
            return hits.take(np.flatnonzero(keep)), dropped
        case Reorder(places, _):
            return hits.take(places, ordered=True), None
