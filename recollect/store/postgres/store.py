"""The PostgreSQL store: snapshots for readers, transactions for writers, and use counters beside them."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from recollect.errors import RecollectError, StoreError, StoreUnavailable
from recollect.model import Clock, Edge, EntityEdge, JsonObject, Memory, check, from_micros, micros
from recollect.store.base import Bound, FileState, Space, StoredChunk, StoreStatus, UseRecord
from recollect.store.bounds import contains_folder
from recollect.store.erasing import Erasure, Purge, Receipt
from recollect.store.postgres.caches import Derived
from recollect.store.postgres.connections import Database, Settings, SnapshotConnection, Sql, parse_url
from recollect.store.postgres.erasing import (
    VACUUMED,
    clear_statistics,
    erase,
    may_vacuum,
    read_owners,
    read_pending,
    read_receipts,
)
from recollect.store.postgres.files import read_chunk_ids, read_chunks, read_embedded, read_files, read_folders
from recollect.store.postgres.listening import Listener, channel
from recollect.store.postgres.migrations import migrate
from recollect.store.postgres.replicas import Replicas
from recollect.store.postgres.snapshot import PostgresSnapshot, TenantState
from recollect.store.postgres.statements import (
    JOIN_USE,
    SELECT,
    SELECT_USE,
    active_space,
    bound_condition,
    policy_settings,
    read_relations,
    with_use,
)
from recollect.store.postgres.transaction import PostgresTransaction
from recollect.store.postgres.use import PendingUse, join_months, record_use
from recollect.store.postgres.words import WordCache
from recollect.store.rows import as_values, from_row
from recollect.store.writing import DryRun, complete_id, no_memory

log = logging.getLogger("recollect")
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"  # a collection is locked: what is read after that is the latest
MAX_PENDING_USES = 1000
LEFT_TO_SERVER = (
    "the server frees the space of what was erased when it vacuums next; 'recollect erase --finish' as the role that "
    "owns the tables does it at once"
)
HELD = (
    "a transaction that began before the erasure, a replica or a replication slot can still read what was erased, so "
    "that the server keeps it; run 'recollect erase --finish' when it has ended (see backend_xmin in pg_stat_activity)"
)
OLDER_SECONDS = 2.0  # to wait for transactions that began before an erasure, such as recalls
USE_SECONDS = 0.1  # to wait for a connection that records use: without one it is written later


class _Shared:
    """What all handles of one store share."""

    def __init__(self, url: str, database: Database, clock: Callable[[], datetime]) -> None:
        self.url = url
        self.database = database
        self.clock = clock
        self.derived = Derived()
        self.words = WordCache()
        self.pending_use: list[PendingUse] = []
        self.pending_lock = Lock()
        self.replicas = Replicas.of(database)
        settings = database.settings
        self.listener: Listener | None = None
        if settings.listen_url:
            self.listener = Listener(parse_url(settings.listen_url)[0], settings.schema, self.replicas)


class PostgresStore:
    """The memories of one schema of a database, or what a bound contains of them."""

    def __init__(self, url: str, clock: Clock, *, bound: Bound | None = None, readonly: bool = False) -> None:
        address, settings = parse_url(url)
        database = Database(address, settings)
        try:
            database.check()
            migrate(database, readonly)
            self._shared = _Shared(url, database, clock)
        except BaseException:
            database.close()
            raise
        self.bound = bound or Bound()
        self.readonly = readonly

    @property
    def path(self) -> str:
        return self._shared.database.path

    @property
    def url(self) -> str:
        return self._shared.url

    @property
    def clock(self) -> Clock:
        return self._shared.clock

    @property
    def database(self) -> Database:
        return self._shared.database

    @property
    def settings(self) -> Settings:
        return self._shared.database.settings

    def within(self, bound: Bound) -> PostgresStore:
        return self._within(self.bound.narrowed(bound))

    def _within(self, bound: Bound) -> PostgresStore:
        store = PostgresStore.__new__(PostgresStore)
        store.bound, store.readonly, store._shared = bound, self.readonly, self._shared
        return store

    # Transactions.

    @contextmanager
    def _begin(self, kind: str, durable: bool = True, first: Callable[[Any], None] | None = None) -> Iterator[Any]:
        """A connection inside a transaction, limited to the bound. It is committed unless something is raised."""
        shared, settings = self._shared, self._settings(durable)
        if kind == READ and shared.replicas is not None:
            begun = shared.replicas.begin(kind, settings, first)
        else:
            begun = shared.database.begin(kind, settings, first=first)
        with begun as connection:
            yield connection

    def _settings(self, durable: bool) -> dict[str, str]:
        database = self._shared.database
        settings = database.settings
        return {
            "search_path": database.search_path,
            "statement_timeout": f"{settings.statement_timeout * 1000:.0f}",
            "lock_timeout": f"{settings.lock_timeout * 1000:.0f}",
            **({} if durable else {"synchronous_commit": "off"}),
            # A tenant's rows are found by the keys that begin with it, however small the tables are.
            **({} if self.bound.collection is None else {"enable_seqscan": "off"}),
            **policy_settings(self.bound),
        }

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """For one or several statements; inside a transaction of this thread, its connection."""
        current = getattr(self._shared.database.local, "connection", None)
        if current is not None:
            yield current
        else:
            with self._begin(READ) as connection:
                yield connection

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        found: list[Any] = []

        def begin(connection: Any) -> None:
            found.append(self._read_versions(connection))
            connection.execute(SnapshotConnection.SAVEPOINT)

        with self._begin(READ, first=begin) as connection:
            yield self._snapshot(SnapshotConnection(connection), found[-1])

    def _read_versions(self, connection: Any) -> Any:
        """A cursor with the collections of the bound and their versions, each with the space that is searched."""
        chosen = Sql("c.name = %s", (self.bound.collection,)) if self.bound.collection is not None else Sql("true")
        sql = (
            "SELECT s.space, s.name, s.dim, c.tenant, c.name, c.version, c.last_word, c.last_erasure "
            f"FROM collections c LEFT JOIN spaces s ON s.active WHERE c.tenant = 0 OR {chosen.text}"
        )
        return connection.execute(sql, chosen.values)

    def _snapshot(self, connection: Any, versions: Any) -> PostgresSnapshot:
        tenants, store_version, last_erasure, space = {}, 0, 0, None
        for number, model, dim, tenant, name, *state in versions.fetchall():
            if tenant == 0:
                store_version, _, last_erasure = state
                space = None if number is None else (number, Space(model, dim))
            elif name is not None:
                tenants[tenant] = TenantState(name, *state)
        shared = self._shared
        return PostgresSnapshot(
            connection,
            self.bound,
            tenants,
            store_version,
            last_erasure,
            space,
            shared.derived,
            shared.words,
            shared.database.settings.approximate,
        )

    @contextmanager
    def transaction(
        self, verb: str, note: str = "", *, durable: bool = True, operation: int | None = None
    ) -> Iterator[PostgresTransaction]:
        if self.readonly:
            raise StoreError(f"{self.path} is read-only; nothing was written.")
        local = self._shared.database.local
        if getattr(local, "connection", None) is not None:
            raise StoreError("A transaction cannot be opened inside another one.")
        finished: PostgresTransaction | None = None
        try:
            with self._begin(WRITE, durable) as connection:
                local.connection = connection
                try:
                    now = self._shared.clock()
                    transaction = PostgresTransaction(connection, self.path, verb, note, now, self.bound, operation)
                    yield transaction
                    transaction.finish()
                    if transaction.changed and self.settings.listen_url:
                        connection.execute("SELECT pg_notify(%s, '')", (channel(self.settings.schema),))
                    finished = transaction
                finally:
                    local.connection = None
        except StoreUnavailable:
            if finished is None or not self._was_committed(finished):
                raise
        if self._shared.replicas is not None and finished is not None and finished.changed:
            self._shared.replicas.note_write()

    def _was_committed(self, transaction: PostgresTransaction) -> bool:
        """Was a transaction written whose connection was lost when it was committed? One that is still being written
        holds the lock of its collection: after that, its entry in the history is there, or never will be."""
        for collection, entry in transaction.entries():
            with self._begin(WRITE) as connection:
                check = PostgresTransaction(connection, self.path, "check", "", transaction.now, self.bound, None)
                check.lock(collection)
                sql = "SELECT 1 FROM changes WHERE (tenant, version, operation, at, verb) = (%s, %s, %s, %s, %s)"
                return connection.execute(sql, entry).fetchone() is not None
        return False

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        with self.reading() as connection:
            now = self._shared.clock()
            return PostgresTransaction(connection, self.path, "undo", "", now, self.bound, None).undo_texts(operation)

    # Reading.

    def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.reading() as connection:
            return list(connection.execute(sql, values).fetchall())

    @property
    def space(self) -> Space | None:
        with self.reading() as connection:
            active = active_space(connection)
        return active[1] if active else None

    def resolve(self, ids: Sequence[str]) -> list[str]:
        condition, resolved = bound_condition(self.bound), []
        with self.reading() as connection:
            for id in (check.identifier(id, "id") for id in ids):
                sql = f"SELECT id FROM memories m WHERE m.id = %s{condition.text}"
                if connection.execute(sql, (id, *condition.values)).fetchone():
                    resolved.append(id)
                    continue
                sql = (
                    f"SELECT id FROM memories m WHERE m.id >= %s AND starts_with(m.id, %s){condition.text} "
                    "ORDER BY id LIMIT 6"
                )
                found = connection.execute(sql, (id, id, *condition.values)).fetchall() if id else []
                near = [each for (each,) in found]
                resolved.append(complete_id(id, near))
        return resolved

    def get(self, ids: Sequence[str], missing_ok: bool = False) -> list[Memory]:
        condition = bound_condition(self.bound)
        sql = f"SELECT {SELECT}, {SELECT_USE} FROM memories m {JOIN_USE} WHERE m.id = ANY(%s){condition.text}"
        found = [from_row(with_use(values)) for values in self.fetch(sql, (list(ids), *condition.values))]
        known = {memory.id: memory for memory in found}
        missing = [id for id in ids if id not in known]
        if missing and not missing_ok:
            raise no_memory(missing[0])
        return [known[id] for id in ids if id in known]

    def edges(self, ids: Sequence[str] | None = None) -> list[Edge]:
        source, target = bound_condition(self.bound, "s."), bound_condition(self.bound, "t.")
        chosen = Sql("") if ids is None else Sql(" AND (s.id = ANY(%s) OR t.id = ANY(%s))", (list(ids), list(ids)))
        sql = (
            "SELECT s.id, t.id, e.kind, e.weight, e.created FROM edges e "
            "JOIN memories s ON s.tenant = e.tenant AND s.row = e.source "
            "JOIN memories t ON t.tenant = e.tenant AND t.row = e.target "
            f"WHERE true{source.text}{target.text}{chosen.text} ORDER BY e.source, e.kind, e.target"
        )
        found = self.fetch(sql, (*source.values, *target.values, *chosen.values))
        return [Edge(a, b, kind, weight, from_micros(at)) for a, b, kind, weight, at in found]

    def entity_edges(self) -> list[EntityEdge]:
        with self.reading() as connection:
            return read_relations(connection, self.bound)

    def history(self, id: str) -> list[tuple[datetime, Memory]]:
        condition = bound_condition(self.bound)
        sql = (
            "SELECT c.at, f.record FROM memories m JOIN former f ON f.row = m.row AND f.row > 0 "
            "JOIN changes c ON c.tenant = f.tenant AND c.version = f.version "
            f"WHERE m.id = %s AND f.what = 'memory'{condition.text} ORDER BY f.version, f.number"
        )
        records = [(at, json.loads(record)) for at, record in self.fetch(sql, (id, *condition.values))]
        versions = [(from_micros(record.get("until", at)), from_row(as_values(record))) for at, record in records]
        return [(until, memory) for until, memory in versions if self.bound.contains(memory)]

    def unembedded(
        self, space: Space, among: Sequence[str] | None = None, tokens: bool = False, limit: int | None = None
    ) -> list[str]:
        condition = bound_condition(self.bound)
        chosen = Sql("") if among is None else Sql(" AND m.id = ANY(%s)", (list(among),))
        sketch = (
            "JOIN sketches k ON k.tenant = v.tenant AND k.space = v.space AND k.row = v.row AND length(k.sketch) > 0"
            if tokens
            else ""
        )
        sql = (
            f"SELECT m.id FROM memories m WHERE NOT EXISTS (SELECT 1 FROM vectors v {sketch} WHERE v.tenant = m.tenant "
            "AND v.row = m.row AND v.space = (SELECT s.space FROM spaces s WHERE s.name = %s AND s.dim = %s)) "
            f"AND m.status <> 'forgotten'{condition.text}{chosen.text} ORDER BY m.row LIMIT %s"
        )
        values = (space.name, space.dim, *condition.values, *chosen.values, limit)
        return [id for (id,) in self.fetch(sql, values)]

    def folders(self) -> dict[str, JsonObject]:
        with self.reading() as connection:
            found = read_folders(connection)
        return {name: record for name, record in found.items() if contains_folder(self.bound, name)}

    def files(self, collection: str) -> dict[str, FileState]:
        with self.reading() as connection:
            return read_files(connection, collection) if contains_folder(self.bound, collection) else {}

    def chunk_ids(self, collection: str) -> list[str]:
        with self.reading() as connection:
            return read_chunk_ids(connection, collection) if contains_folder(self.bound, collection) else []

    def chunks(self, collection: str) -> dict[str, list[StoredChunk]]:
        with self.reading() as connection:
            return read_chunks(connection, collection) if contains_folder(self.bound, collection) else {}

    def embedded(self, digests: Sequence[bytes]) -> set[bytes]:
        with self.reading() as connection:
            return read_embedded(connection, digests, self.bound)

    # Changing all of it.

    def switch_space(self, space: Space, without: Collection[str] = ()) -> int:
        if self.bound.values:
            raise StoreError("The embedding model of all memories can be changed without a bound only.")
        with self.transaction("reembed") as transaction:
            transaction.connection.execute("LOCK TABLE spaces IN SHARE ROW EXCLUSIVE MODE")
            missing = len({*self.unembedded(space)}.difference(without))
            if missing:
                return missing
            number = transaction.space(space)
            transaction.version(None)  # caches must notice
            transaction.connection.execute("UPDATE spaces SET active = (space = %s)", (number,))
            for table in ("vectors", "sketches", "spaces"):
                transaction.connection.execute(f"DELETE FROM {table} WHERE space <> %s", (number,))
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
        self._shared.derived.clear()
        self._shared.words.clear()
        return replace(erased, pending=self.finish_erasures())

    def finish_erasures(self) -> tuple[str, ...]:
        """Free the space of erased rows; an erasure stays pending if this role may not, or while a transaction that
        began before it can still read them."""
        database = self._shared.database
        deadline = time.monotonic() + OLDER_SECONDS
        while True:
            with self._begin(WRITE) as connection:  # not from a replica, which may not have the last receipts yet
                removable, held = read_pending(connection)
                if not removable and not held:
                    return ()
                if self.readonly or not may_vacuum(connection):
                    return (LEFT_TO_SERVER,)
            if not held or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        tables = ", ".join(f'"{database.settings.schema}".{name}' for name in VACUUMED)
        with database.connect() as connection:
            connection.execute(f"VACUUM (ANALYZE) {tables}")  # statistics quote values, too
            clear_statistics(connection, database.settings.schema)
        with self._begin(WRITE) as connection:
            sql = "UPDATE erasures SET pending = false WHERE tenant = 0 AND version = ANY(%s)"
            connection.execute(sql, (removable,))  # others may have been committed during the VACUUM
        return (HELD,) if held else ()

    def owners(self) -> set[tuple[str, ...]]:
        with self.reading() as connection:
            return read_owners(connection, self.bound)

    def receipts(self) -> list[Receipt]:
        with self.reading() as connection:
            return read_receipts(connection, self.bound)

    def change_count(self) -> int | None:
        listener = self._shared.listener
        return None if listener is None else listener.count

    # Use.

    def record_use(self, use: UseRecord) -> None:
        if self.readonly or not use.rows:
            return
        shared = self._shared
        with shared.pending_lock:
            pending, shared.pending_use = [*shared.pending_use, PendingUse(use, self.bound)], []
        try:
            while pending:
                settings = self._within(pending[0].bound)._settings(durable=False)
                execute = partial(shared.database.execute_at_once, WRITE, settings, USE_SECONDS)
                if pending[0].tenant is None:
                    known = shared.derived.tenants.get_all(pending[0].use.rows)
                    pending[:1] = pending[0].by_tenant(execute, known)
                    continue
                old_days = record_use(execute, pending[0])
                del pending[0]  # it is written, whatever happens to the next
                join_months(execute, old_days)
        except RecollectError as problem:
            log.info("use of %s not recorded yet: %s", self.path, problem)
        if pending:
            with shared.pending_lock:
                shared.pending_use = [*pending, *shared.pending_use][:MAX_PENDING_USES]

    def status(self) -> StoreStatus:
        condition = bound_condition(self.bound)
        source, target = bound_condition(self.bound, "s."), bound_condition(self.bound, "t.")
        with self.reading() as connection:

            def fetch(sql: str, *values: Any) -> list[Any]:
                return list(connection.execute(sql, values).fetchall())

            spaces = fetch(
                "SELECT s.name, s.dim, s.active, (SELECT count(*) FROM vectors v JOIN memories m "
                "ON m.tenant = v.tenant AND m.row = v.row WHERE v.space = s.space"
                f"{condition.text}) FROM spaces s ORDER BY s.space",
                *condition.values,
            )
            inside = f"FROM memories m WHERE true{condition.text}"
            by_status = fetch(f"SELECT m.status, count(*) {inside} GROUP BY 1", *condition.values)
            ((expired,),) = fetch(
                f"SELECT count(*) {inside} AND m.status = 'active' AND m.expires <= %s",
                *(*condition.values, micros(self.clock())),
            )
            by_collection = fetch(
                f"SELECT m.collection, count(*) {inside} AND m.status <> 'forgotten' GROUP BY 1", *condition.values
            )
            ((edges,),) = fetch(
                "SELECT count(*) FROM edges e JOIN memories s ON s.tenant = e.tenant AND s.row = e.source "
                f"JOIN memories t ON t.tenant = e.tenant AND t.row = e.target WHERE true{source.text}{target.text}",
                *(*source.values, *target.values),
            )
            ((count,),) = fetch(
                "SELECT count(DISTINCT v.spelling) FROM vocabulary v WHERE EXISTS (SELECT 1 FROM postings p "
                "JOIN memories m ON m.tenant = p.tenant AND m.row = p.row WHERE p.tenant = v.tenant "
                f"AND p.word = v.word{condition.text})",
                *condition.values,
            )
            ((last,),) = fetch(
                f"SELECT max(m.updated) {inside}" if self.bound.values else "SELECT max(at) FROM changes",
                *condition.values,
            )
            ((size,),) = fetch(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
                "WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r'",
                f'"{self._shared.database.settings.schema}"',
            )
            version = self._snapshot(connection, self._read_versions(connection)).version
            active = active_space(connection)
            return StoreStatus(
                path=self.path,
                bytes=size,
                version=version,
                readonly=self.readonly,
                memories=dict(by_status),
                expired=expired,
                collections=dict(by_collection),
                edges=edges,
                entity_edges=len(read_relations(connection, self.bound)),
                words=count,
                spaces=[
                    {"name": name, "dim": dim, "active": used, "vectors": vectors}
                    for name, dim, used, vectors in spaces
                ],
                without_vector=len(self.unembedded(active[1] if active else Space("", 0))),
                last_change=None if last is None else from_micros(last),
            )

    def close(self) -> None:
        self._shared.database.close()
        if self._shared.replicas is not None:
            self._shared.replicas.close()
        if self._shared.listener is not None:
            self._shared.listener.close()


def open_postgres_store(location: str, clock: Clock, *, readonly: bool = False) -> PostgresStore:
    """The store of ``recollect.open("postgresql://…")``."""
    return PostgresStore(f"postgresql://{location}", clock, readonly=readonly)
