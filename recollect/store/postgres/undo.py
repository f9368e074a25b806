"""Undo: deletes what an operation added and restores what it replaced, unless another operation built upon it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.model import from_micros
from recollect.store.base import UndoResult
from recollect.store.bounds import owner_of
from recollect.store.postgres.erasing import find_erasure_after
from recollect.store.postgres.statements import without_policies
from recollect.store.rows import ID, as_values, from_row
from recollect.store.undo import (
    NAMED,
    Key,
    check_inside,
    check_owners,
    concerns,
    is_edge_touched_later,
    key_of,
    texts_to_embed,
    touched_later,
    undone_memories,
)

if TYPE_CHECKING:
    from recollect.store.postgres.transaction import PostgresTransaction

PAGE = 256  # entries of the history that are read at a time
BORN = {
    "edge": "SELECT born FROM edges WHERE source = %s AND target = %s AND kind = %s AND tenant = ANY(%s)",
    "entity_edge": "SELECT e.born FROM entity_edges e JOIN collections c ON c.tenant = e.tenant WHERE e.subject = %s "
    'AND e.relation = %s AND e.object = %s AND c.name = %s AND e."user" = %s AND e.tenant = ANY(%s)',
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A transaction of an operation, in one collection."""

    tenant: int
    version: int
    at: int
    verb: str


def undo_operation(transaction: PostgresTransaction, operation: int | None) -> UndoResult | None:
    """Undo this operation, or the last one inside the bound of the transaction."""
    entries = _entries_of(transaction, operation)
    if not entries:
        return None
    tenants, versions = sorted({each.tenant for each in entries}), [each.version for each in entries]
    # A collection whose last memory was erased has no name any more.
    sql = "SELECT name FROM collections WHERE tenant = ANY(%s) AND tenant > 0 AND name IS NOT NULL"
    names = transaction.fetch(sql, (tenants,))
    for name in sorted(name for (name,) in names):
        transaction.lock(name)
    if _is_memory_touched_later(transaction, tenants, versions) or _is_edge_touched_later(
        transaction, tenants, versions
    ):
        raise touched_later()
    added = _added(transaction, versions)
    _check_owners(transaction, tenants, versions)
    removed = [transaction.stored(row) for row in sorted(added)[:NAMED]]
    restored: dict[Key, str] = {}  # what is as before; of a memory, its id
    for entry in entries:
        restored.update(_undo_entry(transaction, entry, versions, added))
    transaction.connection.execute(
        "UPDATE changes SET undone = true WHERE tenant = ANY(%s) AND version = ANY(%s)", (tenants, versions)
    )
    for name in sorted(name for (name,) in names):
        transaction.version(name)  # the undo is a change of its own
    sql = "SELECT coalesce(sum(erased), 0)::bigint FROM changes WHERE tenant = ANY(%s) AND version = ANY(%s)"
    erased = transaction.value(sql, (tenants, versions))
    ids = tuple(filter(None, restored.values()))
    again = (transaction.stored(row) for (_, row, *_), id in restored.items() if id)
    memories = undone_memories(removed, again)
    last = entries[-1]
    erasure = find_erasure_after(transaction, max(versions)) if operation is None else None
    return UndoResult(last.verb, from_micros(last.at), len(added), len(restored), ids, erased, erasure, memories)


def find_undo_texts(transaction: PostgresTransaction, operation: int | None) -> dict[str, str]:
    """By id: what an undo would have to embed, as it changes the text or title of that memory."""
    entries = _entries_of(transaction, operation)
    added = _added(transaction, [each.version for each in entries])
    sql = "SELECT row, record FROM former WHERE tenant = %s AND version = %s AND what = 'memory' ORDER BY number DESC"
    records = (each for entry in entries for each in transaction.fetch(sql, (entry.tenant, entry.version)))
    return texts_to_embed(records, added, transaction.stored)


def _entries_of(transaction: PostgresTransaction, operation: int | None) -> list[_Entry]:
    """The transactions of an operation (None: the last one inside the bound), latest first."""
    bound = transaction.bound
    if operation is None:
        operation = next((each for each, owners in _history(transaction) if concerns(owners, bound)), None)
    sql = (
        "SELECT tenant, version, at, verb, owners, elsewhere FROM changes WHERE operation = %s AND NOT undone "
        "ORDER BY version DESC"
    )
    found = [] if operation is None else transaction.fetch(sql, (operation,))
    outside = bound.collection is not None and any(elsewhere for *_, elsewhere in found)
    check_inside((owners for *_, owners, _ in found), bound, outside)
    return [_Entry(*values[:4]) for values in found]


def _history(transaction: PostgresTransaction) -> Iterator[tuple[int, str]]:
    """Operation and owners of the changes that can be undone, latest first."""
    bound, before = transaction.bound, 1 << 62
    tenant, values = "", tuple[str, ...]()
    if bound.collection is not None:
        tenant = " AND tenant = (SELECT tenant FROM collections WHERE name = %s)"
        values = (bound.collection,)
    sql = f"SELECT version, operation, owners FROM changes WHERE NOT undone AND version < %s{tenant} "
    while True:
        found = transaction.fetch(f"{sql}ORDER BY version DESC LIMIT {PAGE}", (before, *values))
        for version, operation, owners in found:
            yield operation, owners
            before = version
        if len(found) < PAGE:
            return


def _added(transaction: PostgresTransaction, versions: Sequence[int]) -> set[int]:
    """The rows of the memories that these transactions added."""
    sql = "SELECT row FROM memories WHERE born = ANY(%s)"  # a memory may have been moved since
    return {row for (row,) in transaction.fetch(sql, (list(versions),))} if versions else set()


def _check_owners(transaction: PostgresTransaction, tenants: Sequence[int], versions: Sequence[int]) -> None:
    sql = (
        "SELECT row FROM memories WHERE born = ANY(%s) UNION "
        "SELECT row FROM former WHERE tenant = ANY(%s) AND version = ANY(%s) AND what = 'memory'"
    )
    with without_policies(transaction.connection, transaction.bound):
        rows = [row for (row,) in transaction.fetch(sql, (list(versions), list(tenants), list(versions)))]
        owners = transaction.owners(rows)
    check_owners(owners, transaction.bound)


def _is_memory_touched_later(transaction: PostgresTransaction, tenants: Sequence[int], versions: Sequence[int]) -> bool:
    """Has another operation changed a memory of this one since, or linked one that it added?"""
    own = list(versions)
    touched = dict(
        transaction.fetch(
            "SELECT row, min(version) FROM (SELECT row, born AS version FROM memories WHERE born = ANY(%s) UNION ALL "
            "SELECT row, version FROM former WHERE tenant = ANY(%s) AND version = ANY(%s) AND what = 'memory') t "
            "GROUP BY row",
            (own, list(tenants), own),
        )
    )
    if not touched:
        return False
    rows, since = list(touched), list(touched.values())
    sql = (
        "SELECT 1 FROM unnest(%s::bigint[], %s::bigint[]) AS t(row, since) JOIN former f ON f.row = t.row "
        "WHERE f.row > 0 AND f.what = 'memory' AND f.version > t.since AND NOT f.version = ANY(%s) LIMIT 1"
    )
    if transaction.value(sql, (rows, since, own)) is not None:
        return True
    sql = "SELECT version, record FROM former WHERE what = 'strengths' AND version > %s AND NOT version = ANY(%s)"
    for version, record in transaction.fetch(sql, (min(versions), own)):
        if any(row in touched and version > touched[row] for row in json.loads(record)[0]):
            return True
    sql = (
        "SELECT 1 FROM edges e JOIN memories m ON m.tenant = e.tenant AND m.row IN (e.source, e.target) "
        "WHERE m.row = ANY(%s) AND m.born = ANY(%s) AND NOT e.born = ANY(%s) LIMIT 1"
    )
    return transaction.value(sql, (rows, own, own)) is not None


def _is_edge_touched_later(transaction: PostgresTransaction, tenants: Sequence[int], versions: Sequence[int]) -> bool:
    """Has another operation changed an edge or a relation of this one since?"""
    sql = (
        "SELECT version, what, record FROM former WHERE tenant = ANY(%s) AND version >= %s "
        "AND what IN ('edge', 'entity_edge') ORDER BY version, number"
    )
    return is_edge_touched_later(
        transaction.fetch(sql, (list(tenants), min(versions))),
        versions,
        lambda what, values: _ends_exist(transaction, what, values),
        lambda what, key: transaction.value(BORN[what], (*key, list(tenants))),
    )


def _ends_exist(transaction: PostgresTransaction, what: str, values: Sequence[Any]) -> bool:
    """Do the memories of an edge exist? A relation is between names, not between memories."""
    sql = "SELECT count(*) FROM memories WHERE row = ANY(%s)"
    return what != "edge" or transaction.value(sql, (list(values[:2]),)) == len({*values[:2]})


def _undo_entry(
    transaction: PostgresTransaction, entry: _Entry, operation: Sequence[int], added: Collection[int]
) -> dict[Key, str]:
    """Remove what a transaction added and restore what it replaced, except what its operation had added itself: the
    restored things, and the id of each that is a memory."""
    connection, version = transaction.connection, entry.version
    born = [*_added(transaction, [version])]
    transaction.touch(*transaction.owners(born))
    transaction.remove(born)
    for table in ("edges", "entity_edges"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = %s AND born = %s", (entry.tenant, version))
    sql = "SELECT what, row, record FROM former WHERE tenant = %s AND version = %s ORDER BY number DESC"
    restored: dict[Key, str] = {}
    for what, row, record in transaction.fetch(sql, (entry.tenant, version)):
        values = as_values(json.loads(record))
        match what:
            case "memory":
                if row not in added:
                    memory, stored = from_row(values), transaction.stored(row)
                    transaction.touch(owner_of(memory), owner_of(stored))
                    transaction.write(row, memory, stored)
                    restored[what, row] = values[ID]
            case "strengths":
                transaction.touch(*transaction.owners(values[0]))
                transaction.set_strengths(*values)
                existing = transaction.fetch("SELECT row FROM memories WHERE row = ANY(%s)", (values[0],))
                restored.update({(what, each): "" for (each,) in existing})
            case "edge" if values[-1] not in operation and _ends_exist(transaction, what, values):
                transaction.touch(*transaction.owners(values[:2]))
                transaction.write_edge(entry.tenant, values)
                restored[key_of(what, values)] = ""
            case "entity_edge" if values[-1] not in operation:
                transaction.touch((values[4], values[5], "", ""))
                transaction.write_relation(entry.tenant, values)
                restored[key_of(what, values)] = ""
    connection.execute("DELETE FROM former WHERE tenant = %s AND version = %s", (entry.tenant, version))
    return restored
