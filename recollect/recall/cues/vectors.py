"""Vectors: memories whose meaning lies near that of the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect.recall.expressions import Expr, leaf
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Space


@dataclass(frozen=True, slots=True)
class Vectors:
    """The nearest vectors by cosine, among the memories that the filter lets through."""

    embeds: ClassVar[bool] = True
    name: str = "vectors"
    depth: Depth = fixed(100)

    def find(self, run: Run) -> Found:
        rows, cosines = run.snapshot.nearest(self._asked(run), run.scope, self.depth(run.k))
        if not len(rows) and run.scope.count:
            raise Skip("no memory here has a vector")
        return Found(self.name, rows, self._labelled(cosines), run.scope.count)

    def score(self, run: Run, rows: Rows) -> Expr:
        return self._labelled(run.snapshot.cosines(self._asked(run), rows))

    def _asked(self, run: Run) -> NDArray[np.float32]:
        """The question's vector, if it can be compared with those that are here."""
        vector = run.vector()
        if run.embedder is not None:
            run.snapshot.check_space(Space(run.embedder.name, run.embedder.dim))
        return vector

    def _labelled(self, cosines: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Expr:
        """A memory without a vector counts as at a right angle."""
        missing = np.isnan(cosines)

        def label(place: int) -> str:
            return f"{self.name}: it has no vector" if missing[place] else f"{self.name}: cosine to the question"

        return leaf(np.where(missing, 0.0, cosines), label)
