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
    """The nearest vectors; the trace has their distances, 1 − cosine, from 0 (identical) to 2 (opposite)."""

    def find(self, run: Run) -> Candidates:
        found = VectorsCue.find(self, run)
        if not len(found.keys):
            return found
        first, last = (round(1 - float(found.score.values[at]), 4) + 0.0 for at in (0, -1))  # not −0.0
        return replace(found, detail={"nearest distance": first, "farthest distance": last})


@dataclass(frozen=True, slots=True)
class EpisodeReplay:
    """All memories in scope, oldest first, when the query is ``*``; nothing is searched."""

    name: str = "replay"
    depth: Depth = times(1)
    query: str = "*"

    def find(self, run: Run) -> Candidates:
        rows = self._oldest_first(run)
        first = rows[: self.depth(run.k)]
        return Candidates(self.name, first, self._score_places(np.arange(len(first))), len(rows))

    def score(self, run: Run, rows: Rows) -> Expression:
        """1 ÷ place: the earlier, the higher."""
        places = {row: place for place, row in enumerate(self._oldest_first(run).tolist())}
        return self._score_places(np.array([places.get(row, len(places)) for row in rows.tolist()], dtype=np.int64))

    def _oldest_first(self, run: Run) -> Rows:
        if run.query.text.strip() != self.query:
            raise Skip(f"the query is not {self.query!r}")
        return run.snapshot.page(run.scope, "oldest", max(1, run.scope.count))

    def _score_places(self, places: Rows) -> Expression:
        return leaf(1 / (places + 1), lambda at: f"{self.name}: number {places[at] + 1} from the beginning").tag(
            "component", self.name
        )


class ReplayOrSearch:
    """Runs the replay alone; when it is skipped, the other cues."""

    def __init__(self, replay: EpisodeReplay, search: Cue | CuePlan) -> None:
        self._replay = replay
        self._search = search

    def gather(self, run: Run) -> list[Candidates]:
        found = run.find(self._replay)
        if run.trace.steps[-1].outcome == "skipped":
            return run_part(self._search, run)
        for other in cues_in(self._search):
            run.skip(other, f"{self._replay.name} answers alone")
        return [found]

    def cues(self) -> list[Cue]:
        return [self._replay, *cues_in(self._search)]
