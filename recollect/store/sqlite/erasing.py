"""Erasing from a file: every row that tells of a memory, then the pages and the log that still have its bytes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.model.validation import from_micros, micros
from recollect.store.base import Bound
from recollect.store.bounds import NAMES, contains_folder, is_disjoint, is_inside, is_named
from recollect.store.erasing import (
    Erasure,
    Purge,
    Receipt,
    check_code,
    confirmation_code,
    hash_id,
    make_receipt,
    receipt_from_dict,
)
from recollect.store.sqlite.checkpoints import empty_log, paused
from recollect.store.sqlite.connections import fetch, fetch_value
from recollect.store.sqlite.index_folder import IndexFolder
from recollect.store.sqlite.postings import ENTRY
from recollect.store.sqlite.statements import bound_condition
from recollect.store.text_fields import join_title

if TYPE_CHECKING:
    from recollect.store.sqlite.transaction import SqliteTransaction

AMONG = "IN (SELECT value FROM json_each(?1))"
BATCH = 2048  # blobs that are read at a time
# What goes with a memory: the kind of thing, and where it is counted.
COUNTED = {
    "memories": f"memories WHERE row {AMONG}",
    "versions": f"former WHERE what = 'memory' AND row {AMONG}",
    "vectors": f"vectors WHERE row {AMONG}",
    "sketches": f"sketches WHERE row {AMONG}",
    "told_times": f"told_times WHERE row {AMONG}",
    "edges": f"edges WHERE (source {AMONG} OR target {AMONG}) AND {{inside}}",
    "uses": f"use WHERE row {AMONG}",
    "chunks": f"chunks WHERE row {AMONG}",
}
EDGE_HISTORY = (
    f"DELETE FROM former WHERE what = 'edge' AND (json_extract(record, '$[0]') {AMONG} "
    f"OR json_extract(record, '$[1]') {AMONG})"
)
TOUCHED = (
    f"SELECT born AS version, row FROM memories WHERE row {AMONG} "
    f"UNION SELECT version, row FROM former WHERE what = 'memory' AND row {AMONG}"
)
# The names of a memory and of a relation in a record of the history.
STORED_NAMES = {name: f"coalesce(json_extract(record, '$.{name}'), '')" for name in NAMES}
RELATION_NAMES = {"collection": "json_extract(record, '$[4]')", "user": "json_extract(record, '$[5]')"}
# The steps that are still to do after an erasure was committed; a process that ends early leaves them to the next.
TO_COMPACT, TO_TRUNCATE, DONE = 2, 1, 0
WAIT_MILLISECONDS = 2000  # for other processes, until what remains to be done is reported as pending
MAX_BYTES_IN_MEMORY = 256 << 20  # of a file that is compacted; a larger one uses a temporary file


def erase(
    transaction: SqliteTransaction, ids: Sequence[str] | None, purge: Purge | None, code: str | None, dry_run: bool
) -> Erasure:
    """Remove memories, or everything inside the bound (None), inside a transaction."""
    connection, bound = transaction.connection, transaction.bound
    (salt,) = fetch(connection, "SELECT salt FROM erasure_salt")[0]
    rows, names, versions = _select(connection, bound, ids)
    relations = _relations(connection, bound, None if ids is None else names)
    own_code = confirmation_code(salt, names, [each[:5] for each in relations], versions)
    check_code(code, own_code)
    chosen = json.dumps(rows)
    removed = {kind: _count(connection, bound, sql, chosen) for kind, sql in COUNTED.items()}
    removed["relations"] = len(relations)
    moved = dict(_earlier_versions(connection, bound, rows)) if ids is None else {}
    changed = _owners_of_changes(connection, bound) if ids is None else set()  # of what was undone, too
    erased_bound = bound.values if ids is None else {}
    if not rows and not relations and not moved and not changed:
        receipt = make_receipt(transaction.now, {**removed, "words": 0}, salt, (), erased_bound)
        if dry_run or not erased_bound:
            return Erasure(receipt.removed, own_code, dry_run=dry_run)
        add_receipt(connection, transaction.version, receipt)  # a backup may have something of them
        return Erasure(receipt.removed, own_code, receipt)
    owners = _owners(connection, rows) | {(collection, user, "", "") for collection, user, *_ in relations}
    owners |= {*moved.values()} | changed
    vanished = _vanished(connection, bound, owners, chosen, relations, ids is None)
    if ids is not None and vanished:
        earlier = _earlier_versions(connection, bound, rows)
        moved = {entry: owner for entry, owner in earlier if vanished & {*zip(NAMES, owner, strict=True)}}
    removed["versions"] += _delete_versions(connection, moved)  # undo must not bring back what vanished
    if purge is not None and not dry_run:
        removed["cached_vectors"] = purge(_kept_texts(connection, chosen))
    _mark_changes(connection, chosen)
    connection.execute(EDGE_HISTORY, (chosen,))
    transaction.delete(rows)
    _delete_relations(connection, bound, relations, ids is None)
    if ids is None:
        _delete_folders(connection, bound)
    removed["words"] = _delete_unused_words(connection)
    _remove_names(connection, bound, vanished, ids is None)
    transaction.forget_owners()  # they may be names that nothing else has
    receipt = make_receipt(transaction.now, removed, salt, names, erased_bound)
    hashed = sorted({tuple(hash_id(salt, value) for value in owner) for owner in owners})
    connection.execute(
        "INSERT INTO erasures VALUES (?, ?, ?, ?, ?)",
        (transaction.version, micros(transaction.now), TO_COMPACT, json.dumps(hashed), json.dumps(receipt.as_dict())),
    )
    return Erasure(removed, own_code, None if dry_run else receipt, dry_run=dry_run)


def _kept_texts(connection: apsw.Connection, rows: str) -> Iterator[str]:
    """What was embedded of all other memories of the file, with their earlier versions."""
    earlier = "json_extract(record, '$.title'), json_extract(record, '$.text')"
    for table in ("title, text FROM memories WHERE", f"{earlier} FROM former WHERE what = 'memory' AND"):
        for title, text in connection.execute(f"SELECT {table} row NOT {AMONG}", (rows,)):
            yield join_title(title or "", text)


def _count(connection: apsw.Connection, bound: Bound, sql: str, rows: str) -> int:
    """How many rows there are; edges to memories outside the bound are not counted, as nobody here may know of them."""
    condition, values = bound_condition(bound)
    within = f"(SELECT row FROM memories WHERE true{condition})"
    inside = f"source IN {within} AND target IN {within}" if values else "true"
    more = (*values, *values) if "{inside}" in sql else ()
    return int(connection.execute(f"SELECT count(*) FROM {sql.format(inside=inside)}", (rows, *more)).get)


def _select(
    connection: apsw.Connection, bound: Bound, ids: Sequence[str] | None
) -> tuple[list[int], list[str], list[int]]:
    """The memories to erase: rows, ids, and the version that last changed each."""
    condition, values = bound_condition(bound)
    listed = () if ids is None else (json.dumps(list(ids)),)
    among = "" if ids is None else " AND id IN (SELECT value FROM json_each(?))"
    sql = f"SELECT row, id, changed FROM memories WHERE true{condition}{among}"
    found = fetch(connection, sql, (*values, *listed))
    return [row for row, *_ in found], [id for _, id, _ in found], [changed for *_, changed in found]


def _relations(connection: apsw.Connection, bound: Bound, sources: Sequence[str] | None) -> list[tuple[str, ...]]:
    """The keys of the relations inside the bound: all, or those whose source is one of these memories."""
    condition, values = _relation_condition(bound)
    listed = () if sources is None else (json.dumps(list(sources)),)
    among = "" if sources is None else " AND source IN (SELECT value FROM json_each(?))"
    sql = f"SELECT collection, user, subject, relation, object FROM entity_edges WHERE {condition}{among}"
    return [tuple(each) for each in fetch(connection, sql, (*values, *listed))]


def _relation_condition(bound: Bound) -> tuple[str, tuple[str, ...]]:
    """A relation belongs to a collection and a user, and to no agent or session."""
    if any(bound.values.get(name) for name in ("agent", "session")):
        return "false", ()
    named = {name: value for name, value in bound.values.items() if name in ("collection", "user")}
    return "true" + "".join(f" AND {name} = ?" for name in named), tuple(named.values())


def _delete_relations(connection: apsw.Connection, bound: Bound, keys: Sequence[Sequence[str]], whole: bool) -> None:
    where = "collection = ? AND user = ? AND subject = ? AND relation = ? AND object = ?"
    connection.executemany(f"DELETE FROM entity_edges WHERE {where}", keys)
    stored = zip((4, 5, 0, 1, 2), ("collection", "user", "subject", "relation", "object"), strict=True)
    former = " AND ".join(f"json_extract(record, '$[{at}]') = ?" for at, _ in stored)
    connection.executemany(f"DELETE FROM former WHERE what = 'entity_edge' AND {former}", keys)
    if whole:  # also those that were replaced or undone long ago
        condition, values = _former_relation_condition(bound)
        connection.execute(f"DELETE FROM former WHERE what = 'entity_edge' AND {condition}", values)


def _former_relation_condition(bound: Bound) -> tuple[str, tuple[str, ...]]:
    condition, values = _relation_condition(bound)
    for name, column in RELATION_NAMES.items():
        condition = condition.replace(name, column)
    return condition, values


def _delete_folders(connection: apsw.Connection, bound: Bound) -> None:
    for (collection,) in fetch(connection, "SELECT collection FROM folders UNION SELECT collection FROM files"):
        if contains_folder(bound, collection):
            for table in ("files", "folders"):
                connection.execute(f"DELETE FROM {table} WHERE collection = ?", (collection,))


def _owners(connection: apsw.Connection, rows: Sequence[int]) -> set[tuple[str, ...]]:
    """To whom these memories belong, and belonged."""
    chosen = (json.dumps(rows),)
    found = {
        tuple(each) for each in fetch(connection, f"SELECT {', '.join(NAMES)} FROM memories WHERE row {AMONG}", chosen)
    }
    sql = f"SELECT DISTINCT {', '.join(STORED_NAMES.values())} FROM former WHERE what = 'memory' AND row {AMONG}"
    return found | {tuple(each) for each in fetch(connection, sql, chosen)}


def _owners_of_changes(connection: apsw.Connection, bound: Bound) -> set[tuple[str, ...]]:
    """To whom belonged what the history says was changed inside a bound; older files do not say it of every change."""
    found = connection.execute("SELECT DISTINCT bounds FROM changes WHERE bounds <> '[]'")
    owners = {tuple(owner) for (bounds,) in found for owner in json.loads(bounds)}
    return {owner for owner in owners if None not in owner and is_inside(owner, bound)}


def read_owners(connection: apsw.Connection, bound: Bound) -> set[tuple[str, ...]]:
    """To whom something inside a bound belongs or belonged."""
    relations = "SELECT collection, user, '', '' FROM entity_edges"
    former = f"SELECT {', '.join(RELATION_NAMES.values())}, '', '' FROM former WHERE what = 'entity_edge'"
    folders = "SELECT collection, '', '', '' FROM folders UNION SELECT collection, '', '', '' FROM files"
    versions = f"SELECT {', '.join(STORED_NAMES.values())} FROM former WHERE what = 'memory'"
    sql = f"SELECT {', '.join(NAMES)} FROM memories UNION {versions} UNION {relations} UNION {former} UNION {folders}"
    found = {tuple(owner) for owner in fetch(connection, sql)}
    return {owner for owner in found if is_inside(owner, bound)} | _owners_of_changes(connection, bound)


def _earlier_versions(
    connection: apsw.Connection, bound: Bound, rows: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The earlier versions inside a bound of all memories but these: entry of the history, and to whom it belonged."""
    condition = "".join(f" AND {STORED_NAMES[name]} = ?" for name in bound.values)
    sql = (
        f"SELECT _rowid_, {', '.join(STORED_NAMES.values())} FROM former "
        f"WHERE what = 'memory'{condition} AND row NOT IN (SELECT value FROM json_each(?))"
    )
    for entry, *owner in connection.execute(sql, (*bound.values.values(), json.dumps(rows))):
        yield entry, tuple(owner)


def _delete_versions(connection: apsw.Connection, entries: Collection[int]) -> int:
    """Delete earlier versions of memories that remain; how many."""
    chosen = (json.dumps([*entries]),)
    _mark(connection, fetch(connection, f"SELECT version FROM former WHERE _rowid_ {AMONG}", chosen))
    connection.execute(f"DELETE FROM former WHERE _rowid_ {AMONG}", chosen)
    return len(entries)


def _mark_changes(connection: apsw.Connection, rows: str) -> None:
    _mark(connection, [(version,) for version, _ in connection.execute(TOUCHED, (rows,))])


def _mark(connection: apsw.Connection, versions: Iterable[tuple[int]]) -> None:
    """Count in the history what each transaction can no longer restore; reasons may quote what is erased."""
    connection.executemany(
        "UPDATE changes SET erased = erased + ?2, note = iif(verb = 'decay', note, '') WHERE version = ?1",
        ((version, count) for (version,), count in Counter(versions).items()),
    )


def _delete_unused_words(connection: apsw.Connection) -> int:
    """Delete the words that no memory has, also those of texts that were edited or deleted before."""
    known = np.array([term for (term,) in connection.execute("SELECT term FROM vocabulary")], dtype=np.int64)
    if not len(known):
        return 0
    used = np.zeros(int(known.max()) + 1, dtype=np.bool_)
    for packed in _batches(entries for (entries,) in connection.execute("SELECT entries FROM words")):
        terms = np.frombuffer(packed, dtype=ENTRY)["term"]
        used[terms[terms < len(used)]] = True
    unused = known[~used[known]].tolist()
    connection.executemany("DELETE FROM vocabulary WHERE term = ?", ((term,) for term in unused))
    return len(unused)


def _batches(blobs: Iterable[bytes]) -> Iterator[bytes]:
    some: list[bytes] = []
    for blob in blobs:
        some.append(blob)
        if len(some) == BATCH:
            yield b"".join(some)
            some = []
    yield b"".join(some)


def _vanished(
    connection: apsw.Connection,
    bound: Bound,
    owners: Iterable[Sequence[str]],
    chosen: str,
    relations: Iterable[tuple[str, ...]],
    whole: bool,
) -> set[tuple[str, str]]:
    """The names of collections, users, agents and sessions that only what is erased has: (kind, name)."""
    present = {
        (name, value)
        for name in NAMES
        for (value,) in fetch(connection, f"SELECT DISTINCT {name} FROM memories WHERE row NOT {AMONG}", (chosen,))
    }
    sql = "SELECT collection, user, subject, relation, object FROM entity_edges"
    for collection, user, *_ in {tuple(each) for each in fetch(connection, sql)} - {*relations}:
        present |= {("collection", collection), ("user", user)}
    for (collection,) in fetch(connection, "SELECT collection FROM folders"):
        if not whole or not contains_folder(bound, collection):
            present.add(("collection", collection))
    named = {(name, value) for owner in owners for name, value in zip(NAMES, owner, strict=True) if value}
    return named - present


def _remove_names(
    connection: apsw.Connection, bound: Bound, vanished: Collection[tuple[str, str]], whole: bool
) -> None:
    """Remove the names that nothing has any more from the history, and the owners of a bound that is erased whole."""
    for version, bounds in fetch(connection, "SELECT version, bounds FROM changes WHERE bounds <> '[]'"):
        owners = json.loads(bounds)
        left = [owner for owner in owners if not (whole and is_inside(owner, bound)) and not is_named(owner, vanished)]
        if len(left) < len(owners):
            text = json.dumps(left, ensure_ascii=False)
            connection.execute("UPDATE changes SET bounds = ? WHERE version = ?", (text, version))
    for name, value in sorted(vanished):
        if name in RELATION_NAMES:
            condition, values = _former_relation_condition(bound)
            sql = f"DELETE FROM former WHERE what = 'entity_edge' AND {condition} AND {RELATION_NAMES[name]} = ?"
            connection.execute(sql, (*values, value))
        quoted = json.dumps(value, ensure_ascii=False)
        # The bound of a decay: it must not become a decay of everything.
        sql = "SELECT version, note FROM changes WHERE verb = 'decay' AND (instr(note, ?1) OR instr(note, ?2))"
        for version, note in fetch(connection, sql, (quoted, json.dumps(value))):
            noted = json.loads(note)
            noted = {"collection": noted} if isinstance(noted, str) else noted
            if noted.get(name) == value:
                text = json.dumps({**noted, name: f"erased {version}"})
                connection.execute("UPDATE changes SET note = ? WHERE version = ?", (text, version))


# The log of erasures.


def read_receipts(connection: apsw.Connection, bound: Bound) -> list[Receipt]:
    """The receipts of all erasures that lie inside a bound, oldest first."""
    if not _has_log(connection):
        return []
    hashed = _hashed(connection, bound)
    found = fetch(connection, "SELECT owners, receipt FROM erasures ORDER BY version")
    return [
        receipt_from_dict(json.loads(receipt))
        for owners, receipt in found
        if all(is_inside(owner, hashed) for owner in json.loads(owners))
        if not bound.values or json.loads(owners)
    ]


def add_receipt(connection: apsw.Connection, version: int, receipt: Receipt) -> None:
    """The receipt of an erasure elsewhere. Whose memories they were is not known here: no bound contains it."""
    record = (version, micros(receipt.at), json.dumps(receipt.as_dict()))
    connection.execute("INSERT INTO erasures VALUES (?, ?, 0, '[]', ?)", record)


def find_erasure_after(connection: apsw.Connection, bound: Bound, version: int) -> datetime | None:
    """When something inside a bound was last erased after this version; None if nothing was."""
    found = fetch(connection, "SELECT at, owners FROM erasures WHERE version > ? ORDER BY version DESC", (version,))
    if not found:
        return None
    hashed = _hashed(connection, bound)
    erased = (at for at, owners in found if not all(is_disjoint(owner, hashed) for owner in json.loads(owners)))
    return next(map(from_micros, erased), None)


def _hashed(connection: apsw.Connection, bound: Bound) -> Bound:
    """A bound with its values as the log of erasures has them."""
    (salt,) = fetch(connection, "SELECT salt FROM erasure_salt")[0]
    return Bound(**{name: hash_id(salt, value) for name, value in bound.values.items()})


def last_erasure(connection: apsw.Connection) -> int:
    """The version of the last erasure, 0 without one: what was read before it must be read again."""
    return int(fetch_value(connection, "SELECT max(version) FROM erasures") or 0) if _has_log(connection) else 0


def _has_log(connection: apsw.Connection) -> bool:
    """A file of an earlier version that is only read has none."""
    if not connection.readonly("main"):
        return True
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'erasures'").get is not None


def is_pending(connection: apsw.Connection) -> bool:
    """Was an erasure committed whose bytes may still be in the file or in its log?"""
    return connection.execute(f"SELECT 1 FROM erasures WHERE pending <> {DONE} LIMIT 1").get is not None


# The bytes. Deleted cells are overwritten (secure_delete), but when SQLite moves cells between pages it leaves copies
# in the gaps: of 1,800 erased texts two could still be read. VACUUM writes every page anew.


def finish(connection: apsw.Connection, path: str, wait: int = WAIT_MILLISECONDS) -> tuple[str, ...]:
    """Write the file anew, and empty its log; what could not be done, and why."""
    if not is_pending(connection):
        return ()
    problem = IndexFolder(path).drop(wait / 1000)
    with paused(connection):
        return _finish(connection, path, wait, problem)


def _finish(connection: apsw.Connection, path: str, wait: int, problem: str) -> tuple[str, ...]:
    try:
        compacted = connection.execute("SELECT max(pending) FROM erasures").get < TO_COMPACT
        if not compacted:
            write_anew(connection, path, wait, truncate=False)
            connection.execute(f"UPDATE erasures SET pending = {TO_TRUNCATE} WHERE pending <> {DONE}")
        _empty_log(connection, wait)
        if problem:
            return (f"{problem}; they still have erased words",)
        connection.execute(f"UPDATE erasures SET pending = {DONE} WHERE pending <> {DONE}")
    except (apsw.BusyError, apsw.LockedError):
        return (f"another process or thread is using {path}; its pages or its log still have the erased bytes",)
    except apsw.FullError:
        return (f"the disk is too full to write {path} anew; its pages still have the erased bytes",)
    except apsw.SQLError as error:
        return (f"{path} is being read ({error}); its pages still have the erased bytes",)
    return ()


def write_anew(connection: apsw.Connection, path: str, wait: int, truncate: bool = True) -> None:
    """Write every page of a file anew, and empty its log."""
    connection.set_busy_timeout(wait)
    large = os.path.getsize(path) > MAX_BYTES_IN_MEMORY
    if large:
        connection.pragma("temp_store", "file")
    try:
        connection.execute("VACUUM")
    finally:
        if large:
            connection.pragma("temp_store", "memory")
    if truncate:
        _empty_log(connection, wait)


def _empty_log(connection: apsw.Connection, wait: int) -> None:
    connection.set_busy_timeout(wait)
    empty_log(connection, wait / 1000)
