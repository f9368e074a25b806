"""Trigrams: words that are misspelt, or only a part of one, found by the letters they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.recall.cues.words import EVERYWHERE, explained
from recollect.recall.expressions import Expr
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term, WordQuery
from recollect.text.words import is_spaceless, stem


@dataclass(frozen=True, slots=True)
class Trigrams:
    """Looks up, in place of the words that nothing here has, the known words most like them."""

    name: str = "trigrams"
    of: str = "words"  # the cue whose terms without a match are tried
    fields: Mapping[str, float] = field(default_factory=lambda: EVERYWHERE)
    depth: Depth = fixed(100)
    least: float = 0.3  # similarity of 3-grams
    variants: int = 6  # for each word
    most: int = 12  # words that are tried
    k1: float = 1.2
    b: float = 0.75

    def find(self, run: Run) -> Found:
        query = self._query(run)
        matches = run.snapshot.lexicon.search(query, run.scope, self.depth(run.k))
        tried = {term.word: round(term.weight, 3) for term in query.terms}
        return Found(self.name, matches.rows, explained(self.name, matches), matches.found, {"instead": tried})

    def score(self, run: Run, rows: Rows) -> Expr:
        return explained(self.name, run.snapshot.lexicon.score(self._query(run), run.scope, rows))

    def _query(self, run: Run) -> WordQuery:
        counts = run.found[self.of].detail.get("terms", {}) if self.of in run.found else {}
        if not run.question.terms:
            raise Skip("the question has no words to look up")
        missing = [term.word for term in run.question.terms if term.match != "prefix" and not counts.get(term.word)]
        unknown = [word for word in missing if (len(word) == 1 if is_spaceless(word) else len(word) > 2)][: self.most]
        if not unknown:
            raise Skip(f"too short to look for: {', '.join(missing)}" if missing else "every word was found as it is")
        best: dict[str, tuple[str, float]] = {}
        for word in unknown:
            for other, similarity in run.snapshot.lexicon.alike(word, run.scope, self.least, self.variants):
                form = stem(other)  # kettle and kettles are looked up as one
                if similarity > best.get(form, ("", 0.0))[1]:
                    best[form] = (other, similarity)
        alike = dict(best.values())
        if not alike:
            raise Skip(f"no known word is like {', '.join(unknown)}")
        return WordQuery(tuple(Term(word, weight) for word, weight in alike.items()), self.fields, self.k1, self.b)
