"""Folders and files whose chunks are memories: what was read of them, and which memories came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.store.base import Bound, FileState, StoredChunk
from recollect.store.bounds import contains_folder
from recollect.store.rows import ENCODED
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.statements import bound_condition

if TYPE_CHECKING:
    from recollect.store.sqlite.transaction import SqliteTransaction

STATE = "path, size, modified, inode, hash, problem"
OF_FILES = "SELECT c.row FROM chunks c JOIN files f ON f.file = c.file WHERE f.collection = ?"


def read_folders(connection: apsw.Connection) -> dict[str, JsonObject]:
    return {name: json.loads(record) for name, record in fetch(connection, "SELECT * FROM folders ORDER BY 1")}


def read_files(connection: apsw.Connection, collection: str) -> dict[str, FileState]:
    found = fetch(connection, f"SELECT {STATE} FROM files WHERE collection = ?", (collection,))
    return {each[0]: FileState(*each) for each in found}


def read_chunk_ids(connection: apsw.Connection, collection: str) -> list[str]:
    sql = f"SELECT id FROM memories WHERE row IN ({OF_FILES})"
    return [id for (id,) in fetch(connection, sql, (collection,))]


def read_chunks(connection: apsw.Connection, collection: str) -> dict[str, list[StoredChunk]]:
    sql = (
        "SELECT f.path, c.row, m.id, c.digest FROM files f JOIN chunks c ON c.file = f.file "
        "JOIN memories m ON m.row = c.row WHERE f.collection = ? ORDER BY f.path, c.row"
    )
    found: dict[str, list[StoredChunk]] = {}
    for path, *chunk in fetch(connection, sql, (collection,)):
        found.setdefault(path, []).append(StoredChunk(*chunk))
    return found


def read_embedded(connection: apsw.Connection, digests: Sequence[bytes], bound: Bound) -> set[bytes]:
    """Which of these digests some chunk inside the bound has a vector for, in the space that is searched."""
    condition, values = bound_condition(bound, "m.")
    sql = (
        "SELECT DISTINCT c.digest FROM chunks c JOIN memories m ON m.row = c.row JOIN vectors v ON v.row = c.row "
        f"WHERE v.space = (SELECT space FROM spaces WHERE active) AND c.digest = ?{condition}"
    )
    return {digest for digest in digests if connection.execute(sql, (digest, *values)).get is not None}


class SqliteFileTransaction:
    """What may be done to folders and files inside one transaction."""

    def __init__(self, transaction: SqliteTransaction) -> None:
        self.transaction = transaction
        self.connection = transaction.connection
        self.bound = transaction.bound

    def _check_bound(self, collection: str) -> None:
        if not contains_folder(self.bound, collection):
            raise InvalidInput(
                f"The folder of the collection {collection!r} is outside the bound ({self.bound.describe()}): "
                "a folder belongs to a collection as a whole."
            )

    def folder(self, collection: str) -> JsonObject | None:
        if not contains_folder(self.bound, collection):
            return None
        record = self.connection.execute("SELECT record FROM folders WHERE collection = ?", (collection,)).get
        return None if record is None else dict(json.loads(record))

    def set_folder(self, collection: str, record: JsonObject) -> None:
        self._check_bound(collection)
        self.connection.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (collection, json.dumps(record)))

    def state(self, collection: str, path: str) -> FileState | None:
        if not contains_folder(self.bound, collection):
            return None
        sql = f"SELECT {STATE} FROM files WHERE collection = ? AND path = ?"
        for found in self.connection.execute(sql, (collection, path)):
            return FileState(*found)
        return None

    def chunks(self, collection: str, path: str) -> list[StoredChunk]:
        if not contains_folder(self.bound, collection):
            return []
        sql = (
            "SELECT c.row, m.id, c.digest FROM files f JOIN chunks c ON c.file = f.file "
            "JOIN memories m ON m.row = c.row WHERE f.collection = ? AND f.path = ? ORDER BY c.row"
        )
        return [StoredChunk(*each) for each in fetch(self.connection, sql, (collection, path))]

    def save(self, collection: str, state: FileState, previous_path: str = "") -> int:
        self._check_bound(collection)
        if previous_path and previous_path != state.path:
            sql = "UPDATE files SET path = ? WHERE collection = ? AND path = ?"
            self.connection.execute(sql, (state.path, collection, previous_path))
        values = (state.size, state.modified, state.inode, state.hash, state.problem)
        self.connection.execute(
            f"INSERT INTO files (collection, {STATE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
            "ON CONFLICT (collection, path) DO UPDATE SET "
            "size = ?3, modified = ?4, inode = ?5, hash = ?6, problem = ?7",
            (collection, state.path, *values),
        )
        sql = "SELECT file FROM files WHERE collection = ? AND path = ?"
        return int(self.connection.execute(sql, (collection, state.path)).get)

    def add_chunks(self, file: int, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        self.transaction.require(rows)
        self.connection.executemany(
            "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)",
            ((row, file, digest) for row, digest in zip(rows, digests, strict=True)),
        )

    def copy_vectors(self, row: int, digest: bytes) -> bool:
        self.transaction.require([row])
        before = self.connection.total_changes()
        condition, values = bound_condition(self.bound)
        inside = f" AND c.row IN (SELECT row FROM memories WHERE true{condition})" if values else ""
        source = (
            f"SELECT c.row FROM chunks c JOIN vectors w ON w.row = c.row WHERE c.digest = ?2 AND c.row <> ?1{inside}"
        )
        for table, column in ENCODED.items():
            sql = (
                f"INSERT OR REPLACE INTO {table} SELECT space, ?1, {column} FROM {table} WHERE row = ({source} LIMIT 1)"
            )
            self.connection.execute(sql, (row, digest, *values))
        copied = self.connection.total_changes() > before
        if copied:
            self.transaction.note_vector(row)
        return copied

    def delete(self, collection: str, paths: Sequence[str]) -> int:
        self._check_bound(collection)
        among = "collection = ? AND path IN (SELECT value FROM json_each(?))"
        chosen = (collection, json.dumps(list(paths)))
        sql = f"SELECT row FROM chunks WHERE file IN (SELECT file FROM files WHERE {among})"
        rows = [row for (row,) in fetch(self.connection, sql, chosen)]
        self.transaction.delete(rows)
        self.connection.execute(f"DELETE FROM files WHERE {among}", chosen)
        return len(rows)

    def delete_folder(self, collection: str) -> int:
        self._check_bound(collection)
        rows = [row for (row,) in fetch(self.connection, OF_FILES, (collection,))]
        self.transaction.delete(rows)
        for table in ("files", "folders"):
            self.connection.execute(f"DELETE FROM {table} WHERE collection = ?", (collection,))
        return len(rows)

    def replace_folder(self, staged: str, collection: str) -> None:
        self._check_bound(staged)
        self.delete_folder(collection)
        self.transaction.touch((staged, "", "", ""), (collection, "", "", ""))
        self.connection.execute(
            f"UPDATE memories SET collection = ?, status = 'active', changed = ? WHERE row IN ({OF_FILES})",
            (collection, self.transaction.version, staged),
        )
        for table in ("files", "folders"):
            self.connection.execute(f"UPDATE {table} SET collection = ? WHERE collection = ?", (collection, staged))
