"""Hand-written SQLite and numpy to compare with: rows, an FTS5 table, and a matrix-vector product."""

import json
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.synthetic_data import Vectors

TABLES = """
CREATE TABLE memories (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, created INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE f USING fts5(text);
"""
TRIGRAMS = "CREATE VIRTUAL TABLE g USING fts5(text, tokenize = trigram)"
INSERT = "INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INDEX = "INSERT INTO f (rowid, text) VALUES (?, ?)"
INDEX_TRIGRAMS = "INSERT INTO g (rowid, text) VALUES (?, ?)"
MATCH_TRIGRAMS = "SELECT rowid, bm25(g) AS s FROM g WHERE g MATCH ? ORDER BY s LIMIT 10"
MATCH = "SELECT rowid, bm25(f) AS s FROM f WHERE f MATCH ? ORDER BY s LIMIT 10"


class RawSqlite:
    """A file of rows and an FTS5 index, with hand-written statements.

    With ``trigrams`` it also finds misspelled words and parts of words, as a Mind does.
    """

    def __init__(self, path: Path, trigrams: bool = False) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "FULL")
        for _ in self.connection.execute(TABLES):
            pass
        self._indexes = [INDEX]
        if trigrams:
            self.connection.execute(TRIGRAMS)
            self._indexes.append(INDEX_TRIGRAMS)
        self._next = 1

    def add(self, text: str) -> None:
        row = self._row(text)
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(INSERT, row)
        for index in self._indexes:
            self.connection.execute(index, (row[0], text))
        self.connection.execute("COMMIT")

    def add_many(self, texts: Sequence[str]) -> None:
        rows = [self._row(text) for text in texts]
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(INSERT, rows)
        for index in self._indexes:
            self.connection.executemany(index, ((row[0], row[-1]) for row in rows))
        self.connection.execute("COMMIT")

    def match(self, words: Sequence[str]) -> list[Any]:
        quoted = [word if " AND " in word else f'"{word}"' for word in words]
        return self.connection.execute(MATCH, (" OR ".join(quoted),)).fetchall()

    def match_parts(self, words: Sequence[str]) -> list[Any]:
        return self.connection.execute(MATCH_TRIGRAMS, (" OR ".join(f'"{word}"' for word in words),)).fetchall()

    def _row(self, text: str) -> tuple[Any, ...]:
        row, self._next = self._next, self._next + 1
        context = json.dumps({"origin": "bench", "number": row})
        return row, secrets.token_hex(8), "main", "fact", "active", time.time_ns() // 1000, context, text


def nearest(matrix: Vectors, vector: Vectors, k: int = 10) -> Any:
    return np.argpartition(matrix @ vector, -k)[-k:]


def fetch(connection: apsw.Connection, ids: Sequence[str]) -> list[Any]:
    places = ", ".join("?" * len(ids))
    return connection.execute(f"SELECT * FROM memories WHERE id IN ({places})", tuple(ids)).fetchall()
