"""Words: full text by BM25, explained term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.expressions import Expr, leaf, product, total
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term, WordMatches, WordQuery
from recollect.store.text_fields import FIELDS

EVERYWHERE = dict.fromkeys(FIELDS, 1.0)


@dataclass(frozen=True, slots=True)
class Words:
    """Memories that share words with the question, in weighted fields."""

    name: str = "words"
    fields: Mapping[str, float] = field(default_factory=lambda: EVERYWHERE)
    depth: Depth = fixed(100)
    k1: float = 1.2
    b: float = 0.75
    every: bool = False  # all terms must be there

    def find(self, run: Run) -> Found:
        matches = run.snapshot.lexicon.search(self._query(run), run.scope, self.depth(run.k))
        counts = {written(match.term): match.here for match in matches.terms}
        return Found(self.name, matches.rows, explained(self.name, matches), matches.found, {"terms": counts})

    def score(self, run: Run, rows: Rows) -> Expr:
        return explained(self.name, run.snapshot.lexicon.score(self._query(run), run.scope, rows))

    def _query(self, run: Run) -> WordQuery:
        if not run.question.terms:
            raise Skip("the question has no words to look up")
        return WordQuery(run.question.terms, self.fields, self.k1, self.b, self.every)


def explained(name: str, matches: WordMatches) -> Expr:
    """Σ weight × idf × saturation, a part for each term."""
    parts = []
    for match in matches.terms:
        if not match.documents:
            continue
        weight, word = match.term.weight, written(match.term)
        rarity = leaf(weight * match.idf, f"rarity: {match.documents} of {matches.documents} memories have it")
        parts.append(product(f"“{word}”", rarity, leaf(match.saturation, "how much of it is here")))
    if not parts:
        return leaf(np.zeros(len(matches.rows)), name)
    return total(f"{name}: BM25", *parts)


def written(term: Term) -> str:
    """As the query language writes it."""
    return {"prefix": f"{term.word}*", "phrase": f'"{term.word}"'}.get(term.match, term.word)
