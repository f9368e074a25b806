"""The confidence of a recall: how likely the first results are about the query."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recollect.recall.bm25 import Bm25Query, score
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import cosines
from recollect.store.base import Rows
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class Confidence:
    """1 ÷ (1 + e^−x), where x = cosine × (highest cosine of the first hits) + coverage × (covered) + bias.

    *Covered* is the share of the query's words, weighted by idf, that occur in any of the first hits. Where the query
    has no vector, or one that means little, coverage is used alone.

    The coefficients are a logistic regression over all open sets that have unanswered questions, equally weighted:
    answered questions against unanswered ones and against the same questions put to other people's memories. It
    recognises questions about something else well, and questions on the topic without an answer badly: docs/quality.md
    has the figures. The threshold is below one half: withholding an answer is worse than giving one too many.
    """

    cosine: float = 6.8
    coverage: float = 1.5
    bias: float = -3.6
    coverage_alone: float = 4.0
    bias_alone: float = -1.7
    first: int = 5
    threshold: float = 0.4

    def of(self, run: Run, keys: Rows) -> float:
        """Between 0 and 1; 0 when nothing was found."""
        rows = keys[keys > 0][: self.first]
        if not len(rows):
            return 0.0
        if run.query.only_time:  # what is of that time is what was asked for
            return 1.0
        covered, nearest = self._covered(run, rows), self._nearest(run, rows)
        run.log("covered", round(covered, 4))
        if nearest is None:
            return _logistic(self.coverage_alone * covered + self.bias_alone)
        run.log("cosine", round(nearest, 4))
        return _logistic(self.cosine * nearest + self.coverage * covered + self.bias)

    def _covered(self, run: Run, rows: Rows) -> float:
        if not run.query.terms:
            return 0.0
        matches = score(run.snapshot, run.scope, Bm25Query(run.query.terms, ALL_FIELDS, 1.2, 0.75), rows)
        query_words = set(words(run.query.text, whole=True))  # without the bigrams by which Chinese is looked up
        main = [match for match in matches.terms if match.term.match != "compound" and not match.term.part_of]
        about = [match for match in main if match.term.word in query_words] or main
        found = {match.term.part_of or match.term.word for match in matches.terms if match.saturation.any()}
        idf_sum = sum(match.idf for match in about)
        return sum(match.idf for match in about if match.term.word in found) / idf_sum if idf_sum else 0.0

    def _nearest(self, run: Run, rows: Rows) -> float | None:
        if "vectors" not in run.found or not len(run.found["vectors"].keys) or not run.embedder_reads_query():
            return None
        try:
            similarity = cosines(run.snapshot, run.vector(), rows)
        except Skip:
            return None
        known = similarity[~np.isnan(similarity)]
        return float(known.max()) if len(known) else None


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
