"""Approximate search for vectors: an HNSW index for each large collection, where the URL has ``approximate=N``.

Each index is of one collection and one model, so that a search never meets vectors of others. Building one takes
memory and minutes, and only the owner of the tables may: ``recollect doctor --fix`` does it. Without its index a
collection is searched exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.errors import StoreError
from recollect.store.base import Space
from recollect.store.postgres.connections import Database, set_local

LINKS, BUILD_WIDTH = (
    24,
    128,
)  # of the graph: neighbours of a vector, and candidates while it is built (m, ef_construction)
SEARCH_WIDTH, MAX_SEARCH_WIDTH = 400, 1000  # candidates while it is searched (hnsw.ef_search), at least and at most
MAX_SCANNED = 200_000  # vectors that a search looks at before it gives up finding more that pass the filter
PREFIX = "vectors_near"
ITERATIVE_SCANS = (0, 8)  # the first version of pgvector with hnsw.iterative_scan
TOO_OLD = "approximate= needs 0.8 or later. Install it on the server and run: ALTER EXTENSION vector UPDATE"


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The index of one collection and space."""

    tenant: int
    space: int
    dim: int

    @property
    def name(self) -> str:
        return f"{PREFIX}_{self.tenant}_{self.space}"

    @property
    def expression(self) -> str:
        return f"(v.vector::halfvec({self.dim}))"

    @property
    def condition(self) -> str:
        """Which rows it has: constants, as the planner must see that a query asks for no others."""
        return f"v.tenant = {self.tenant} AND v.space = {self.space}"


def too_old(connection: Any) -> str | None:
    """The version of pgvector, if it cannot go on with a scan until enough vectors pass a filter."""
    (version,) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    numbers = tuple(int(number) for number in re.findall(r"\d+", version))
    return version if numbers < ITERATIVE_SCANS else None


def has_index(connection: Any, index: VectorIndex) -> bool:
    """Is there an index that is complete and can be searched?"""
    sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
    found = connection.execute(sql, (index.name,)).fetchone()
    return found is not None and bool(found[0]) and too_old(connection) is None


def prepare_search(connection: Any, n: int) -> None:
    """How thorough the searches of this transaction are. The scan goes on until enough vectors pass the filter.

    The planner may think that sorting all vectors is quicker."""
    width = min(MAX_SEARCH_WIDTH, max(SEARCH_WIDTH, 4 * n))
    values = {"hnsw.ef_search": str(width), "hnsw.iterative_scan": "strict_order"}
    set_local(connection, {**values, "hnsw.max_scan_tuples": str(MAX_SCANNED), "enable_sort": "off"})


def finish_search(connection: Any) -> None:
    set_local(connection, {"enable_sort": "on"})


def missing_indexes(connection: Any, space: tuple[int, Space], more_than: int) -> list[VectorIndex]:
    """The collections with more vectors than this and without an index."""
    sql = "SELECT tenant FROM vectors WHERE space = %s GROUP BY tenant HAVING count(*) > %s ORDER BY tenant"
    large = connection.execute(sql, (space[0], more_than)).fetchall()
    indexes = [VectorIndex(tenant, space[0], space[1].dim) for (tenant,) in large]
    return [index for index in indexes if not has_index(connection, index)]


def build_indexes(database: Database, indexes: Sequence[VectorIndex]) -> None:
    """Build indexes while others write. What an interrupted build left is built again."""
    schema = f'"{database.settings.schema}"'
    with database.connect() as connection:
        if version := too_old(connection):
            raise StoreError(f"{database.path} has pgvector {version}: {TOO_OLD}. Nothing was built.")
        connection.execute(f"SET search_path = {database.search_path}")
        try:
            for index in indexes:
                expression = index.expression.replace("v.", "")
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema}.{index.name}")
                connection.execute(
                    f"CREATE INDEX CONCURRENTLY {index.name} ON {schema}.vectors "
                    f"USING hnsw ({expression} halfvec_ip_ops) WITH (m = {LINKS}, ef_construction = {BUILD_WIDTH}) "
                    f"WHERE {index.condition.replace('v.', '')}"
                )
        finally:
            connection.execute("RESET search_path")
