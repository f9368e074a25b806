"""Scopes: which memories a recall may return, as a condition in SQL and as rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recollect.model import Memory
from recollect.store.base import Exclusion, Flags, Rows
from recollect.store.filters import Condition, first_exclusion
from recollect.store.postgres.connections import Sql

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
