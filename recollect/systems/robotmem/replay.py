"""Replay: an episode from its beginning, instead of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.recall.cues.plans import cues_of, gathered
from recollect.recall.expressions import Expr, leaf
from recollect.recall.hits import Found
from recollect.recall.recipe import Cue, Depth, Plan, times
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class Replay:
    """Everything that the filter lets through, oldest first, when the question is ``*``; nothing is searched."""

    name: str = "replay"
    depth: Depth = times(1)
    sign: str = "*"

    def find(self, run: Run) -> Found:
        rows = self._oldest_first(run)
        kept = rows[: self.depth(run.k)]
        return Found(self.name, kept, self._by_place(np.arange(len(kept))), len(rows))

    def score(self, run: Run, rows: Rows) -> Expr:
        """1 ÷ place: the earlier, the higher."""
        places = {row: place for place, row in enumerate(self._oldest_first(run).tolist())}
        return self._by_place(np.array([places.get(row, len(places)) for row in rows.tolist()], dtype=np.int64))

    def _oldest_first(self, run: Run) -> Rows:
        if run.question.text.strip() != self.sign:
            raise Skip(f"the question is not {self.sign!r}")
        rows = run.snapshot.all_rows(run.scope)  # in the order in which they were written
        return rows[np.argsort(run.snapshot.numbers("created", rows), kind="stable")]

    def _by_place(self, places: Rows) -> Expr:
        return leaf(1 / (places + 1), lambda at: f"{self.name}: number {places[at] + 1} from the beginning")


class Instead:
    """One cue in the place of all others, when the question asks for it; the others when that cue skips."""

    def __init__(self, cue: Cue, others: Cue | Plan) -> None:
        self._cue = cue
        self._others = others

    def gather(self, run: Run) -> list[Found]:
        found = run.find(self._cue)
        if run.trace.steps[-1].outcome == "skipped":
            return gathered(self._others, run)
        for other in cues_of(self._others):
            run.skip(other, f"{self._cue.name} answers alone")
        return [found]

    def cues(self) -> list[Cue]:
        return [self._cue, *cues_of(self._others)]
