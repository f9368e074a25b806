"""Natural memories written as rows of a file, more than ten times as fast as ``remember_many``: for a million of them.

The file must contain memories already (see scale.py): its first row is the pattern of the others, and words that it
does not have yet are added to its vocabulary. Times that the texts tell of are those of earlier rows.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.scale_data import BATCH, BEGINNING, WORDS, NaturalTexts
from recollect import Memory
from recollect.model.validation import micros
from recollect.store.sqlite.checksums import connect
from recollect.store.sqlite.postings import ENTRY
from recollect.store.text_fields import TEXT_FIELDS, field_words
from recollect.text.words import stem

TEXT, TAGS = TEXT_FIELDS.index("text"), TEXT_FIELDS.index("tags")
BORN = "INSERT INTO changes (version, at, verb, token, operation) VALUES (?, ?, 'remember', ?, ?)"


@dataclass
class RowWriter:
    """Appends batches to a file."""

    connection: apsw.Connection
    texts: NaturalTexts
    numbers: dict[str, int] = field(default_factory=dict)  # of words, in the vocabulary
    _numbers_of: dict[str, list[int]] = field(default_factory=dict)  # by a word as it is written
    _parts: dict[str, tuple[list[str], NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers.update(self.connection.execute("SELECT word, term FROM vocabulary"))
        names = [each[1] for each in self.connection.execute("PRAGMA table_info(memories)")]
        (first,) = self.connection.execute("SELECT * FROM memories ORDER BY row LIMIT 1")
        self._pattern = dict(zip(names, first, strict=True))
        self._even = np.array([(self.numbers["even"], TAGS, 1)], dtype=ENTRY).tobytes()  # the tag of every other one
        self._told = dict(self.connection.execute("SELECT row, times FROM told_times WHERE row <= ?", (BATCH,)))

    def write(self, first: int) -> None:
        """The batch that begins with this number."""
        one, other, _, starts = self.texts._drawn(first)
        parts = [
            [self._part(source, start, most) for source, start, most in zip(pair, places, WORDS, strict=True)]
            for pair, places in zip(zip(one.tolist(), other.tolist(), strict=True), starts.tolist(), strict=True)
        ]
        texts = [" ".join(each[0][0] + each[1][0]) for each in parts]
        vectors = self.texts.batch_vectors(first).astype(np.float16)
        sketches = self.texts.batch_sketches(one, other)
        rows = range(first + 1, first + BATCH + 1)
        with self.connection:
            version = self.connection.execute("SELECT max(version) FROM changes").get + 1
            self.connection.execute(BORN, (version, micros(BEGINNING), secrets.randbits(60) | 1, version))
            marks = ", ".join("?" * len(self._pattern))
            self.connection.executemany(
                f"INSERT INTO memories VALUES ({marks})",
                (self._row(row, text, version) for row, text in zip(rows, texts, strict=True)),
            )
            words = _entries([each[0][1] for each in parts], [each[1][1] for each in parts])
            blobs = ((row, words[at] + (b"" if at % 2 else self._even)) for at, row in enumerate(rows))
            self.connection.executemany("INSERT INTO words VALUES (?, ?)", blobs)
            coded = ((1, row, vector.tobytes()) for row, vector in zip(rows, vectors, strict=True))
            self.connection.executemany("INSERT INTO vectors VALUES (?, ?, ?)", coded)
            self.connection.executemany(
                "INSERT INTO sketches VALUES (?, ?, ?)",
                ((1, row, sketch) for row, sketch in zip(rows, sketches, strict=True)),
            )
            told = ((row + first, times) for row, times in self._told.items())
            self.connection.executemany("INSERT INTO told_times VALUES (?, ?)", told)

    def _part(self, source: int, start: float, most: int) -> tuple[list[str], NDArray[np.int64]]:
        """Words of a text from one of its sentences on, and the numbers of what they are found by."""
        sentences = self.texts.sentences[source]
        key = f"{source} {int(start * len(sentences))}"
        if key not in self._parts:
            written = " ".join(sentences[int(start * len(sentences)) :]).split()[: max(WORDS)]
            found = [self._numbers_of.get(word) or self._numbers(word) for word in written]
            flat = np.array([number for each in found for number in each], dtype=np.int64)
            self._parts[key] = written, flat, np.cumsum([len(each) for each in found])
        written, flat, ends = self._parts[key]
        count = min(most, len(written))
        return written[:most], flat[: int(ends[count - 1]) if count else 0]

    def _numbers(self, word: str) -> list[int]:
        counts: Counter[str] = next((Counter(c) for at, c in field_words(Memory(text=word)) if at == TEXT), Counter())
        for each in counts:
            if each not in self.numbers:
                self.connection.execute("INSERT INTO vocabulary (word, stem) VALUES (?, ?)", (each, stem(each)))
                self.numbers[each] = self.connection.last_insert_rowid()
        self._numbers_of[word] = [self.numbers[each] for each in counts.elements()]
        return self._numbers_of[word]

    def _row(self, row: int, text: str, version: int) -> tuple[Any, ...]:
        number = row - 1
        created = micros(BEGINNING + timedelta(seconds=20 * number))
        own = {
            "row": row,
            "id": f"n{number}",
            "born": version,
            "changed": version,
            "user": f"user {number // 10 % 100}",
            "session": f"session {number // 10}",
            "topic": f"topic {number % 10}",
            "created": created,
            "tags": '["even"]' if number % 2 == 0 else "[]",
            "context": f'{{"room":{number % 100}}}',
            "position": number % 10,
            "text": text,
        }
        return (*({**self._pattern, **own}).values(),)


def _entries(first: list[NDArray[np.int64]], second: list[NDArray[np.int64]]) -> list[bytes]:
    """The packed words of each memory (see postings.ENTRY)."""
    owners = np.repeat(np.arange(len(first)), [len(a) + len(b) for a, b in zip(first, second, strict=True)])
    terms = np.concatenate([each for pair in zip(first, second, strict=True) for each in pair])
    pairs, times = np.unique((owners << 32) | terms, return_counts=True)
    packed = np.empty(len(pairs), dtype=ENTRY)
    packed["term"], packed["field"], packed["times"] = pairs & 0xFFFFFFFF, TEXT, times
    cuts = np.searchsorted(pairs >> 32, np.arange(1, len(first)))
    return [each.tobytes() for each in np.split(packed, cuts)]


def extend(path: Path, size: int, texts: NaturalTexts, tell: Any) -> None:
    """Add rows until there are so many. A file that this was stopped in is continued."""
    with contextlib.closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -200000"):
            connection.execute(f"PRAGMA {pragma}")
        writer = RowWriter(connection, texts)
        for first in range(connection.execute("SELECT count(*) FROM memories").get, size, BATCH):
            writer.write(first)
            tell(first + BATCH)
