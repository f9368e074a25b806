"""The OpenClaw recipe: 0.7 × vectors + 0.3 × keywords, with a minimum score.

query    ─▶ vectors  ─▶ max(0, cosine) × 0.7 ┐
      │     24 candidates                    ├─▶ sum ─▶ score ≥ 0.35 ─▶ best 6
      └───▶ keywords ─▶ r ÷ (1 + r)   × 0.3  ┘          (filled up: rows with all words)
            AND, then OR
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import check
from recollect.recall.cues import AllCues, VectorsCue
from recollect.recall.cues.words import ALL_FIELDS, WordsCue
from recollect.recall.expressions import Expression
from recollect.recall.fusion import Blend, CueWeight
from recollect.recall.hits import Annotate, Candidates, Drop, HitOperation, Hits
from recollect.recall.query_parsing import EveryWord
from recollect.recall.recipe import Depth, Recipe, times
from recollect.recall.run import Run
from recollect.recall.stages import RecordUse
from recollect.store.base import Rows

MIN_SCORE = 0.35  # O11
FIELDS = dict.fromkeys(("text", "title", "tags", "keywords"), 1.0)  # front matter counts, too


def openclaw(
    *,
    min_score: float | None = None,  # O11: an explicit one has no exceptions
    vector_weight: float = 0.7,  # O10
    text_weight: float = 0.3,  # O10
    candidate_multiplier: int = 4,  # O9
) -> Recipe:
    """Hybrid search with the weights, thresholds and candidate counts of OpenClaw's memory_search."""
    weight_sum = check.number(vector_weight, "vector_weight", low=0.0) + check.number(
        text_weight, "text_weight", low=0.0
    )
    if not weight_sum:
        raise InvalidInput("vector_weight and text_weight cannot both be 0.")
    minimum = MIN_SCORE if min_score is None else check.number(min_score, "min_score", low=-1.0, high=1.0)
    depth = times(max(1, check.integer(candidate_multiplier, "candidate_multiplier")))
    return Recipe(
        name="openclaw",
        about="Meaning 0.7 and keywords 0.3, with a minimum score; as OpenClaw searches Markdown memory.",
        k=6,  # O11
        read=[EveryWord(match="exact")],  # O7: tokens of every script
        cues=AllCues(
            VectorsCue(depth=depth),  # O6, O9
            KeywordCue(depth=depth, fields=FIELDS),  # O7, O9: AND, then OR fills up
            embed_in_thread=True,  # O9: the query is embedded while keywords are looked up
        ),
        fuse=Blend(
            CueWeight("vectors", vector_weight / weight_sum, over="itself"),  # O6: 1 − distance, at least 0
            CueWeight("words", text_weight / weight_sum, over="saturated"),  # O8: r ÷ (1 + r)
            fill=False,  # O10: a missing cue counts 0
        ),
        stages=[MinScore(minimum, fill_from="words" if min_score is None else None)],  # O11
        after=[RecordUse(("access",))],
    )


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
