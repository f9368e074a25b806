"""The words cue: full-text search by BM25, explained term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.bm25 import Bm25Query, Bm25Scores, score, search
from recollect.recall.expressions import Expression, leaf, product, total
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term
from recollect.store.text_fields import TEXT_FIELDS

ALL_FIELDS = dict.fromkeys(TEXT_FIELDS, 1.0)


@dataclass(frozen=True, slots=True)
class WordsCue:
    """Memories that share words with the query, in weighted fields."""

    name: str = "words"
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = fixed(100)
    k1: float = 1.2
    b: float = 0.75
    every: bool = False  # all terms must match

    def find(self, run: Run) -> Candidates:
        matches = search(run.snapshot, run.scope, self.query(run), self.depth(run.k))
        counts = {format_term(match.term): match.frequency if match.occurs else 0 for match in matches.terms}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.total, {"terms": counts}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return explain_matches(self.name, score(run.snapshot, run.scope, self.query(run), rows))

    def query(self, run: Run) -> Bm25Query:
        """What is looked up."""
        if not run.query.terms:
            raise Skip("the query has no words to look up")
        return Bm25Query(run.query.terms, self.fields, self.k1, self.b, self.every)


def explain_matches(name: str, matches: Bm25Scores) -> Expression:
    """Σ weight × idf × saturation, a part for each term."""
    parts = []
    for match in matches.terms:
        if not match.frequency:
            continue
        weight, word = match.term.weight, format_term(match.term)
        times = f"{weight:.3g} × " if weight != 1 else ""
        idf = leaf(weight * match.idf, f"{times}idf: in {match.frequency} of {matches.documents} memories")
        term = product(f"“{word}”", idf, leaf(match.saturation, "term frequency, saturated"))
        parts.append(term.tag("term", word))
    if not parts:
        return leaf(np.zeros(len(matches.rows)), name)
    return total(f"{name}: BM25", *parts)


def format_term(term: Term) -> str:
    """A term as the query language writes it; parts of compounds, compounds with a word, and words that stand for
    another one as such."""
    if term.part_of:
        is_part = term.word in term.part_of and len(term.part_of) > len(term.word) + 2  # not “shelf” for “shelff”
        return f"{term.word} {'in' if is_part else 'for'} {term.part_of}"
    match term.match:
        case "prefix":
            return f"{term.word}*"
        case "phrase":
            return f'"{term.word}"'
        case "compound":
            return f"compounds of {term.word}"
        case _:
            return term.word
