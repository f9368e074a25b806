"""The question as understood: its words, the terms to look up, and its vector when one is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from recollect.store.base import Term
from recollect.text.stop import ENGLISH
from recollect.text.words import stem, words

if TYPE_CHECKING:
    from recollect.recall.run import Run


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, and what the readings made of it."""

    text: str
    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The words that the question is about: stop words are dropped, unless there are no others."""

    stop: frozenset[str] = ENGLISH

    def read(self, question: Question, run: Run) -> Question:
        every = tuple(dict.fromkeys(words(question.text)))
        about = tuple(word for word in every if word not in self.stop) or every
        run.note("words", _listed(about) or "none")
        if len(about) < len(every):
            run.note("stop words dropped", _listed([word for word in every if word in self.stop]))
        return replace(question, words=every, terms=tuple(Term(word) for word in _apart(about)))


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
