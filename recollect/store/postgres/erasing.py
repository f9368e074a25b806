"""Erasing: every row that tells of a memory. VACUUM then frees their space, and makes statistics without their values.

PostgreSQL's log, unused space of its pages and its backups keep what was erased until they are recycled; VACUUM FULL,
which an operator runs because it locks the tables, writes their files anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.model import from_micros, micros
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
from recollect.store.postgres.connections import Sql
from recollect.store.postgres.statements import bound_condition, without_policies
from recollect.store.text_fields import join_title

if TYPE_CHECKING:
    from recollect.store.postgres.transaction import PostgresTransaction

# What goes with a memory: the kind of thing, and where it is counted.
COUNTED = {
    "memories": "count(*) FROM memories WHERE row = ANY(%s)",
    "versions": "count(*) FROM former WHERE what = 'memory' AND row > 0 AND row = ANY(%s)",
    "vectors": "count(*) FROM vectors WHERE row = ANY(%s)",
    "sketches": "count(*) FROM sketches WHERE row = ANY(%s)",
    "told_times": "count(DISTINCT row) FROM told_times WHERE row = ANY(%s)",
    "uses": "count(*) FROM use WHERE row = ANY(%s)",
    "chunks": "count(*) FROM chunks WHERE row = ANY(%s)",
}
VACUUMED = (
    "memories",
    "postings",
    "vocabulary",
    "vectors",
    "sketches",
    "former",
    "changes",
    "edges",
    "entity_edges",
    "files",
    "folders",
    "chunks",
    "collections",
)
Relation = tuple[str, str, str, str, str]  # collection, user, subject, relation, object


def erase(
    transaction: PostgresTransaction, ids: Sequence[str] | None, purge: Purge | None, code: str | None, dry_run: bool
) -> Erasure:
    """Remove memories, or everything inside the bound (None), inside a transaction."""
    salt = bytes(transaction.value("SELECT salt FROM erasure_salt"))
    rows, *_ = _select(transaction, ids)
    for collection in sorted({str(owner[0]) for owner in transaction.owners(rows)}):
        transaction.lock(collection)
    rows, names, versions = _select(transaction, ids)  # nobody else changes them from now on
    relations = _relations(transaction, None if ids is None else names)
    own_code = confirmation_code(salt, names, relations, versions)
    check_code(code, own_code)
    removed = {kind: int(transaction.value(f"SELECT {sql}", (rows,))) for kind, sql in COUNTED.items()}
    removed["edges"] = _count_edges(transaction, rows)
    removed["relations"] = len(relations)
    moved = dict(_earlier_versions(transaction, rows)) if ids is None else {}
    changed = _owners_of_changes(transaction.connection, transaction.bound) if ids is None else set()
    erased_bound = transaction.bound.values if ids is None else {}
    if not rows and not relations and not moved and not changed:
        receipt = make_receipt(transaction.now, {**removed, "words": 0}, salt, (), erased_bound)
        if dry_run or not erased_bound:
            return Erasure(receipt.removed, own_code, dry_run=dry_run)
        add_receipt(transaction, receipt)  # a backup may have something of them
        return Erasure(receipt.removed, own_code, receipt)
    owners = _owners(transaction, rows) | {(collection, user, "", "") for collection, user, *_ in relations}
    owners |= {*moved.values()} | changed  # of what was undone, too
    vanished = _vanished(transaction, owners, rows, relations, ids is None)
    if ids is not None and vanished:
        earlier = _earlier_versions(transaction, rows)
        moved = {entry: owner for entry, owner in earlier if vanished & {*zip(NAMES, owner, strict=True)}}
    removed["versions"] += _delete_versions(transaction, moved)  # undo must not bring back what vanished
    if purge is not None and not dry_run:
        removed["cached_vectors"] = purge(_kept_texts(transaction, rows))
    _mark_changes(transaction, rows)
    _delete_edge_history(transaction, rows)
    transaction.delete(rows)
    _delete_relations(transaction, relations, ids is None)
    if ids is None:
        _delete_folders(transaction)
    removed["words"] = _delete_unused_words(transaction, sorted({owner[0] for owner in owners}))
    _remove_names(transaction, vanished, ids is None)
    transaction.forget_owners()  # they may be names that nothing else has
    receipt = make_receipt(transaction.now, removed, salt, names, erased_bound)
    hashed = sorted({tuple(hash_id(salt, value) for value in owner) for owner in owners})
    version = transaction.version(None)
    sql = "UPDATE collections SET last_erasure = %s WHERE tenant = 0"  # the others may lose their names
    transaction.connection.execute(sql, (version,))
    transaction.connection.execute(
        "INSERT INTO erasures VALUES (0, %s, %s, true, %s, %s)",
        (version, micros(transaction.now), json.dumps(hashed), json.dumps(receipt.as_dict())),
    )
    return Erasure(removed, own_code, None if dry_run else receipt, dry_run=dry_run)


def may_vacuum(connection: Any) -> bool:
    """May this role run VACUUM on the tables, or would the server skip them? Since PostgreSQL 17 it can be granted."""
    owns = "pg_has_role(c.relowner, 'USAGE')"
    if connection.info.server_version >= 170_000:
        owns += " OR has_table_privilege(c.oid, 'MAINTAIN')"
    sql = f"SELECT bool_and({owns}) FROM unnest(%s::text[]) AS t(name) JOIN pg_class c ON c.oid = to_regclass(t.name)"
    return bool(connection.execute(sql, (list(VACUUMED),)).fetchone()[0])


# The age of the oldest transaction that somebody can still see: VACUUM keeps the rows that were deleted since.
OLDEST = """
SELECT max(age(t.id)) FROM (
    SELECT unnest(ARRAY[backend_xid, backend_xmin]) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL SELECT xmin FROM pg_replication_slots
) AS t(id)
"""


def read_pending(connection: Any) -> tuple[list[int], list[int]]:
    """The versions of pending erasures: those whose rows VACUUM can remove, and those that somebody can still read."""
    pending = connection.execute("SELECT version, age(xmin) FROM erasures WHERE pending").fetchall()
    (oldest,) = connection.execute(OLDEST).fetchone() if pending else (None,)
    held = [version for version, age in pending if oldest is not None and oldest >= age]
    return [version for version, _ in pending if version not in held], held


def clear_statistics(connection: Any, schema: str) -> None:
    """Remove the values that the planner keeps of tables which are empty now: ANALYZE leaves those as they were."""
    if connection.info.server_version < 180_000:  # there they stay until the table has rows again
        return
    for table in VACUUMED:
        if connection.execute(f'SELECT 1 FROM "{schema}".{table} LIMIT 1').fetchone() is None:
            connection.execute(
                "SELECT pg_clear_attribute_stats(%s, %s, attname::text, false) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
                (schema, table, f'"{schema}".{table}'),
            )


def _kept_texts(transaction: PostgresTransaction, rows: Sequence[int]) -> Iterator[str]:
    """What was embedded of all other memories, with their earlier versions."""
    with without_policies(transaction.connection, transaction.bound):
        for title, text in transaction.connection.execute(
            "SELECT title, text FROM memories WHERE NOT row = ANY(%s)", (list(rows),)
        ):
            yield join_title(title, text)
        sql = "SELECT record FROM former WHERE what = 'memory' AND NOT row = ANY(%s)"
        for (record,) in transaction.connection.execute(sql, (list(rows),)):
            values = json.loads(record)
            yield join_title(values.get("title") or "", values["text"])


def _select(transaction: PostgresTransaction, ids: Sequence[str] | None) -> tuple[list[int], list[str], list[int]]:
    """The memories to erase: rows, ids, and the version that last changed each."""
    condition = bound_condition(transaction.bound)
    among = Sql("") if ids is None else Sql(" AND m.id = ANY(%s)", (list(ids),))
    sql = f"SELECT m.row, m.id, m.changed FROM memories m WHERE true{condition.text}{among.text} ORDER BY m.row"
    found = transaction.fetch(sql, (*condition.values, *among.values))
    return [row for row, *_ in found], [id for _, id, _ in found], [changed for *_, changed in found]


def _count_edges(transaction: PostgresTransaction, rows: Sequence[int]) -> int:
    """Edges to memories outside the bound are not counted, as nobody here may know of them."""
    source, target = (bound_condition(transaction.bound, prefix) for prefix in ("s.", "t."))
    sql = (
        "SELECT count(*) FROM edges e JOIN memories s ON s.tenant = e.tenant AND s.row = e.source "
        "JOIN memories t ON t.tenant = e.tenant AND t.row = e.target "
        f"WHERE (e.source = ANY(%s) OR e.target = ANY(%s)){source.text}{target.text}"
    )
    return int(transaction.value(sql, (list(rows), list(rows), *source.values, *target.values)))


def _relations(transaction: PostgresTransaction, sources: Sequence[str] | None) -> list[Relation]:
    """The keys of the relations inside the bound: all, or those whose source is one of these memories."""
    condition = _relation_condition(transaction.bound)
    among = Sql("") if sources is None else Sql(" AND e.source = ANY(%s)", (list(sources),))
    sql = (
        'SELECT c.name, e."user", e.subject, e.relation, e.object FROM entity_edges e '
        f"JOIN collections c ON c.tenant = e.tenant WHERE {condition.text}{among.text}"
    )
    return [tuple(each) for each in transaction.fetch(sql, (*condition.values, *among.values))]


def _relation_condition(bound: Bound) -> Sql:
    """A relation belongs to a collection and a user, and to no agent or session."""
    if any(bound.values.get(name) for name in ("agent", "session")):
        return Sql("false")
    columns = {"collection": "c.name", "user": 'e."user"'}
    named = {columns[name]: value for name, value in bound.values.items() if name in columns}
    return Sql("true" + "".join(f" AND {name} = %s" for name in named), tuple(named.values()))


def _delete_relations(transaction: PostgresTransaction, keys: Sequence[Relation], whole: bool) -> None:
    connection = transaction.connection
    for collection, *key in keys:
        tenant = transaction.lock(collection).tenant
        transaction.version(collection)
        where = 'tenant = %s AND ("user", subject, relation, object) = (%s, %s, %s, %s)'
        connection.execute(f"DELETE FROM entity_edges WHERE {where}", (tenant, *key))
    chosen = {*keys}
    _delete_former_relations(
        transaction, lambda owner, key: (whole and is_inside(owner, transaction.bound)) or key in chosen
    )


def _delete_former_relations(
    transaction: PostgresTransaction, is_chosen: Callable[[tuple[str, ...], Relation], bool]
) -> None:
    """Delete earlier relations, chosen by whom they belong to, or by their key."""
    sql = "SELECT tenant, version, number, record FROM former WHERE what = 'entity_edge'"
    for tenant, version, number, record in transaction.fetch(sql):
        subject, relation, object, _, collection, user = json.loads(record)[:6]
        if is_chosen((collection, user, "", ""), (collection, user, subject, relation, object)):
            where = "tenant = %s AND version = %s AND number = %s"
            transaction.connection.execute(f"DELETE FROM former WHERE {where}", (tenant, version, number))


def _delete_edge_history(transaction: PostgresTransaction, rows: Sequence[int]) -> None:
    chosen = {*rows}
    for tenant in transaction.by_tenant(rows):
        sql = "SELECT version, number, record FROM former WHERE tenant = %s AND what = 'edge'"
        for version, number, record in transaction.fetch(sql, (tenant,)):
            if chosen & {*json.loads(record)[:2]}:
                where = "tenant = %s AND version = %s AND number = %s"
                transaction.connection.execute(f"DELETE FROM former WHERE {where}", (tenant, version, number))


def _delete_folders(transaction: PostgresTransaction) -> None:
    sql = (
        "SELECT tenant, name FROM collections WHERE tenant IN (SELECT tenant FROM folders UNION "
        "SELECT tenant FROM files) AND name IS NOT NULL"
    )
    for tenant, collection in transaction.fetch(sql):
        if contains_folder(transaction.bound, collection):
            for table in ("files", "folders"):
                transaction.connection.execute(f"DELETE FROM {table} WHERE tenant = %s", (tenant,))


def _owners(transaction: PostgresTransaction, rows: Sequence[int]) -> set[tuple[str, ...]]:
    """To whom these memories belong, and belonged."""
    found = {tuple(str(each) for each in owner) for owner in transaction.owners(rows)}
    sql = "SELECT record FROM former WHERE what = 'memory' AND row > 0 AND row = ANY(%s)"
    for (record,) in transaction.fetch(sql, (list(rows),)):
        values = json.loads(record)
        found.add(tuple(values.get(name) or "" for name in NAMES))
    return found


def _owners_of_changes(connection: Any, bound: Bound) -> set[tuple[str, ...]]:
    """To whom belonged what the history says was changed inside a bound."""
    found = connection.execute("SELECT DISTINCT owners FROM changes WHERE owners <> '[]'").fetchall()
    owners = {tuple(owner) for (listed,) in found for owner in json.loads(listed)}
    return {owner for owner in owners if None not in owner and is_inside(owner, bound)}


def read_owners(connection: Any, bound: Bound) -> set[tuple[str, ...]]:
    """To whom something inside a bound belongs or belonged."""
    named = "JOIN collections c USING (tenant) WHERE c.name IS NOT NULL"
    sql = (
        'SELECT collection, "user", agent, session FROM memories '
        f"UNION SELECT c.name, \"user\", '', '' FROM entity_edges {named} "
        f"UNION SELECT c.name, '', '', '' FROM folders {named} UNION SELECT c.name, '', '', '' FROM files {named}"
    )
    found = {tuple(owner) for owner in connection.execute(sql).fetchall()}
    for what, record in connection.execute("SELECT what, record FROM former WHERE what IN ('memory', 'entity_edge')"):
        values = json.loads(record)
        is_memory = what == "memory"
        found.add(tuple(values.get(name) or "" for name in NAMES) if is_memory else (*values[4:6], "", ""))
    return {owner for owner in found if is_inside(owner, bound)} | _owners_of_changes(connection, bound)


def _earlier_versions(
    transaction: PostgresTransaction, rows: Sequence[int]
) -> Iterator[tuple[tuple[int, int, int], tuple[str, ...]]]:
    """The earlier versions inside the bound of all memories but these: entry of the history, and whose it was."""
    with without_policies(transaction.connection, transaction.bound):  # the memory may be in another collection
        sql = "SELECT tenant, version, number, record FROM former WHERE what = 'memory' AND NOT row = ANY(%s)"
        found = transaction.fetch(sql, (list(rows),))
    for *entry, record in found:
        values = json.loads(record)
        owner = tuple(values.get(name) or "" for name in NAMES)
        if is_inside(owner, transaction.bound):
            yield (entry[0], entry[1], entry[2]), owner


def _delete_versions(transaction: PostgresTransaction, entries: Collection[tuple[int, int, int]]) -> int:
    """Delete earlier versions of memories that remain; how many."""
    with without_policies(transaction.connection, transaction.bound):
        for entry in entries:
            transaction.connection.execute(
                "UPDATE changes SET erased = erased + 1, note = CASE WHEN verb = 'decay' THEN note ELSE '' END "
                "WHERE tenant = %s AND version = %s",
                entry[:2],
            )
            where = "tenant = %s AND version = %s AND number = %s"
            transaction.connection.execute(f"DELETE FROM former WHERE {where}", entry)
    return len(entries)


def _mark_changes(transaction: PostgresTransaction, rows: Sequence[int]) -> None:
    """Count in the history what each transaction can no longer restore; reasons may quote what is erased."""
    transaction.connection.execute(
        "UPDATE changes c SET erased = c.erased + t.count, note = CASE WHEN verb = 'decay' THEN note ELSE '' END "
        "FROM (SELECT tenant, version, count(*)::integer AS count FROM (SELECT tenant, born AS version, row "
        "FROM memories WHERE row = ANY(%s) UNION SELECT tenant, version, row FROM former WHERE what = 'memory' "
        "AND row > 0 AND row = ANY(%s)) u GROUP BY 1, 2) t WHERE c.tenant = t.tenant AND c.version = t.version",
        (list(rows), list(rows)),
    )


def _delete_unused_words(transaction: PostgresTransaction, collections: Sequence[str]) -> int:
    """Delete the words that no memory has, also those of texts that were edited or deleted before."""
    count = 0
    for collection in collections:
        tenant = transaction.lock(collection).tenant
        count += transaction.connection.execute(
            "DELETE FROM vocabulary v WHERE tenant = %s AND NOT EXISTS (SELECT 1 FROM postings p "
            "WHERE p.tenant = v.tenant AND p.word = v.word)",
            (tenant,),
        ).rowcount
        sql = "UPDATE collections SET last_erasure = %s WHERE tenant = %s"
        transaction.connection.execute(sql, (transaction.version(collection), tenant))
    return count


def _vanished(
    transaction: PostgresTransaction,
    owners: Iterable[Sequence[str]],
    rows: Sequence[int],
    relations: Sequence[Relation],
    whole: bool,
) -> set[tuple[str, str]]:
    """The names of collections, users, agents and sessions that only what is erased has: (kind, name).

    Whether others have a name is looked up beyond the bound."""
    named = {(name, value) for owner in owners for name, value in zip(NAMES, owner, strict=True) if value}
    with without_policies(transaction.connection, transaction.bound):
        sql = (
            'SELECT c.name, e."user", e.subject, e.relation, e.object FROM entity_edges e '
            "JOIN collections c ON c.tenant = e.tenant"
        )
        kept = {tuple(each) for each in transaction.fetch(sql)} - {*relations}
        folders = transaction.fetch("SELECT c.name FROM folders f JOIN collections c ON c.tenant = f.tenant")
        present = {pair for collection, user, *_ in kept for pair in (("collection", collection), ("user", user))}
        present |= {
            ("collection", name) for (name,) in folders if not whole or not contains_folder(transaction.bound, name)
        }
        return {each for each in named - present if not _is_present(transaction, *each, rows)}


def _is_present(transaction: PostgresTransaction, name: str, value: str, rows: Sequence[int]) -> bool:
    sql = f'SELECT 1 FROM memories WHERE "{name}" = %s AND NOT row = ANY(%s) LIMIT 1'
    return transaction.value(sql, (value, list(rows))) is not None


def _remove_names(transaction: PostgresTransaction, vanished: Collection[tuple[str, str]], whole: bool) -> None:
    """Remove the names that nothing has any more from the history, and the owners of a bound that is erased whole."""
    with without_policies(transaction.connection, transaction.bound):
        for tenant, version, listed in transaction.fetch(
            "SELECT tenant, version, owners FROM changes WHERE owners <> '[]'"
        ):
            owners = json.loads(listed)
            left = [
                owner
                for owner in owners
                if not (whole and is_inside(owner, transaction.bound)) and not is_named(owner, vanished)
            ]
            if len(left) < len(owners):
                transaction.connection.execute(
                    "UPDATE changes SET owners = %s WHERE tenant = %s AND version = %s",
                    (json.dumps(left, ensure_ascii=False), tenant, version),
                )
        for name, value in sorted(vanished):
            _remove_name(transaction, name, value)


def _remove_name(transaction: PostgresTransaction, name: str, value: str) -> None:
    connection, at = transaction.connection, NAMES.index(name)
    if name in ("collection", "user"):
        _delete_former_relations(
            transaction, lambda owner, key: owner[at] == value and is_inside(owner, transaction.bound)
        )
    # The bound of a decay: it must not become a decay of everything.
    for tenant, version, note in transaction.fetch(
        "SELECT tenant, version, note FROM changes WHERE verb = 'decay' AND note <> ''"
    ):
        noted = json.loads(note)
        if noted.get(name) == value:
            connection.execute(
                "UPDATE changes SET note = %s WHERE tenant = %s AND version = %s",
                (json.dumps({**noted, name: f"erased {version}"}), tenant, version),
            )
    if name == "collection":  # another one of this name will have another number
        connection.execute(  # what else these operations changed is in one collection, if in any
            "UPDATE changes c SET elsewhere = false WHERE c.elsewhere AND c.operation IN (SELECT o.operation "
            "FROM changes o JOIN collections n ON n.tenant = o.tenant WHERE n.name = %s) AND NOT EXISTS (SELECT 1 "
            "FROM changes o WHERE o.operation = c.operation AND o.tenant NOT IN (0, c.tenant) AND o.owners <> '[]')",
            (value,),
        )
        connection.execute("UPDATE collections SET name = NULL WHERE name = %s", (value,))
        transaction.collection_removed = True


def read_receipts(connection: Any, bound: Bound) -> list[Receipt]:
    """The receipts of all erasures that lie inside a bound, oldest first."""
    hashed = _hashed(connection, bound)
    found = connection.execute("SELECT owners, receipt FROM erasures ORDER BY version").fetchall()
    return [
        receipt_from_dict(json.loads(receipt))
        for owners, receipt in found
        if all(is_inside(owner, hashed) for owner in json.loads(owners))
        if not bound.values or json.loads(owners)
    ]


def add_receipt(transaction: PostgresTransaction, receipt: Receipt) -> None:
    """The receipt of an erasure elsewhere. Whose memories they were is not known here: no bound contains it."""
    record = (transaction.version(None), micros(receipt.at), json.dumps(receipt.as_dict()))
    transaction.connection.execute("INSERT INTO erasures VALUES (0, %s, %s, false, '[]', %s)", record)


def find_erasure_after(transaction: PostgresTransaction, version: int) -> datetime | None:
    """When something inside the bound was last erased after this version; None if nothing was."""
    sql = "SELECT at, owners FROM erasures WHERE version > %s ORDER BY version DESC"
    hashed = _hashed(transaction.connection, transaction.bound)
    found = transaction.fetch(sql, (version,))
    erased = (at for at, owners in found if not all(is_disjoint(owner, hashed) for owner in json.loads(owners)))
    return next(map(from_micros, erased), None)


def _hashed(connection: Any, bound: Bound) -> Bound:
    """A bound with its values as the log of erasures has them."""
    (salt,) = connection.execute("SELECT salt FROM erasure_salt").fetchone()
    return Bound(**{name: hash_id(bytes(salt), value) for name, value in bound.values.items()})
