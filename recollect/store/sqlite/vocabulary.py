"""The vocabulary of a file: which words it has, by stem, prefix and spelling, and where phrases occur."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from threading import Lock

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats, Rows
from recollect.store.sqlite.connections import fetch
from recollect.store.text_fields import TEXT_FIELDS
from recollect.text.compounds import compound_ends, is_compound
from recollect.text.trigrams import TrigramIndex, is_one_edit_apart, letter_bitmasks
from recollect.text.words import fold, stem, stems, stems_of_words, words

STEMMED_AT_ONCE = 4096  # words: other threads wait so long for the stemmer
LISTS = ("keywords", "tags", "entities")


class Vocabulary:
    """All words without their diacritics, sorted, and the numbers of the words that each stands for."""

    def __init__(self, known: Sequence[tuple[int, str]]) -> None:
        self.numbers: dict[str, list[int]] = {}
        for number, word in known:
            self.numbers.setdefault(fold(word), []).append(number)
        self.words = sorted(self.numbers)

    def starting_with(self, prefix: str) -> list[int]:
        """The numbers of all words with this prefix."""
        return [number for word in _starting_with(self.words, prefix) for number in self.numbers[word]]

    def similar(self, word: str, min_similarity: float) -> list[tuple[str, float]]:
        """Words with 3-grams in common, words that contain this one, and words one typo away; most similar first."""
        word, grams = fold(word), self._grams
        similarity = grams.similar(word)
        # A part of a word counts by its share of the word; one or two letters are too few for 3-grams.
        if len(word) < 3:
            containing = [at for at, other in enumerate(self.words) if word in other]
        else:
            containing = [at for at in np.flatnonzero(grams.containing(word)).tolist() if word in self.words[at]]
        for at in containing:
            similarity[at] = max(similarity[at], min_similarity, len(word) / len(self.words[at]))
        for at in self._one_typo_from(word):
            similarity[at] = max(similarity[at], 1 - 1 / max(len(word), len(self.words[at])))
        near: list[int] = np.flatnonzero(similarity >= min_similarity).tolist()
        near.sort(key=lambda at: (-similarity[at], self.words[at]))
        return [(self.words[at], float(similarity[at])) for at in near]

    def _one_typo_from(self, word: str) -> list[int]:
        """Places of the words that are one typo away and begin with its first letter, or its second."""
        if len(word) < 3 or not self.words:
            return []
        lengths, letters = self._shapes
        (own,) = letter_bitmasks([word])
        found: list[int] = []
        for letter in sorted(set(word[:2])):
            first, last = (bisect_left(self.words, letter + end) for end in ("", "\U0010ffff"))
            apart = letters[first:last] ^ own
            apart &= apart - np.uint64(1)  # without its lowest bit, twice: 0 where at most two letters differ
            apart &= apart - np.uint64(1)
            likely = np.flatnonzero((np.abs(lengths[first:last] - len(word)) < 2) & (apart == 0)) + first
            found += [at for at in likely.tolist() if is_one_edit_apart(word, self.words[at])]
        return found

    @cached_property
    def _grams(self) -> TrigramIndex:
        return TrigramIndex(self.words)

    @cached_property
    def _shapes(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        return np.array([len(word) for word in self.words], dtype=np.int64), letter_bitmasks(self.words)


class StemIndex:
    """The words of a file by their stems in one language. It grows with the vocabulary; numbers that an older version
    of the file does not have yet are in none of its memories."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._numbers: dict[str, list[int]] = {}
        self._last = 0  # the highest number here
        self._sorted: tuple[list[str], list[str]] = ([], [])  # stems, and stems that are written backwards
        self._lock = Lock()

    def update(self, connection: apsw.Connection) -> StemIndex:
        """Add the words that the file has gained."""
        sql = "SELECT term, word FROM vocabulary WHERE term > ? ORDER BY term"
        with self._lock:
            return self.add(fetch(connection, sql, (self._last,)))

    def add(self, added: Sequence[tuple[int, str]]) -> StemIndex:
        """Add numbered words, those with higher numbers than all before. Not for several threads at once."""
        for start in range(0, len(added), STEMMED_AT_ONCE):
            some = added[start : start + STEMMED_AT_ONCE]
            forms = stems_of_words([word for _, word in some], self.language)
            for (number, _), each in zip(some, forms, strict=True):
                for form in each:
                    self._numbers.setdefault(form, []).append(number)
                self._last = number
        return self

    def having(self, word: str) -> list[int]:
        """The numbers of the words that have a stem in common with this one."""
        return self._all(stems(word, self.language))

    def compounds(self, word: str) -> list[int]:
        """The numbers of the words that are compounds with this one."""
        forwards, backwards = self._sort()
        first, last = ends = compound_ends(word, self.language)
        found = {stem for part in first for stem in _starting_with(forwards, part)}
        found |= {stem[::-1] for part in last for stem in _starting_with(backwards, part[::-1])}
        return self._all(sorted(stem for stem in found if is_compound(stem, ends)))

    def _sort(self) -> tuple[list[str], list[str]]:
        with self._lock:
            forwards, backwards = self._sorted
            if len(forwards) < len(self._numbers):
                added = islice(self._numbers, len(forwards), None)  # the last that were inserted
                self._sorted = _merged(forwards, backwards, list(added))
            return self._sorted

    def _all(self, forms: Sequence[str]) -> list[int]:
        return list(dict.fromkeys(number for form in forms for number in self._numbers.get(form, ())))


def _merged(forwards: list[str], backwards: list[str], added: list[str]) -> tuple[list[str], list[str]]:
    """Sorting a sorted list with a few more at its end takes one pass."""
    return sorted([*forwards, *sorted(added)]), sorted([*backwards, *sorted(each[::-1] for each in added)])


def _starting_with(ordered: list[str], prefix: str) -> list[str]:
    first, last = (bisect_left(ordered, prefix + end) for end in ("", "\U0010ffff"))
    return ordered[first:last]


def word_numbers(connection: apsw.Connection, match: str, forms: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the words that are written so (exact), or have these English stems, by form."""
    column = {"exact": "word", "stem": "stem"}[match]
    sql = f"SELECT {column}, term FROM vocabulary WHERE {column} IN (SELECT value FROM json_each(?))"
    found: dict[str, list[int]] = {}
    for form, number in fetch(connection, sql, (json.dumps(forms),)) if forms else ():
        found.setdefault(form, []).append(number)
    return found


def exact_word_numbers(connection: apsw.Connection, folded: Sequence[str]) -> list[list[int]]:
    """The numbers of the words that are written like each of these, apart from diacritics. They share a stem."""
    sql = "SELECT term, word FROM vocabulary WHERE stem IN (SELECT value FROM json_each(?))"
    found: dict[str, list[int]] = {}
    for number, word in fetch(connection, sql, (json.dumps([stem(word) for word in folded]),)):
        found.setdefault(fold(word), []).append(number)
    return [found.get(word, []) for word in folded]


def phrase_frequencies(connection: apsw.Connection, rows: Rows, phrase: list[str], weights: Floats) -> Floats:
    """Σ field weight × how often the (folded) words occur in this order, for each row. Postings have no positions, so
    the texts are read."""
    counted = [(name, weight) for name, weight in zip(TEXT_FIELDS, weights.tolist(), strict=True) if weight > 0]
    columns = ", ".join(name for name, _ in counted)
    sql = f"SELECT row, files, {columns} FROM memories WHERE row IN (SELECT value FROM json_each(?))"
    wanted = _delimited(phrase)
    found: dict[int, float] = {}
    for row, files, *texts in fetch(connection, sql, (json.dumps(rows.tolist()),)):
        frequency = 0.0
        for (name, weight), text in zip(counted, texts, strict=True):
            for piece in _pieces(name, text, files):
                frequency += weight * _delimited(_folded_words(piece)).count(wanted)
        found[row] = frequency
    return np.array([found.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)


def _pieces(name: str, text: str, files: str) -> list[str]:
    """A phrase does not reach from one tag into the next."""
    if name in LISTS:
        return list(json.loads(text)) if text != "[]" else []
    pieces = [text] if text else []
    return [*pieces, *json.loads(files)] if name == "path" and files != "[]" else pieces


def _folded_words(text: str) -> list[str]:
    found = words(text, whole=True)
    return found if text.isascii() else [fold(word) for word in found]


def _delimited(words: list[str]) -> str:
    """Words between line ends, which no word contains: finding one list in another is then a string search."""
    return "\n" + "\n\n".join(words) + "\n"
