"""Nearest: vectors, told as distances."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.recall.cues.vectors import Vectors
from recollect.recall.hits import Found
from recollect.recall.run import Run


@dataclass(frozen=True, slots=True)
class Nearest(Vectors):
    """The nearest vectors; the trace says how far they lie: 1 − cosine, from 0 (identical) to 2 (opposite)."""

    def find(self, run: Run) -> Found:
        found = Vectors.find(self, run)
        if not len(found.keys):
            return found
        first, last = (round(1 - float(found.score.values[at]), 4) + 0.0 for at in (0, -1))  # never −0.0
        return replace(found, detail={"nearest distance": first, "farthest distance": last})
