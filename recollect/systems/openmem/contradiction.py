"""The penalty of contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import leaf, product
from recollect.recall.hits import Annotate, HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.stages.links import contradicting_pairs
from recollect.systems.openmem.competition import effective_strength


@dataclass(frozen=True, slots=True)
class ContradictionPenalty:
    """× penalty, once, for the weaker of two hits that contradict each other.

    Weaker is the one with less strength × confidence × recency; on a tie the lower score, then the later memory.
    """

    penalty: float = 0.3
    recency: float = 0.05  # decay rate per day
    name: str = "contradict"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        pairs = contradicting_pairs(run, hits)
        if not pairs:
            raise Skip("no two hits contradict each other")
        strength = effective_strength(run, hits.keys, self.recency)
        standings = [(strength[at], float(hits.score.values[at]), -int(hits.keys[at])) for at in range(len(hits))]
        losers: dict[int, int] = {}  # by loser: the strongest it loses to
        for pair in pairs:
            weaker, stronger = sorted(pair, key=standings.__getitem__)
            losers[weaker] = max(losers.get(weaker, stronger), stronger, key=standings.__getitem__)
        factor = np.array([self.penalty if at in losers else 1.0 for at in range(len(hits))])
        winners = dict(zip(losers, run.snapshot.ids(hits.keys[list(losers.values())]), strict=True))
        run.log("contradicted", len(losers))

        def label(at: int) -> str:
            return f"contradicted by {winners[at]}" if at in winners else "no stronger memory contradicts it"

        def note(weaker: int, stronger: int) -> str:
            here, there = strength[weaker], strength[stronger]
            return f"{label(weaker)}: strength × confidence × recency is {here:.3g}, and {there:.3g} there"

        notes = {int(hits.keys[weaker]): [note(weaker, stronger)] for weaker, stronger in losers.items()}
        return [Rescore(product("after conflict", hits.score, leaf(factor, label))), Annotate(notes)]
