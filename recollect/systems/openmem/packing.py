"""Packing: results until a budget of tokens is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recollect.recall.hits import Drop, Hits, Operation
from recollect.recall.packing import tokens
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class Pack:
    """In their order, until k or the budget is reached; the first that does not fit ends it.

    It runs even when the deadline has passed: a budget is never exceeded.
    """

    always: ClassVar[bool] = True

    budget: int | None = None
    characters: int = 4  # a token, rounded up
    name: str = "pack"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        if self.budget is None:
            raise Skip("there is no token budget")
        sizes = [tokens(memory.text, self.characters) for memory in run.memories(hits.keys[: run.k])]
        totals = np.cumsum(sizes)
        fitting = int(np.count_nonzero(totals <= self.budget))  # texts are not empty: totals only grow
        run.note("tokens", int(totals[fitting - 1]) if fitting else 0)
        if fitting == len(sizes):
            return []
        keep = np.arange(len(hits)) < fitting
        # Behind the first k nobody counts any more: it is at least as much as up to there.
        values = totals[np.minimum(np.arange(len(hits)), len(sizes) - 1)].astype(np.float64)
        return [Drop(keep, values, float(self.budget), "the tokens up to here are over the budget")]
