"""Undo: deletes what an operation added and restores what it replaced, unless another operation built upon it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from recollect.model.validation import from_micros
from recollect.store.base import Bound, UndoResult
from recollect.store.bounds import owner_of
from recollect.store.rows import ID, as_values, from_row
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.erasing import find_erasure_after
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
    from recollect.store.sqlite.transaction import SqliteTransaction

AMONG = "IN (SELECT value FROM json_each(?1))"
# What transactions added, without a scan: the last change of a memory is never older than the one that added it.
ADDED = f"SELECT row, born FROM memories INDEXED BY memories_changed WHERE changed >= ?2 AND born {AMONG}"
BORN = {
    "edge": "SELECT born FROM edges WHERE source = ? AND target = ? AND kind = ?",
    "entity_edge": "SELECT born FROM entity_edges WHERE subject = ? AND relation = ? AND object = ? "
    "AND collection = ? AND user = ?",
}


def undo_operation(transaction: SqliteTransaction, operation: int | None) -> UndoResult | None:
    """Undo this operation, or the last one inside the bound of the transaction."""
    connection = transaction.connection
    transactions = _transactions_of(connection, transaction.bound, operation)
    if not transactions:
        return None
    versions = [version for version, _, _ in transactions]
    if _is_memory_touched_later(connection, versions) or _is_edge_touched_later(connection, versions):
        raise touched_later()
    added = _added(connection, versions)
    check_owners(transaction.owners([*added, *_replaced(connection, versions)]), transaction.bound)
    removed = [transaction.stored(row) for row in sorted(added)[:NAMED]]
    restored: dict[Key, str] = {}  # what is as before; of a memory, its id
    for version in versions:
        restored.update(_undo_version(transaction, version, versions, added))
    connection.execute(f"UPDATE changes SET undone = 1 WHERE version {AMONG}", (json.dumps(versions),))
    _ = transaction.version  # the undo is a change of its own, which indexes follow
    _, at, verb = transactions[-1]
    sql = f"SELECT coalesce(sum(erased), 0) FROM changes WHERE version {AMONG}"
    erased = connection.execute(sql, (json.dumps(versions),)).get
    ids = tuple(filter(None, restored.values()))
    again = (transaction.stored(row) for (_, row, *_), id in restored.items() if id)
    memories = undone_memories(removed, again)
    erasure = find_erasure_after(connection, transaction.bound, versions[0]) if operation is None else None
    return UndoResult(verb, from_micros(at), len(added), len(restored), ids, erased, erasure, memories)


def find_undo_texts(transaction: SqliteTransaction, operation: int | None) -> dict[str, str]:
    """By id: what an undo would have to embed, as it changes the text or title of that memory."""
    connection = transaction.connection
    sql = "SELECT row, record FROM former WHERE version = ? AND what = 'memory' ORDER BY _rowid_ DESC"
    versions = [version for version, _, _ in _transactions_of(connection, transaction.bound, operation)]
    added = _added(connection, versions)
    records = (each for version in versions for each in fetch(connection, sql, (version,)))
    return texts_to_embed(records, added, transaction.stored)


def _transactions_of(connection: apsw.Connection, bound: Bound, operation: int | None) -> list[tuple[int, int, str]]:
    """Version, moment and verb of each transaction of an operation (None: the last one inside the bound), latest
    first."""
    if operation is None:
        sql = "SELECT operation, bounds FROM changes WHERE NOT undone ORDER BY version DESC"
        operation = next((each for each, owners in connection.execute(sql) if concerns(owners, bound)), None)
    sql = (
        "SELECT version, at, verb, bounds FROM changes WHERE version >= ?1 AND operation = ?1 AND NOT undone "
        "ORDER BY version DESC"
    )
    found = fetch(connection, sql, (operation,))
    check_inside((owners for *_, owners in found), bound)
    return [(version, at, verb) for version, at, verb, _ in found]


def _added(connection: apsw.Connection, versions: Sequence[int]) -> set[int]:
    """The rows of the memories that these transactions added."""
    if not versions:
        return set()
    return {row for row, _ in fetch(connection, ADDED, (json.dumps(versions), min(versions)))}


def _replaced(connection: apsw.Connection, versions: Sequence[int]) -> list[int]:
    """The rows of the memories that these transactions changed."""
    sql = f"SELECT row FROM former WHERE what = 'memory' AND version {AMONG}"
    return [row for (row,) in fetch(connection, sql, (json.dumps(versions),))]


def _is_memory_touched_later(connection: apsw.Connection, versions: Sequence[int]) -> bool:
    """Has another operation changed a memory of this one since, or linked one that it added?"""
    touched = (
        f"WITH own AS (SELECT value FROM json_each(?1)), added AS MATERIALIZED ({ADDED}), "
        "touched AS (SELECT row, min(version) AS since FROM (SELECT row, born AS version FROM added UNION ALL "
        "SELECT row, version FROM former WHERE what = 'memory' AND version IN own) GROUP BY row) "
    )
    later = (
        f"{touched}SELECT 1 FROM touched t CROSS JOIN former f ON f.row = t.row AND f.what = 'memory' "
        "AND f.version > t.since WHERE f.version NOT IN own "
        "UNION ALL SELECT 1 FROM former d INDEXED BY former_version CROSS JOIN json_each(d.record, '$[0]') decayed "
        "CROSS JOIN touched t ON t.row = decayed.value WHERE d.what = 'strengths' AND d.version > ?2 "
        "AND d.version > t.since AND d.version NOT IN own "
        "UNION ALL SELECT 1 FROM edges WHERE source IN (SELECT row FROM added) AND born NOT IN own "
        "UNION ALL SELECT 1 FROM edges WHERE target IN (SELECT row FROM added) AND born NOT IN own LIMIT 1"
    )
    return connection.execute(later, (json.dumps(versions), min(versions))).get is not None


def _is_edge_touched_later(connection: apsw.Connection, versions: Sequence[int]) -> bool:
    """Has another operation changed an edge or a relation of this one since?"""
    sql = (
        "SELECT version, what, record FROM former INDEXED BY former_version "
        "WHERE version >= ? AND what IN ('edge', 'entity_edge') ORDER BY version"
    )
    return is_edge_touched_later(
        fetch(connection, sql, (min(versions),)),
        versions,
        lambda what, values: _ends_exist(connection, what, values),
        lambda what, key: connection.execute(BORN[what], key).get,
    )


def _ends_exist(connection: apsw.Connection, what: str, values: Sequence[Any]) -> bool:
    """Do the memories of an edge exist? A relation is between names, not between memories."""
    sql = "SELECT count(*) FROM memories WHERE row IN (?, ?)"
    return what != "edge" or connection.execute(sql, tuple(values[:2])).get == 2


def _undo_version(
    transaction: SqliteTransaction, version: int, operation: Sequence[int], added: Collection[int]
) -> dict[Key, str]:
    """Remove what a transaction added and restore what it replaced, except what its operation had added itself: the
    restored things, and the id of each that is a memory."""
    connection = transaction.connection
    born = [*_added(connection, [version])]
    transaction.touch(*transaction.owners(born))
    transaction.remove(born)
    connection.execute("DELETE FROM edges WHERE born = ?", (version,))
    connection.execute("DELETE FROM entity_edges WHERE born = ?", (version,))
    sql = "SELECT what, row, record FROM former WHERE version = ? ORDER BY _rowid_ DESC"
    restored: dict[Key, str] = {}
    for what, row, record in fetch(connection, sql, (version,)):
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
                existing = fetch(connection, f"SELECT row FROM memories WHERE row {AMONG}", (json.dumps(values[0]),))
                restored.update({(what, each): "" for (each,) in existing})
            case _ if values[-1] not in operation and _ends_exist(connection, what, values):
                if what == "edge":
                    transaction.touch(*transaction.owners(values[:2]))
                places = ", ".join("?" * len(values))
                connection.execute(f"INSERT OR REPLACE INTO {what}s VALUES ({places})", values)
                restored[key_of(what, values)] = ""
    connection.execute("DELETE FROM former WHERE version = ?", (version,))
    return restored
