"""Stage Ss: memories whose bit signatures are similar to that of the query, without a model (A7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import Expression, leaf
from recollect.recall.hits import Candidates
from recollect.recall.ordering import best_first
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.text.signatures import Signature, hamming_similarity, text_signature
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class SignatureCue:
    """Hamming similarity of signatures, for memories that earlier cues have not found (A7)."""

    name: str = "signatures"
    bits: int = 256
    min_similarity: float = 0.65
    depth: Depth = fixed(5)

    def find(self, run: Run) -> Candidates:
        rows = run.snapshot.signature_candidates(self._query_signature(run), run.scope, self.min_similarity)
        seen = np.concatenate([np.empty(0, np.int64), *(each.keys for each in run.found.values())])
        rows = rows[~np.isin(rows, seen)]
        similarity = self._similarity(run, rows)
        best = best_first(run.snapshot, rows, similarity, self.depth(run.k))
        detail = {"how": f"signatures with at least {self.min_similarity:.0%} of {self.bits} bits in common"}
        return Candidates(self.name, rows[best], self._expression(similarity[best]), len(rows), detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self._expression(self._similarity(run, rows))

    def _query_signature(self, run: Run) -> Signature:
        query_words = words(run.query.text)
        if not query_words:
            raise Skip("the query has no words to look up")
        return text_signature(query_words, self.bits)

    def _similarity(self, run: Run, rows: Rows) -> Floats:
        return hamming_similarity(self._query_signature(run), run.snapshot.signatures(self.bits, rows), self.bits)

    def _expression(self, similarity: Floats) -> Expression:
        return leaf(similarity, f"{self.name}: share of {self.bits} bits that are equal").tag("component", self.name)
