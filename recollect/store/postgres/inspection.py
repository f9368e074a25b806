"""What the doctor checks in a PostgreSQL database, and how it repairs it. Checks see everything, so they need the role
that owns the tables, or one that may read all collections."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import EncodedText, Space
from recollect.store.postgres.migrations import BY_TENANT, FIRST, walls_sql
from recollect.store.postgres.statements import SELECT, active_space, read_vectors
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.transaction import PostgresTransaction
from recollect.store.postgres.vector_index import TOO_OLD, build_indexes, missing_indexes, too_old
from recollect.store.postgres.words import count_words, delete_postings, write_postings
from recollect.store.rows import from_row
from recollect.store.sqlite.integrity_rules import EXAMPLES, Finding
from recollect.store.text_fields import embedding_text

PAGE = 2000  # memories that are read at a time
JSON_COLUMNS = ("flags", "emotion_tags", "keywords", "entities", "files", "tags", "context")
TABLES = tuple(re.findall(r"CREATE TABLE (\w+)", FIRST))
INDEXES = tuple(re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", FIRST))
MISSING = "missing table"  # nothing else can be checked then
UNREADABLE = "unreadable details"
WRONG_WORDS = "words that are not those of the text"
NO_WALLS = "tables without row-level security"
OLD_EXTENSION = "pgvector is too old for approximate searches"
NO_INDEX = "large collections without a vector index"


@dataclass(frozen=True, slots=True)
class ServerRule:
    """A problem that SQL finds, as ids or numbers, and removes."""

    name: str
    what: str
    means: str
    fix: str
    find: str
    remove: str


NO_MEMORY = "NOT EXISTS (SELECT 1 FROM memories m WHERE m.tenant = t.tenant AND m.row = t.row)"
WRONG_SIZE = "t.space IN (SELECT s.space FROM spaces s WHERE vector_dims(t.vector) <> s.dim)"
WRONG_TOKENS = "t.space IN (SELECT s.space FROM spaces s WHERE mod(length(t.sketch), (s.dim + 7) / 8) <> 0)"
RULES = (
    ServerRule(
        "words of no memory",
        "Words that belong to no memory: {0}.",
        "Leftovers; they only take room.",
        "removes them",
        f"SELECT DISTINCT t.row::text FROM postings t WHERE {NO_MEMORY}",
        f"DELETE FROM postings t WHERE {NO_MEMORY}",
    ),
    ServerRule(
        "vectors of a wrong size",
        "Vectors whose size is not that of their model: {0}.",
        "Searches by meaning fail.",
        "removes them; missing vectors are made again",
        f"SELECT m.id FROM vectors t JOIN memories m ON m.tenant = t.tenant AND m.row = t.row WHERE {WRONG_SIZE}",
        f"DELETE FROM vectors t WHERE {WRONG_SIZE}",
    ),
    ServerRule(
        "tokens of a wrong size",
        "Token sketches whose size is not that of their model: {0}.",
        "Those memories are not compared with a query token by token.",
        "removes them; missing ones are made again",
        f"SELECT m.id FROM sketches t JOIN memories m ON m.tenant = t.tenant AND m.row = t.row WHERE {WRONG_TOKENS}",
        f"DELETE FROM sketches t WHERE {WRONG_TOKENS}",
    ),
    ServerRule(
        "chunks of no file",
        "Chunks whose file is not recorded: {0}.",
        "They are found, and no sync removes them.",
        "removes them",
        "SELECT m.id FROM chunks c JOIN memories m ON m.tenant = c.tenant AND m.row = c.row WHERE NOT EXISTS "
        "(SELECT 1 FROM files f WHERE f.tenant = c.tenant AND f.file = c.file)",
        "DELETE FROM memories m USING chunks c WHERE m.tenant = c.tenant AND m.row = c.row AND NOT EXISTS "
        "(SELECT 1 FROM files f WHERE f.tenant = c.tenant AND f.file = c.file)",
    ),
)


class PostgresInspector:
    """A database under examination. Looking changes nothing."""

    def __init__(self, url: str, clock: Callable[[], datetime]) -> None:
        self.store = PostgresStore(url, clock, readonly=True)
        self._wrong_words: list[tuple[int, int]] = []  # tenants and rows

    def close(self) -> None:
        self.store.close()

    @property
    def space(self) -> Space | None:
        return self.store.space

    def folders(self) -> dict[str, str]:
        return {name: str(record["root"]) for name, record in self.store.folders().items()}

    def texts(self) -> dict[str, str]:
        """What an embedder reads of each memory, by id."""
        return {
            memory.id: embedding_text(memory) for _, _, memory, _ in self._memories() if memory.status != "forgotten"
        }

    def vectors(self) -> dict[str, NDArray[np.float64]]:
        """The vectors that are searched and have the right size, by the ids of their memories."""
        sql = (
            "SELECT m.id, halfvec_send(v.vector) FROM vectors v JOIN memories m ON m.tenant = v.tenant "
            "AND m.row = v.row JOIN spaces s ON s.space = v.space WHERE s.active AND m.status <> 'forgotten' "
            "AND vector_dims(v.vector) = s.dim ORDER BY v.row"
        )
        found = self.store.fetch(sql)
        dim = self.space.dim if self.space else 0
        vectors = read_vectors([packed for _, packed in found], dim).astype(np.float64)
        return {id: vector for (id, _), vector in zip(found, vectors, strict=True)}

    def without_sketches(self) -> set[str]:
        """The ids of memories that have a vector and no tokens beside it."""
        sql = (
            "SELECT m.id FROM vectors v JOIN memories m ON m.tenant = v.tenant AND m.row = v.row "
            "JOIN spaces s ON s.space = v.space LEFT JOIN sketches k ON k.tenant = v.tenant AND k.space = v.space "
            "AND k.row = v.row WHERE s.active AND coalesce(length(k.sketch), 0) = 0"
        )
        return {id for (id,) in self.store.fetch(sql)}

    # Findings.

    def findings(self, now: datetime) -> list[Finding]:
        if missing := self._missing(TABLES, "r"):
            return [_missing_finding(MISSING, "tables", missing)]
        return [each for each in self._check() if each is not None]

    def _check(self) -> Iterator[Finding | None]:
        if missing := self._missing(INDEXES, "i"):
            yield _missing_finding("missing index", "indexes", missing)
        yield self._check_walls()
        yield self._check_role()
        unreadable = self._unreadable()
        if unreadable:
            yield Finding(
                UNREADABLE,
                "error",
                f"Memories whose tags, context or other details are not valid JSON: {len(unreadable)}.",
                "Recalls that meet them fail. Another program has changed them.",
                "empties them; the texts stay",
                examples=tuple(unreadable)[:EXAMPLES],
            )
            return
        for rule in RULES:
            found = [name for (name,) in self.store.fetch(rule.find)]
            if found:
                what = rule.what.format(len(found))
                yield Finding(rule.name, "error", what, rule.means, rule.fix, examples=tuple(found[:EXAMPLES]))
        yield self._check_words()
        yield self._check_vector_indexes()

    def _missing(self, names: tuple[str, ...], kind: str) -> list[str]:
        sql = "SELECT c.relname FROM pg_class c WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = %s"
        present = {name for (name,) in self.store.fetch(sql, (f'"{self.store.settings.schema}"', kind))}
        return [name for name in names if name not in present]

    def _check_walls(self) -> Finding | None:
        sql = (
            "SELECT c.relname FROM pg_class c WHERE c.oid = ANY(%s::regclass[]) AND NOT (c.relrowsecurity AND "
            "c.relforcerowsecurity AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid))"
        )
        open_tables = [name for (name,) in self.store.fetch(sql, ([*BY_TENANT, "memories", "collections"],))]
        if not open_tables:
            return None
        return Finding(
            NO_WALLS,
            "error",
            f"Row-level security is not enforced on: {', '.join(open_tables)}.",
            "Bounds still hold, but no second check stands behind them.",
            "enforces it",
        )

    def _check_role(self) -> Finding | None:
        sql = "SELECT current_user::text FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
        found = self.store.fetch(sql)
        if not found:
            return None
        return Finding(
            "a role without row-level security",
            "warning",
            f"The role {found[0][0]!r} is a superuser, or may bypass row-level security.",
            "Bounds still hold, but no second check stands behind them. Use another role for programs.",
        )

    def _unreadable(self) -> dict[str, list[str]]:
        """The columns that are no JSON, by the id of their memory."""
        wrong: dict[str, list[str]] = {}
        columns = ", ".join(JSON_COLUMNS)
        for id, *values in self.store.fetch(f"SELECT id, {columns} FROM memories"):
            for name, value in zip(JSON_COLUMNS, values, strict=True):
                if not _is_json(value):
                    wrong.setdefault(id, []).append(name)
        return wrong

    def _memories(self) -> Iterator[tuple[int, int, Any, bytes]]:
        """Tenant, row, memory and lengths of every memory."""
        last = 0
        while True:
            sql = (
                f"SELECT m.tenant, m.row, m.lengths, {SELECT} FROM memories m WHERE m.row > %s ORDER BY m.row LIMIT %s"
            )
            page = self.store.fetch(sql, (last, PAGE))
            for tenant, row, lengths, *values in page:
                yield tenant, row, from_row(values), bytes(lengths)
            if len(page) < PAGE:
                return
            last = page[-1][1]

    def _check_words(self) -> Finding | None:
        self._wrong_words, ids = [], []
        page: dict[tuple[int, int], tuple[str, Any, bytes]] = {}

        def compare() -> None:
            stored = self._stored_words(page)
            for key, (id, counted, lengths) in page.items():
                if stored.get(key, set()) != {*counted.counts} or lengths != counted.lengths:
                    self._wrong_words.append(key)
                    ids.append(id)
            page.clear()

        for tenant, row, memory, lengths in self._memories():
            page[tenant, row] = (memory.id, count_words(memory), lengths)
            if len(page) == PAGE:
                compare()
        compare()
        if not ids:
            return None
        return Finding(
            WRONG_WORDS,
            "error",
            f"Memories that are indexed under other words than those of their texts: {len(ids)}.",
            "Searches by words miss them, or find them wrongly.",
            "indexes their texts anew",
            examples=tuple(ids[:EXAMPLES]),
        )

    def _stored_words(self, keys: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], set[tuple[str, int, int]]]:
        """The words, fields and times of some rows, as the index has them."""
        tenants, rows = [tenant for tenant, _ in keys], [row for _, row in keys]
        sql = (
            "SELECT p.tenant, p.row, v.spelling, p.field, p.times "
            "FROM unnest(%s::integer[], %s::bigint[]) AS k(tenant, row) "
            "JOIN memory_words w ON w.tenant = k.tenant AND w.row = k.row, unnest(w.words) AS n(word) "
            "JOIN LATERAL (SELECT * FROM postings p WHERE p.tenant = w.tenant AND p.word = n.word AND p.row = w.row) p "
            "ON true JOIN vocabulary v ON v.tenant = p.tenant AND v.word = p.word"
        )
        stored: dict[tuple[int, int], set[tuple[str, int, int]]] = {}
        for tenant, row, spelling, field, times in self.store.fetch(sql, (tenants, rows)):
            stored.setdefault((tenant, row), set()).add((spelling, field, times))
        return stored

    def _check_vector_indexes(self) -> Finding | None:
        more_than = self.store.settings.approximate
        if not more_than or self.space is None:
            return None
        with self.store.reading() as connection:
            version = too_old(connection)
            active = active_space(connection)
            missing = missing_indexes(connection, active, more_than) if active and not version else []
        if version:
            what = f"The server has pgvector {version}: {TOO_OLD}."
            return Finding(OLD_EXTENSION, "warning", what, "All vectors are compared: slower, and exact.", "")
        if not missing:
            return None
        return Finding(
            NO_INDEX,
            "warning",
            f"Collections with more than {more_than:,} vectors and without an index of them: {len(missing)}.",
            "They are searched exactly, although the URL has approximate=: slower, and nothing is missed.",
            "builds the indexes, which takes a while",
        )

    # Repairs.

    def repair(
        self, vectors: Mapping[str, tuple[str, EncodedText]], space: Space | None, rebuild: bool = False
    ) -> None:
        """Repair in one transaction what ``findings`` found; then build indexes. ``vectors`` has a text and its vector
        for ids that need one. With ``rebuild`` the words of all memories are written again."""
        store = PostgresStore(self.store.url, self.store.clock)
        try:
            with store.transaction("doctor") as transaction:
                for id, columns in self._unreadable().items():
                    _empty_details(transaction, id, columns)
                for rule in RULES:
                    transaction.connection.execute(rule.remove)
                self._check_words()
                self._index_again(transaction, rebuild)
                if space is not None:
                    found = {transaction.row_with(id, text): encoded for id, (text, encoded) in vectors.items()}
                    rows = {row: encoded for row, encoded in found.items() if row is not None}
                    transaction.embed([*rows], [*rows.values()], space)
                self._repair_structure(transaction)  # last: it locks the tables, which are read above
            self._build_indexes(store)
        finally:
            store.close()

    def _repair_structure(self, transaction: PostgresTransaction) -> None:
        statements = dict(re.findall(r"(?=CREATE (?:UNIQUE )?INDEX (\w+))(CREATE [^;]+;)", FIRST))
        for name in self._missing(INDEXES, "i"):
            transaction.connection.execute(statements[name])
        if self._check_walls() is not None:
            transaction.connection.execute(walls_sql(again=True))

    def _index_again(self, transaction: PostgresTransaction, rebuild: bool) -> None:
        wrong = {*self._wrong_words}
        for tenant, row, memory, _ in list(self._memories()):
            if rebuild or (tenant, row) in wrong:
                transaction.version(memory.collection)  # caches must notice
                counted = count_words(memory)
                sql = "DELETE FROM postings WHERE tenant = %s AND row = %s"
                transaction.connection.execute(sql, (tenant, row))
                delete_postings(transaction.connection, tenant, [row])
                write_postings(transaction.connection, tenant, [(row, counted)])
                sql = "UPDATE memories SET lengths = %s WHERE tenant = %s AND row = %s"
                transaction.connection.execute(sql, (counted.lengths, tenant, row))

    def _build_indexes(self, store: PostgresStore) -> None:
        more_than = store.settings.approximate
        if more_than:
            with store.reading() as connection:
                active = active_space(connection)
                missing = missing_indexes(connection, active, more_than) if active and not too_old(connection) else []
            if missing:
                build_indexes(store.database, missing)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _empty_details(transaction: PostgresTransaction, id: str, columns: list[str]) -> None:
    emptied = ", ".join(f"{name} = '{'{}' if name == 'context' else '[]'}'" for name in columns)
    version = transaction.version(transaction.value("SELECT collection FROM memories WHERE id = %s", (id,)))
    transaction.connection.execute(f"UPDATE memories SET {emptied}, changed = %s WHERE id = %s", (version, id))


def _missing_finding(name: str, what: str, missing: list[str]) -> Finding:
    tables = what == "tables"
    return Finding(
        name,
        "error",
        f"The schema lacks the {what} {', '.join(missing)}.",
        "Recalls and writes fail. Restore a dump." if tables else "Recalls and writes are slow, or not refused.",
        "" if tables else "creates them",
    )
