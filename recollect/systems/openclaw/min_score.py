"""A minimum score, and what may come back below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recollect.recall.hits import Annotate, Drop, Hits, Operation
from recollect.recall.run import Run
from recollect.systems.openclaw.keywords import with_all_words

BELOW = "below the minimum score: kept because it has every word of the question"


@dataclass(frozen=True, slots=True)
class MinScore:
    """Leave out what scores less; places that stay free go to memories with every word of the question."""

    always: ClassVar[bool] = True  # a minimum holds even when the deadline has passed
    least: float
    fill_from: str | None = None  # the Keywords cue whose full matches may fill up
    name: str = "minimum score"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        scores = hits.score.values
        keep = scores >= self.least
        fillers = np.empty(0, dtype=np.int64)
        free = run.k - int(np.count_nonzero(keep))
        if self.fill_from is not None and free > 0 and self.fill_from in run.found:
            full = np.isin(hits.keys, with_all_words(run.found[self.fill_from])) & ~keep
            fillers = np.flatnonzero(full)[:free]  # hits are in the order of their scores
            keep = keep.copy()
            keep[fillers] = True
        remarks = {int(key): [BELOW] for key in hits.keys[fillers]}
        return [Annotate(remarks), Drop(keep, scores, self.least, "its score is below the minimum")]
