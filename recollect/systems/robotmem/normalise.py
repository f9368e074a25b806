"""Scores on one scale for every question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.recall.expressions import leaf, ratio
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class Normalise:
    """score ÷ the best score of those that will be returned, in whatever order they stand: the best has 1.0."""

    name: str = "normalise"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        best = float(hits.score.values[: run.k].max())
        if best <= 0:
            raise Skip("no score is above 0")
        return [Rescore(ratio("÷ best returned", hits.score, leaf(best, "best score returned")))]
