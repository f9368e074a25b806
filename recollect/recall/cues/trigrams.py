"""The trigrams cue: finds misspelt words and parts of words by the 3-grams they share with known words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.embed import VocabularyEmbedder
from recollect.protocols import supports
from recollect.recall.bm25 import Bm25Query, frequencies, score, search
from recollect.recall.cues.words import ALL_FIELDS, explain_matches, format_term
from recollect.recall.expressions import Expression
from recollect.recall.hits import Candidates
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term
from recollect.text.classify import is_lookup
from recollect.text.irregular_forms import irregular_forms
from recollect.text.trigrams import is_one_edit_apart
from recollect.text.words import is_spaceless, stems


@dataclass(frozen=True, slots=True)
class TrigramsCue:
    """Looks up the most similar words of memories in place of query words that no memory has.

    A word that the embedder knows is no typo: of it only its irregular forms (give, gave) and longer words that begin
    with it are looked up. Nor are words that stand for another one, such as its synonyms. A short word is near to many:
    one of at most ``short`` letters is taken for another only where letters are exchanged, missing or added. A query
    that is one name and nothing else may be the beginning of others: then all of them are looked up.
    """

    name: str = "trigrams"
    of: str = "words"  # the cue whose unmatched terms are looked up
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = fixed(100)
    min_similarity: float = 0.3  # of 3-grams
    max_variants: int = 6  # of each word
    max_words: int = 12
    short: int = 4  # letters
    form: float = 0.75  # the weight of an irregular form
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
            if term.match not in ("prefix", "phrase")
            and not term.part_of
            and term.word not in found
            and not counts.get(format_term(term))
        ]
        unknown = [word for word in missing if (len(word) == 1 if is_spaceless(word) else len(word) > 2)][
            : self.max_words
        ]
        if not unknown:
            raise Skip(f"too short to look up: {', '.join(missing)}" if missing else "every word has a match")
        best: dict[str, Term] = {}
        for word in unknown:
            if beginning := self._beginning(word, run):
                best[word] = beginning
            for other, similarity in self._similar(word, run):
                if beginning and other.startswith(word):
                    continue
                form = stems(other, language)[0]  # kettle and kettles are one term
                if form not in best or similarity > best[form].weight:
                    best[form] = Term(other, similarity, language=language, part_of=word)
        if not best:
            raise Skip(f"no word of a memory is similar to {', '.join(unknown)}")
        return Bm25Query(tuple(best.values()), self.fields, self.k1, self.b)

    def _beginning(self, word: str, run: Run) -> Term | None:
        """All words that begin with this one, where it is a name that is looked up: ``parse_conf`` for more."""
        if run.query.text.strip().lower() != word or not is_lookup(run.query.text, run.query.language):
            return None
        beginning = Term(word, match="prefix", part_of=word)
        (occurs,) = run.snapshot.term_statistics([beginning], self.fields, run.scope).occurs
        return beginning if occurs else None

    def _similar(self, word: str, run: Run) -> list[tuple[str, float]]:
        found = run.snapshot.similar_words(word, run.scope, self.min_similarity, self.max_variants)
        if is_spaceless(word):
            return found
        is_long, is_known = len(word) > self.short, _is_known(word, run)
        if is_long and not is_known:
            return found
        is_beginning = is_long or is_lookup(run.query.text, run.query.language)
        forms = self._forms(word, run)
        return [(form, self.form) for form in forms] + [
            (other, value)
            for other, value in found
            if other not in forms
            and ((is_beginning and other.startswith(word)) or (not is_known and _is_slip(word, other)))
        ]

    def _forms(self, word: str, run: Run) -> list[str]:
        """The irregular forms of a word that memories have."""
        terms = [Term(form) for form in irregular_forms(word)] if run.query.language == "en" else []
        having = frequencies(run.snapshot, run.scope, terms, self.fields) if terms else ()
        return [term.word for term, count in zip(terms, having, strict=True) if count]


def _is_known(word: str, run: Run) -> bool:
    """Does the embedder know the word, so that it is no typo? A name may still be one: Jon for John."""
    embedder = run.embedder
    if run.query.language != "en" or not supports(embedder, VocabularyEmbedder) or not embedder.knows_word(word):
        return False
    return re.search(rf"\w\W+{re.escape(word.capitalize())}\b", run.trace.query) is None


def _is_slip(word: str, other: str) -> bool:
    """Are letters exchanged, missing or added, and none wrong?"""
    return sorted(word) == sorted(other) or (len(word) != len(other) and is_one_edit_apart(word, other))
