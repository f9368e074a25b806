"""Signatures: memories whose bit signature is like that of the question, without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.text.signatures import likeness, signature
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class SignatureCue:
    """Hamming similarity of signatures, for what the cues before it have not found already (A7)."""

    name: str = "signatures"
    bits: int = 256
    least: float = 0.65
    depth: Depth = fixed(5)

    def find(self, run: Run) -> Candidates:
        rows = run.snapshot.all_rows(run.scope)
        alike = self._likeness(run, rows)
        seen = np.concatenate([np.empty(0, np.int64), *(each.keys for each in run.found.values())])
        near = np.flatnonzero((alike >= self.least) & ~np.isin(rows, seen))
        best = near[np.lexsort((rows[near], -alike[near]))][: self.depth(run.k)]
        detail = {"how": f"signatures with at least {self.least:.0%} of {self.bits} bits in common"}
        return Candidates(self.name, rows[best], self._labelled(alike[best]), len(near), detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self._labelled(self._likeness(run, rows))

    def _likeness(self, run: Run, rows: Rows) -> Floats:
        asked = words(run.query.text)
        if not asked:
            raise Skip("the question has no words to look up")
        return likeness(signature(asked, self.bits), run.snapshot.signatures(self.bits, rows), self.bits)

    def _labelled(self, alike: Floats) -> Expression:
        return leaf(alike, f"{self.name}: share of {self.bits} bits that are equal")
