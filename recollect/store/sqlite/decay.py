"""Decay: what the passing of time makes of the strengths of memories."""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw
import numpy as np

from recollect.store.base import Bound, Floats
from recollect.store.sqlite.bounds import bound_condition, is_inside
from recollect.store.sqlite.connections import fetch

DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class StrengthChanges:
    """The rows whose strength changes, with it before and after."""

    rows: list[int]
    before: list[float]
    after: list[float]


def decayed(strength: Floats, days: Floats, rate: float) -> Floats:
    """strength × exp(−rate × days)."""
    return np.asarray(strength * np.exp(-rate * days))


def decayed_strengths(connection: apsw.Connection, now: int, rate: float, bound: Bound) -> StrengthChanges:
    """What a decay does now to the memories of a bound. Days count since the last decay that included a memory, or
    since its creation if that was later."""
    sql = "SELECT note, max(at) FROM changes WHERE verb = 'decay' AND NOT undone GROUP BY note"
    decays = [(_noted_bound(note), at) for note, at in fetch(connection, sql)]
    condition, values = bound_condition(bound)
    columns = "row, strength, created, collection, user, agent, session"
    sql = f"SELECT {columns} FROM memories WHERE true{condition} ORDER BY row"
    stored = fetch(connection, sql, values)
    owners = {tuple(each[3:]) for each in stored}
    last = {owner: max((at for noted, at in decays if is_inside(owner, noted)), default=-np.inf) for owner in owners}
    begin = np.array([max(last[tuple(owner)], created) for _, _, created, *owner in stored], dtype=np.float64)
    before = np.array([each[1] for each in stored], dtype=np.float64)
    after = decayed(before, np.maximum(0.0, now - begin) / DAY, rate)
    changed = np.flatnonzero(after != before)
    rows = np.array([each[0] for each in stored], dtype=np.int64)
    return StrengthChanges(rows[changed].tolist(), before[changed].tolist(), after[changed].tolist())


def _noted_bound(note: str) -> Bound:
    """The bound in the history entry of a decay; version 0.1 wrote the collection alone."""
    noted = json.loads(note) if note else {}
    return Bound(collection=noted) if isinstance(noted, str) else Bound(**noted)
