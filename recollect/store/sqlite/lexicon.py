"""BM25 over the image's postings, term by term, with the statistics of the collections asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats, Rows, Term, TermMatch, WordMatches, WordQuery
from recollect.store.sqlite.arrays import best
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.image import Image
from recollect.store.sqlite.masks import SlotMask
from recollect.store.terms import FIELDS
from recollect.text.grams import GramIndex
from recollect.text.words import fold, stem

NONE: Floats = np.empty(0)
NO_SLOTS: NDArray[np.int32] = np.empty(0, dtype=np.int32)
Matched = list[tuple[TermMatch, NDArray[np.int32]]]


def idf(documents: int, having: int) -> float:
    """ln(1 + (N − n + ½) / (n + ½)): how telling a term is that n of N memories have. Never negative."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def saturation(times: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """times × (k1 + 1) / (times + k1 × (1 − b + b × length / average)): more of a word helps less and less."""
    return np.asarray(times * (k1 + 1) / (times + k1 * (1 - b + b * length / average)))


def _form(term: Term) -> str:
    return stem(term.word) if term.match == "stem" else term.word


class SqliteLexicon:
    """The words of one snapshot."""

    def __init__(self, image: Image, connection: apsw.Connection, kept: dict[str, Any]) -> None:
        self.image = image
        self.connection = connection
        # In one recall a question is asked more than once: to find, and to score what others found.
        self._asked: list[tuple[WordQuery, SlotMask, Matched]] = []
        self._alike: dict[tuple[str, float, int], list[tuple[str, float]]] = {}
        self.kept = kept  # outlives the snapshot: the vocabulary only ever grows

    def search(self, query: WordQuery, mask: SlotMask, limit: int) -> WordMatches:
        matched = self._match(query, mask)
        scores = np.zeros(len(self.image.rows))
        hits = np.zeros(len(self.image.rows), dtype=np.int32)
        for match, slots in matched:
            scores[slots] += match.term.weight * match.idf * match.saturation
            hits[slots] += 1
        passing = (hits == len(query.terms)) if query.every else (hits > 0)
        found = np.flatnonzero(passing & mask.slots)
        chosen = found[best(scores[found], self.image.rows[found], limit)]
        return self._result(matched, mask, chosen, scores[chosen], len(found))

    def score(self, query: WordQuery, mask: SlotMask, rows: Rows) -> WordMatches:
        matched = self._match(query, mask)
        slots = self.image.slots(rows)
        result = self._result(matched, mask, slots, np.zeros(len(slots)), len(slots))
        for each in result.terms:
            result.scores[:] += each.term.weight * each.idf * each.saturation
        if query.every:
            hits = sum((each.saturation > 0).astype(np.int64) for each in result.terms)
            result.scores[hits != len(query.terms)] = 0.0
        return result

    def alike(self, word: str, mask: SlotMask, least: float, limit: int) -> list[tuple[str, float]]:
        key = (word, least, limit)
        if key not in self._alike:
            self._alike[key] = self._look_alike(word, mask, least, limit)
        return self._alike[key]

    def _look_alike(self, word: str, mask: SlotMask, least: float, limit: int) -> list[tuple[str, float]]:
        words, numbers, index = self._vocabulary()
        asked = fold(word)
        similar = index.similar(asked)
        # A part of a word counts by how much of the word it is; one or two letters are too few for 3-grams.
        if len(asked) < 3:
            inside = [at for at, other in enumerate(words) if asked in other]
        else:
            inside = [at for at in np.flatnonzero(index.containing(asked)).tolist() if asked in words[at]]
        for at in inside:
            similar[at] = max(similar[at], least, len(asked) / len(words[at]))
        near: list[int] = np.flatnonzero(similar >= least).tolist()
        found: list[tuple[str, float]] = []
        for at in sorted(near, key=lambda at: (-similar[at], words[at])):
            if len(found) == limit:
                break
            if self._occurs(numbers[words[at]], mask):
                found.append((words[at], float(similar[at])))
        return found

    def _occurs(self, terms: list[int], mask: SlotMask) -> bool:
        """Does any memory that may come back have one of these terms?"""
        segments = self.image.postings.segments
        return any(mask.slots[segment.slots[segment.of(term)]].any() for term in terms for segment in segments)

    def _vocabulary(self) -> tuple[list[str], dict[str, list[int]], GramIndex]:
        last = self.connection.execute("SELECT max(term) FROM vocabulary").get or 0
        if self.kept.get("last") != last:
            numbers: dict[str, list[int]] = {}
            for number, word in fetch(self.connection, "SELECT term, word FROM vocabulary"):
                numbers.setdefault(fold(word), []).append(number)
            folded = sorted(numbers)
            self.kept.update(last=last, vocabulary=(folded, numbers, GramIndex(folded)))
        words, numbers, index = self.kept["vocabulary"]
        return words, numbers, index

    def _match(self, query: WordQuery, mask: SlotMask) -> Matched:
        """Each term with the slots that have it, ascending; saturation is aligned with those slots."""
        for asked, within, known in self._asked:
            if asked == query and within is mask:
                return known
        weights = np.array([query.fields.get(name, 0.0) for name in FIELDS])
        length, average, documents = self._lengths(query.fields, mask)
        matched = []
        for term, numbers in zip(query.terms, self._numbers(query.terms), strict=True):
            if not numbers:
                matched.append((TermMatch(term, 0, 0, idf(documents, 0), NONE), NO_SLOTS))
                continue
            slots, times = self.image.postings.times(numbers, weights)
            having = int(np.count_nonzero(mask.scope[slots]))
            here = int(np.count_nonzero(mask.slots[slots]))
            part = saturation(times, length[slots], average, query.k1, query.b)
            matched.append((TermMatch(term, having, here, idf(documents, having), part), slots))
        self._asked.append((query, mask, matched))
        return matched

    def _numbers(self, terms: tuple[Term, ...]) -> list[list[int]]:
        """The numbers, in the vocabulary, of every word that each term stands for."""
        found: dict[tuple[str, str], list[int]] = {}
        for column, match in (("word", "exact"), ("stem", "stem")):
            asked = [_form(term) for term in terms if term.match == match]
            if asked:
                sql = f"SELECT {column}, term FROM vocabulary WHERE {column} IN (SELECT value FROM json_each(?))"
                for form, number in fetch(self.connection, sql, (json.dumps(asked),)):
                    found.setdefault((match, form), []).append(number)
        return [found.get((term.match, _form(term)), []) for term in terms]

    def _lengths(self, fields: Mapping[str, float], mask: SlotMask) -> tuple[Floats, float, int]:
        """Words by slot in the fields that count, their average over the scope, and how many are in scope."""
        names = tuple(name for name in FIELDS if fields.get(name, 0.0) > 0)
        key = ("lengths", names, mask.scope_key)
        if key not in self.image.memo:
            numbers = [at for at, name in enumerate(FIELDS) if name in names]
            length = self.image.lengths[:, numbers].sum(axis=1).astype(np.float64)
            documents = int(np.count_nonzero(mask.scope))
            average = float(length[mask.scope].mean()) if documents else 0.0
            self.image.memo[key] = (length, average or 1.0, documents)
        length, average, documents = self.image.memo[key]
        return length, average, documents

    def _result(
        self,
        matched: Matched,
        mask: SlotMask,
        slots: NDArray[Any],
        scores: Floats,
        found: int,
    ) -> WordMatches:
        """The matches with every term's saturation at the chosen slots, 0 where a term is not there."""
        terms, nowhere = [], np.zeros(len(slots))
        for match, having in matched:
            part = nowhere
            if len(having):
                part = np.zeros(len(slots))
                at = np.minimum(np.searchsorted(having, slots), len(having) - 1)
                there = having[at] == slots
                part[there] = match.saturation[at[there]]
            terms.append(TermMatch(match.term, match.documents, match.here, match.idf, part))
        rows = np.where(slots >= 0, self.image.rows[slots], -1) if len(self.image.rows) else slots
        documents = int(np.count_nonzero(mask.scope))
        return WordMatches(rows, scores, terms, documents, found)
