"""Fading: strengths decay with time, all at once, and the file knows since when."""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw
import numpy as np

from recollect.store.base import Floats
from recollect.store.sqlite.connections import fetch

DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class Faded:
    """The rows whose strength is another now, with what it was and what it is."""

    rows: list[int]
    former: list[float]
    strength: list[float]


def faded(strength: Floats, days: Floats, rate: float) -> Floats:
    """strength × exp(−rate × days)."""
    return np.asarray(strength * np.exp(-rate * days))


def scope_note(collection: str | None) -> str:
    """How a decay's entry in the history says whom it was for: everybody, or one collection."""
    return "" if collection is None else json.dumps(collection)


def fade(connection: apsw.Connection, now: int, rate: float, collection: str | None) -> Faded:
    """What a decay does now to the memories of a collection, or to all: days count since the last one that
    they have seen, or since their creation when that came later."""
    sql = "SELECT note, max(at) FROM changes WHERE verb = 'decay' AND NOT undone GROUP BY note"
    last = dict(fetch(connection, sql))
    chosen, asked = ("", ()) if collection is None else ("WHERE collection = ?", (collection,))
    held = fetch(connection, f"SELECT row, strength, created, collection FROM memories {chosen} ORDER BY row", asked)
    never = -np.inf
    since = {name: max(last.get("", never), last.get(scope_note(name), never)) for name in {each[3] for each in held}}
    begin = np.array([max(since[name], created) for _, _, created, name in held], dtype=np.float64)
    former = np.array([each[1] for each in held], dtype=np.float64)
    latter = faded(former, np.maximum(0.0, now - begin) / DAY, rate)
    moved = np.flatnonzero(latter != former)
    rows = np.array([each[0] for each in held], dtype=np.int64)
    return Faded(rows[moved].tolist(), former[moved].tolist(), latter[moved].tolist())
