"""Folders and files whose chunks are memories: what was read of them, and which memories came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.store.base import Bound, FileState, StoredChunk
from recollect.store.bounds import contains_folder
from recollect.store.postgres.statements import bound_condition

if TYPE_CHECKING:
    from recollect.store.postgres.transaction import PostgresTransaction

STATE = "path, size, modified, inode, hash, problem"
TENANT = "(SELECT tenant FROM collections WHERE name = %s)"


def _state(values: Sequence[Any]) -> FileState:
    path, size, modified, inode, hash, problem = values
    return FileState(path, size, modified, int(inode), bytes(hash), problem)


def read_folders(connection: Any) -> dict[str, JsonObject]:
    sql = "SELECT c.name, f.record FROM folders f JOIN collections c ON c.tenant = f.tenant ORDER BY c.name"
    return {name: json.loads(record) for name, record in connection.execute(sql).fetchall()}


def read_files(connection: Any, collection: str) -> dict[str, FileState]:
    found = connection.execute(f"SELECT {STATE} FROM files WHERE tenant = {TENANT} ORDER BY file", (collection,))
    return {each[0]: _state(each) for each in found.fetchall()}


def read_chunk_ids(connection: Any, collection: str) -> list[str]:
    sql = (
        f"SELECT m.id FROM chunks c JOIN files f ON f.tenant = c.tenant AND f.file = c.file JOIN memories m "
        f"ON m.tenant = c.tenant AND m.row = c.row WHERE c.tenant = {TENANT} ORDER BY m.row"
    )
    return [id for (id,) in connection.execute(sql, (collection,)).fetchall()]


def read_chunks(connection: Any, collection: str) -> dict[str, list[StoredChunk]]:
    sql = (
        "SELECT f.path, c.row, m.id, c.digest FROM chunks c JOIN files f ON f.tenant = c.tenant AND f.file = c.file "
        f"JOIN memories m ON m.tenant = c.tenant AND m.row = c.row WHERE c.tenant = {TENANT} ORDER BY c.row"
    )
    found: dict[str, list[StoredChunk]] = {}
    for path, row, id, digest in connection.execute(sql, (collection,)).fetchall():
        found.setdefault(path, []).append(StoredChunk(row, id, bytes(digest)))
    return found


def read_embedded(connection: Any, digests: Sequence[bytes], bound: Bound) -> set[bytes]:
    """Which of these digests some chunk inside the bound has a vector for, in the space that is searched."""
    condition = bound_condition(bound)
    sql = (
        "SELECT DISTINCT c.digest FROM chunks c JOIN memories m ON m.tenant = c.tenant AND m.row = c.row "
        "JOIN vectors v ON v.tenant = c.tenant AND v.row = c.row WHERE v.space = (SELECT space FROM spaces "
        f"WHERE active) AND c.digest = ANY(%s){condition.text}"
    )
    return {bytes(each) for (each,) in connection.execute(sql, (list(digests), *condition.values)).fetchall()}


class PostgresFileTransaction:
    """What may be done to folders and files inside one transaction."""

    def __init__(self, transaction: PostgresTransaction) -> None:
        self.transaction = transaction
        self.connection = transaction.connection
        self.bound = transaction.bound

    def _check_bound(self, collection: str) -> None:
        if not contains_folder(self.bound, collection):
            raise InvalidInput(
                f"The folder of the collection {collection!r} is outside the bound ({self.bound.describe()}): "
                "a folder belongs to a collection as a whole."
            )

    def _lock(self, collection: str) -> int:
        self._check_bound(collection)
        return self.transaction.lock(collection).tenant

    def folder(self, collection: str) -> JsonObject | None:
        if not contains_folder(self.bound, collection):
            return None
        record = self.transaction.value(f"SELECT record FROM folders WHERE tenant = {TENANT}", (collection,))
        return None if record is None else dict(json.loads(record))

    def set_folder(self, collection: str, record: JsonObject) -> None:
        self.connection.execute(
            "INSERT INTO folders VALUES (%s, %s) ON CONFLICT (tenant) DO UPDATE SET record = excluded.record",
            (self._lock(collection), json.dumps(record)),
        )

    def state(self, collection: str, path: str) -> FileState | None:
        if not contains_folder(self.bound, collection):
            return None
        sql = f"SELECT {STATE} FROM files WHERE tenant = {TENANT} AND path = %s"
        for found in self.transaction.fetch(sql, (collection, path)):
            return _state(found)
        return None

    def chunks(self, collection: str, path: str) -> list[StoredChunk]:
        if not contains_folder(self.bound, collection):
            return []
        sql = (
            "SELECT c.row, m.id, c.digest FROM files f JOIN chunks c ON c.tenant = f.tenant AND c.file = f.file "
            "JOIN memories m ON m.tenant = c.tenant AND m.row = c.row "
            f"WHERE f.tenant = {TENANT} AND f.path = %s ORDER BY c.row"
        )
        return [
            StoredChunk(row, id, bytes(digest)) for row, id, digest in self.transaction.fetch(sql, (collection, path))
        ]

    def save(self, collection: str, state: FileState, previous_path: str = "") -> int:
        tenant = self._lock(collection)
        if previous_path and previous_path != state.path:
            sql = "UPDATE files SET path = %s WHERE tenant = %s AND path = %s"
            self.connection.execute(sql, (state.path, tenant, previous_path))
        assigned = ", ".join(f"{name} = excluded.{name}" for name in STATE.split(", ")[1:])
        sql = (
            f"INSERT INTO files (tenant, {STATE}) VALUES (%s, %s, %s, %s, %s, %s, %s) "
            f"ON CONFLICT (tenant, path) DO UPDATE SET {assigned} RETURNING file"
        )
        values = (state.path, state.size, state.modified, state.inode, state.hash, state.problem)
        return int(self.transaction.value(sql, (tenant, *values)))

    def add_chunks(self, file: int, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        self.transaction.require(rows)
        self.connection.execute(
            "INSERT INTO chunks (tenant, row, file, digest) SELECT m.tenant, m.row, %s, d.digest "
            "FROM unnest(%s::bigint[], %s::bytea[]) AS d(row, digest) JOIN memories m ON m.row = d.row "
            "ON CONFLICT (tenant, row) DO UPDATE SET file = excluded.file, digest = excluded.digest",
            (file, list(rows), list(digests)),
        )

    def copy_vectors(self, row: int, digest: bytes) -> bool:
        self.transaction.require([row])
        condition = bound_condition(self.bound)
        found = self.transaction.fetch(
            "SELECT c.tenant, c.row FROM chunks c JOIN memories m ON m.tenant = c.tenant AND m.row = c.row "
            "JOIN vectors v ON v.tenant = c.tenant AND v.row = c.row "
            f"WHERE c.digest = %s AND c.row <> %s{condition.text} LIMIT 1",
            (digest, row, *condition.values),
        )
        if not found:
            return False
        ((tenant, source),) = found
        (own,) = self.transaction.by_tenant([row])
        for table, column in (("vectors", "vector"), ("sketches", "sketch")):
            self.connection.execute(
                f"INSERT INTO {table} (tenant, space, row, {column}) SELECT %s, space, %s, {column} FROM {table} "
                f"WHERE tenant = %s AND row = %s "
                f"ON CONFLICT (tenant, space, row) DO UPDATE SET {column} = excluded.{column}",
                (own, row, tenant, source),
            )
        return True

    def delete(self, collection: str, paths: Sequence[str]) -> int:
        tenant = self._lock(collection)
        return self._delete(tenant, "AND path = ANY(%s)", (list(paths),))

    def _delete(self, tenant: int, where: str, values: Sequence[Any]) -> int:
        files = [
            file
            for (file,) in self.transaction.fetch(
                f"SELECT file FROM files WHERE tenant = %s {where}", (tenant, *values)
            )
        ]
        rows = self._rows(tenant, files)
        self.transaction.delete(rows)
        self.connection.execute("DELETE FROM files WHERE tenant = %s AND file = ANY(%s)", (tenant, files))
        return len(rows)

    def _rows(self, tenant: int, files: Sequence[int]) -> list[int]:
        sql = "SELECT row FROM chunks WHERE tenant = %s AND file = ANY(%s) ORDER BY row"
        return [row for (row,) in self.transaction.fetch(sql, (tenant, list(files)))]

    def delete_folder(self, collection: str) -> int:
        tenant = self._lock(collection)
        count = self._delete(tenant, "", ())
        self.connection.execute("DELETE FROM folders WHERE tenant = %s", (tenant,))
        return count

    def replace_folder(self, staged: str, collection: str) -> None:
        old = self._lock(staged)
        self.delete_folder(collection)
        new = self._lock(collection)
        self.transaction.touch((staged, "", "", ""), (collection, "", "", ""))
        columns = f"file, {STATE}"
        self.connection.execute(
            f"INSERT INTO files (tenant, {columns}) OVERRIDING SYSTEM VALUE SELECT %s, {columns} FROM files "
            "WHERE tenant = %s",
            (new, old),
        )
        sql = "SELECT c.row FROM chunks c JOIN files f ON f.tenant = c.tenant AND f.file = c.file WHERE c.tenant = %s"
        for (row,) in self.transaction.fetch(f"{sql} ORDER BY c.row", (old,)):
            stored = self.transaction.stored(row)
            self.transaction.write(row, replace(stored, collection=collection, status="active"), stored)
        self.connection.execute("DELETE FROM files WHERE tenant = %s", (old,))
        self.connection.execute(
            "INSERT INTO folders SELECT %s, record FROM folders WHERE tenant = %s "
            "ON CONFLICT (tenant) DO UPDATE SET record = excluded.record",
            (new, old),
        )
        self.connection.execute("DELETE FROM folders WHERE tenant = %s", (old,))
