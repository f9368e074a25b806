"""The words of memories: how they are written, and which of them a process knows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from recollect.model import Memory
from recollect.store.postgres.connections import encode_text
from recollect.store.sqlite.vocabulary import StemIndex, Vocabulary
from recollect.store.text_fields import TEXT_FIELDS, field_words
from recollect.text.words import fold, stem, words

MAX_OCCURRENCES = 65_535  # of one word in one field, as in a file


@dataclass(frozen=True, slots=True)
class CountedWords:
    """The words of one memory: (word, field, times), and the number of words in each field."""

    counts: list[tuple[str, int, int]]
    lengths: bytes  # 32-bit integers


def count_words(memory: Memory) -> CountedWords:
    counts, lengths = [], [0] * len(TEXT_FIELDS)
    for number, found in field_words(memory):
        for word, times in found.items():
            counts.append((word, number, min(times, MAX_OCCURRENCES)))
            lengths[number] += min(times, MAX_OCCURRENCES)
    return CountedWords(counts, np.array(lengths, dtype="<i4").tobytes())


def keys_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What words are found by in the indexes of the vocabulary, and the words."""
    return [hashlib.md5(encode_text(word), usedforsecurity=False).hexdigest() for word in words], list(words)


def number_words(connection: Any, tenant: int, spellings: Sequence[str]) -> dict[str, int]:
    """The numbers of words in a collection; new words are added. The caller has locked the collection."""
    sql = "SELECT spelling, word FROM vocabulary WHERE tenant = %s AND md5(spelling) = ANY(%s) AND spelling = ANY(%s)"
    known: dict[str, int] = dict(connection.execute(sql, (tenant, *keys_of(spellings))).fetchall())
    new = [word for word in spellings if word not in known]
    if new:
        sql = "UPDATE collections SET last_word = last_word + %s WHERE tenant = %s RETURNING last_word"
        (last,) = connection.execute(sql, (len(new), tenant)).fetchone()
        numbers = list(range(last - len(new) + 1, last + 1))
        connection.execute(
            "INSERT INTO vocabulary (tenant, word, spelling, stem) "
            "SELECT %s, * FROM unnest(%s::integer[], %s::text[], %s::text[])",
            (tenant, numbers, new, [stem(word) for word in new]),
        )
        known.update(zip(new, numbers, strict=True))
    return known


def write_postings(connection: Any, tenant: int, entries: Sequence[tuple[int, CountedWords]]) -> None:
    """Write the words of memories that have none yet, by row."""
    numbers = number_words(
        connection, tenant, list(dict.fromkeys(word for _, each in entries for word, _, _ in each.counts))
    )
    columns: tuple[list[int], list[int], list[int], list[int]] = ([], [], [], [])
    by_row = []
    for row, each in entries:
        word_entries = [(numbers[word], row, times, number) for word, number, times in each.counts]
        for column, values in zip(columns, zip(*word_entries, strict=True), strict=False):
            column.extend(values)
        by_row.append((tenant, row, sorted({entry[0] for entry in word_entries})))
    connection.execute(
        "INSERT INTO postings (tenant, word, row, times, field) "
        "SELECT %s, * FROM unnest(%s::integer[], %s::bigint[], %s::integer[], %s::smallint[])",
        (tenant, *columns),
    )
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO memory_words (tenant, row, words) VALUES (%s, %s, %s)", by_row)


def delete_postings(connection: Any, tenant: int, rows: Sequence[int]) -> None:
    connection.execute(
        "WITH gone AS (DELETE FROM memory_words WHERE tenant = %s AND row = ANY(%s) RETURNING row, words) "
        "DELETE FROM postings p USING (SELECT row, unnest(words) AS word FROM gone) w "
        "WHERE p.tenant = %s AND p.word = w.word AND p.row = w.row",
        (tenant, list(rows), tenant),
    )


def phrase_count(memory: Memory, phrase: str, fields: Sequence[tuple[str, float]]) -> float:
    """Σ field weight × how often the (delimited) words occur in this order, without overlaps."""
    total = 0.0
    for name, weight in fields:
        value = getattr(memory, name)
        pieces = [value] if isinstance(value, str) else list(value)
        if name == "path":
            pieces += memory.files
        for piece in pieces:
            total += weight * delimited([fold(word) for word in words(piece, whole=True)]).count(phrase)
    return total


def delimited(words: Sequence[str]) -> str:
    """Words between line ends, which no word contains: finding one list in another is then a string search."""
    return "\n" + "\n\n".join(words) + "\n"


# What a process knows of the vocabulary of a collection. A snapshot compares the last number and the last erasure of
# its version, so that nothing is missing; a word that its version does not have yet is in none of its memories.


@dataclass(slots=True)
class KnownWords:
    """The words of one collection up to a number."""

    erasure: int
    last: int = 0
    spellings: list[tuple[int, str]] = field(default_factory=list)
    vocabulary: Vocabulary | None = None
    stems: dict[str, StemIndex] = field(default_factory=dict)


class WordCache:
    """The known words by collection; for all threads of a process."""

    def __init__(self, max_collections: int = 64) -> None:
        self._known: dict[int, KnownWords] = {}
        self._lock = Lock()
        self._max = max_collections

    def vocabulary(self, connection: Any, tenant: int, last: int, erasure: int) -> Vocabulary:
        with self._lock:
            known = self._update(connection, tenant, last, erasure)
            if known.vocabulary is None:
                known.vocabulary = Vocabulary(known.spellings)
            return known.vocabulary

    def stems(self, connection: Any, tenant: int, last: int, erasure: int, language: str) -> StemIndex:
        with self._lock:
            known = self._update(connection, tenant, last, erasure)
            if language not in known.stems:
                known.stems[language] = StemIndex(language).add(known.spellings)
            return known.stems[language]

    def clear(self) -> None:
        with self._lock:
            self._known.clear()

    def _update(self, connection: Any, tenant: int, last: int, erasure: int) -> KnownWords:
        known = self._known.pop(tenant, None)
        if known is None or known.erasure < erasure:
            known = KnownWords(erasure)
        self._known[tenant] = known  # the last one is the latest used
        while len(self._known) > self._max:
            del self._known[next(iter(self._known))]
        if known.last < last:
            sql = "SELECT word, spelling FROM vocabulary WHERE tenant = %s AND word > %s ORDER BY word"
            added = connection.execute(sql, (tenant, known.last)).fetchall()
            known.spellings += added
            known.vocabulary = None
            for index in known.stems.values():
                index.add(added)
            known.last = last
        return known
