"""robotmem's cues: vectors with distances in the trace, and the replay of an episode."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recollect.recall.cues.plans import cues_in, run_part
from recollect.recall.cues.vectors import VectorsCue
from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Cue, CuePlan, Depth, times
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class NearestVectors(VectorsCue):
    """The nearest vectors; the trace says how far they lie: 1 − cosine, from 0 (identical) to 2 (opposite)."""

    def find(self, run: Run) -> Candidates:
        found = VectorsCue.find(self, run)
        if not len(found.keys):
            return found
        first, last = (round(1 - float(found.score.values[at]), 4) + 0.0 for at in (0, -1))  # never −0.0
        return replace(found, detail={"nearest distance": first, "farthest distance": last})


@dataclass(frozen=True, slots=True)
class EpisodeReplay:
    """Everything that the filter lets through, oldest first, when the question is ``*``; nothing is searched."""

    name: str = "replay"
    depth: Depth = times(1)
    sign: str = "*"

    def find(self, run: Run) -> Candidates:
        rows = self._oldest_first(run)
        kept = rows[: self.depth(run.k)]
        return Candidates(self.name, kept, self._by_place(np.arange(len(kept))), len(rows))

    def score(self, run: Run, rows: Rows) -> Expression:
        """1 ÷ place: the earlier, the higher."""
        places = {row: place for place, row in enumerate(self._oldest_first(run).tolist())}
        return self._by_place(np.array([places.get(row, len(places)) for row in rows.tolist()], dtype=np.int64))

    def _oldest_first(self, run: Run) -> Rows:
        if run.query.text.strip() != self.sign:
            raise Skip(f"the question is not {self.sign!r}")
        rows = run.snapshot.all_rows(run.scope)  # in the order in which they were written
        return rows[np.argsort(run.snapshot.numbers("created", rows), kind="stable")]

    def _by_place(self, places: Rows) -> Expression:
        return leaf(1 / (places + 1), lambda at: f"{self.name}: number {places[at] + 1} from the beginning")


class ReplayOrSearch:
    """One cue in the place of all others, when the question asks for it; the others when that cue skips."""

    def __init__(self, cue: Cue, others: Cue | CuePlan) -> None:
        self._cue = cue
        self._others = others

    def gather(self, run: Run) -> list[Candidates]:
        found = run.find(self._cue)
        if run.trace.steps[-1].outcome == "skipped":
            return run_part(self._others, run)
        for other in cues_in(self._others):
            run.skip(other, f"{self._cue.name} answers alone")
        return [found]

    def cues(self) -> list[Cue]:
        return [self._cue, *cues_in(self._others)]
