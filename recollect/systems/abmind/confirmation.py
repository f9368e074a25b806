"""One cue's word against another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import leaf, product
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """× factor for what one cue found and another, that ran too, did not (A10).

    What each cue found counts, not whose score a memory has after fusion: of two finders the first gives the score.
    """

    of: str
    by: str
    factor: float = 0.5
    name: str = "cross-stage penalty"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        ran = any(step.kind == "cue" and step.name == self.by and step.outcome == "ran" for step in run.trace.steps)
        if not ran:
            raise Skip(f"{self.by} did not run")
        alone = np.isin(hits.keys, run.found[self.of].keys) & ~np.isin(hits.keys, run.found[self.by].keys)
        if not alone.any():
            raise Skip(f"{self.by} confirmed all that {self.of} found")
        run.note("penalised", int(alone.sum()))

        def label(at: int) -> str:
            return f"{self.name}: {self.by} did not find it" if alone[at] else f"{self.name}: none"

        return [Rescore(product("after the penalty", hits.score, leaf(np.where(alone, self.factor, 1.0), label)))]
