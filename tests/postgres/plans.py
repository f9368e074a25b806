"""What the server does for a recall: its statements, and how many rows each part of their plans looks at."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import psycopg

from recollect import Mind
from recollect.store.postgres import PostgresStore

READS = ("SELECT", "WITH scored")


@dataclass(frozen=True, slots=True)
class Scan:
    """A table that a plan reads, and how many rows it looks at each time, also those that it throws away."""

    table: str
    kind: str
    rows: float
    statement: str


@contextmanager
def noted_statements() -> Iterator[list[tuple[str, Any]]]:
    """Every statement that is executed meanwhile, with its values."""
    executed: list[tuple[str, Any]] = []
    execute = psycopg.Cursor.execute

    def noted(cursor: psycopg.Cursor[Any], query: Any, params: Any = None, **options: Any) -> Any:
        executed.append((str(query), params))
        return execute(cursor, query, params, **options)

    with patch.object(psycopg.Cursor, "execute", noted):
        yield executed


def scans_of_recall(mind: Mind, question: str) -> list[Scan]:
    """Every statement of a recall explained with ANALYZE."""
    assert isinstance(mind.store, PostgresStore)
    with noted_statements() as statements:
        mind.recall(question, k=10)
    scans = []
    for sql, values in statements:
        if sql.startswith(READS) and "set_config" not in sql:
            ((found,),) = mind.store.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values or ())
            scans += [_scan(node, sql) for node in _nodes(found[0]["Plan"]) if "Relation Name" in node]
    return scans


def rows_by_table(mind: Mind, tables: Collection[str]) -> dict[str, int]:
    """How many rows of these tables the bound of a mind has."""
    assert isinstance(mind.store, PostgresStore)
    return {table: mind.store.fetch(f"SELECT count(*) FROM {table} WHERE tenant > 0")[0][0] for table in tables}


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def _scan(node: dict[str, Any], sql: str) -> Scan:
    thrown_away = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
    processes = node["Actual Loops"] if node.get("Parallel Aware") else 1  # each reads a part
    return Scan(node["Relation Name"], node["Node Type"], (node["Actual Rows"] + thrown_away) * processes, sql[:120])
