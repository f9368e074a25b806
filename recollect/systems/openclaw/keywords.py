"""Keywords: memories with all words of the question first, and those with some of them to fill up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from recollect.recall.cues.words import EVERYWHERE, Words
from recollect.recall.expressions import Expr
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, times
from recollect.recall.run import Run
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class Keywords:
    """AND; when that gives fewer than k, OR fills the rest. Scores are the same sum either way."""

    name: str = "words"
    fields: Mapping[str, float] = field(default_factory=lambda: EVERYWHERE)
    depth: Depth = times(4)

    def find(self, run: Run) -> Found:
        some = self._words().find(run)
        every = replace(self._words(), every=True).find(run)
        if len(every.keys) >= run.k:
            rows = every.keys
        else:
            rest = some.keys[~np.isin(some.keys, every.keys)]
            rows = np.concatenate([every.keys, rest])[: self.depth(run.k)]
        detail = {**some.detail, "with all words": len(every.keys)}
        return Found(self.name, rows, self.score(run, rows), some.total, detail)

    def score(self, run: Run, rows: Rows) -> Expr:
        return self._words().score(run, rows)

    def _words(self) -> Words:
        return Words(name=self.name, fields=self.fields, depth=self.depth)


def with_all_words(found: Found) -> Rows:
    """The candidates of a Keywords cue that have every word of the question."""
    return found.keys[: int(found.detail.get("with all words", 0))]
