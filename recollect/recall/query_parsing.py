"""The question as understood: its words, the terms to look up, and its vector when one is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from recollect.store.base import Term, WordQuery
from recollect.store.text_fields import FIELDS
from recollect.text.kinds import is_lookup
from recollect.text.stopwords import STOP
from recollect.text.trigrams import distance
from recollect.text.words import stem, words

if TYPE_CHECKING:
    from recollect.recall.run import Run

NAME = re.compile(r"\w+")  # alone, without spaces
WORD = re.compile(r"(?<!\w)[A-Za-z][a-z]+(?!\w)")  # whole and plain: no identifier, nor a part of one


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, and what the readings made of it."""

    text: str
    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The words that the question is about: stop words are dropped, unless there are no others."""

    stop: frozenset[str] = STOP

    def read(self, question: Question, run: Run) -> Question:
        every = tuple(dict.fromkeys(words(question.text)))
        about = tuple(word for word in every if word not in self.stop) or every
        run.note("words", _listed(about) or "none")
        if len(about) < len(every):
            run.note("stop words dropped", _listed([word for word in every if word in self.stop]))
        return replace(question, words=every, terms=tuple(Term(word) for word in _apart(about)))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A name that is looked up may be the beginning of one: words that begin with it are looked up, too."""

    shortest: int = 3  # letters

    def read(self, question: Question, run: Run) -> Question:
        begun = question.text.strip().lstrip("_").lower()
        if len(begun) < self.shortest or not NAME.fullmatch(begun):
            return question
        (whole,), (longer,) = (_documents([begun], match, run) for match in ("exact", "prefix"))
        if longer <= whole:  # nothing goes on from here
            return question
        run.note("may be unfinished", begun)
        return replace(question, terms=(*question.terms, Term(begun, match="prefix")))


@dataclass(frozen=True, slots=True)
class Spelling:
    """Puts right what was mistyped: a word that neither the memories nor the embedder know, but for a slip or two.

    What is written with a capital may be a name, and short words are near to many: there one slip is the most. An
    embedder that does not say which words it knows may know them all: then nothing is put right, as any word that the
    memories lack would turn into one that they have. What is like it is found by its 3-grams.
    """

    slips: int = 2
    shortest: int = 4  # letters
    most: int = 8  # words that are tried

    def read(self, question: Question, run: Run) -> Question:
        knows = getattr(run.embedder, "knows", None)
        if knows is None or is_lookup(question.text):  # an identifier is strange by nature
            return question
        long = [word for word in dict.fromkeys(WORD.findall(question.text)) if len(word) >= self.shortest]
        unknown = _unknown([word for word in long if not knows(word.lower())], run)[: self.most]
        right = {word: other for word in unknown if (other := self._nearest(word, run))}
        if not right:
            return question
        run.note("corrected", ", ".join(f"{word} → {other}" for word, other in right.items()))
        return replace(question, text=WORD.sub(lambda found: right.get(found[0], found[0]), question.text))

    def _nearest(self, word: str, run: Run) -> str | None:
        """The fewest slips away; of equals, one with the same letters (teh, the), and then the most frequent."""
        asked = word.lower()
        slips = 1 if word[0].isupper() or len(word) == self.shortest else self.slips
        alike = run.snapshot.lexicon.alike(asked, run.scope, 0.25, 24)
        apart = {other: distance(asked, other, slips) for other, _ in alike if other.isalpha()}
        near = [other for other, between in apart.items() if between <= slips]
        frequency = dict(zip(near, _documents(near, "exact", run), strict=True))
        return min(
            near, key=lambda other: (apart[other], sorted(other) != sorted(asked), -frequency[other]), default=None
        )


def _unknown(words: Sequence[str], run: Run) -> list[str]:
    """Those that no memory in scope has, in any form."""
    return [word for word, having in zip(words, _documents(words, "stem", run), strict=True) if not having]


def _documents(words: Sequence[str], match: Literal["stem", "exact", "prefix"], run: Run) -> list[int]:
    """How many memories in scope have each word."""
    if not words:
        return []
    query = WordQuery(tuple(Term(word.lower(), match=match) for word in words), dict.fromkeys(FIELDS, 1.0))
    matches = run.snapshot.lexicon.score(query, run.scope, np.empty(0, dtype=np.int64))
    return [each.documents for each in matches.terms]


@dataclass(frozen=True, slots=True)
class EveryWord:
    """All words of the question, as they are or with their relatives."""

    match: Literal["stem", "exact"] = "exact"

    def read(self, question: Question, run: Run) -> Question:
        every = tuple(dict.fromkeys(words(question.text)))
        run.note("words", _listed(every) or "none")
        return replace(question, words=every, terms=tuple(Term(word, match=self.match) for word in every))


def _apart(words: tuple[str, ...]) -> list[str]:
    """The first of all words that look up the same."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(stem(word), word)
    return list(first.values())


def _listed(words: Sequence[str], most: int = 40) -> str:
    shown = ", ".join(words[:most])
    return f"{shown} and {len(words) - most} more" if len(words) > most else shown
