"""One version of the memories for one recall: a transaction that sees nothing newer, and what was read in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, FilterExpression, JsonObject, Memory, Use, micros
from recollect.model.filter import any_filter
from recollect.model.memory import UNUSED
from recollect.store.base import (
    Bound,
    EdgeArrays,
    Flags,
    Floats,
    LexicalQuery,
    PageOrder,
    Proposal,
    Rows,
    Scope,
    Space,
    Term,
    TermStatistics,
    TokenSketches,
    Version,
)
from recollect.store.filters import positive_values, scope_conditions
from recollect.store.postgres.caches import Derived
from recollect.store.postgres.connections import Sql
from recollect.store.postgres.details import MemoryDetails
from recollect.store.postgres.lexical import BoundColumns, Lexicon, at_least_best
from recollect.store.postgres.neighbours import Neighbours
from recollect.store.postgres.scope import PostgresScope, ScopeReader, compile_all, own
from recollect.store.postgres.statements import (
    JOIN_USE,
    SELECT,
    SELECT_USE,
    halfvec,
    join_by_row,
    read_relations,
    read_use,
    row_array,
    with_use,
)
from recollect.store.postgres.vector_index import VectorIndex, finish_search, has_index, prepare_search
from recollect.store.postgres.words import WordCache
from recollect.store.rows import from_row
from recollect.store.told_times import SECOND, TOLD_SHARE, Interval
from recollect.text.query_language import QueryTree, format_query
from recollect.text.signatures import Signature, hamming_similarity
from recollect.text.slugs import SlugIndex, path_or_name

T = TypeVar("T")
ROUNDING = 1e-5  # more than a float32 product of unit vectors is ever off
MAX_COMPARED = 200_000  # vectors whose distances are read from the server, each 16 bytes
QUERY = "(SELECT %s::halfvec)"  # read once: a plan that is used again would read the text for each row
SPARSE = 4  # a scope with fewer than 1 in so many memories of the bound is looked up alone
NO_ROWS: Rows = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TenantState:
    """A collection at the version of a snapshot."""

    name: str
    version: int
    last_word: int
    last_erasure: int


class PostgresSnapshot:
    """A REPEATABLE READ transaction."""

    def __init__(
        self,
        connection: Any,
        bound: Bound,
        tenants: Mapping[int, TenantState],
        store_version: int,
        last_erasure: int,
        space: tuple[int, Space] | None,
        derived: Derived,
        word_cache: WordCache,
        approximate: int = 0,
    ) -> None:
        self._connection = connection
        self._bound = bound
        self._tenants = tenants
        self.active_space = space  # its number, and the space
        self._derived_cache = derived
        self._approximate = approximate  # search approximately where more memories than this are in scope; 0: never
        self._lexicon = Lexicon(self, word_cache)
        self._version = _version_of(store_version, tenants)
        self._neighbours = Neighbours(self)
        self._memories: dict[int, Memory | None] = {}
        self.generation = derived.forget_erased(last_erasure)  # of what is read here, see caches.py
        self._details = MemoryDetails(self, derived, (space[0], space[1].dim) if space else None)

    @property
    def version(self) -> Version:
        return self._version

    @property
    def space(self) -> Space | None:
        return self.active_space[1] if self.active_space else None

    @property
    def connection(self) -> Any:
        return self._connection

    @property
    def tenants(self) -> Mapping[int, TenantState]:
        return self._tenants

    # Reading.

    @cached_property
    def bound(self) -> Sql:
        """The condition that the memory ``m`` is inside the bound."""
        return self.bound_of("m")

    def bound_of(self, table: str) -> Sql:
        parts, values = ["true"], list[Any]()
        for name, value in self._bound.values.items():
            if name == "collection":
                parts.append(f"{table}.tenant = %s")
                values.append(next(iter(self._tenants), -1))
            else:
                parts.append(f'{table}."{name}" = %s')
                values.append(value)
        return Sql(" AND ".join(parts), tuple(values))

    def fetch(self, sql: str, values: Sequence[Any] = (), prepare: bool | None = None) -> list[Any]:
        return list(self._connection.execute(sql, values, prepare=prepare, binary=True).fetchall())

    def scan(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Fetch what grows with the collection. It is planned for the size of this one: the plan of a prepared
        statement is for one of average size, which a large one beside many small ones is not."""
        return self.fetch(sql, values, prepare=False)

    def derived(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed under this key for this version and bound, by any snapshot of this process."""
        return self._derived_cache.get((self._version, self._bound, key), compute, self.generation)

    def read_rows(self, where: Sql, key: Hashable = None) -> Rows:
        """The rows of the bound for which a condition holds, ascending."""

        def compute() -> Rows:
            sql = (
                "SELECT string_agg(int8send(row), '') FROM (SELECT m.row FROM memories m WHERE "
                f"{self.bound.text} AND ({where.text}) IS TRUE ORDER BY m.row) t"
            )
            ((packed,),) = self.scan(sql, (*self.bound.values, *where.values))
            return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)

        return compute() if key is None else self.derived(("rows", key), compute)

    def among(self, columns: str, rows: Sequence[int], joined: str = "", more: str = "") -> list[Any]:
        """Columns of those of these rows that are inside the bound."""
        sql = f"SELECT {columns} FROM memories m {joined} WHERE m.row = ANY(%s::bigint[]) AND {self.bound.text}{more}"
        return self.fetch(sql, (row_array(rows), *self.bound.values)) if len(rows) else []

    # What may come back.

    def scope(
        self,
        filter: FilterExpression | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> PostgresScope:
        conditions = scope_conditions(filter, statuses, now, as_of, hidden)
        changing = as_of or any_filter(filter, lambda part: part.confidence_decay is not None)
        key = None if changing or self._has_validity_periods else ("scope", repr(filter), tuple(statuses), hidden)
        compiled = compile_all(conditions, lambda: self.derived("contexts", self._read_contexts))
        where = Sql(f"({compiled.text}) IS TRUE", compiled.values)
        collections = positive_values(filter, "collection")
        return PostgresScope(ScopeReader(self.read_rows, self._memory), where, collections, conditions, cache_key=key)

    @property
    def _has_validity_periods(self) -> bool:
        return self.columns.dated

    @cached_property
    def columns(self) -> BoundColumns:
        return self.derived("columns", lambda: BoundColumns.read(self))

    def _read_contexts(self) -> dict[int, JsonObject]:
        sql = f"SELECT m.row, m.context FROM memories m WHERE {self.bound.text} AND m.context <> '{{}}'"
        return {row: json.loads(context) for row, context in self.scan(sql, self.bound.values)}

    def excluding(self, tree: QueryTree, fields: Mapping[str, float], scope: Scope) -> PostgresScope:
        rows = self.columns.rows[self._lexicon.fulfilling(tree, fields)]
        reason = f"the query excludes it: NOT {format_query(tree)}"
        return own(scope).restricted(reason, Sql("NOT m.row = ANY(%s::bigint[])", (row_array(rows),)))

    def during(self, intervals: Sequence[Interval], scope: Scope, told: bool = True) -> PostgresScope:
        parts, values = ["false"], []
        for start, end in intervals:
            parts.append("(m.created >= %s::double precision AND m.created < %s::double precision)")
            values += [start, end]
            if told:
                parts.append(
                    "((m.valid_from IS NOT NULL OR m.valid_to IS NOT NULL) "
                    "AND coalesce(m.valid_from, '-Infinity'::double precision) < %s::double precision "
                    "AND coalesce(m.valid_to, 'Infinity'::double precision) > %s::double precision)"
                )
                values += [end, start]
                inside = "least(t.ends, %s::double precision) - greatest(t.begins, %s::double precision)"
                parts.append(
                    "EXISTS (SELECT 1 FROM told_times t WHERE t.tenant = m.tenant AND t.row = m.row "
                    f"AND {inside} > 0 AND (mod(t.ends, {SECOND}) IN ({SECOND - 1}, -1) "
                    f"OR {inside} >= {TOLD_SHARE}::double precision * (t.ends - t.begins)))"
                )
                values += [end, start, end, start]
        return own(scope).restricted("it is not of that time", Sql(" OR ".join(parts), tuple(map(float, values))))

    def told_times(self, rows: Rows) -> list[list[Interval]]:
        joined = join_by_row("told_times", "t")
        found: dict[int, list[Interval]] = {}
        for row, start, end in self.among(
            "m.row, t.begins, t.ends", rows.tolist(), joined, " ORDER BY t.row, t.number"
        ):
            found.setdefault(row, []).append((float(start), float(end)))
        return [found.get(row, []) for row in rows.tolist()]

    # Candidates.

    def lexical_candidates(self, query: LexicalQuery, scope: Scope, n: int) -> Proposal:
        columns = self.columns
        scores, having = self._lexicon.scores(query)
        passing = scores > 0 if query.where is None else self._lexicon.fulfilling(query.where, query.fields)
        if query.require_all:
            passing = passing & (having == len(query.terms))
        found = np.flatnonzero(passing)
        found = found[own(scope).contains(columns.rows[found])]
        return Proposal(columns.rows[found[at_least_best(scores[found], n)]], len(found))

    def nearest(self, vector: NDArray[np.float32], scope: Scope, n: int) -> Proposal:
        """The server compares halves: what the query loses by that bounds how far the n-th best may be off."""
        if self.active_space is None:
            return Proposal(NO_ROWS, 0)
        if (index := self._vector_index(own(scope))) is not None:
            return self._nearest_by_index(vector, index, own(scope), n)
        half = vector.astype(np.float16).astype(np.float64)
        margin = 2 * (float(np.linalg.norm(vector - half)) + ROUNDING)
        if self._is_most_of_the_bound(own(scope)):
            return self._nearest_of_all(halfvec(vector), own(scope), n, margin)
        where, bound = own(scope).where, self.bound
        scored = (
            f"WITH scored AS MATERIALIZED (SELECT m.row, v.vector <#> {QUERY} AS apart FROM memories m "
            "JOIN vectors v ON v.tenant = m.tenant AND v.row = m.row AND v.space = %s "
            f"WHERE {bound.text} AND {where.text}) "
        )
        values = (halfvec(vector), self.active_space[0], *bound.values, *where.values)
        last = f"(SELECT apart FROM scored ORDER BY apart LIMIT 1 OFFSET {max(n, 1) - 1})"
        near = f"coalesce(apart <= {last} + {margin!r}, true)" if n > 0 else "false"
        sql = f"SELECT count(*), string_agg(int8send(row), '') FILTER (WHERE {near}) FROM scored"
        ((count, packed),) = self.scan(scored + sql, values)
        return Proposal(np.frombuffer(packed or b"", dtype=">i8").astype(np.int64), count)

    def _vector_index(self, scope: PostgresScope) -> VectorIndex | None:
        """The index to search approximately by, if that is configured, there is one, and the scope is large."""
        if (
            not self._approximate
            or self.active_space is None
            or len(self._tenants) != 1
            or scope.count <= self._approximate
        ):
            return None
        index = VectorIndex(next(iter(self._tenants)), self.active_space[0], self.active_space[1].dim)
        return index if self.derived("vector index", lambda: has_index(self._connection, index)) else None

    def _nearest_by_index(
        self, vector: NDArray[np.float32], index: VectorIndex, scope: PostgresScope, n: int
    ) -> Proposal:
        """The filter is applied while the index is scanned, so that it never costs results."""
        prepare_search(self._connection, n)
        where, bound = scope.where, self.bound
        sql = (
            f"SELECT v.row FROM vectors v WHERE {index.condition} AND EXISTS (SELECT 1 FROM memories m "
            f"WHERE m.tenant = v.tenant AND m.row = v.row AND {bound.text} AND {where.text}) "
            f"ORDER BY {index.expression} <#> %s::halfvec({index.dim}) LIMIT %s"
        )
        found = self.scan(sql, (*bound.values, *where.values, halfvec(vector), n))
        finish_search(self._connection)
        return Proposal(
            np.array([row for (row,) in found], dtype=np.int64), scope.count, approximate=True, stable=False
        )

    def _is_most_of_the_bound(self, scope: PostgresScope) -> bool:
        """Is it quicker to compare all vectors of the collections than to look up those in scope?"""
        whole = self._bound.values.keys() <= {"collection"}
        return whole and len(self.columns.rows) <= MAX_COMPARED and scope.count * SPARSE >= len(self.columns.rows)

    def _nearest_of_all(self, literal: str, scope: PostgresScope, n: int, margin: float) -> Proposal:
        assert self.active_space is not None
        sql = (
            "SELECT string_agg(int8send(row), ''), string_agg(float8send(apart), '') FROM (SELECT v.row, "
            f"v.vector <#> {QUERY} AS apart FROM vectors v WHERE v.tenant = ANY(%s) AND v.space = %s) t"
        )
        ((packed, distances),) = self.scan(sql, (literal, list(self._tenants), self.active_space[0]))
        rows = np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)
        apart = np.frombuffer(distances or b"", dtype=">f8").astype(np.float64)
        if len(rows) != scope.count or not np.array_equal(np.sort(rows), scope.rows):
            inside = scope.contains(rows)
            rows, apart = rows[inside], apart[inside]
        if n <= 0 or not len(rows):
            return Proposal(NO_ROWS, len(rows))
        last = np.partition(apart, min(n, len(apart)) - 1)[min(n, len(apart)) - 1]
        return Proposal(rows[apart <= last + margin], len(rows))

    def signature_candidates(self, signature: NDArray[np.uint8], scope: Scope, min_similarity: float) -> Rows:
        rows, bits = own(scope).rows, 8 * len(signature)
        return rows[hamming_similarity(signature, self.signatures(bits, rows), bits) >= min_similarity]

    def slug_candidates(self, tokens: Sequence[str], scope: Scope, min_similarity: float) -> Rows:
        if not tokens:
            return NO_ROWS
        rows, slugs = self.derived("slugs", self._read_slugs)
        similar = np.max([slugs.similar(token) for token in tokens], axis=0)
        near = rows[similar >= min_similarity]
        return np.asarray(near[own(scope).contains(near)])

    def _read_slugs(self) -> tuple[Rows, SlugIndex]:
        rows = self.columns.rows
        return rows, SlugIndex(self.paths(rows))

    def similar_words(self, word: str, scope: Scope, min_similarity: float, n: int) -> list[tuple[str, float]]:
        return self._lexicon.similar_words(word, own(scope), min_similarity, n)

    def page(self, scope: Scope, order: PageOrder, limit: int, offset: int = 0) -> Rows:
        if order == "stored":
            return own(scope).rows[offset : offset + limit]
        where, bound, direction = own(scope).where, self.bound, "DESC" if order == "newest" else "ASC"
        sql = (
            f"SELECT m.row FROM memories m WHERE {bound.text} AND {where.text} "
            f"ORDER BY m.created {direction}, m.row {direction} LIMIT %s OFFSET %s"
        )
        found = self.scan(sql, (*bound.values, *where.values, min(limit, 1 << 62), offset))
        return np.array([row for (row,) in found], dtype=np.int64)

    # Words.

    def term_statistics(self, terms: Sequence[Term], fields: Mapping[str, float], scope: Scope) -> TermStatistics:
        return self._lexicon.statistics(terms, fields, own(scope))

    def term_frequencies(self, terms: Sequence[Term], fields: Mapping[str, float], rows: Rows) -> Floats:
        return self._lexicon.postings(terms, fields).at(self.columns.slots(rows))

    def field_lengths(self, fields: Mapping[str, float], rows: Rows) -> Floats:
        slots, lengths = self.columns.slots(rows), self.columns.total_lengths(fields)
        return np.where(slots < 0, 0.0, lengths[slots]) if len(lengths) else np.zeros(len(rows))

    def matches(self, tree: QueryTree, fields: Mapping[str, float], rows: Rows) -> Flags:
        slots, fulfilling = self.columns.slots(rows), self._lexicon.fulfilling(tree, fields)
        return np.asarray((slots >= 0) & fulfilling[slots]) if len(fulfilling) else np.zeros(len(rows), np.bool_)

    # Vectors, sketches and signatures.

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        return self._details.vectors(rows)

    def token_sketches(self, rows: Rows) -> TokenSketches:
        dim = self.space.dim if self.space else 0
        width = max(1, -(-dim // 8))  # bytes of a token
        sketches = [each if len(each) % width == 0 else b"" for each in self._details.sketches(rows)]  # none if damaged
        bits = np.frombuffer(b"".join(sketches), dtype=np.uint8).reshape(-1, width)
        return TokenSketches(bits, np.array([len(each) // width for each in sketches], dtype=np.int64), dim)

    def signatures(self, bits: int, rows: Rows) -> Signature:
        return self._details.signatures(bits, rows)

    # Columns.

    def neighbours(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        return self._neighbours.of(rows, reach)

    def numbers(self, name: str, rows: Rows) -> Floats:
        return np.array(self._details.head(name, rows, None), dtype=np.float64)

    def strings(self, name: str, rows: Rows) -> list[str]:
        return self._details.head(name, rows, "")

    def contexts(self, rows: Rows) -> list[JsonObject]:
        found = {row: json.loads(context) for row, context in self.among("m.row, m.context", rows.tolist())}
        return [found.get(row, {}) for row in rows.tolist()]

    def uses(self, rows: Rows) -> list[Use]:
        joined = JOIN_USE.removeprefix("LEFT ")
        found = {row: read_use(values) for row, *values in self.among(f"m.row, {SELECT_USE}", rows.tolist(), joined)}
        return [found.get(row, UNUSED) for row in rows.tolist()]

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        found = dict(self.among(f"m.row, u.{name}", rows.tolist(), JOIN_USE.removeprefix("LEFT ")))
        return np.array([found.get(row) for row in rows.tolist()], dtype=np.float64)

    def uses_by_day(self, rows: Rows) -> dict[int, int]:
        joined = join_by_row("use_by_day", "d")
        grouped = " GROUP BY d.day ORDER BY d.day"
        return dict(self.among("d.day, sum(d.uses)::bigint", rows.tolist(), joined, grouped))

    def ids(self, rows: Rows) -> list[str]:
        return self.strings("id", rows)

    def texts(self, rows: Rows) -> list[str]:
        return self._details.texts(rows)

    def paths(self, rows: Rows) -> list[str]:
        parts = zip(*(self.strings(name, rows) for name in ("path", "title", "id")), strict=True)
        return [path_or_name(*each) if each[2] else "" for each in parts]

    def memories(self, rows: Rows) -> list[Memory]:
        self._read_memories(rows.tolist())
        return [memory for row in rows.tolist() if (memory := self._memories[row]) is not None]

    def _read_memories(self, rows: Sequence[int]) -> None:
        unknown = [row for row in rows if row not in self._memories]
        if unknown:
            found = self.among(f"m.row, m.tenant, {SELECT}, {SELECT_USE}", unknown, JOIN_USE)
            self._memories.update(dict.fromkeys(unknown))
            self._memories.update({row: from_row(with_use(values)) for row, _, *values in found})
            self._derived_cache.tenants.put_all({row: tenant for row, tenant, *_ in found}, self.generation)

    def _memory(self, row: int) -> Memory | None:
        self._read_memories([row])
        return self._memories[row]

    def row(self, id: str) -> int | None:
        sql = f"SELECT m.row FROM memories m WHERE m.id = %s AND {self.bound.text}"
        found = self.fetch(sql, (id, *self.bound.values))
        return found[0][0] if found else None

    # Connections and time.

    def edges(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        known = self.derived("kinds of edges", self._read_edge_kinds)
        if not (known if kinds is None else known & {*kinds}) or not len(rows):
            return EdgeArrays(NO_ROWS, NO_ROWS, np.empty(0), [], np.empty(0))
        columns = "e.source, e.target, e.weight, e.kind, e.created"
        source, target = self.bound_of("s"), self.bound_of("t")
        ends = (
            "JOIN memories s ON s.tenant = e.tenant AND s.row = e.source "
            "JOIN memories t ON t.tenant = e.tenant AND t.row = e.target"
        )
        chosen = rows.tolist()
        parts = [
            f"SELECT {columns} FROM edges e {ends} WHERE {end} = ANY(%s::bigint[]) AND {source.text} AND {target.text}"
            for end in ("s.row", "t.row")
        ]
        sql = f"{' UNION '.join(parts)} ORDER BY 1, 4, 2"
        values = (row_array(chosen), *source.values, *target.values)
        found = (
            [each for each in self.fetch(sql, (*values, *values)) if kinds is None or each[3] in kinds]
            if chosen
            else []
        )
        arrays = [np.array([each[at] for each in found]) for at in (0, 1, 2, 4)]
        sources, targets = (each.astype(np.int64) for each in arrays[:2])
        weights, created = (each.astype(np.float64) for each in arrays[2:])
        return EdgeArrays(sources, targets, weights, [each[3] for each in found], created)

    def _read_edge_kinds(self) -> set[str]:
        sql = "SELECT DISTINCT kind FROM edges WHERE tenant = ANY(%s)"
        return {kind for (kind,) in self.fetch(sql, (list(self._tenants),))}

    def _has_relations(self) -> bool:
        sql = "SELECT EXISTS (SELECT 1 FROM entity_edges WHERE tenant = ANY(%s))"
        return bool(self.fetch(sql, (list(self._tenants),))[0][0])

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        if not self.derived("has relations", self._has_relations):
            return []
        keys = list({name.casefold() for name in names})
        where = Sql("(e.subject_key = ANY(%s) OR e.object_key = ANY(%s))", (keys, keys))
        return read_relations(self._connection, self._bound, where)

    def next_validity_change(self, now: datetime) -> float:
        moments = self.derived("validity changes", self._read_validity_changes)
        at = int(np.searchsorted(moments, micros(now), side="right"))
        return float(moments[at]) if at < len(moments) else np.inf

    def _read_validity_changes(self) -> Floats:
        if not self._has_validity_periods:
            return np.empty(0)
        sql = (
            "SELECT t.at FROM memories m, LATERAL (VALUES (m.valid_from), (m.valid_to), (m.expires)) AS t(at) "
            f"WHERE {self.bound.text} AND t.at IS NOT NULL ORDER BY t.at"
        )
        return np.array([at for (at,) in self.scan(sql, self.bound.values)], dtype=np.float64)


def _version_of(store: int, tenants: Mapping[int, TenantState]) -> str:
    """The versions of all collections in one. Commits may finish in another order than that of their numbers: the
    highest number alone would not tell which of them are here."""
    if len(tenants) == 1:
        ((tenant, state),) = tenants.items()
        return f"{store}.{tenant}.{state.version}"
    versions = sorted((tenant, state.version) for tenant, state in tenants.items())
    return f"{store}.{hashlib.sha256(repr(versions).encode()).hexdigest()[:32]}"
