"""Alike: every word of the question as the known words that share 3-grams with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.cues.words import EVERYWHERE, explained
from recollect.recall.expressions import Expr
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term, WordQuery
from recollect.text.words import fold, is_spaceless, stem


@dataclass(frozen=True, slots=True)
class Alike:
    """Words that hold a word of the question, or that look like it; diacritics do not count.

    Where the word itself is known, what only looks like it must do so closely: a letter of a long word may be wrong,
    but a question for the house is not one for the horse.
    """

    name: str = "alike"
    fields: Mapping[str, float] = field(default_factory=lambda: EVERYWHERE)
    depth: Depth = fixed(100)
    least: float = 0.3  # similarity of 3-grams
    least_known: float = 0.85  # the same, for a word that memories here have
    variants: int = 50  # for each word
    most: int = 12  # words that are tried

    def find(self, run: Run) -> Found:
        query = self._query(run)
        matches = run.snapshot.lexicon.search(query, run.scope, self.depth(run.k))
        tried = {match.term.word: round(match.term.weight, 3) for match in matches.terms if match.here}
        return Found(self.name, matches.rows, explained(self.name, matches), matches.found, {"instead": tried})

    def score(self, run: Run, rows: Rows) -> Expr:
        return explained(self.name, run.snapshot.lexicon.score(self._query(run), run.scope, rows))

    def _query(self, run: Run) -> WordQuery:
        asked = WordQuery(run.question.terms, self.fields, 1.2, 0.75)
        none: Rows = np.empty(0, dtype=np.int64)
        known = {match.term.word: match.here > 0 for match in run.snapshot.lexicon.score(asked, run.scope, none).terms}
        tried = [word for word in known if len(word) > 2 or is_spaceless(word)][: self.most]  # 3-grams need 3 letters
        alike: dict[str, tuple[float, str]] = {}  # by stem: relatives are looked up together
        for word in tried:
            for other, similarity in run.snapshot.lexicon.alike(word, run.scope, self.least, self.variants):
                if not known[word] or similarity >= self.least_known or fold(word) in other:
                    alike[stem(other)] = max((similarity, other), alike.get(stem(other), (0.0, "")))
        if not alike:
            raise Skip("no known word is like one of the question's")
        terms = tuple(Term(word, weight) for weight, word in alike.values())
        return WordQuery(terms, self.fields, 1.2, 0.75)
