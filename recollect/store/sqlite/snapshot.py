"""One snapshot of the file, for one recall: masks, words, vectors, columns and edges that agree with each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.model import EntityEdge, JsonObject, Memory, Use
from recollect.model.filter import FilterExpression
from recollect.model.validation import from_micros
from recollect.store.base import EdgeArrays, Floats, Rows, Space, check_space
from recollect.store.sqlite.arrays import best
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.index import Follower, Image
from recollect.store.sqlite.lexicon import SqliteLexicon
from recollect.store.sqlite.rows import SELECT_USE, from_row, read_use, select_columns
from recollect.store.sqlite.scope import ScopeBuilder, SlotScope
from recollect.store.sqlite.session_order import Order
from recollect.store.sqlite.signatures import signatures
from recollect.text.slugs import path_or_name

ROUNDING = 1e-5  # more than a float32 product of unit vectors is ever off
SPARSE = 8  # a mask with fewer than 1 in so many slots is scanned alone
UNUSED = Use()
T = TypeVar("T")


class SqliteSnapshot:
    """One snapshot of the file and the image that belongs to it."""

    def __init__(self, path: str, image: Image, connection: apsw.Connection, follower: Follower) -> None:
        self.path = path
        self.image = image
        self.connection = connection
        self.follower = follower
        self.lexicon = SqliteLexicon(image, connection, follower.kept)

    @property
    def version(self) -> int:
        return self.image.version

    def scope(
        self,
        filter: FilterExpression | None,
        statuses: Sequence[str],
        now: datetime,
        as_of: bool = False,
        hidden: bool = False,
    ) -> SlotScope:
        return ScopeBuilder(self.image, self._column, self._last_accessed).make(filter, statuses, now, as_of, hidden)

    def check_space(self, space: Space) -> None:
        check_space(self.image.space, space, self.path)

    def nearest(self, vector: NDArray[np.float32], scope: SlotScope, limit: int) -> tuple[Rows, Floats]:
        image = self.image
        allowed = scope.slots & image.has_vector
        count = int(np.count_nonzero(allowed))
        if not count:
            return np.empty(0, np.int64), np.empty(0)
        if count * SPARSE < len(image.rows):
            slots = np.flatnonzero(allowed)
            rough = image.matrix[slots] @ vector
        else:
            slots = None
            rough = np.einsum(
                "ij,j->i", image.matrix, vector
            )  # twice as fast as BLAS at 384 dimensions, beyond the cache
            if count < len(rough):
                rough[~allowed] = -np.inf
        # The scan rounds, and not alike from place to place: what could be among the nearest gets an exact product.
        size = len(rough)
        floor = np.partition(rough, size - limit)[size - limit] - ROUNDING if limit < count else -2.0
        near = np.flatnonzero(rough >= floor)
        near = near if slots is None else slots[near]
        exact = _dot(image.matrix[near], vector)
        chosen = best(exact, image.rows[near], limit)
        return image.rows[near[chosen]], exact[chosen]

    def cosines(self, vector: NDArray[np.float32], rows: Rows) -> Floats:
        slots, known = self._with_vectors(rows)
        cosines = np.full(len(rows), np.nan)
        cosines[known] = _dot(self.image.matrix[slots], vector)
        return cosines

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        slots, known = self._with_vectors(rows)
        vectors = np.full((len(rows), self.image.matrix.shape[1]), np.nan, dtype=np.float32)
        vectors[known] = self.image.matrix[slots]
        return vectors

    def _with_vectors(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The slots that have a vector, and which of the rows those are."""
        slots = self.image.slots(rows)
        known = slots >= 0
        known[known] = self.image.has_vector[slots[known]]
        return slots[known], known

    def token_likeness(self, tokens: NDArray[np.float32], rows: Rows) -> NDArray[np.float32]:
        return self.follower.shelf(self.image, self.connection).likeness(tokens, self.image.slots(rows))

    def around(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        image = self.image
        order = image.memo.get("order")
        if order is None:
            columns = (self._column(name) for name in ("user", "session", "position"))
            order = image.memo["order"] = Order.of(image, *columns)
        slots = order.around(image.slots(rows), reach)
        return np.where(slots < 0, -1, image.rows[slots]) if len(image.rows) else slots

    def signatures(self, bits: int, rows: Rows) -> NDArray[np.uint8]:
        return signatures(self.image, self.connection, bits)[self.image.slots(rows)]

    def numbers(self, name: str, rows: Rows) -> Floats:
        slots = self.image.slots(rows)
        if not len(self.image.rows):
            return np.full(len(rows), np.nan)
        return np.where(slots < 0, np.nan, self._column(name)[slots])

    def strings(self, name: str, rows: Rows) -> list[str]:
        slots = self.image.slots(rows)
        if not len(self.image.rows):
            return [""] * len(rows)
        codes = np.where(slots < 0, -1, self._column(name)[slots])
        words = [*self.image.codes[name], ""]
        return [words[code] for code in codes.tolist()]

    def contexts(self, rows: Rows) -> list[JsonObject]:
        held: dict[int, JsonObject] = self._column("context")
        return [held.get(slot, {}) for slot in self.image.slots(rows).tolist()]

    def links(self, rows: Rows, kinds: Sequence[str] | None = None) -> EdgeArrays:
        if kinds is not None and not set(kinds) & self.kept("kinds of edges", self._kinds):
            return EdgeArrays(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), [])
        among = "IN (SELECT value FROM json_each(?1))"
        sql = f"SELECT source, target, weight, kind FROM edges WHERE source {among} "
        sql += f"UNION SELECT source, target, weight, kind FROM edges WHERE target {among} ORDER BY 1, 4, 2"
        found = fetch(self.connection, sql, (_listed(rows),))
        chosen = [each for each in found if kinds is None or each[3] in kinds]
        return EdgeArrays(
            np.array([each[0] for each in chosen], dtype=np.int64),
            np.array([each[1] for each in chosen], dtype=np.int64),
            np.array([each[2] for each in chosen], dtype=np.float64),
            [each[3] for each in chosen],
        )

    def _kinds(self) -> set[str]:
        return {kind for (kind,) in fetch(self.connection, "SELECT DISTINCT kind FROM edges")} | {""}

    def uses(self, rows: Rows) -> list[Use]:
        sql = f"SELECT u.row, {SELECT_USE} FROM use u WHERE u.row IN (SELECT value FROM json_each(?))"
        found = {row: read_use(values) for row, *values in fetch(self.connection, sql, (_listed(rows),))}
        return [found.get(row, UNUSED) for row in rows.tolist()]

    def texts(self, rows: Rows) -> list[str]:
        return self._written("text", rows)

    def ids(self, rows: Rows) -> list[str]:
        return self._written("id", rows)

    def _written(self, name: str, rows: Rows) -> list[str]:
        """A column of the file, which the image does not hold."""
        sql = f"SELECT row, {name} FROM memories WHERE row IN (SELECT value FROM json_each(?))"
        found = dict(fetch(self.connection, sql, (_listed(rows),)))
        return [found.get(row, "") for row in rows.tolist()]

    def paths(self, rows: Rows) -> list[str]:
        # Where there is neither path nor title the id stands for both, and no slug need be made.
        place = "iif(path = '' AND title = '', id, path)"
        sql = f"SELECT row, {place}, title, id FROM memories WHERE row IN (SELECT value FROM json_each(?))"
        named = fetch(self.connection, sql, (_listed(rows),))
        found = {row: path or path_or_name(path, title, id) for row, path, title, id in named}
        return [found.get(row, "") for row in rows.tolist()]

    def kept(self, key: str, make: Callable[[], T]) -> T:
        known: T | None = self.image.memo.get(("kept", key))  # others may clear the memo at any time
        if known is None:
            known = self.image.memo["kept", key] = make()
        return known

    def relations(self, names: Sequence[str]) -> list[EntityEdge]:
        wanted = {name.casefold() for name in names}
        return [
            edge
            for edge in read_relations(self.connection)
            if edge.subject.casefold() in wanted or edge.object.casefold() in wanted
        ]

    def memories(self, rows: Rows) -> list[Memory]:
        sql = (
            f"SELECT m.row, {select_columns(self.connection)}, {SELECT_USE} "
            "FROM memories m LEFT JOIN use u ON u.row = m.row WHERE m.row IN (SELECT value FROM json_each(?))"
        )
        found = {row: from_row(values) for row, *values in self.connection.execute(sql, (_listed(rows),))}
        return [found[row] for row in rows.tolist() if row in found]

    def use_numbers(self, name: str, rows: Rows) -> Floats:
        sql = f"SELECT u.row, u.{name} FROM json_each(?) asked CROSS JOIN use u ON u.row = asked.value"
        found = dict(fetch(self.connection, sql, (_listed(rows),)))
        return np.array([found.get(row) for row in rows.tolist()], dtype=np.float64)

    def _last_accessed(self) -> tuple[Rows, Floats]:
        """All rows that were ever accessed, and when."""
        found = fetch(self.connection, "SELECT row, last_accessed FROM use WHERE last_accessed IS NOT NULL")
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1].astype(np.float64)

    def _column(self, name: str) -> Any:
        return self.follower.column(self.image, self.connection, name)

    def row(self, id: str) -> int | None:
        row: int | None = self.connection.execute("SELECT row FROM memories WHERE id = ?", (id,)).get
        return row

    def all_rows(self, scope: SlotScope) -> Rows:
        return np.sort(self.image.rows[scope.slots])

    def newest(self, scope: SlotScope) -> Rows:
        slots = np.flatnonzero(scope.slots)
        created = self._column("created")[slots]
        return self.image.rows[slots[np.lexsort((-self.image.rows[slots], -created))]]


def _dot(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> Floats:
    """Row by row in double precision: the same bits wherever a row lies."""
    return np.asarray(np.einsum("ij,j->i", matrix.astype(np.float64), vector.astype(np.float64)))


def _listed(rows: Rows) -> str:
    return json.dumps(rows.tolist())


def read_relations(connection: apsw.Connection) -> list[EntityEdge]:
    names = ("subject", "relation", "object", "weight", "collection", "user", "classification", "source")
    sql = f"SELECT created, {', '.join(names)} FROM entity_edges ORDER BY collection, user, subject, relation, object"
    return [
        EntityEdge(**dict(zip(names, values, strict=True)), created=from_micros(at))
        for at, *values in fetch(connection, sql)
    ]
