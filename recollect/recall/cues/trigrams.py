"""The trigrams cue: finds misspelt words and parts of words by the 3-grams they share with known words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.recall.bm25 import Bm25Query, score, search
from recollect.recall.cues.words import ALL_FIELDS, explain_matches, format_term
from recollect.recall.expressions import Expression
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term
from recollect.text.words import is_spaceless, stems


@dataclass(frozen=True, slots=True)
class TrigramsCue:
    """Looks up the most similar known words in place of query words that no memory has."""

    name: str = "trigrams"
    of: str = "words"  # the cue whose unmatched terms are looked up
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = fixed(100)
    min_similarity: float = 0.3  # of 3-grams
    max_variants: int = 6  # of each word
    max_words: int = 12
    k1: float = 1.2
    b: float = 0.75

    def find(self, run: Run) -> Candidates:
        query = self._query(run)
        matches = search(run.snapshot, run.scope, query, self.depth(run.k))
        tried = {term.word: round(term.weight, 3) for term in query.terms}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.total, {"instead": tried}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return explain_matches(self.name, score(run.snapshot, run.scope, self._query(run), rows))

    def _query(self, run: Run) -> Bm25Query:
        counts = run.found[self.of].detail.get("terms", {}) if self.of in run.found else {}
        if not run.query.terms:
            raise Skip("the query has no words to look up")
        terms, language = run.query.terms, run.query.language
        found = {term.part_of or term.word for term in terms if term.match == "compound" or term.part_of}
        missing = [
            term.word
            for term in terms
            if term.match not in ("prefix", "phrase") and term.word not in found and not counts.get(format_term(term))
        ]
        unknown = [word for word in missing if (len(word) == 1 if is_spaceless(word) else len(word) > 2)][
            : self.max_words
        ]
        if not unknown:
            raise Skip(f"too short to look up: {', '.join(missing)}" if missing else "every word has a match")
        best: dict[str, tuple[str, float]] = {}
        for word in unknown:
            for other, similarity in run.snapshot.similar_words(
                word, run.scope, self.min_similarity, self.max_variants
            ):
                form = stems(other, language)[0]  # kettle and kettles are one term
                if similarity > best.get(form, ("", 0.0))[1]:
                    best[form] = (other, similarity)
        similar = dict(best.values())
        if not similar:
            raise Skip(f"no known word is similar to {', '.join(unknown)}")
        variants = tuple(Term(word, weight, language=language) for word, weight in similar.items())
        return Bm25Query(variants, self.fields, self.k1, self.b)
