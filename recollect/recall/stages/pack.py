"""Packing: results until a budget of tokens is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.hits import Drop, Hits, Operation
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class Pack:
    """In their order, until k or the budget is reached; the first that does not fit ends it."""

    budget: int | None = None
    characters: int = 4  # a token, rounded up
    name: str = "pack"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        if self.budget is None:
            raise Skip("there is no token budget")
        spent, kept = 0, 0
        totals = np.full(len(hits), np.inf)
        for at, memory in enumerate(run.memories(hits.keys[: run.k])):
            spent += -(-len(memory.text) // self.characters)
            totals[at] = spent
            if spent > self.budget:
                break
            kept = at + 1
        run.note("tokens", int(totals[kept - 1]) if kept else 0)
        keep = np.arange(len(hits)) < kept
        return [Drop(keep, totals, float(self.budget), "the tokens up to here are over the budget")]
