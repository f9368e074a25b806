"""Vectors that were made before, in a file of their own, of bounded size.

It stands beside the memory rather than in it: what can be made again needs no history, no undo, no backup and no
waiting for the disk, and may be deleted at any time. It holds hashes and vectors, no texts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from threading import Lock

import apsw

from recollect.errors import InvalidInput, StoreError
from recollect.model import validation as check
from recollect.store.sqlite.connections import Connections, _to_wal, gate, saying

APPLICATION_ID = 0x72656376  # "recv"
SHAPE = """
CREATE TABLE IF NOT EXISTS makers (
    maker INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL,
    UNIQUE (provider, model, settings)
);
CREATE TABLE IF NOT EXISTS vectors (
    maker INTEGER NOT NULL, hash BLOB NOT NULL, used INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (maker, hash)
);
CREATE INDEX IF NOT EXISTS vectors_used ON vectors (used);
"""
MAKER = "SELECT maker FROM makers WHERE provider = ? AND model = ? AND settings = ?"
LIMIT = 512 << 20  # bytes of the file
LEAST_LIMIT = 1 << 16
SHARE = 0.1  # of the limit that is cleared at a time
MARKS = 4096  # uses that wait to be written with the next vectors

Maker = tuple[str, str, str]  # provider, model, fingerprint of its settings


class VectorsCache:
    """Vectors by maker and hash of the text, for many threads and processes; the least recently used go first."""

    def __init__(self, path: str | PathLike[str], limit: int = LIMIT) -> None:
        self.path = fspath(path)
        self.limit = check.whole(limit, "limit")
        if self.limit < LEAST_LIMIT:
            raise InvalidInput(f"The limit of a cache is at least {LEAST_LIMIT} bytes, not {limit}.")
        self._connections = _CacheConnections(self.path, readonly=False, durable=False)
        self._used: set[tuple[int, bytes]] = set()
        self._lock = Lock()

    def take(self, maker: Maker, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors that are here, as bytes, by their hash."""
        found: dict[bytes, bytes] = {}
        with saying(self.path), gate.inside():
            connection = self._connections.get()
            number = connection.execute(MAKER, tuple(maker)).get
            for hash in dict.fromkeys(hashes) if number is not None else ():
                vector = connection.execute(
                    "SELECT vector FROM vectors WHERE maker = ? AND hash = ?", (number, hash)
                ).get
                if vector is not None:
                    found[hash] = vector
        with self._lock:
            self._used.update((number, hash) for hash in found)
            many = len(self._used) > MARKS
        if many:
            self._write_marks()
        return found

    def put(self, maker: Maker, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors, and clear some room when there is too little."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO makers (provider, model, settings) VALUES (?, ?, ?)", tuple(maker)
            )
            number, now = connection.execute(MAKER, tuple(maker)).get, time.time_ns()
            self._mark(connection, now)
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (maker, hash, used, vector) VALUES (?, ?, ?, ?)",
                ((number, hash, now, vector) for hash, vector in vectors.items()),
            )
            self._clear(connection)

    def _mark(self, connection: apsw.Connection, now: int) -> None:
        with self._lock:
            used, self._used = self._used, set()
        sql = "UPDATE vectors SET used = ? WHERE maker = ? AND hash = ?"
        connection.executemany(sql, ((now, *each) for each in used))

    def _write_marks(self) -> None:
        with self._writing() as connection:
            self._mark(connection, time.time_ns())

    def _clear(self, connection: apsw.Connection) -> None:
        """Let the least recently used go until the file, less its free pages, is within the limit."""
        while (size := _size(connection)) > self.limit:
            count = connection.execute("SELECT count(*) FROM vectors").get
            if not count:
                return
            excess = (size - self.limit * (1 - SHARE)) / size
            sql = "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used LIMIT ?)"
            connection.execute(sql, (max(1, int(count * excess)),))

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        connection = self._connections.get()
        with saying(self.path), gate.inside():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def __len__(self) -> int:
        with saying(self.path):
            return int(self._connections.get().execute("SELECT count(*) FROM vectors").get)

    def __bool__(self) -> bool:
        return True

    @property
    def bytes(self) -> int:
        """What the vectors take of the disk."""
        with saying(self.path):
            return _size(self._connections.get())

    def close(self) -> None:
        with contextlib.suppress(StoreError):
            if self._used:
                self._write_marks()
        self._connections.close()

    def __repr__(self) -> str:
        return f"VectorsCache({self.path!r})"


class _CacheConnections(Connections):
    """Connections to a file of another shape."""

    def _open_first(self) -> None:
        connection = self._open(self._uri)
        held = connection.pragma("application_id")
        if held != APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreError(f"{self.path} is no embedding cache. Choose another file; nothing was changed.")
        _to_wal(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for _ in connection.execute(SHAPE):
                pass
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        self._local.held = connection


def _size(connection: apsw.Connection) -> int:
    pages = connection.pragma("page_count") - connection.pragma("freelist_count")
    return int(pages * connection.pragma("page_size"))
