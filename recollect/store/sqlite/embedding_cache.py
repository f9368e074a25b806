"""The embedding cache in SQLite: a separate file of limited size.

It is not part of the memory file, because what can be computed again needs no history, undo, backup or durable write,
and may be deleted at any time. It contains hashes and vectors; of texts only the tokens of queries.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from threading import Lock

import apsw

from recollect.errors import StoreError
from recollect.model import validation as check
from recollect.store.disk import create_private, is_foreign
from recollect.store.sqlite.checkpoints import paused
from recollect.store.sqlite.checksums import add_checksums, checksum_state, mark_complete, reserve_room
from recollect.store.sqlite.connections import (
    Connections,
    fork_gate,
    switch_to_wal,
    translate_errors,
)
from recollect.store.sqlite.erasing import WAIT_MILLISECONDS, write_anew
from recollect.store.sqlite.write_turns import wait_for_lock

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
MODEL_NUMBER = "SELECT maker FROM makers WHERE provider = ? AND model = ? AND settings = ?"
TO_CLEAN = 1  # a bit of the user_version of a file whose pages may have the bytes of entries that an erasure removed
MAX_BYTES = 512 << 20  # of the file
MIN_LIMIT = 1 << 16
CLEARED_SHARE = 0.1  # of the limit, when entries are removed
MAX_PENDING_USES = 4096  # uses that are written with the next entries

ModelKey = tuple[str, str, str]  # provider, model, fingerprint of its settings


class SqliteEmbeddingCache:
    """Entries by model and hash of the text, for many threads and processes; least recently used are removed first."""

    def __init__(self, path: str | PathLike[str], limit: int = MAX_BYTES) -> None:
        self.path = fspath(path)
        self.limit = check.integer(limit, "limit", low=MIN_LIMIT)
        self._connections = _CacheConnections(self.path, readonly=False, durable=False)
        self._pending_uses: set[tuple[int, bytes]] = set()
        self._lock = Lock()

    def get(self, model: ModelKey, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The entries that exist, by their hash."""
        found: dict[bytes, bytes] = {}
        with translate_errors(self.path), fork_gate.hold():
            connection = self._connections.get()
            number = connection.execute(MODEL_NUMBER, tuple(model)).get
            for hash in dict.fromkeys(hashes) if number is not None else ():
                vector = connection.execute(
                    "SELECT vector FROM vectors WHERE maker = ? AND hash = ?", (number, hash)
                ).get
                if vector is not None:
                    found[hash] = vector
        with self._lock:
            self._pending_uses.update((number, hash) for hash in found)
            many = len(self._pending_uses) > MAX_PENDING_USES
        if many:
            self._write_uses()
        return found

    def put(self, model: ModelKey, entries: Mapping[bytes, bytes]) -> None:
        """Add entries, and remove old ones when the file becomes too large."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO makers (provider, model, settings) VALUES (?, ?, ?)", tuple(model)
            )
            number, now = connection.execute(MODEL_NUMBER, tuple(model)).get, time.time_ns()
            self._record_uses(connection, now)
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (maker, hash, used, vector) VALUES (?, ?, ?, ?)",
                ((number, hash, now, entry) for hash, entry in entries.items()),
            )
            self._shrink(connection)

    def clear(self, except_hashes: Collection[bytes] = ()) -> int:
        """Remove all entries but those with these hashes, for an erasure; how many."""
        with self._writing() as connection:
            connection.pragma("user_version", connection.pragma("user_version") | TO_CLEAN)
            connection.execute("CREATE TEMP TABLE kept (hash BLOB PRIMARY KEY) WITHOUT ROWID")
            connection.executemany("INSERT INTO temp.kept VALUES (?)", ((hash,) for hash in except_hashes))
            connection.execute("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM temp.kept)")
            removed = connection.changes()
            connection.execute("DROP TABLE temp.kept")
        with self._lock:
            self._pending_uses.clear()
        return removed

    def clean(self) -> tuple[str, ...]:
        """Overwrite the bytes of removed entries; what is still pending, and why."""
        with translate_errors(self.path), fork_gate.hold():
            return _clean(self._connections.get(), self.path)

    def _record_uses(self, connection: apsw.Connection, now: int) -> None:
        with self._lock:
            used, self._pending_uses = self._pending_uses, set()
        sql = "UPDATE vectors SET used = ? WHERE maker = ? AND hash = ?"
        connection.executemany(sql, ((now, *each) for each in used))

    def _write_uses(self) -> None:
        with self._writing() as connection:
            self._record_uses(connection, time.time_ns())

    def _shrink(self, connection: apsw.Connection) -> None:
        """Remove the least recently used until the file, without its free pages, is within the limit."""
        while (size := _size(connection)) > self.limit:
            count = connection.execute("SELECT count(*) FROM vectors").get
            if not count:
                return
            excess = (size - self.limit * (1 - CLEARED_SHARE)) / size
            sql = "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used LIMIT ?)"
            connection.execute(sql, (max(1, int(count * excess)),))

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        connection = self._connections.get()
        with translate_errors(self.path), fork_gate.hold():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def __len__(self) -> int:
        with translate_errors(self.path):
            return int(self._connections.get().execute("SELECT count(*) FROM vectors").get)

    def __bool__(self) -> bool:
        return True

    @property
    def bytes(self) -> int:
        """The size of the file without its free pages."""
        with translate_errors(self.path):
            return _size(self._connections.get())

    def close(self) -> None:
        with contextlib.suppress(StoreError):
            if self._pending_uses:
                self._write_uses()
        self._connections.close()

    def __repr__(self) -> str:
        return f"SqliteEmbeddingCache({self.path!r})"


class _CacheConnections(Connections):
    """Connections to a cache file, which has another schema than a memory."""

    def check_file(self) -> None:
        """A cache may be deleted or replaced at any time: what is open goes on being used."""

    def _open_first(self) -> None:
        if is_foreign(self.path, beside=self.path.removesuffix("-vectors")):
            raise StoreError(f"The embedding cache {self.path} belongs to another user. Move it away.")
        create_private(self.path, like=self.path.removesuffix("-vectors"))  # beside a memory, as that is
        connection = self._open(self._uri)
        application_id = connection.pragma("application_id")
        if application_id != APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreError(f"{self.path} is not an embedding cache. Choose another file; nothing was changed.")
        empty = connection.pragma("page_count") == 0
        if empty:
            reserve_room(connection)
        elif checksum_state(connection, self.path, APPLICATION_ID) != "complete":
            add_checksums(connection, self.path, APPLICATION_ID)
            wait_for_lock(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            if empty and connection.pragma("application_id") != APPLICATION_ID:
                mark_complete(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for _ in connection.execute(SHAPE):
                pass
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        switch_to_wal(connection)
        self._local.connection = connection
        self._watch_log(connection)
        _clean(connection, self.path, wait=0)


def _clean(connection: apsw.Connection, path: str, wait: int = WAIT_MILLISECONDS) -> tuple[str, ...]:
    if not connection.pragma("user_version") & TO_CLEAN:
        return ()
    try:
        with paused(connection):
            write_anew(connection, path, wait)
        connection.pragma("user_version", connection.pragma("user_version") & ~TO_CLEAN)
    except apsw.Error as error:
        return (f"the embedding cache {path} still has the erased bytes ({error})",)
    finally:
        wait_for_lock(connection)
    return ()


def _size(connection: apsw.Connection) -> int:
    pages = connection.pragma("page_count") - connection.pragma("freelist_count")
    return int(pages * connection.pragma("page_size"))
