"""A stage for polarity: of memories about the same thing, those that affirm or deny it first, as the query asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as product_of

import numpy as np
from numpy.typing import NDArray

from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.store.base import Term
from recollect.text.entity_names import CAPITALISED_NOUNS, MAX_NAME_CHARACTERS, find_names
from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.polarity import (
    asks_for_negative,
    asks_what_not_to_eat,
    asks_who,
    asks_who_or_which,
    denies,
    is_negative,
    tells_intolerance,
)
from recollect.text.question_kinds import names_opinion_only
from recollect.text.statements import is_question
from recollect.text.words import words

FIRST_PERSON = lazy_pattern(r"\b(?:i|me|my|we|us|our|ich|mich|mir|mein\w*|wir|uns\w*)\b|我", re.IGNORECASE)
OTHERS = lazy_pattern(  # a pronoun, or a name at the beginning: “Lena is allergic”
    rf"\b(?i:he|she|they|his|her|him|them|er|sie|ihm|ihr)\b|他|她"
    rf"|^\W*[{UPPER_CASE}]\w+ (?:is|has|can|cannot|doesn|ist|hat|verträgt)\b"
)


@dataclass(frozen=True, slots=True)
class PolarityFactor:
    """Statements of the polarity that the query asks for come first.

    A query for what was not liked or done: × ``factor`` for texts that deny, refuse or dislike nothing. Of two among
    the first ``head`` hits that match the same words, the one that denies what these name comes before the one that
    affirms it, if it has at least ``ratio`` of its score. For a query for who or which is so, it comes after it.
    An allergy of whom the query is about has at least ``harm`` of the best score where it asks what not to eat: of all
    that may be missed, that does most harm.
    """

    factor: float = 0.7
    ratio: float = 0.5
    below: float = 0.98  # × the score of the one that comes first, for the other one
    harm: float = 0.98
    head: int = 40
    name: str = "polarity"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        harmful = _harmful(run, hits) if asks_what_not_to_eat(run.query.text) else []
        negative = asks_for_negative(run.query.text) or bool(harmful)
        if not negative and not asks_who_or_which(run.trace.query):
            raise Skip("the query does not ask who or which is so, or is not so")
        factor, reasons = np.ones(len(hits)), ["polarity"] * len(hits)
        if negative:
            says_so = [at in harmful or is_negative(text) for at, text in enumerate(run.texts(hits.keys))]
            factor = np.where(says_so, 1.0, self.factor)
            reasons = [f"polarity: {'says what is not so' if each else 'nothing negative in it'}" for each in says_so]
        for second, first in self._opposites(run, hits, hits.score.values * factor, negative):
            lowered = self.below * hits.score.values[first] * factor[first] / hits.score.values[second]
            if lowered < factor[second]:
                factor[second] = lowered
                reasons[second] = f"polarity: {'does not deny' if negative else 'denies'} what is asked about"
        best = float((hits.score.values * factor)[hits.page == hits.page.min(initial=0)].max(initial=0.0))
        for at in harmful:
            if 0 < hits.score.values[at] * factor[at] < self.harm * best:
                factor[at], reasons[at] = self.harm * best / hits.score.values[at], "polarity: tells what makes ill"
        if (factor == 1.0).all():
            raise Skip("the first hits do not differ in polarity")
        return [Rescore(product("after polarity", hits.score, leaf(factor, reasons.__getitem__)))]

    def _opposites(self, run: Run, hits: Hits, scores: NDArray[np.float64], negative: bool) -> list[tuple[int, int]]:
        """Pairs of hits on the same things, of which the second has the polarity that the query asks for, and the first
        has not. A person who does not eat fish is no answer to who does not eat meat, if another hit denies meat."""
        things = _things(run)
        first_page = np.flatnonzero((hits.keys > 0) & (hits.page == hits.page.min(initial=0)))
        head = first_page[np.argsort(-scores[first_page], kind="stable")][: self.head]
        if not things or not len(head):
            return []
        texts, scores = run.texts(hits.keys[head]), scores[head]
        has = run.snapshot.term_frequencies(things, ALL_FIELDS, hits.keys[head]) > 0
        denied = [_denies(text, things, has[:, at]) for at, text in enumerate(texts)]
        if negative not in denied or not (negative or any(denied)):
            return []
        has_one: list[bool] = np.logical_or.reduce(has).tolist()
        who = asks_who(run.trace.query)
        firsts = [
            at for at, denies in enumerate(denied) if denies == negative and has_one[at] and not is_question(texts[at])
        ]
        # Has the first all words that the second has?
        has_all: list[list[bool]] = np.logical_and.reduce(has[:, :, None] >= has[:, None]).tolist()
        pairs = []
        for second, first in product_of(range(len(head)), firsts):
            same = first != second and has_one[second] and has_all[first][second]
            if negative:
                opposite = (same and not is_negative(texts[second])) or (who and not has_one[second])
            else:
                opposite = same and denied[second]
            if opposite and scores[first] >= self.ratio * scores[second] > 0:
                pairs.append((int(head[second]), int(head[first])))
        return pairs


def _harmful(run: Run, hits: Hits) -> list[int]:
    """The hits of the first page that tell what makes ill: the one who asks, or somebody whom the query names."""
    named = frozenset(part for name in find_names(run.trace.query[:MAX_NAME_CHARACTERS]) for part in words(name))
    first = np.flatnonzero((hits.keys > 0) & (hits.page == hits.page.min(initial=0)))
    roles, speakers = (run.snapshot.strings(name, hits.keys[first]) for name in ("role", "speaker"))
    harmful = []
    for at, text, role, speaker in zip(first.tolist(), run.texts(hits.keys[first]), roles, speakers, strict=True):
        whose = named.isdisjoint((*words(text), *words(speaker))) if named else _about_others(text)
        if role != "assistant" and not whose and not is_question(text) and tells_intolerance(text):
            harmful.append(at)
    return harmful


def _about_others(text: str) -> bool:
    return FIRST_PERSON.search(text) is None and OTHERS.search(text) is not None


def _things(run: Run) -> tuple[Term, ...]:
    """The words of the query for what is liked or done: no names, and no words for liking it."""
    language, names = run.query.language, frozenset[str]()
    if language not in CAPITALISED_NOUNS:
        names = frozenset(part for name in find_names(run.trace.query[:MAX_NAME_CHARACTERS]) for part in words(name))
    return tuple(
        term
        for term in run.query.terms
        if not term.part_of and term.word not in names and not names_opinion_only(term.word, language)
    )


def _denies(text: str, things: Sequence[Term], has: NDArray[np.bool_]) -> bool:
    return any(denies(text, term.word, term.language) for term, found in zip(things, has, strict=True) if found)
