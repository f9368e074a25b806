"""What was remembered just before and after a memory, in its session.

A recall asks for the neighbours of its candidates, and then for the neighbours of those. So twice as many are read as
are asked for: they tell the neighbours of the neighbours, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Rows
from recollect.store.postgres.statements import read_vectors, row_array

if TYPE_CHECKING:
    from recollect.store.postgres.snapshot import PostgresSnapshot

COHERENT, SAMPLE = 0.1, 2000  # see sqlite/session_order.py
PLACE = "coalesce({0}.position, 0), {0}.created, {0}.row"  # in a session


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nearest rows before and after one, nearest first: all up to this reach."""

    before: list[int]
    after: list[int]
    reach: int


class Neighbours:
    """The neighbours of the memories of one snapshot."""

    def __init__(self, snapshot: PostgresSnapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[int, Neighbourhood] = {}

    def of(self, rows: Rows, reach: int) -> NDArray[np.int64]:
        """By row: those before it and those after it, −1 where there is none."""
        neighbours = np.full((len(rows), 2 * reach), -1, dtype=np.int64)
        if not reach:
            return neighbours
        unknown = [row for row in rows.tolist() if row not in self._known or self._known[row].reach < reach]
        if unknown:
            self._read(unknown, reach)
        for at, row in enumerate(rows.tolist()):
            if row in self._known:
                before, after = self._known[row].before[:reach], self._known[row].after[:reach]
                neighbours[at, : len(before)] = before
                neighbours[at, reach : reach + len(after)] = after
        return neighbours

    def _read(self, rows: list[int], reach: int) -> None:
        inside, bound, width = self._snapshot.bound_of("x"), self._snapshot.bound, 2 * reach
        same = 'x.tenant = m.tenant AND x."user" = m."user" AND x.session = m.session'
        sides = []
        for sign, direction in (("<", "DESC"), (">", "ASC")):
            order = ", ".join(f"{each} {direction}" for each in PLACE.format("x").rsplit(", ", 2))
            sides.append(
                f"ARRAY(SELECT x.row FROM memories x WHERE {same} AND {inside.text} "
                f"AND ({PLACE.format('x')}) {sign} ({PLACE.format('m')}) ORDER BY {order} LIMIT {width})"
            )
        sql = (
            f'SELECT m.row, m.tenant, m."user", m.session, {", ".join(sides)} FROM memories m '
            f"WHERE m.row = ANY(%s::bigint[]) AND {bound.text}"
        )
        values = (*inside.values, *inside.values, row_array(rows), *bound.values)
        for row, tenant, user, session, before, after in self._snapshot.fetch(sql, values):
            if session or self._are_similar(tenant, user):
                self._learn([*reversed(before), row, *after], len(before) < width, len(after) < width, reach)
                self._known[row] = Neighbourhood(before, after, width)
            else:
                self._known[row] = Neighbourhood([], [], width)

    def _learn(self, run: list[int], has_first: bool, has_last: bool, reach: int) -> None:
        """Keep the neighbours of each row in a run of a session, as far as they are in it."""
        for at, row in enumerate(run):
            is_whole = (has_first or at >= reach) and (has_last or len(run) - 1 - at >= reach)
            if is_whole and row not in self._known:
                before = run[max(0, at - reach) : at][::-1]
                self._known[row] = Neighbourhood(before, run[at + 1 : at + 1 + reach], reach)

    def _are_similar(self, tenant: int, user: str) -> bool:
        """Are memories without a session that follow one another nearer in meaning than any two of them?"""
        snapshot = self._snapshot

        def compute() -> bool:
            if snapshot.active_space is None:
                return False
            number, space = snapshot.active_space
            sql = (
                "SELECT halfvec_send(v.vector) FROM memories m JOIN vectors v ON v.tenant = m.tenant "
                f"AND v.row = m.row AND v.space = %s WHERE m.tenant = %s AND m.\"user\" = %s AND m.session = '' "
                f"AND {snapshot.bound.text} ORDER BY coalesce(m.position, 0), m.created, m.row LIMIT {SAMPLE}"
            )
            found = snapshot.scan(sql, (number, tenant, user, *snapshot.bound.values))
            if len(found) < 8:
                return False
            vectors = read_vectors([packed for (packed,) in found], space.dim)
            following = np.einsum("ij,ij->i", vectors[1:], vectors[:-1]).mean()
            mean = vectors.mean(axis=0)
            return bool(following - mean @ mean > COHERENT)

        return snapshot.derived(("coherent", tenant, user), compute)
