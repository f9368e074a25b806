"""Query readers for other languages than English: one finds the language, one looks up the parts of compounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.embed.base import language_note
from recollect.recall.bm25 import frequencies
from recollect.recall.query_parsing import ParsedQuery
from recollect.store.base import Term
from recollect.store.text_fields import TEXT_FIELDS
from recollect.text.compounds import COMPOUNDING, MIN_PART, splits
from recollect.text.languages import NAMES, detect_language
from recollect.text.words import stems

if TYPE_CHECKING:
    from recollect.recall.run import Run

ALL_FIELDS = dict.fromkeys(TEXT_FIELDS, 1.0)


@dataclass(frozen=True, slots=True)
class DetectLanguage:
    """The language of the query, which decides about stop words and stems. Where the query leaves it open, that of the
    first memories in scope is used."""

    sample: int = 16  # memories

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        language = detect_language(query.text, lambda: self._of_memories(run))
        if language != "en":
            run.log("language", NAMES[language])
            if note := language_note(run.embedder, language):
                run.log("embedder", note)
        return replace(query, language=language)

    def _of_memories(self, run: Run) -> str:
        texts = run.snapshot.texts(run.snapshot.page(run.scope, "stored", self.sample))
        return detect_language("\n".join(text[:100] for text in texts))


@dataclass(frozen=True, slots=True)
class CompoundParts:
    """In languages that write compounds as one word: looks up the parts of a compound, and compounds with a word.

    A word is split where the memories have its parts, as words or in compounds: of several ways the one with two known
    parts, then the one with the longest second part, which names the thing. Parts count ``part``, compounds that begin
    or end with a word of the query ``compound``.
    """

    part: float = 0.5
    compound: float = 0.5
    max_words: int = 12

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        if query.language not in COMPOUNDING:
            return query
        long = [term for term in query.terms if term.match == "stem" and len(term.word) >= MIN_PART]
        added: list[Term] = []
        for term in [term for term in long if term.word.isalpha()][: self.max_words]:
            added += self._compounds(term, run)
            if parts := self._parts(term, run):
                run.log(f"parts of {term.word}", ", ".join(dict.fromkeys(part.word for part in parts)))
                added += parts
        present = {term.word for term in query.terms}
        new = [term for term in added if term.match == "compound" or term.word not in present]
        return replace(query, terms=(*query.terms, *new))

    def _compounds(self, term: Term, run: Run) -> list[Term]:
        return _known([replace(term, weight=term.weight * self.compound, match="compound")], run)

    def _parts(self, term: Term, run: Run) -> list[Term]:
        weight = term.weight * self.part
        part = replace(term, weight=weight, part_of=term.word)
        ways = list(dict.fromkeys(splits(term.word)))
        words = dict.fromkeys(word for way in ways for word in way if _is_long(word, term.language))
        known = {each.word for each in _known([replace(part, word=word) for word in words], run)}
        both = [way for way in ways if way[0] in known and way[1] in known]
        second = [way for way in ways if way[1] in known and len(way[0]) >= MIN_PART]
        chosen = next(iter([*both, *second]), ())
        return [replace(part, word=word) for word in chosen if word in known]


def _is_long(word: str, language: str) -> bool:
    return len(stems(word, language)[0]) >= MIN_PART


def _known(terms: list[Term], run: Run) -> list[Term]:
    """The terms that memories in the bound have."""
    if not terms:
        return []
    found = frequencies(run.snapshot, run.scope, terms, ALL_FIELDS)
    return [term for term, having in zip(terms, found, strict=True) if having]
