"""The SQLite store: one file with snapshots for readers, transactions for writers, and use counters beside them."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import count
from threading import Lock
from typing import Any, Literal

import apsw
import numpy as np

from recollect.errors import DamagedIndex, InvalidInput, StoreError
from recollect.model import Edge, EntityEdge, JsonObject, Memory
from recollect.model import validation as check
from recollect.model.validation import from_micros, micros
from recollect.store.base import Bound, FileState, IndexStatus, Space, StoredChunk, StoreStatus, UseRecord
from recollect.store.bounds import contains_folder
from recollect.store.disk import Disk
from recollect.store.erasing import Erasure, Purge, Receipt
from recollect.store.rows import ENCODED, SELECT_USE, as_values, from_row
from recollect.store.sqlite.backups import read_backup_folders, read_last_backup, record_backup
from recollect.store.sqlite.connections import Connections, fetch, fork_gate, translate_errors
from recollect.store.sqlite.erasing import erase, last_erasure, read_owners, read_receipts
from recollect.store.sqlite.erasing import finish as finish_erasures
from recollect.store.sqlite.files import read_chunk_ids, read_chunks, read_embedded, read_files, read_folders
from recollect.store.sqlite.index import IndexLimits, IndexUpdater
from recollect.store.sqlite.index_folder import IndexFolder
from recollect.store.sqlite.postings import ENTRY
from recollect.store.sqlite.snapshot import SqliteSnapshot, read_relations
from recollect.store.sqlite.statements import bound_condition, select_columns
from recollect.store.sqlite.transaction import SqliteTransaction
from recollect.store.sqlite.versions import FileVersion, active_space, read_change_token, read_version
from recollect.store.sqlite.write_turns import WriteTurns, wait_for_lock
from recollect.store.use_days import DAILY_DAYS, USES, day_number, month_day
from recollect.store.writing import DryRun, complete_id, no_memory

log = logging.getLogger("recollect")
RECALL_TIMES = 20  # A17: how many moments of recall are kept
MOMENT_OF = {"access": "last_accessed", "recall": "last_recalled"}
AMONG = "IN (SELECT value FROM json_each(?))"
DROP_SECONDS = 10.0  # to wait for another process that writes the index
VectorSearch = Literal["auto", "exact", "approximate"]
MAX_EXACT: dict[str, float] = {"exact": math.inf, "approximate": 0}  # vectors in scope


class SqliteFile:
    """What all stores on one file share: connections, the index, and use that waits to be written."""

    def __init__(
        self,
        path: str,
        clock: Callable[[], datetime],
        readonly: bool,
        durable: bool,
        limits: IndexLimits | None,
        disk: Disk | None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.connections = Connections(path, readonly, durable)
        self.updater = IndexUpdater(IndexFolder(path, disk), limits)
        self.word_numbers: dict[str, int] = {}
        self.word_numbers_of = FileVersion(0, 0)  # the version that they were last read from
        self.pending_use: list[tuple[UseRecord, Bound]] = []
        self.pending_lock = Lock()
        self.turns = WriteTurns()
        if not self.connections.readonly:
            with translate_errors(path), fork_gate.hold():
                connection = self.connections.get()
                finish_erasures(connection, path, wait=0)  # that another process could not finish
                wait_for_lock(connection)

    def check_word_numbers(self, connection: apsw.Connection) -> None:
        """Forget the numbers of words if the file was replaced by another one, or words of it were erased."""
        known = self.word_numbers_of
        replaced = known.number and read_change_token(connection, known.number) != known.token
        if replaced or last_erasure(connection) > known.number:
            self.word_numbers.clear()

    def close(self) -> None:
        self.connections.close()


class SqliteStore:
    """One file, or what a bound contains of it. Many readers and one writer at a time, from any thread or process."""

    def __init__(
        self,
        path: str,
        clock: Callable[[], datetime],
        readonly: bool = False,
        durability: str = "full",
        bound: Bound | None = None,
        index_limits: IndexLimits | None = None,
        disk: Disk | None = None,
        vector_search: VectorSearch = "auto",
    ) -> None:
        """``vector_search`` is "exact", "approximate", or "auto": approximate where many vectors are in scope."""
        if durability not in ("full", "fast"):
            raise InvalidInput(f"durability must be 'full' or 'fast', not {durability!r}.")
        check.choice(vector_search, "vector_search", ("auto", *MAX_EXACT))
        if vector_search != "auto":
            index_limits = replace(index_limits or IndexLimits(), max_exact=MAX_EXACT[vector_search])
        self.bound = bound or Bound()
        self._file = SqliteFile(path, clock, readonly, durability == "full", index_limits, disk)

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def connection(self) -> apsw.Connection:
        """This thread's connection."""
        return self._file.connections.get()

    @property
    def readonly(self) -> bool:
        return self._file.connections.readonly

    def within(self, bound: Bound) -> SqliteStore:
        store = SqliteStore.__new__(SqliteStore)
        store.bound = self.bound.narrowed(bound)
        store._file = self._file
        return store

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        file = self._file
        connection = file.connections.get()
        with translate_errors(self.path), fork_gate.hold():
            for attempt in count():
                file.updater.prepare()
                connection.execute("BEGIN")
                try:
                    index = file.updater.at(connection, read_version(connection))
                    if index is not None:
                        yield SqliteSnapshot(self.path, index, connection, file.updater, self.bound)
                        return
                except DamagedIndex as damage:
                    file.updater.discard(damage)
                    raise
                finally:
                    if connection.in_transaction:  # an error of the disk ends it
                        connection.execute("COMMIT")
                    if file.pending_use:  # recorded meanwhile
                        self._try_to_write_use(wait=False)
                if attempt > 2:  # another thread is ahead once, not always: an older file was put in this one's place
                    file.updater.restart()
                    file.word_numbers.clear()

    @contextmanager
    def transaction(
        self, verb: str, note: str = "", *, durable: bool = True, operation: int | None = None
    ) -> Iterator[SqliteTransaction]:
        if self.readonly:
            raise StoreError(f"{self.path} is read-only; nothing was written.")
        file = self._file
        with translate_errors(self.path), fork_gate.hold(), file.connections.syncing(durable) as connection:
            file.turns.take_lock(connection)
            try:
                file.connections.check_log()
                last = read_version(connection)
                if last != file.word_numbers_of:
                    file.check_word_numbers(connection)
                now, words = file.clock(), file.word_numbers
                transaction = SqliteTransaction(
                    connection, self.path, verb, note, now, last.number, words, self.bound, operation
                )
                yield transaction
                transaction.finish()
                file.connections.check_file()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            file.turns.finished()
            file.word_numbers.update(transaction.words)
            if transaction.entry is not None:
                file.word_numbers_of = transaction.entry

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        with translate_errors(self.path):
            file = self._file
            connection, now = file.connections.get(), file.clock()
            last = read_version(connection).number
            return SqliteTransaction(connection, self.path, "undo", "", now, last, {}, self.bound).undo_texts(operation)

    @property
    def space(self) -> Space | None:
        with translate_errors(self.path):
            active = active_space(self._file.connections.get())
        return active[1] if active else None

    def resolve(self, ids: Sequence[str]) -> list[str]:
        connection, resolved = self._file.connections.get(), []
        condition, values = bound_condition(self.bound)
        with translate_errors(self.path):
            for id in (check.identifier(id, "id") for id in ids):
                if connection.execute(f"SELECT 1 FROM memories WHERE id = ?{condition}", (id, *values)).get:
                    resolved.append(id)
                    continue
                prefixed = f"id >= ? AND id < ? || char(1114111){condition} ORDER BY id LIMIT 6"
                sql = f"SELECT id FROM memories WHERE {prefixed}"
                near = [each for (each,) in fetch(connection, sql, (id, id, *values))] if id else []
                resolved.append(complete_id(id, near))
        return resolved

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]:
        connection = self._file.connections.get()
        condition, values = bound_condition(self.bound, "m.")
        sql = (
            f"SELECT {select_columns(connection)}, {SELECT_USE} FROM memories m LEFT JOIN use u ON u.row = m.row "
            f"WHERE m.id = ?{condition}"
        )
        with translate_errors(self.path):
            found = [connection.execute(sql, (id, *values)).fetchall() for id in ids]
        missing = [id for id, rows in zip(ids, found, strict=True) if not rows]
        if missing and not missing_ok:
            raise no_memory(missing[0])
        return [from_row(rows[0]) for rows in found if rows]

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]:
        (source, values), (target, _) = (bound_condition(self.bound, prefix) for prefix in ("s.", "t."))
        rows = f"IN (SELECT row FROM memories WHERE id {AMONG})"
        chosen = "" if ids is None else f" AND (e.source {rows} OR e.target {rows})"
        sql = (
            "SELECT s.id, t.id, e.kind, e.weight, e.created FROM edges e "
            f"JOIN memories s ON s.row = e.source JOIN memories t ON t.row = e.target "
            f"WHERE true{source}{target}{chosen} ORDER BY e.source, e.kind, e.target"
        )
        listed = () if ids is None else (json.dumps(list(ids)),) * 2
        with translate_errors(self.path):
            found = self._file.connections.get().execute(sql, (*values, *values, *listed))
            return [Edge(a, b, kind, weight, from_micros(at)) for a, b, kind, weight, at in found]

    def entity_edges(self) -> list[EntityEdge]:
        with translate_errors(self.path):
            return read_relations(self._file.connections.get(), self.bound)

    def history(self, id: str) -> list[tuple[datetime, Memory]]:
        condition, values = bound_condition(self.bound)
        sql = (
            "SELECT c.at, f.record FROM former f JOIN changes c ON c.version = f.version WHERE f.what = 'memory' "
            f"AND f.row = (SELECT row FROM memories WHERE id = ?{condition}) ORDER BY f.version, f._rowid_"
        )
        with translate_errors(self.path):
            found = fetch(self._file.connections.get(), sql, (id, *values))
        records = ((at, json.loads(record)) for at, record in found)  # an imported one has its own end
        versions = [(from_micros(record.get("until", at)), from_row(as_values(record))) for at, record in records]
        return [(until, memory) for until, memory in versions if self.bound.contains(memory)]

    def unembedded(
        self, space: Space, among: Sequence[str] | None = None, tokens: bool = False, limit: int | None = None
    ) -> list[str]:
        connection = self._file.connections.get()
        condition, values = bound_condition(self.bound, "m.")
        chosen = "" if among is None else f" AND m.id {AMONG}"
        listed = () if among is None else (json.dumps(list(among)),)
        active = active_space(connection)
        if not tokens and active is not None and active[1] == space and not self.readonly:
            missing = "unembedded u CROSS JOIN memories m ON m.row = u.row WHERE true"
            model: tuple[Any, ...] = ()
        else:
            sketch = "JOIN sketches k ON k.space = v.space AND k.row = v.row AND length(k.sketch) > 0" if tokens else ""
            vector = f"SELECT 1 FROM spaces s JOIN vectors v ON v.row = m.row AND v.space = s.space {sketch}"
            missing = f"memories m WHERE NOT EXISTS ({vector} WHERE s.name = ? AND s.dim = ?)"
            model = (space.name, space.dim)
        sql = f"SELECT m.id FROM {missing} AND m.status <> 'forgotten'{condition}{chosen} LIMIT ?"
        with translate_errors(self.path):
            wanted = (*model, *values, *listed, -1 if limit is None else limit)
            return [id for (id,) in fetch(connection, sql, wanted)]

    def folders(self) -> dict[str, JsonObject]:
        with translate_errors(self.path):
            found = read_folders(self._file.connections.get())
        return {name: record for name, record in found.items() if contains_folder(self.bound, name)}

    def files(self, collection: str) -> dict[str, FileState]:
        with translate_errors(self.path):
            connection = self._file.connections.get()
            return read_files(connection, collection) if contains_folder(self.bound, collection) else {}

    def chunk_ids(self, collection: str) -> list[str]:
        with translate_errors(self.path):
            connection = self._file.connections.get()
            return read_chunk_ids(connection, collection) if contains_folder(self.bound, collection) else []

    def chunks(self, collection: str) -> dict[str, list[StoredChunk]]:
        with translate_errors(self.path):
            connection = self._file.connections.get()
            return read_chunks(connection, collection) if contains_folder(self.bound, collection) else {}

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        with translate_errors(self.path):
            return read_embedded(self._file.connections.get(), digests, self.bound)

    def switch_space(self, space: Space, without: Collection[str] = ()) -> int:
        if self.bound.values:
            raise StoreError("The embedding model of a file can be changed without a bound only.")
        with self.transaction("reembed") as transaction:
            missing = len({*self.unembedded(space)}.difference(without))
            if missing:
                return missing
            number = transaction.space(space)
            _ = transaction.version  # indexes must notice
            transaction.connection.execute("UPDATE spaces SET active = (space = ?)", (number,))
            for table in (*ENCODED, "spaces"):  # all rows at once, not one by one by their foreign keys
                transaction.connection.execute(f"DELETE FROM {table} WHERE space <> ?", (number,))
            transaction.connection.execute("DELETE FROM unembedded WHERE row IN (SELECT row FROM vectors)")
            transaction.connection.execute(
                "INSERT OR IGNORE INTO unembedded SELECT row FROM memories WHERE row NOT IN (SELECT row FROM vectors)"
            )
        return 0

    def erase(
        self,
        ids: Sequence[str] | None,
        purge: Purge | None = None,
        *,
        code: str | None = None,
        dry_run: bool = False,
    ) -> Erasure:
        try:
            with self.transaction("erase") as transaction:
                erased = erase(transaction, ids, purge, code, dry_run)
                if dry_run:
                    raise DryRun
        except DryRun:
            return erased
        self._file.updater.restart()
        self._file.word_numbers.clear()
        return replace(erased, pending=self.finish_erasures())

    def finish_erasures(self) -> tuple[str, ...]:
        if self.readonly:
            raise StoreError(f"{self.path} is read-only; nothing was written.")
        with translate_errors(self.path), fork_gate.hold():
            connection = self._file.connections.get()
            try:
                return finish_erasures(connection, self.path)
            finally:
                wait_for_lock(connection)

    def owners(self) -> set[tuple[str, ...]]:
        with translate_errors(self.path):
            return read_owners(self._file.connections.get(), self.bound)

    def receipts(self) -> list[Receipt]:
        with translate_errors(self.path):
            return read_receipts(self._file.connections.get(), self.bound)

    # Use is written beside the content, without waiting for the disk or for other writers.

    def record_use(self, use: UseRecord) -> None:
        if self.readonly or not use.rows:
            return
        file = self._file
        with fork_gate.hold(), file.pending_lock:
            file.pending_use.append((use, self.bound))
            self._write_use(wait=False)

    def _try_to_write_use(self, wait: bool) -> None:
        with contextlib.suppress(StoreError), self._file.pending_lock:
            if self._file.pending_use:
                self._write_use(wait)

    def _write_use(self, wait: bool) -> None:
        """Write what is pending. While another process is writing it waits for the next call; while this thread is
        reading, for the end of the snapshot."""
        file = self._file
        if file.connections.get().in_transaction:
            return
        with file.connections.syncing(False) as connection:
            try:
                connection.set_busy_timeout(2000 if wait else 0)
                connection.execute("BEGIN IMMEDIATE")
                for use, bound in file.pending_use:
                    _record_use(connection, use, bound)
                connection.execute("COMMIT")
                file.pending_use.clear()
            except BaseException as problem:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if not isinstance(problem, apsw.Error):
                    raise
                log.info("use of %s not recorded yet: %s", self.path, problem)
            finally:
                wait_for_lock(connection)

    def change_count(self) -> int | None:
        return None

    def status(self) -> StoreStatus:
        connection = self._file.connections.get()
        condition, values = bound_condition(self.bound)
        inside = f"(SELECT row FROM memories WHERE true{condition})" if values else ""

        def get(sql: str, *more: Any) -> Any:
            return connection.execute(sql, more).get

        with translate_errors(self.path):
            among = f" AND v.row IN {inside}" if values else ""
            vectors = f"(SELECT count(*) FROM vectors v WHERE v.space = s.space{among})"
            spaces = [
                {"name": name, "dim": dim, "active": bool(active), "vectors": count}
                for name, dim, active, count in connection.execute(
                    f"SELECT name, dim, active, {vectors} FROM spaces s", values
                )
            ]
            active = active_space(connection)
            last = get(
                f"SELECT max(updated) FROM memories WHERE true{condition}" if values else "SELECT max(at) FROM changes",
                *values,
            )
            by_status = f"SELECT status, count(*) FROM memories WHERE true{condition} GROUP BY status"
            by_collection = (
                f"SELECT collection, count(*) FROM memories WHERE status <> 'forgotten'{condition} GROUP BY collection"
            )
            expired = f"SELECT count(*) FROM memories WHERE status = 'active' AND expires <= ?{condition}"
            edges = f"WHERE source IN {inside} AND target IN {inside}" if values else ""
            return StoreStatus(
                path=self.path,
                bytes=sum(os.path.getsize(p) for p in (self.path, self.path + "-wal") if os.path.exists(p)),
                version=str(read_version(connection)),
                readonly=self.readonly,
                memories=dict(fetch(connection, by_status, values)),
                expired=get(expired, micros(self._file.clock()), *values),
                collections=dict(fetch(connection, by_collection, values)),
                edges=get(f"SELECT count(*) FROM edges {edges}", *values, *values if values else ()),
                entity_edges=len(self.entity_edges()),
                words=_count_words(connection, inside, values),
                spaces=spaces,
                without_vector=len(self.unembedded(active[1] if active else Space("", 0))),
                last_change=None if last is None else from_micros(last),
                last_backup=None if values else read_last_backup(connection),
                index=None if values else self._file.updater.status(connection, read_version(connection)),
            )

    def index_status(self) -> IndexStatus:
        """The index files of the whole file, whatever the bound is."""
        with translate_errors(self.path), fork_gate.hold():
            connection = self.connection
            return self._file.updater.status(connection, read_version(connection))

    def drop_index(self) -> None:
        """Delete the index files. What uses them in other processes keeps them mapped until it ends."""
        problem = self._file.updater.folder.drop(DROP_SECONDS)
        self._file.updater.restart()
        if problem:
            raise StoreError(f"The index was not deleted: {problem}.")

    def build_index(self) -> None:
        """Read the file into an index now, and write it to files if it is large enough."""
        with self.snapshot():
            pass

    def backup_folders(self) -> list[str]:
        """The folders with backups of the whole file, whatever the bound is."""
        with translate_errors(self.path), fork_gate.hold():
            return read_backup_folders(self.connection)

    def record_backup(self, folder: str, at: datetime) -> None:
        """Remember when the file was backed up, for status and doctor."""
        with translate_errors(self.path), fork_gate.hold():
            record_backup(self.connection, folder, at)

    def close(self) -> None:
        file = self._file
        self._try_to_write_use(wait=True)
        file.close()


def _count_words(connection: apsw.Connection, inside: str, values: Sequence[str]) -> int:
    """How many distinct words all memories have, or those inside a bound."""
    if not values:
        return int(connection.execute("SELECT count(*) FROM vocabulary").get)
    packed = b"".join(
        entries for (entries,) in connection.execute(f"SELECT entries FROM words WHERE row IN {inside}", tuple(values))
    )
    return len(np.unique(np.frombuffer(packed, dtype=ENTRY)["term"]))


def _record_use(connection: apsw.Connection, use: UseRecord, bound: Bound) -> None:
    """A17, M11, R15: the counters that a recipe uses, and for recalls the last moments."""
    condition, values = bound_condition(bound, "m.")
    stored = f"memories m WHERE m.row IN (SELECT value FROM json_each(?2)){condition}"  # neither deleted nor foreign
    parameters = (micros(use.at), json.dumps(use.rows), *values)
    moments = [name for counter, name in MOMENT_OF.items() if counter in use.counters]
    counts = [f"{counter}_count" for counter in use.counters]
    connection.execute(
        f"INSERT INTO use (row, {', '.join(counts + moments)}) "
        f"SELECT m.row, {', '.join(['1'] * len(counts) + ['?1'] * len(moments))} FROM {stored} "
        "ON CONFLICT (row) DO UPDATE SET "
        + ", ".join([f"{name} = {name} + 1" for name in counts] + [f"{name} = ?1" for name in moments]),
        parameters,
    )
    _record_day(connection, stored, use, values)
    if "recall" in use.counters:
        sql = f"SELECT row, recall_times FROM use WHERE row IN (SELECT m.row FROM {stored})"
        for row, times in fetch(connection, sql, parameters):
            latest = json.dumps([*json.loads(times), micros(use.at)][-RECALL_TIMES:])
            connection.execute("UPDATE use SET recall_times = ? WHERE row = ?", (latest, row))


def _record_day(connection: apsw.Connection, stored: str, use: UseRecord, values: Sequence[str]) -> None:
    """Count the use of its day, and join days that are long past to their month (see use_days.py)."""
    uses = sum(counter in USES for counter in use.counters)
    if not uses:
        return
    day = day_number(use.at)
    connection.execute(
        f"INSERT INTO use_by_day SELECT m.row, ?1, {uses} FROM {stored} "
        f"ON CONFLICT (row, day) DO UPDATE SET uses = uses + {uses}",
        (day, json.dumps(use.rows), *values),
    )
    past = f"row IN (SELECT m.row FROM {stored}) AND day < ?1"
    parameters = (day - DAILY_DAYS, json.dumps(use.rows), *values)
    for row, old, used in fetch(connection, f"SELECT row, day, uses FROM use_by_day WHERE {past}", parameters):
        month = month_day(old)
        if month != old:
            connection.execute("DELETE FROM use_by_day WHERE row = ? AND day = ?", (row, old))
            connection.execute(
                "INSERT INTO use_by_day VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET uses = uses + ?3",
                (row, month, used),
            )
