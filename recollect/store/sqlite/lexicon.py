"""BM25 over the image's postings, term by term, with the statistics of the collections asked for."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import accumulate, pairwise
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats, Rows, Term, TermMatch, WordMatches, WordQuery, as_term
from recollect.store.sqlite.arrays import best
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.index import Image
from recollect.store.sqlite.phrases import occurrences
from recollect.store.sqlite.scope import Slots, SlotScope
from recollect.store.text_fields import FIELDS
from recollect.text.query_language import Every, Some, Tree, Without, describe
from recollect.text.trigrams import GramIndex, letter_sets, one_apart
from recollect.text.words import fold, stem, words

NONE: Floats = np.empty(0)
NO_SLOTS: NDArray[np.int32] = np.empty(0, dtype=np.int32)


def idf(documents: int, having: int) -> float:
    """ln(1 + (N − n + ½) / (n + ½)): how telling a term is that n of N memories have. Never negative."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def saturation(times: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """times × (k1 + 1) / (times + k1 × (1 − b + b × length / average)): more of a word helps less and less."""
    return np.asarray(times * (k1 + 1) / (times + k1 * (1 - b + b * length / average)))


def _form(term: Term) -> str:
    return stem(term.word) if term.match == "stem" else term.word


@dataclass(frozen=True, slots=True)
class Matched:
    """The terms of a query and the slots that have them: for each term a run of slots, ascending.

    All runs are one array, so that numpy is asked once a query and not once a term.
    """

    terms: list[TermMatch]  # saturations aligned with the term's run
    slots: NDArray[np.int32]
    saturation: Floats
    documents: int  # memories in the scope

    @property
    def sizes(self) -> list[int]:
        return [len(each.saturation) for each in self.terms]

    def scores(self, count: int) -> Floats:
        """Σ weight × idf × saturation, slot by slot."""
        rarity = np.repeat([each.term.weight * each.idf for each in self.terms], self.sizes)
        return np.asarray(np.bincount(self.slots, rarity * self.saturation, count), dtype=np.float64)

    def at(self, slots: NDArray[Any]) -> list[TermMatch]:
        """The terms with their saturations at these slots, 0 where a term is not there."""
        parts = np.zeros((len(self.terms), len(slots)))
        if len(self.slots):
            numbers = np.arange(len(self.terms))
            having = (np.repeat(numbers, self.sizes) << 32) + self.slots
            wanted = (numbers[:, None] << 32) + slots
            place = np.minimum(np.searchsorted(having, wanted), len(having) - 1)
            parts = np.where(having[place] == wanted, self.saturation[place], 0.0)
        return [
            TermMatch(each.term, each.documents, each.here, each.idf, part)
            for each, part in zip(self.terms, parts, strict=True)
        ]

    def having(self) -> dict[Term, NDArray[np.int32]]:
        """The slots of each term."""
        ends = [0, *accumulate(self.sizes)]
        return {each.term: self.slots[a:b] for each, (a, b) in zip(self.terms, pairwise(ends), strict=True)}


class Vocabulary:
    """All words without their diacritics, sorted, and the numbers of the words that each stands for."""

    def __init__(self, known: list[tuple[int, str]]) -> None:
        self.numbers: dict[str, list[int]] = {}
        for number, word in known:
            self.numbers.setdefault(fold(word), []).append(number)
        self.words = sorted(self.numbers)

    @cached_property
    def grams(self) -> GramIndex:
        return GramIndex(self.words)

    def one_apart_from(self, word: str) -> list[int]:
        """Places of the words that are one slip of the keys away and begin with its first letter, or its second."""
        if len(word) < 3 or not self.words:
            return []
        lengths, letters = self._shapes
        (mine,) = letter_sets([word])
        found: list[int] = []
        for letter in sorted(set(word[:2])):
            first, last = (bisect_left(self.words, letter + end) for end in ("", "\U0010ffff"))
            apart = letters[first:last] ^ mine
            apart &= apart - np.uint64(1)  # without its lowest letter, twice: nothing is left where at most two differ
            apart &= apart - np.uint64(1)
            likely = np.flatnonzero((np.abs(lengths[first:last] - len(word)) < 2) & (apart == 0)) + first
            found += [at for at in likely.tolist() if one_apart(word, self.words[at])]
        return found

    @cached_property
    def _shapes(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        return np.array([len(word) for word in self.words], dtype=np.int64), letter_sets(self.words)

    def beginning(self, prefix: str) -> list[int]:
        first, last = (bisect_left(self.words, prefix + end) for end in ("", "\U0010ffff"))
        return [number for word in self.words[first:last] for number in self.numbers[word]]


class SqliteLexicon:
    """The words of one snapshot."""

    def __init__(self, image: Image, connection: apsw.Connection, kept: dict[str, Any]) -> None:
        self.image = image
        self.connection = connection
        # In one recall a question is asked more than once: to find, and to score what others found.
        self._asked: list[tuple[tuple[Any, ...], SlotScope, Matched]] = []
        self._alike: dict[tuple[str, int, float, int], list[tuple[str, float]]] = {}
        self.kept = kept  # outlives the snapshot: the vocabulary only ever grows

    def search(self, query: WordQuery, scope: SlotScope, limit: int) -> WordMatches:
        matched = self._match(query, scope)
        scores = matched.scores(len(self.image.rows))
        passing = scores > 0
        if query.every:
            passing &= np.bincount(matched.slots, minlength=len(scores)) == len(matched.terms)
        if query.where is not None:
            passing = self._fulfilling(query, scope, matched.having())
        found = np.flatnonzero(passing & scope.slots)
        chosen = found[best(scores[found], self.image.rows[found], limit)]
        return WordMatches(self.image.rows[chosen], scores[chosen], matched.at(chosen), matched.documents, len(found))

    def score(self, query: WordQuery, scope: SlotScope, rows: Rows) -> WordMatches:
        matched = self._match(query, scope)
        slots = self.image.slots(rows)
        terms = matched.at(slots)
        if query.where is not None and len(self.image.rows):
            passing = self._fulfilling(query, scope, matched.having())[slots]
            terms = [replace(each, saturation=each.saturation * passing) for each in terms]
        if query.every:
            complete = np.logical_and.reduce([each.saturation > 0 for each in terms])
            terms = [replace(each, saturation=each.saturation * complete) for each in terms]
        scores = sum((each.term.weight * each.idf * each.saturation for each in terms), np.zeros(len(slots)))
        return WordMatches(np.where(slots < 0, -1, rows), scores, terms, matched.documents, len(slots))

    def without(self, tree: Tree, fields: Mapping[str, float], scope: SlotScope) -> SlotScope:
        others = ~self._fulfilling(WordQuery((), fields, where=tree), scope, {})
        reason = (f"the query refuses it: NOT {describe(tree)}", others, "", None)
        return replace(scope, slots=scope.slots & others, conditions=[*scope.conditions, reason])

    def alike(self, word: str, scope: SlotScope, least: float, limit: int) -> list[tuple[str, float]]:
        key = (word, id(scope), least, limit)
        if key not in self._alike:
            self._alike[key] = self._look_alike(word, scope, least, limit)
        return self._alike[key]

    def _look_alike(self, word: str, scope: SlotScope, least: float, limit: int) -> list[tuple[str, float]]:
        known = self._vocabulary()
        words, index = known.words, known.grams
        asked = fold(word)
        similar = index.similar(asked)
        # A part of a word counts by how much of the word it is; one or two letters are too few for 3-grams.
        if len(asked) < 3:
            inside = [at for at, other in enumerate(words) if asked in other]
        else:
            inside = [at for at in np.flatnonzero(index.containing(asked)).tolist() if asked in words[at]]
        for at in inside:
            similar[at] = max(similar[at], least, len(asked) / len(words[at]))
        for at in known.one_apart_from(asked):
            similar[at] = max(similar[at], 1 - 1 / max(len(asked), len(words[at])))
        near: list[int] = np.flatnonzero(similar >= least).tolist()
        found: list[tuple[str, float]] = []
        near.sort(key=lambda at: (-similar[at], words[at]))
        for start in range(0, len(near), limit):  # of those that memories here have, as many as are asked for
            some = near[start : start + limit]
            occur = self.image.postings.occur([known.numbers[words[at]] for at in some], scope.slots)
            found += [(words[at], float(similar[at])) for at, here in zip(some, occur, strict=True) if here]
            if len(found) >= limit:
                break
        return found[:limit]

    def _vocabulary(self) -> Vocabulary:
        last = self.connection.execute("SELECT max(term) FROM vocabulary").get or 0
        known: tuple[int, Vocabulary] | None = self.kept.get("vocabulary")  # other threads may be at another version
        if known is None or known[0] != last:
            known = last, Vocabulary(fetch(self.connection, "SELECT term, word FROM vocabulary"))
            self.kept["vocabulary"] = known
        return known[1]

    def _match(self, query: WordQuery, scope: SlotScope) -> Matched:
        asked = (query.terms, query.fields, query.k1, query.b)
        for same, within, known in self._asked:
            if same == asked and within is scope:
                return known
        weights = np.array([query.fields.get(name, 0.0) for name in FIELDS])
        length, average, documents = self._lengths(query.fields, scope)
        runs = self.image.postings.times(self._numbers(query.terms), weights)
        for at, term in enumerate(query.terms):
            if term.match == "phrase":
                runs[at] = self._in_order(words(term.word, whole=True), weights, scope)
        slots = np.concatenate([NO_SLOTS, *(run for run, _ in runs)])
        times = np.concatenate([NONE, *(times for _, times in runs)])
        part = saturation(times, length[slots], average, query.k1, query.b)
        terms, start = [], 0
        for term, (run, _) in zip(query.terms, runs, strict=True):
            having, here = (int(np.count_nonzero(each[run])) for each in (scope.bound_slots, scope.slots))
            end = start + len(run)
            terms.append(TermMatch(term, having, here, idf(documents, having), part[start:end]))
            start = end
        matched = Matched(terms, slots, part, documents)
        self._asked.append((asked, scope, matched))
        return matched

    def _fulfilling(self, query: WordQuery, scope: SlotScope, known: dict[Term, NDArray[np.int32]]) -> Slots:
        """By slot: is it what the query asks for? Slots outside the scope do not matter."""

        def having(tree: Tree) -> Slots:
            match tree:
                case Every(of):
                    return reduce(lambda all, each: all & having(each), of[1:], having(of[0]))
                case Some(of):
                    return reduce(lambda any, each: any | having(each), of[1:], having(of[0]))
                case Without(these, those):
                    return having(these) & ~having(those)
            term = as_term(tree)
            if term not in known:  # it is refused, or has the same stem as another: it does not score
                known.update(self._match(replace(query, terms=(term,), where=None), scope).having())
            answer = np.zeros(len(self.image.rows), dtype=np.bool_)
            answer[known[term]] = True
            return answer

        return np.ones(len(self.image.rows), dtype=np.bool_) if query.where is None else having(query.where)

    def _in_order(
        self, phrase: list[str], weights: Floats, scope: SlotScope
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Slots of the scope where these words stand in this order, ascending, and Σ weight × times in each."""
        folded = [fold(word) for word in phrase]
        runs = self.image.postings.times(self._written(folded), weights)
        if len(runs) < 2:
            return runs[0] if runs else (NO_SLOTS, NONE)
        slots = reduce(partial(np.intersect1d, assume_unique=True), [having for having, _ in runs])
        slots = slots[scope.bound_slots[slots]]
        if not len(slots):
            return NO_SLOTS, NONE
        times = occurrences(self.connection, self.image.rows[slots], folded, weights)
        return slots[times > 0], times[times > 0]

    def _written(self, folded: list[str]) -> list[list[int]]:
        """The numbers of the words that are written so, but for their diacritics. They have one stem."""
        sql = "SELECT term, word FROM vocabulary WHERE stem IN (SELECT value FROM json_each(?))"
        found: dict[str, list[int]] = {}
        for number, word in fetch(self.connection, sql, (json.dumps([stem(word) for word in folded]),)):
            found.setdefault(fold(word), []).append(number)
        return [found.get(word, []) for word in folded]

    def _numbers(self, terms: tuple[Term, ...]) -> list[list[int]]:
        """The numbers, in the vocabulary, of every word that each term stands for."""
        found: dict[tuple[str, str], list[int]] = {}
        for column, match in (("word", "exact"), ("stem", "stem")):
            asked = [_form(term) for term in terms if term.match == match]
            if asked:
                sql = f"SELECT {column}, term FROM vocabulary WHERE {column} IN (SELECT value FROM json_each(?))"
                for form, number in fetch(self.connection, sql, (json.dumps(asked),)):
                    found.setdefault((match, form), []).append(number)
        for term in terms:
            if term.match == "prefix":
                found["prefix", term.word] = self._vocabulary().beginning(fold(term.word))
        return [found.get((term.match, _form(term)), []) for term in terms]

    def _lengths(self, fields: Mapping[str, float], scope: SlotScope) -> tuple[Floats, float, int]:
        """Words by slot in the fields that count, their average over the scope, and how many are in scope."""
        names = tuple(name for name in FIELDS if fields.get(name, 0.0) > 0)
        key = ("lengths", names, scope.bound_key)
        known: tuple[Floats, float, int] | None = self.image.memo.get(key)  # others may clear the memo at any time
        if known is None:
            numbers = [at for at, name in enumerate(FIELDS) if name in names]
            length = self.image.lengths[:, numbers].sum(axis=1).astype(np.float64)
            documents = int(np.count_nonzero(scope.bound_slots))
            average = float(length[scope.bound_slots].mean()) if documents else 0.0
            known = self.image.memo[key] = (length, average or 1.0, documents)
        return known
