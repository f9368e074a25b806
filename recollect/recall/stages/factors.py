"""Factors from what is known of a memory: how recent it is, and whether it still stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model.validation import micros
from recollect.recall.expressions import leaf, product
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows

DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class Recency:
    """× (1 − share + share × 2^(−age / half_life)): at most ``share`` of a score depends on age."""

    share: float = 0.05
    half_life: float = 30.0  # days
    name: str = "recency"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        ages = np.fmax(
            0.0, (micros(run.now) - run.snapshot.numbers("created", hits.keys)) / DAY
        )  # 0 where none is known
        factor = 1 - self.share + self.share * np.exp2(-ages / self.half_life)
        return [
            Rescore(product("after recency", hits.score, leaf(factor, lambda at: f"recency: {ages[at]:.1f} days old")))
        ]


@dataclass(frozen=True, slots=True)
class StatusFactor:
    """× a factor for memories that were superseded or contradicted, at the moment of the question."""

    factors: Mapping[str, float] = field(default_factory=lambda: {"superseded": 0.5, "contradicted": 0.3})
    name: str = "status"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        statuses = standing(run, hits.keys)
        if self.factors.keys().isdisjoint(statuses):
            raise Skip("all candidates are active")
        factor = np.array([self.factors.get(status, 1.0) for status in statuses])
        stored = run.snapshot.strings("status", hits.keys)

        def label(at: int) -> str:
            over = ", its time is over" if statuses[at] == "superseded" and stored[at] == "active" else ""
            return f"status: {statuses[at]}{over}"

        return [Rescore(product("after status", hits.score, leaf(factor, label)))]


def standing(run: Run, keys: Rows) -> list[str]:
    """The status of each memory at the moment of the question: before valid_to it was active, after it superseded."""
    stored = run.snapshot.strings("status", keys)
    ends = run.snapshot.numbers("valid_to", keys)
    if np.isnan(ends).all():
        return stored
    now = micros(run.now)
    statuses = []
    for status, end in zip(stored, ends.tolist(), strict=True):
        if status in ("active", "superseded") and end == end:
            status = "superseded" if end <= now else "active"
        statuses.append(status)
    return statuses
