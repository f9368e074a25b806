"""The keyword search of OpenClaw, and its minimum score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from recollect.recall.cues.words import ALL_FIELDS, WordsCue
from recollect.recall.expressions import Expression
from recollect.recall.hits import Annotate, Candidates, Drop, HitOperation, Hits
from recollect.recall.recipe import Depth, times
from recollect.recall.run import Run
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class KeywordCue:
    """Memories with all words of the query (AND); when these are fewer than k, those with some (OR) follow.

    Where the query has too many words to look all of them up, no memory is known to have all.
    """

    name: str = "words"
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = times(4)

    def find(self, run: Run) -> Candidates:
        some = self._words().find(run)
        every = some.keys[:0] if run.query.left_out else replace(self._words(), every=True).find(run).keys
        if len(every) >= run.k:
            rows = every
        else:
            rest = some.keys[~np.isin(some.keys, every)]
            rows = np.concatenate([every, rest])[: self.depth(run.k)]
        detail = {**some.detail, "with all words": len(every)}
        return Candidates(self.name, rows, self.score(run, rows), some.total, detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self._words().score(run, rows)

    def _words(self) -> WordsCue:
        return WordsCue(name=self.name, fields=self.fields, depth=self.depth)


def with_all_words(found: Candidates) -> Rows:
    """The candidates of a Keywords cue that have every word of the query."""
    return found.keys[: int(found.detail.get("with all words", 0))]


BELOW_MINIMUM = "below the minimum score: kept because it has every word of the query"


@dataclass(frozen=True, slots=True)
class MinScore:
    """Leaves out lower scores; when fewer than k are left, memories with every word of the query fill up."""

    ignores_deadline: ClassVar[bool] = True
    minimum: float
    fill_from: str | None = None  # the Keywords cue whose full matches may fill up
    name: str = "minimum score"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        scores = hits.score.values
        keep = scores >= self.minimum
        fillers = np.empty(0, dtype=np.int64)
        free = run.k - int(np.count_nonzero(keep))
        if self.fill_from is not None and free > 0 and self.fill_from in run.found:
            full = np.isin(hits.keys, with_all_words(run.found[self.fill_from])) & ~keep
            fillers = np.flatnonzero(full)[:free]  # hits are in the order of their scores
            keep = keep.copy()
            keep[fillers] = True
        notes = {int(key): [BELOW_MINIMUM] for key in hits.keys[fillers]}
        return [Annotate(notes), Drop(keep, scores, self.minimum, "its score is below the minimum")]
