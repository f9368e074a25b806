"""Factors from what is known of a memory: how recent it is, and whether it still stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model.check import micros
from recollect.recall.arithmetic import leaf, product
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip

DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class Recency:
    """× (1 − share + share × 2^(−age / half_life)): at most ``share`` of a score depends on age."""

    share: float = 0.05
    half_life: float = 30.0  # days
    name: str = "recency"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        ages = np.maximum(0.0, (micros(run.now) - run.view.numbers("created", hits.keys)) / DAY)
        factor = 1 - self.share + self.share * np.exp2(-ages / self.half_life)
        return [
            Rescore(product("after recency", hits.score, leaf(factor, lambda at: f"recency: {ages[at]:.1f} days old")))
        ]


@dataclass(frozen=True, slots=True)
class StatusFactor:
    """× a factor for memories that have been superseded or contradicted."""

    factors: Mapping[str, float] = field(default_factory=lambda: {"superseded": 0.5, "contradicted": 0.3})
    name: str = "status"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        statuses = run.view.strings("status", hits.keys)
        if not any(status in self.factors for status in statuses):
            raise Skip("all candidates are active")
        factor = np.array([self.factors.get(status, 1.0) for status in statuses])
        return [Rescore(product("after status", hits.score, leaf(factor, lambda at: f"status: {statuses[at]}")))]
