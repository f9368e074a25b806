"""Scopes: which memories a recall may return, as a condition in SQL and as rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recollect.model import JsonObject, Memory, check
from recollect.model.matching import Answer, match_context, match_near
from recollect.store.base import Exclusion, Flags, Rows
from recollect.store.filters import HOUR, Condition, first_exclusion
from recollect.store.postgres.connections import Sql, join
from recollect.store.postgres.statements import row_array

Contexts = Callable[[], Mapping[int, JsonObject]]  # by row, those that are not empty
STATUS = (
    "CASE WHEN m.valid_to IS NOT NULL AND m.status IN ('active', 'superseded') THEN "
    "CASE WHEN m.valid_to > %s THEN 'active' ELSE 'superseded' END ELSE m.status END"
)
LAST_ACCESS = "(SELECT u.last_accessed FROM use u WHERE u.tenant = m.tenant AND u.row = m.row)"
DECAYED = (
    "coalesce(m.confidence, 0) * power(%s::double precision, greatest(0, floor((%s - greatest(m.created, "
    f"coalesce({LAST_ACCESS}, m.created))) / {HOUR:.0f}::double precision) / 24))"
)


def compile_all(conditions: Sequence[Condition], contexts: Contexts) -> Sql:
    """All of these, joined by AND."""
    if not conditions:
        return Sql("true")
    return join(" AND ", [compile_condition(each, contexts) for each in conditions])


def compile_condition(condition: Condition, contexts: Contexts) -> Sql:
    """A condition on the memory ``m``: true, false, or NULL if it cannot be decided."""
    wanted = condition.wanted
    match condition.name:
        case "not":
            inner = compile_all(wanted, contexts)
            return Sql(f"(NOT ({inner.text}))", inner.values)
        case "or":
            parts = [compile_all(alternative, contexts) for alternative in wanted]
            either = join(" OR ", [Sql(f"({part.text})", part.values) for part in parts])
            return Sql(f"({either.text or 'false'})", either.values)
        case "context":
            return _by_context(contexts(), lambda context: match_context(context, wanted))
        case "near":
            return _by_context(contexts(), lambda context: match_near(context, wanted))
    return _simple(condition.name, wanted, check.micros(condition.now), condition.decay)


def _simple(name: str, wanted: Any, now: int, decay: float) -> Sql:
    match name:
        case "remembered":
            return Sql("m.status <> 'forgotten'")
        case "stored_status":
            return Sql("m.status = ANY(%s)", (list(wanted),))
        case "status":
            return Sql(f"({STATUS}) = ANY(%s)", (now, list(wanted)))
        case "begun":
            return Sql("(m.valid_from IS NULL OR m.valid_from <= %s)", (now,))
        case "valid":
            return Sql(
                "(coalesce(m.valid_from, m.created) <= %s AND (m.valid_to IS NULL OR m.valid_to > %s))", (now, now)
            )
        case "unexpired":
            return Sql("(m.expires IS NULL OR m.expires > %s)", (now,))
        case "tags":
            return Sql("m.tag_list @> %s::text[]", (list(wanted),))
        case "path":
            inside = " OR starts_with(m.path, %s)" if wanted.endswith("/") else ""
            return Sql(f"(m.path = %s{inside})", (wanted, wanted) if inside else (wanted,))
        case "classification":
            return Sql("m.classification <= %s", (wanted,))
        case "min_confidence" if decay == 1.0:
            return Sql("coalesce(m.confidence, 0) >= %s", (float(wanted),))
        case "min_confidence":
            return Sql(f"({DECAYED}) >= %s", (float(decay), now, float(wanted)))
        case "since":
            return Sql("m.created >= %s", (check.micros(wanted),))
        case "until":
            return Sql("m.created < %s", (check.micros(wanted),))
        case _:
            return Sql(f'm."{name}" = ANY(%s)', (list(wanted),))


def _by_context(contexts: Mapping[int, JsonObject], matches: Callable[[JsonObject], Answer]) -> Sql:
    """A condition on contexts, as the rows for which it holds and those for which it does not."""
    answers = {row: matches(context) for row, context in contexts.items()}
    empty = {True: "true", False: "false", None: "NULL"}[matches({})]
    return Sql(
        f"(CASE WHEN m.context = '{{}}' THEN {empty} WHEN m.row = ANY(%s::bigint[]) THEN true "
        "WHEN m.row = ANY(%s::bigint[]) THEN false END)",
        tuple(row_array([row for row, each in answers.items() if each is truth]) for truth in (True, False)),
    )


NOT_STORED = Exclusion("it is not in the store")


@dataclass(slots=True, weakref_slot=True)
class PostgresScope:
    """The memories ``m`` of a bound for which a condition holds."""

    reader: ScopeReader
    where: Sql
    documents: tuple[str, ...]  # the collections that word statistics are about; empty for all of the bound
    conditions: Sequence[Condition]
    restrictions: tuple[tuple[str, Sql], ...] = ()  # further conditions, each with the reason for an exclusion
    cache_key: Hashable = None  # None: the rows depend on the moment
    _rows: Rows | None = field(default=None, repr=False)

    @property
    def rows(self) -> Rows:
        """Ascending."""
        if self._rows is None:
            self._rows = self.reader.read_rows(self.where, self.cache_key)
        return self._rows

    @property
    def count(self) -> int:
        return len(self.rows)

    def contains(self, rows: Rows) -> Flags:
        return is_among(rows, self.rows)

    def knows(self, row: int) -> bool:
        return self.reader.read_memory(row) is not None

    def exclusion(self, row: int) -> Exclusion | None:
        memory = self.reader.read_memory(row)
        if memory is None:
            return NOT_STORED
        found = first_exclusion(self.conditions, memory)
        if found is not None:
            return found
        for reason, where in self.restrictions:
            chosen = Sql(f"m.row = %s AND ({where.text})", (row, *where.values))
            if not len(self.reader.read_rows(chosen, None)):
                return Exclusion(reason)
        return None

    def restricted(self, reason: str, where: Sql) -> PostgresScope:
        """The scope with one more condition."""
        joined = Sql(f"{self.where.text} AND ({where.text})", (*self.where.values, *where.values))
        more = (*self.restrictions, (reason, where))
        return replace(self, where=joined, restrictions=more, cache_key=None, _rows=None)


@dataclass(frozen=True, slots=True)
class ScopeReader:
    """What a scope reads from the snapshot that made it."""

    read_rows: Callable[[Sql, Hashable], Rows]
    read_memory: Callable[[int], Memory | None]


def is_among(rows: Rows, ascending: Rows) -> Flags:
    """Which of these rows are among others."""
    if not len(ascending):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)
    return np.asarray(ascending[places] == rows)


def own(scope: Any) -> PostgresScope:
    if not isinstance(scope, PostgresScope):
        raise TypeError("A scope can be used only with the snapshot that made it.")
    return scope
