"""The SQLite store: views for recalls, changes for writers, and marks of use beside them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from itertools import count
from threading import Lock

import apsw

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model import Edge, EntityEdge, JsonObject, Memory
from recollect.model import validation as check
from recollect.model.validation import from_micros, micros
from recollect.store.base import FileState, Space, StoreStatus, Touch, UndoResult, check_space
from recollect.store.sqlite.connections import BUSY_MILLISECONDS, Connections, fetch, gate, saying
from recollect.store.sqlite.files import read_chunk_ids, read_embedded, read_files, read_folders
from recollect.store.sqlite.index import Follower, active_space
from recollect.store.sqlite.rows import ENCODED, SELECT_USE, as_values, from_row, select_columns
from recollect.store.sqlite.snapshot import SqliteSnapshot, read_relations
from recollect.store.sqlite.transaction import SqliteTransaction

log = logging.getLogger("recollect")
RECALL_TIMES = 20  # A17: how many moments of recall are kept
MOMENT_OF = {"access": "last_accessed", "recall": "last_recalled"}


class SqliteStore:
    """One file. Many readers and one writer at a time, from any number of threads and processes."""

    def __init__(
        self, path: str, clock: Callable[[], datetime], readonly: bool = False, durability: str = "full"
    ) -> None:
        if durability not in ("full", "fast"):
            raise InvalidInput(f"durability must be 'full' or 'fast', not {durability!r}.")
        self.path = path
        self.clock = clock
        self._connections = Connections(path, readonly, durable=durability == "full")
        self._follower = Follower()
        self._vocabulary: dict[str, int] = {}
        self._pending: list[Touch] = []
        self._pending_lock = Lock()

    @property
    def readonly(self) -> bool:
        return self._connections.readonly

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        connection = self._connections.get()
        with saying(self.path), gate.inside():
            for attempt in count():
                connection.execute("BEGIN")
                try:
                    image = self._follower.at(connection, _version(connection))
                    if image is not None:
                        yield SqliteSnapshot(self.path, image, connection, self._follower)
                        return
                finally:
                    connection.execute("COMMIT")
                if attempt > 2:  # another thread is ahead once, not always: an older file was put in this one's place
                    self._follower.restart()
                    self._vocabulary.clear()

    @contextmanager
    def transaction(self, verb: str, note: str = "", durable: bool = True) -> Iterator[SqliteTransaction]:
        if self.readonly:
            raise StoreError(f"{self.path} is read-only; nothing was written.")
        connection = self._connections.get() if durable else self._marking.get()
        if not durable:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
        with saying(self.path), gate.inside():
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = SqliteTransaction(connection, self.path, verb, note, self.clock(), self._vocabulary)
                yield transaction
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._vocabulary.update(transaction.learned)

    def undo(self) -> UndoResult | None:
        with self.transaction("undo") as transaction:
            return transaction.undo()

    def check_space(self, space: Space) -> None:
        with saying(self.path):
            held = active_space(self._connections.get())
        check_space(held[1] if held else None, space, self.path)

    def resolve(self, ids: Sequence[str]) -> list[str]:
        connection, whole = self._connections.get(), []
        with saying(self.path):
            for id in (check.identifier(id, "id") for id in ids):
                if connection.execute("SELECT 1 FROM memories WHERE id = ?", (id,)).get:
                    whole.append(id)
                    continue
                sql = "SELECT id FROM memories WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 6"
                near = [held for (held,) in fetch(connection, sql, (id,))] if id else []
                if not near:
                    raise NotFound(f"There is no memory with the id {id!r}.")
                if len(near) > 1:
                    some = ", ".join(near[:5]) + (", …" if len(near) > 5 else "")
                    raise InvalidInput(f"Several ids begin with {id!r}: {some}. Give more of it.")
                whole.append(near[0])
        return whole

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]:
        with saying(self.path):
            connection = self._connections.get()
            columns = f"{select_columns(connection)}, {SELECT_USE}"
            sql = f"SELECT {columns} FROM memories m LEFT JOIN use u ON u.row = m.row WHERE m.id = ?"
            found = [connection.execute(sql, (id,)).fetchall() for id in ids]
        missing = [id for id, rows in zip(ids, found, strict=True) if not rows]
        if missing and not missing_ok:
            raise NotFound(f"There is no memory with the id {missing[0]!r}.")
        return [from_row(rows[0]) for rows in found if rows]

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]:
        among = "IN (SELECT value FROM json_each(?1))"
        chosen = "" if ids is None else f"WHERE s.id {among} OR t.id {among}"
        sql = (
            "SELECT s.id, t.id, e.kind, e.weight, e.created FROM edges e "
            f"JOIN memories s ON s.row = e.source JOIN memories t ON t.row = e.target {chosen} "
            "ORDER BY e.source, e.kind, e.target"
        )
        with saying(self.path):
            found = self._connections.get().execute(sql, () if ids is None else (json.dumps(list(ids)),))
            return [Edge(a, b, kind, weight, from_micros(at)) for a, b, kind, weight, at in found]

    def entity_edges(self) -> list[EntityEdge]:
        with saying(self.path):
            return read_relations(self._connections.get())

    def former(self, id: str) -> list[tuple[datetime, Memory]]:
        sql = (
            "SELECT c.at, f.record FROM former f JOIN changes c ON c.version = f.version "
            "WHERE f.what = 'memory' AND f.row = (SELECT row FROM memories WHERE id = ?) ORDER BY f.version, f._rowid_"
        )
        with saying(self.path):
            found = fetch(self._connections.get(), sql, (id,))
        kept = ((at, json.loads(record)) for at, record in found)  # what an import brought says itself when it ended
        return [(from_micros(record.get("until", at)), from_row(as_values(record))) for at, record in kept]

    def unembedded(self, space: Space, among: Sequence[str] | None = None, tokens: bool = False) -> list[str]:
        chosen = "" if among is None else "id IN (SELECT value FROM json_each(?3)) AND "
        whole = "JOIN sketches k ON k.space = v.space AND k.row = v.row AND length(k.sketch) > 0 " if tokens else ""
        sql = (
            f"SELECT id FROM memories m WHERE {chosen}status <> 'forgotten' AND NOT EXISTS (SELECT 1 FROM spaces s "
            f"JOIN vectors v ON v.space = s.space AND v.row = m.row {whole}WHERE s.name = ?1 AND s.dim = ?2)"
        )
        with saying(self.path):
            asked = () if among is None else (json.dumps(list(among)),)
            return [id for (id,) in fetch(self._connections.get(), sql, (space.name, space.dim, *asked))]

    def folders(self) -> dict[str, JsonObject]:
        with saying(self.path):
            return read_folders(self._connections.get())

    def files(self, collection: str) -> dict[str, FileState]:
        with saying(self.path):
            return read_files(self._connections.get(), collection)

    def chunk_ids(self, collection: str) -> list[str]:
        with saying(self.path):
            return read_chunk_ids(self._connections.get(), collection)

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        with saying(self.path):
            return read_embedded(self._connections.get(), digests)

    def switch(self, space: Space, without: Collection[str] = ()) -> int:
        with self.transaction("reembed") as transaction:
            missing = len({*self.unembedded(space)}.difference(without))
            if missing:
                return missing
            number = transaction.space(space)
            transaction.begin()  # images must notice
            transaction.connection.execute("UPDATE spaces SET active = (space = ?)", (number,))
            for table in (*ENCODED, "spaces"):
                transaction.connection.execute(f"DELETE FROM {table} WHERE space <> ?", (number,))
        return 0

    # Use: written beside the content, without waiting for the disk or for other writers.

    @cached_property
    def _marking(self) -> Connections:
        return Connections(self.path, readonly=False, durable=False)

    def touch(self, mark: Touch) -> None:
        """Note a use. When another process is writing, the note waits for the next one; it never fails a recall."""
        if self.readonly or not mark.rows:
            return
        with gate.inside(), self._pending_lock:
            self._pending.append(mark)
            self._write_marks(wait=False)

    def _write_marks(self, wait: bool) -> None:
        connection = self._marking.get()
        connection.set_busy_timeout(2000 if wait else 0)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for mark in self._pending:
                _mark(connection, mark)
            connection.execute("COMMIT")
            self._pending.clear()
        except apsw.Error as problem:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            log.info("use of %s not recorded yet: %s", self.path, problem)

    def status(self) -> StoreStatus:
        connection = self._connections.get()
        with saying(self.path):

            def counts(sql: str) -> dict[str, int]:
                return dict(fetch(connection, sql))

            spaces = [
                {"name": name, "dim": dim, "active": bool(active), "vectors": vectors}
                for name, dim, active, vectors in connection.execute(
                    "SELECT name, dim, active, (SELECT count(*) FROM vectors v WHERE v.space = s.space) FROM spaces s"
                )
            ]
            memories = counts("SELECT status, count(*) FROM memories GROUP BY status")
            held = active_space(connection)
            last = connection.execute("SELECT max(at) FROM changes").get
            return StoreStatus(
                path=self.path,
                bytes=sum(os.path.getsize(p) for p in (self.path, self.path + "-wal") if os.path.exists(p)),
                version=_version(connection),
                readonly=self.readonly,
                memories=memories,
                collections=counts(
                    "SELECT collection, count(*) FROM memories WHERE status <> 'forgotten' GROUP BY collection"
                ),
                edges=connection.execute("SELECT count(*) FROM edges").get,
                entity_edges=connection.execute("SELECT count(*) FROM entity_edges").get,
                words=connection.execute("SELECT count(*) FROM vocabulary").get,
                spaces=spaces,
                without_vector=len(self.unembedded(held[1] if held else Space("", 0))),
                last_change=None if last is None else from_micros(last),
            )

    def close(self) -> None:
        with contextlib.suppress(StoreError), self._pending_lock:
            if self._pending:
                self._write_marks(wait=True)
        self._connections.close()
        if "_marking" in self.__dict__:
            self._marking.close()


def _version(connection: apsw.Connection) -> int:
    return connection.execute("SELECT max(version) FROM changes").get or 0


def _mark(connection: apsw.Connection, mark: Touch) -> None:
    """A17, M11, R15: the counters that this mark names, and for recalls the last moments."""
    at, rows = micros(mark.at), json.dumps(mark.rows)
    moments = [name for counter, name in MOMENT_OF.items() if counter in mark.counters]
    counts = [f"{counter}_count" for counter in mark.counters]
    connection.execute(
        f"INSERT INTO use (row, {', '.join(counts + moments)}) "
        f"SELECT value, {', '.join(['1'] * len(counts) + ['?2'] * len(moments))} FROM json_each(?1) "
        "WHERE true ON CONFLICT (row) DO UPDATE SET "
        + ", ".join([f"{name} = {name} + 1" for name in counts] + [f"{name} = ?2" for name in moments]),
        (rows, at) if moments else (rows,),
    )
    if "recall" in mark.counters:
        sql = "SELECT row, recall_times FROM use WHERE row IN (SELECT value FROM json_each(?))"
        for row, times in fetch(connection, sql, (rows,)):
            latest = json.dumps([*json.loads(times), at][-RECALL_TIMES:])
            connection.execute("UPDATE use SET recall_times = ? WHERE row = ?", (latest, row))
