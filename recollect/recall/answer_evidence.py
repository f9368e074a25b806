"""Whether the first hits can have the value that a question asks for, where it names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.text.asked_value import AskedValue
from recollect.text.patterns import lazy_pattern
from recollect.text.words import is_spaceless, stems, words

UNLIKE, ALIKE = 0.45, 0.85  # token similarity: nothing resembles a word up to the one, it is found from the other on
KNOWN = 0.4  # the share of the subject's words in a hit below which the subject may have another name here
ABOUT = 0.8  # of the best share of the subject's words: hits that have it are about the subject

PRONOUN = lazy_pattern(r"(?i)\b(?:s?he|they|hers?|his|him|theirs?|them|er|ihn|ihm|sein\w*|sie|ihr\w*)\b")


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the query: which hits have it in any form, and how similar their nearest token is, where known."""

    word: str
    idf: float
    hits: NDArray[np.bool_]
    similarity: NDArray[np.float64] | None = None

    def strength(self) -> NDArray[np.float64]:
        """By hit, from 0 to 1."""
        if self.similarity is None:
            return self.hits.astype(np.float64)
        similar = np.clip((self.similarity - UNLIKE) / (ALIKE - UNLIKE), 0.0, 1.0)
        return np.fmax(similar, self.hits)  # where the similarity is not known (NaN), the hits decide

    def highest(self) -> NDArray[np.float64]:
        """By hit: the similarity of its nearest token, 1 where it has the word; 0 if neither is known."""
        has = self.hits.astype(np.float64)
        return has if self.similarity is None else np.fmax(self.similarity, has)


def missing_value(
    asked: AskedValue, matches: Sequence[WordMatch], texts: Sequence[str], speakers: Sequence[str], language: str
) -> float:
    """How well the hits know the subject, × how little of the asked value is in those that are about it; from 0 to 1.

    “What did Kevin charge for the sink?” asks for an amount: 1 if a hit has Kevin and the sink, and no such hit has an
    amount; the same for an age. “What is the registration number of the van?” asks for an attribute: 1 if a hit has the
    van, and no such hit has anything like “registration” or “number”. 0 if the subject is not found: then the value may
    be in other words.
    """
    if asked.kind == "fact":
        return _missing_fact(asked, matches, texts, speakers, language)
    value_forms = {form for word in asked.words for form in stems(word, language)}
    value = [match for match in matches if not value_forms.isdisjoint(stems(match.word, language))]
    subject = [match for match in matches if match not in value]
    idf = sum(match.idf for match in subject)
    if not idf or not (value or asked.is_figure):
        return 0.0
    # Of other words than figures, the nearest may be in the memory before or after.
    share = sum(match.idf * (match.hits if asked.is_figure else match.strength()) for match in subject) / idf
    known = float(np.max(share))
    about = np.flatnonzero(share >= ABOUT * known) if known else np.empty(0, dtype=np.int64)
    if not len(about) or (known < KNOWN and not asked.is_figure):
        return 0.0
    if asked.is_figure:
        return 0.0 if any(asked.may_be_in(texts[at]) for at in about.tolist()) else known
    if any(is_spaceless(match.word) for match in value):  # where words are not separated, a subject is a guess
        found = float(any(match.word in text for match in value for text in texts))
    else:
        found = max(float(match.strength()[about].max()) for match in value)
    return known * (1.0 - found)


def _missing_fact(
    asked: AskedValue, matches: Sequence[WordMatch], texts: Sequence[str], speakers: Sequence[str], language: str
) -> float:
    """1 if a hit names the person, and neither such a hit, nor one by that person or about “her” or “him”, has anything
    like what is asked, or of its form: a place for where, a number for how many, another person for who."""
    named = [match.hits for match in matches if match.word in asked.names]
    if not named or not np.logical_and.reduce(named).any():
        return 0.0  # then the person may have another name here
    subject = np.logical_and.reduce(named)
    spoken = [not asked.names.isdisjoint(words(speaker)) for speaker in speakers]
    about = [at for at, text in enumerate(texts) if subject[at] or spoken[at] or PRONOUN.search(text)]
    if any(asked.may_be_in(texts[at]) for at in about):
        return 0.0
    value_forms = {form for word in asked.words for form in stems(word, language)}
    value = [match for match in matches if not value_forms.isdisjoint(stems(match.word, language))]
    found = max((float(match.strength()[about].max()) for match in value), default=0.0)
    return 1.0 - found
