"""The vectors cue: memories whose vectors are nearest to that of the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import cosines, nearest
from recollect.store.base import Rows, Space, check_space

UNSTABLE = ", and asking for more may change the first"


@dataclass(frozen=True, slots=True)
class VectorsCue:
    """The nearest vectors by cosine, among the memories in scope."""

    needs_vector: ClassVar[bool] = True
    name: str = "vectors"
    depth: Depth = fixed(100)

    def find(self, run: Run) -> Candidates:
        found = nearest(run.snapshot, self._query_vector(run), run.scope, self.depth(run.k))
        if not len(found.rows) and run.scope.count:
            raise Skip("no memory here has a vector")
        detail = {"search": ("approximate" if found.approximate else "exact") + ("" if found.stable else UNSTABLE)}
        return Candidates(self.name, found.rows, self._labelled(found.cosines), run.scope.count, detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self._labelled(cosines(run.snapshot, self._query_vector(run), rows))

    def _query_vector(self, run: Run) -> NDArray[np.float32]:
        """The vector of the query, after checking that the stored vectors are of the same model."""
        vector = run.vector()
        if run.embedder is not None:
            check_space(run.snapshot.space, Space(run.embedder.name, run.embedder.dim), "this memory")
        return vector

    def _labelled(self, cosines: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Expression:
        """Cosines as an expression; a memory without a vector has 0."""
        missing = np.isnan(cosines)

        def label(place: int) -> str:
            return f"{self.name}: it has no vector" if missing[place] else f"{self.name}: cosine to the query"

        return leaf(np.where(missing, 0.0, cosines), label).tag("cosine", self.name)
