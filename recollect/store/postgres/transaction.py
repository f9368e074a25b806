"""Writing: a transaction locks the collections that it changes, and enters the history of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from recollect.errors import NotFound
from recollect.model import Edge, EntityEdge, Memory, Use, micros
from recollect.model.ids import new_id
from recollect.store.base import Bound, EncodedText, Space, UndoResult, Version, WriteResult, check_space
from recollect.store.bounds import Owner, is_inside, owner_of
from recollect.store.decay import DECAYING, LAST_DECAYS, decayed_strengths
from recollect.store.erasing import Receipt
from recollect.store.postgres.erasing import add_receipt
from recollect.store.postgres.files import PostgresFileTransaction
from recollect.store.postgres.statements import (
    INSERT,
    SELECT,
    UPDATE,
    active_space,
    bound_condition,
    halfvec,
    memory_values,
    without_policies,
)
from recollect.store.postgres.undo import find_undo_texts, undo_operation
from recollect.store.postgres.words import CountedWords, count_words, delete_postings, write_postings
from recollect.store.rows import COLUMNS, CREATED, ID, UPDATED, from_row, to_row
from recollect.store.text_fields import embedding_text
from recollect.store.told_times import told_times
from recollect.store.writing import (
    NOT_UNDOABLE,
    SYNC,
    check_edge,
    check_relation,
    check_same_memory,
    external_id_taken,
    has_same_content,
    no_memory,
    outside_bound,
    owners_record,
)

NO_TENANT = 0  # of what belongs to no collection
ROWS_AT_ONCE = 64  # row numbers that are taken from the sequence at a time


@dataclass(slots=True)
class TenantChange:
    """What a transaction does to one collection, which it has locked."""

    tenant: int
    version: int | None = None  # its number in the history, once there is a change
    owners: set[Owner] = field(default_factory=set)
    unindexed: dict[int, CountedWords] = field(default_factory=dict)  # rows whose words are not written yet


class PostgresTransaction:
    """What may be done inside one transaction."""

    def __init__(
        self, connection: Any, path: str, verb: str, note: str, now: datetime, bound: Bound, operation: int | None
    ) -> None:
        self.connection = connection
        self.path = path
        self.verb = verb
        self.note = note
        self.now = now
        self.bound = bound
        self.undoable = verb not in NOT_UNDOABLE
        self.collection_removed = False  # an erasure took the name of a collection
        self._operation = operation
        self._continued = operation is not None
        self._tenants: dict[str | None, TenantChange] = {}  # by the name of the collection, those that are locked
        self._rows: list[int] = []
        self._fresh: dict[int, int] = {}  # rows that this transaction added and did not touch since, with their tenant

    # Collections and versions.

    def lock(self, collection: str | None) -> TenantChange:
        """Lock a collection until the end of the transaction; it is added if it is new."""
        if collection not in self._tenants:
            if collection is not None and self.bound.collection not in (None, collection):
                raise outside_bound(self.bound)
            found = self._lock_row(collection)
            if found is None:
                sql = "INSERT INTO collections (name) VALUES (%s) ON CONFLICT DO NOTHING"
                self.connection.execute(sql, (collection,))
                found = self._lock_row(collection)
            self._tenants[collection] = TenantChange(found)
        return self._tenants[collection]

    def _lock_row(self, collection: str | None) -> Any:
        where, values = ("name = %s", (collection,)) if collection is not None else ("tenant = 0", ())
        return self.value(f"SELECT tenant FROM collections WHERE {where} FOR NO KEY UPDATE", values)

    def version(self, collection: str | None) -> int:
        """The number of this transaction in the history of a collection; asking for it means that there is a change."""
        change = self.lock(collection)
        if change.version is None:
            change.version = self.value("SELECT nextval('versions')")
        assert change.version is not None
        return change.version

    @property
    def operation(self) -> int:
        if not any(change.version for change in self._tenants.values()):
            self.version(None)
        return self._operation_number()

    def _operation_number(self) -> int:
        if self._operation is None:
            self._operation = int(self.value("SELECT nextval('operations')"))
        return self._operation

    @property
    def changed(self) -> bool:
        return any(change.version is not None for change in self._tenants.values())

    def finish(self) -> None:
        """Write the words of memories, and enter the transaction into the history, if it changed anything."""
        self.write_words()
        # No wall has a collection inside that lost its name.
        with without_policies(self.connection, self.bound if self.collection_removed else Bound()):
            for change in self._tenants.values():
                if change.version is None:
                    continue
                self.connection.execute(
                    "INSERT INTO changes (tenant, version, operation, at, verb, note, undone, owners) "
                    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    (
                        *(
                            change.tenant,
                            change.version,
                            self._operation_number(),
                            micros(self.now),
                            self.verb,
                            self.note,
                        ),
                        *(not self.undoable, owners_record(change.owners)),
                    ),
                )
                sql = "UPDATE collections SET version = %s WHERE tenant = %s"
                self.connection.execute(sql, (change.version, change.tenant))

        tenants = {change.tenant for change in self._tenants.values() if change.version is not None} - {NO_TENANT}
        if tenants and (self._continued or len(tenants) > 1):  # what is bound to one of them cannot see the others
            self.connection.execute(
                "UPDATE changes SET elsewhere = true WHERE operation = %s AND (SELECT count(DISTINCT tenant) > 1 "
                "FROM changes WHERE operation = %s AND tenant > 0)",
                (self._operation, self._operation),
            )

    def entries(self) -> list[tuple[str | None, tuple[Any, ...]]]:
        """What ``finish`` entered into the history, by collection: tenant, version, operation, moment and verb."""
        shared = (self._operation, micros(self.now), self.verb)
        changes = self._tenants.items()
        return [(name, (each.tenant, each.version, *shared)) for name, each in changes if each.version is not None]

    def write_words(self) -> None:
        for change in self._tenants.values():
            if change.unindexed:
                write_postings(self.connection, change.tenant, list(change.unindexed.items()))
                change.unindexed.clear()

    def touch(self, *owners: Owner) -> None:
        """Record to whom something belongs that this transaction changes; refuse what is outside the bound."""
        for owner in owners:
            if not is_inside(owner, self.bound):
                raise outside_bound(self.bound)
            self.version(owner[0])
            self._tenants[owner[0]].owners.add(owner)

    def forget_owners(self) -> None:
        """Do not record whose memories were touched: an erasure may have removed the last trace of them."""
        for change in self._tenants.values():
            change.owners.clear()

    # Reading.

    def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self.connection.execute(sql, values).fetchall())

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        found = self.connection.execute(sql, values).fetchone()
        return None if found is None else found[0]

    def find(self, memory: Memory) -> Memory | None:
        existing = self._find_existing(memory)
        return existing[1] if existing is not None and self.bound.contains(existing[1]) else None

    def find_equal(self, memory: Memory) -> list[Memory]:
        tenant = self.lock(memory.collection).tenant
        condition = bound_condition(self.bound)
        sql = (
            f'SELECT {SELECT} FROM memories m WHERE tenant = %s AND "user" = %s AND md5(text) = md5(%s) AND text = %s '
            "AND external_id = '' AND session = '' AND position IS NULL AND kind = %s AND agent = %s "
            f"AND status = 'active'{condition.text} ORDER BY row"
        )
        text = memory.text
        values = (tenant, memory.user, text, text, memory.kind, memory.agent, *condition.values)
        return [from_row(found) for found in self.fetch(sql, values)]

    def last_position(self, memory: Memory, since: Version) -> int:
        tenant = self.lock(memory.collection).tenant
        sql = 'SELECT max(position) FROM memories WHERE tenant = %s AND "user" = %s AND session = %s AND agent = %s'
        return self.value(sql, (tenant, memory.user, memory.session, memory.agent)) or 0

    def row(self, id: str) -> int:
        condition = bound_condition(self.bound)
        row = self.value(f"SELECT row FROM memories m WHERE id = %s{condition.text}", (id, *condition.values))
        if row is None:
            raise no_memory(id)
        return int(row)

    def require(self, rows: Sequence[int]) -> None:
        """Raise NotFound if one of these rows does not exist or is outside the bound."""
        condition = bound_condition(self.bound)
        sql = f"SELECT count(*) FROM memories m WHERE row = ANY(%s){condition.text}"
        if self.value(sql, (list(rows), *condition.values)) < len(set(rows)):
            raise NotFound("A row does not exist in this store, or is outside its bound.")

    def row_with(self, id: str, text: str) -> int | None:
        condition = bound_condition(self.bound)
        sql = f"SELECT row, {SELECT} FROM memories m WHERE id = %s{condition.text}"
        for row, *stored in self.fetch(sql, (id, *condition.values)):
            return int(row) if embedding_text(from_row(stored)) == text else None
        return None

    def stored(self, row: int) -> Memory:
        for stored in self.fetch(f"SELECT {SELECT} FROM memories m WHERE row = %s", (row,)):
            return from_row(stored)
        raise NotFound(f"There is no row {row}.")

    def owners(self, rows: Sequence[int]) -> list[Owner]:
        sql = 'SELECT DISTINCT collection, "user", agent, session FROM memories WHERE row = ANY(%s)'
        return [tuple(owner) for owner in self.fetch(sql, (list(rows),))]

    def by_tenant(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """The rows that exist, by tenant."""
        found: dict[int, list[int]] = {}
        sql = "SELECT tenant, row FROM memories WHERE row = ANY(%s) ORDER BY row"
        for tenant, row in self.fetch(sql, (list(rows),)):
            found.setdefault(tenant, []).append(row)
        return found

    # Memories.

    def remember(self, memory: Memory) -> WriteResult:
        self.lock(memory.collection)
        if memory.id:  # unique over all collections, which no index can promise where they are distributed
            self.connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (memory.id,))
        known = self._find_existing(memory)
        if known is None:
            return self._add(memory)
        row, stored = known
        check_same_memory(memory, stored, self.bound)
        memory = replace(memory, id=stored.id, created=memory.created or stored.created)
        return self._rewrite(row, stored, memory)

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        self.lock(self.stored(self.row(id)).collection)
        row = self.row(id)
        stored = self.stored(row)
        return self._rewrite(row, stored, revision(stored))

    def decay(self, rate: float) -> int:
        if self.bound.collection is not None:
            self.lock(self.bound.collection)
        condition = bound_condition(self.bound)
        memories = self.fetch(
            f"SELECT {DECAYING} FROM memories m WHERE true{condition.text} ORDER BY row", condition.values
        )
        changed = decayed_strengths(memories, self.fetch(LAST_DECAYS), micros(self.now), rate)
        if changed.rows:
            self.note = json.dumps(self.bound.values) if self.bound.values else ""
            self.touch(*self.owners(changed.rows))
            before = dict(zip(changed.rows, changed.before, strict=True))
            for tenant, rows in self.by_tenant(changed.rows).items():
                self.save(self._name(tenant), "strengths", 0, [rows, [before[row] for row in rows]])
            self.set_strengths(changed.rows, changed.after)
        return len(changed.rows)

    def _name(self, tenant: int) -> str | None:
        return next(name for name, change in self._tenants.items() if change.tenant == tenant)

    def delete(self, rows: Sequence[int]) -> None:
        """Its history goes, too: the undo of an earlier operation has nothing left to restore."""
        if rows:
            self.require(rows)
            self.touch(*self.owners(rows))
            self.delete_history(rows, "memory", "edge")
            self.remove(rows)

    def remove(self, rows: Sequence[int]) -> None:
        """Vectors, edges, use and chunks of a memory go with it, by their foreign keys."""
        self.write_words()
        self._fresh.clear()
        for tenant, some in self.by_tenant(rows).items():
            delete_postings(self.connection, tenant, some)
            self.connection.execute("DELETE FROM memories WHERE tenant = %s AND row = ANY(%s)", (tenant, some))

    def set_use(self, row: int, use: Use, by_day: Mapping[int, int] | None = None) -> None:
        self.require([row])
        moments = [None if at is None else micros(at) for at in (use.last_accessed, use.last_recalled)]
        columns = "last_accessed, access_count, return_count, recall_count, last_recalled, recall_times"
        assigned = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", "))
        self.connection.execute(
            f"INSERT INTO use (tenant, row, {columns}) SELECT tenant, row, %s, %s, %s, %s, %s, %s::bigint[] "
            f"FROM memories WHERE row = %s ON CONFLICT (tenant, row) DO UPDATE SET {assigned}",
            (
                *(moments[0], use.access_count, use.return_count, use.recall_count, moments[1]),
                *([micros(at) for at in use.recall_times], row),
            ),
        )

        if by_day is not None:
            self.connection.execute("DELETE FROM use_by_day WHERE row = %s", (row,))
            self.connection.execute(
                "INSERT INTO use_by_day SELECT m.tenant, m.row, d.day, d.uses FROM memories m, "
                "unnest(%s::integer[], %s::bigint[]) AS d(day, uses) WHERE m.row = %s",
                ([*by_day], [*by_day.values()], row),
            )

    def add_receipt(self, receipt: Receipt) -> None:
        add_receipt(self, receipt)

    def add_history(self, row: int, memory: Memory, until: datetime) -> None:
        self.require([row])
        self.touch(*self.owners([row]))
        self.save(self.stored(row).collection, "memory", row, to_row(memory), until=micros(until))

    @cached_property
    def files(self) -> PostgresFileTransaction:
        return PostgresFileTransaction(self)

    # Vectors.

    def embed(self, rows: Sequence[int], texts: Sequence[EncodedText], space: Space) -> None:
        if not rows:
            return
        if self.verb != "reembed":
            active = active_space(self.connection)
            check_space(active[1] if active else None, space, self.path)
        added = {row: self._fresh.pop(row) for row in rows if row in self._fresh}
        stored = [row for row in rows if row not in added]
        if stored:
            self.require(stored)
        number, encoded = self.space(space), dict(zip(rows, texts, strict=True))
        for tenant, some in (self.by_tenant(stored) if stored else {}).items():
            sql = "DELETE FROM sketches WHERE tenant = %s AND space = %s AND row = ANY(%s)"
            self.connection.execute(sql, (tenant, number, some))
            self._write_encoded(tenant, number, {row: encoded[row] for row in some})
        for tenant in {*added.values()}:
            self._write_encoded(tenant, number, {row: encoded[row] for row in added if added[row] == tenant})
        active = active_space(self.connection) if stored else None
        if active is not None and active[0] == number:  # what is searched has changed
            self.touch(*self.owners(stored))
            for change in self._tenants.values():
                if change.version is not None:
                    sql = "UPDATE memories SET changed = %s WHERE tenant = %s AND row = ANY(%s) AND changed <> %s"
                    self.connection.execute(sql, (change.version, change.tenant, stored, change.version))

    def _write_encoded(self, tenant: int, space: int, encoded: Mapping[int, EncodedText]) -> None:
        """Write the vectors of rows, and the token sketches of those that have one and none in the table."""
        self.connection.execute(
            "INSERT INTO vectors (tenant, space, row, vector) "
            "SELECT %s, %s, r, v::halfvec FROM unnest(%s::bigint[], %s::text[]) AS t(r, v) "
            "ON CONFLICT (tenant, space, row) DO UPDATE SET vector = excluded.vector",
            (tenant, space, [*encoded], [halfvec(vector) for vector, _ in encoded.values()]),
        )
        sketches = {row: sketch for row, (_, sketch) in encoded.items() if sketch}
        if sketches:
            self.connection.execute(
                "INSERT INTO sketches (tenant, space, row, sketch) "
                "SELECT %s, %s, * FROM unnest(%s::bigint[], %s::bytea[])",
                (tenant, space, [*sketches], [*sketches.values()]),
            )

    def space(self, space: Space) -> int:
        """The number of a space, which is added if it is new; the first one is searched."""
        sql = "SELECT space FROM spaces WHERE name = %s AND dim = %s"
        number = self.value(sql, (space.name, space.dim))
        if number is None:
            self.lock(None)
            first = active_space(self.connection) is None
            self.connection.execute(
                "INSERT INTO spaces (name, dim, active) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (space.name, space.dim, first),
            )
            number = self.value(sql, (space.name, space.dim))
        return int(number)

    # Edges and relations.

    def link(self, edge: Edge) -> None:
        source, target = self.row(edge.source), self.row(edge.target)
        ends = [self.stored(row) for row in (source, target)]
        check_edge(edge, *ends)
        collection = ends[0].collection
        tenant = self.lock(collection).tenant
        sql = "SELECT weight, created FROM edges WHERE (tenant, source, target, kind) = (%s, %s, %s, %s)"
        stored = self.fetch(sql, (tenant, source, target, edge.kind))
        if stored and stored[0][0] == edge.weight:
            return
        created = stored[0][1] if stored else micros(edge.created or self.now)  # another weight: the same edge
        self.touch(*map(owner_of, ends))
        self._save_edge(collection, tenant, source, target, edge.kind)
        self.write_edge(tenant, [source, target, edge.kind, edge.weight, created, self.version(collection)])

    def write_edge(self, tenant: int, values: Sequence[Any]) -> None:
        """source, target, kind, weight, created and born, in this order in the history, too."""
        self.connection.execute(
            "INSERT INTO edges (tenant, source, target, kind, weight, created, born) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, source, kind, target) "
            "DO UPDATE SET weight = excluded.weight, created = excluded.created, born = excluded.born",
            (tenant, *values),
        )

    def unlink(self, source: str, target: str, kind: str | None) -> int:
        ends = (self.row(source), self.row(target))
        memory = self.stored(ends[0])
        tenant = self.lock(memory.collection).tenant
        sql = "SELECT kind FROM edges WHERE (tenant, source, target) = (%s, %s, %s)"
        chosen = [stored for (stored,) in self.fetch(sql, (tenant, *ends)) if kind in (None, stored)]
        if chosen:
            self.touch(*self.owners(ends))
        for each in chosen:
            self._remove_edge(memory.collection, tenant, *ends, each)
        return len(chosen)

    def relate(self, edge: EntityEdge) -> None:
        check_relation(edge, self.bound)
        tenant = self.lock(edge.collection).tenant
        key = (tenant, edge.user, edge.subject, edge.relation, edge.object)
        columns = "subject, relation, object, weight, classification, source, created, born"
        sql = f'SELECT {columns} FROM entity_edges WHERE (tenant, "user", subject, relation, object) = (%s,%s,%s,%s,%s)'
        stored = self.fetch(sql, key)
        self.touch_relation(edge.collection, edge.user, only_check=True)
        for subject, relation, object, weight, classification, source, created, born in stored:
            if (weight, classification, source) == (edge.weight, edge.classification, edge.source):
                return
            record = [subject, relation, object, weight, edge.collection, edge.user]
            self.save(edge.collection, "entity_edge", 0, [*record, classification, source, created, born])
        self.touch_relation(edge.collection, edge.user)
        record = [edge.subject, edge.relation, edge.object, edge.weight, edge.collection, edge.user]
        more = [edge.classification, edge.source, micros(edge.created or self.now), self.version(edge.collection)]
        self.write_relation(tenant, [*record, *more])

    def touch_relation(self, collection: str, user: str, only_check: bool = False) -> None:
        if not only_check:
            self.touch((collection, user, "", ""))

    def write_relation(self, tenant: int, values: Sequence[Any]) -> None:
        """subject, relation, object, weight, collection, user, classification, source, created and born."""
        subject, relation, object, weight, _, user, classification, source, created, born = values
        self.connection.execute(
            'INSERT INTO entity_edges (tenant, "user", subject, relation, object, weight, classification, source, '
            "created, born, subject_key, object_key) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            'ON CONFLICT (tenant, "user", subject, relation, object) DO UPDATE SET weight = excluded.weight, '
            "classification = excluded.classification, source = excluded.source, created = excluded.created, "
            "born = excluded.born",
            (
                *(tenant, user, subject, relation, object, weight, classification, source, created, born),
                *(subject.casefold(), object.casefold()),
            ),
        )

    # How a memory is written.

    def _find_existing(self, memory: Memory) -> tuple[int, Memory] | None:
        """The stored memory with its id or, when it has none, with its external id and owner."""
        values: tuple[Any, ...]
        if memory.id:
            where, values = "id = %s", (memory.id,)
        elif memory.external_id:
            tenant = self.lock(memory.collection).tenant
            where = "tenant = %s AND \"user\" = %s AND agent = %s AND external_id = %s AND external_id <> ''"
            values = (tenant, memory.user, memory.agent, memory.external_id)
        else:
            return None
        with without_policies(self.connection, self.bound):
            found = self.fetch(f"SELECT row, {SELECT} FROM memories m WHERE {where}", values)
        return (found[0][0], from_row(found[0][1:])) if found else None

    def _check_external_id(self, memory: Memory, row: int = 0) -> None:
        tenant = self.lock(memory.collection).tenant
        sql = (
            'SELECT 1 FROM memories WHERE tenant = %s AND "user" = %s AND agent = %s AND external_id = %s '
            "AND external_id <> '' AND row <> %s"
        )
        with without_policies(self.connection, self.bound):
            taken = self.value(sql, (tenant, memory.user, memory.agent, memory.external_id, row))
        if taken is not None:
            raise external_id_taken(memory)

    def _new_row(self) -> int:
        if not self._rows:
            sql = "SELECT nextval('rows') FROM generate_series(1, %s)"
            self._rows = sorted((row for (row,) in self.fetch(sql, (ROWS_AT_ONCE,))), reverse=True)
        return self._rows.pop()

    def _add(self, memory: Memory) -> WriteResult:
        self.touch(owner_of(memory))
        if memory.id and memory.external_id:
            self._check_external_id(memory)
        change, version = self.lock(memory.collection), self.version(memory.collection)
        now, values = micros(self.now), memory_values(memory)
        id = values[ID] = memory.id or new_id()
        values[CREATED] = now if values[CREATED] is None else values[CREATED]
        values[UPDATED] = now if values[UPDATED] is None else values[UPDATED]
        row, counted = self._new_row(), count_words(memory)
        self.connection.execute(INSERT, (change.tenant, row, version, version, *values, counted.lengths))
        change.unindexed[row] = counted
        self._fresh[row] = change.tenant
        self._write_told_times(change.tenant, row, memory)
        return WriteResult(row, id, "added", self.now)

    def _rewrite(self, row: int, stored: Memory, memory: Memory) -> WriteResult:
        before, after = to_row(stored), to_row(memory)
        after[UPDATED] = before[UPDATED] if after[UPDATED] is None else after[UPDATED]
        if has_same_content(before, after):
            return WriteResult(row, stored.id, "same", self.now)
        if memory.external_id and memory.external_id != stored.external_id:
            self._check_external_id(memory, row)
        self.touch(owner_of(stored), owner_of(memory))
        if memory.collection != stored.collection:  # edges stay inside one; an undo restores them after it
            tenant = self.lock(stored.collection).tenant
            sql = "SELECT source, target, kind FROM edges WHERE tenant = %s AND (source = %s OR target = %s)"
            with without_policies(self.connection, self.bound):  # a foreign memory must not lose an edge
                edges = self.fetch(sql, (tenant, row, row))
                owners = self.owners([end for source, target, _ in edges for end in (source, target)])
            self.touch(*owners)
            for source, target, kind in edges:
                self._remove_edge(stored.collection, tenant, source, target, kind)
        if self.verb == SYNC:
            self.delete_history([row], "memory")  # an undo would restore what the file no longer says
        else:
            self.save(stored.collection, "memory", row, before)
        if memory.updated is None or (memory.updated == stored.updated and self.verb != SYNC):
            memory = replace(memory, updated=self.now)
        self.write(row, memory, stored)
        return WriteResult(row, memory.id, "changed", self.now)

    def write(self, row: int, memory: Memory, stored: Memory) -> None:
        """Write a memory in place of what is stored; without its vectors, if that was embedded from another text."""
        if memory.collection != stored.collection:
            self._move(row, stored.collection, memory.collection)
        self._fresh.pop(row, None)
        change, version = self.lock(memory.collection), self.version(memory.collection)
        tenant = change.tenant
        if row not in change.unindexed:
            delete_postings(self.connection, tenant, [row])
        counted = change.unindexed[row] = count_words(memory)
        self.connection.execute(UPDATE, (version, *memory_values(memory), counted.lengths, tenant, row))
        if (memory.text, memory.created) != (stored.text, stored.created):
            self.connection.execute("DELETE FROM told_times WHERE tenant = %s AND row = %s", (tenant, row))
            self._write_told_times(tenant, row, memory)
        if (memory.text, memory.title) != (stored.text, stored.title):
            for table in ("vectors", "sketches"):
                self.connection.execute(f"DELETE FROM {table} WHERE tenant = %s AND row = %s", (tenant, row))

    def _move(self, row: int, collection: str, to: str) -> None:
        """Move a memory to another collection: the key of its rows changes, so they are written there and deleted."""
        self.write_words()
        old, new = self.lock(collection).tenant, self.lock(to).tenant
        delete_postings(self.connection, old, [row])
        copied = {
            "memories": f"row, born, changed, tag_list, lengths, {SELECT}",
            "vectors": "space, row, vector",
            "sketches": "space, row, sketch",
            "told_times": "row, number, begins, ends",
            "use": "row, last_accessed, access_count, return_count, recall_count, last_recalled, recall_times",
            "use_by_day": "row, day, uses",
            "chunks": "row, file, digest",
        }
        for table, columns in copied.items():
            names = columns.replace("m.", "")
            self.connection.execute(
                f"INSERT INTO {table} (tenant, {names}) "
                f"SELECT %s, {columns} FROM {table} m WHERE tenant = %s AND row = %s",
                (new, old, row),
            )
        self.connection.execute("DELETE FROM memories WHERE tenant = %s AND row = %s", (old, row))

    def _write_told_times(self, tenant: int, row: int, memory: Memory) -> None:
        times = told_times(memory.text, memory.created or self.now, self.now.tzinfo)
        if times:
            with self.connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO told_times (tenant, row, number, begins, ends) VALUES (%s, %s, %s, %s, %s)",
                    [(tenant, row, at, int(start), int(end)) for at, (start, end) in enumerate(times)],
                )

    def set_strengths(self, rows: Sequence[int], strengths: Sequence[float]) -> None:
        versions = {change.tenant: self.version(name) for name, change in self._tenants.items() if name is not None}
        self.connection.execute(
            "UPDATE memories m SET strength = s.strength, changed = v.version "
            "FROM unnest(%s::bigint[], %s::double precision[]) AS s(row, strength), "
            "unnest(%s::integer[], %s::bigint[]) AS v(tenant, version) WHERE m.row = s.row AND m.tenant = v.tenant",
            (list(rows), [float(each) for each in strengths], [*versions], [*versions.values()]),
        )

    # The history: what a transaction replaced, so that it can be restored.

    def save(self, collection: str | None, what: str, row: int, values: list[Any], **more: int) -> None:
        named = {**dict(zip(COLUMNS, values, strict=True)), **more} if what == "memory" else values
        version, tenant = self.version(collection), self.lock(collection).tenant
        self.connection.execute(
            "INSERT INTO former (tenant, version, what, row, record) VALUES (%s, %s, %s, %s, %s)",
            (tenant, version, what, row, json.dumps(named, ensure_ascii=False)),
        )

    def _save_edge(self, collection: str, tenant: int, source: int, target: int, kind: str) -> None:
        columns = "source, target, kind, weight, created, born"
        sql = f"SELECT {columns} FROM edges WHERE (tenant, source, target, kind) = (%s, %s, %s, %s)"
        for stored in self.fetch(sql, (tenant, source, target, kind)):
            self.save(collection, "edge", source, list(stored))

    def _remove_edge(self, collection: str, tenant: int, source: int, target: int, kind: str) -> None:
        self._save_edge(collection, tenant, source, target, kind)
        sql = "DELETE FROM edges WHERE (tenant, source, target, kind) = (%s, %s, %s, %s)"
        self.connection.execute(sql, (tenant, source, target, kind))

    def delete_history(self, rows: Sequence[int], *what: str) -> None:
        sql = "DELETE FROM former WHERE row = ANY(%s) AND row > 0 AND what = ANY(%s)"
        self.connection.execute(sql, (list(rows), list(what)))

    def undo(self, operation: int | None = None) -> UndoResult | None:
        return undo_operation(self, operation)

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        return find_undo_texts(self, operation)
