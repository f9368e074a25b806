"""SQL that the modules of this store share, and values as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, Memory, Use, from_micros
from recollect.store.base import Bound, Space
from recollect.store.bounds import NAMES
from recollect.store.postgres.connections import TRUE, RowArray, Sql, set_local
from recollect.store.rows import COLUMNS, USE_COLUMNS, to_row

QUOTED = [f'"{name}"' for name in COLUMNS]
SELECT = ", ".join(f"m.{name}" for name in QUOTED)
SELECT_USE = ", ".join(f"u.{name}" for name in USE_COLUMNS)
INSERT = (
    f"INSERT INTO memories (tenant, row, born, changed, {', '.join(QUOTED)}, tag_list, lengths) "
    f"VALUES (%s, %s, %s, %s, {', '.join(['%s'] * len(COLUMNS))}, %s::text[], %s)"
)
UPDATE = (
    f"UPDATE memories SET changed = %s, {', '.join(f'{name} = %s' for name in QUOTED)}, tag_list = %s::text[], "
    "lengths = %s WHERE tenant = %s AND row = %s"
)


def join_by_row(table: str, alias: str, more: str = "") -> str:
    """``JOIN LATERAL …``: what a table has for the memory ``m``, found by its key for each memory. A plain join may be
    planned as a scan of all that the collection has there, as long as the server has no statistics of it."""
    same = f"{alias}.tenant = m.tenant AND {alias}.row = m.row{more}"
    return f"JOIN LATERAL (SELECT * FROM {table} {alias} WHERE {same} OFFSET 0) {alias} ON true"


JOIN_USE = f"LEFT {join_by_row('use', 'u')}"
RELATION_COLUMNS = 'e.subject, e.relation, e.object, e.weight, c.name, e."user", e.classification, e.source, e.created'


def memory_values(memory: Memory) -> list[Any]:
    """The values of COLUMNS, and of tag_list."""
    return [*to_row(memory), list(memory.tags)]


def bound_condition(bound: Bound, prefix: str = "m.") -> Sql:
    """`` AND m.tenant = (…) AND m."user" = %s …`` for a WHERE clause, and its values."""
    parts = []
    for name in bound.values:
        if name == "collection":
            parts.append(f" AND {prefix}tenant = (SELECT c.tenant FROM collections c WHERE c.name = %s)")
        else:
            parts.append(f' AND {prefix}"{name}" = %s')
    return Sql("".join(parts), tuple(bound.values.values()))


def policy_settings(bound: Bound) -> dict[str, str]:
    """The settings by which the policies of the tables (see migrations.py) show what a bound contains."""
    values = bound.values
    return {f"recollect.{name}": f"={values[name]}" if name in values else "*" for name in NAMES}


@contextmanager
def without_policies(connection: Any, bound: Bound) -> Iterator[None]:
    """Look beyond the bound, for what must be unique and for names that must not remain anywhere."""
    if bound.values:
        set_local(connection, policy_settings(Bound()))
    yield
    if bound.values:
        set_local(connection, policy_settings(bound))


def active_space(connection: Any) -> tuple[int, Space] | None:
    """The number of the space that is searched, and the space."""
    found = connection.execute("SELECT space, name, dim FROM spaces WHERE active").fetchone()
    return None if found is None else (found[0], Space(found[1], found[2]))


def row_array(rows: Sequence[int] | NDArray[np.int64]) -> RowArray:
    return RowArray(np.asarray(rows, dtype=np.int64))


def halfvec(vector: NDArray[np.float32]) -> str:
    """A vector as it is written: its float16 values are exact in decimal."""
    return "[" + ",".join(map(repr, vector.astype(np.float16).astype(np.float64).tolist())) + "]"


def read_vectors(packed: Sequence[bytes], dim: int) -> NDArray[np.float32]:
    """Vectors that ``halfvec_send`` returned: two numbers of 16 bits, then the float16 values."""
    size = 4 + 2 * dim
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(len(packed), size)
    return np.ascontiguousarray(raw[:, 4:]).view(">f2").astype(np.float32)


def read_use(values: Sequence[Any]) -> Use:
    accessed, accesses, returns, recalls, recalled, times = values
    moments = [None if at is None else from_micros(at) for at in (accessed, recalled)]
    return Use(moments[0], accesses, returns, recalls, moments[1], tuple(map(from_micros, times)))


def with_use(values: Sequence[Any]) -> list[Any]:
    """A row of a memory and its use, as ``rows.from_row`` takes it."""
    found = list(values)
    found[-1] = json.dumps(found[-1] or [])
    return found


def read_relations(connection: Any, bound: Bound, where: Sql = TRUE) -> list[EntityEdge]:
    if any(bound.values.get(name) for name in ("agent", "session")):
        return []
    named = Bound(collection=bound.collection, user=bound.user)
    condition = bound_condition(named, "e.")
    sql = (
        f"SELECT {RELATION_COLUMNS} FROM entity_edges e JOIN collections c ON c.tenant = e.tenant "
        f'WHERE {where.text}{condition.text} ORDER BY c.name, e."user", e.subject, e.relation, e.object'
    )
    found = connection.execute(sql, (*where.values, *condition.values)).fetchall()
    names = ("subject", "relation", "object", "weight", "collection", "user", "classification", "source")
    return [EntityEdge(**dict(zip(names, values, strict=True)), created=from_micros(at)) for *values, at in found]
