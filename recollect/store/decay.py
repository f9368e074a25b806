"""Decay: what the passing of time makes of the strengths of memories. For stores in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.store.base import Bound, Floats
from recollect.store.bounds import NAMES, is_inside

DAY = 86_400e6  # microseconds
# Both of them inside a bound: the moment of the last decay by the bound in its note, and what decays.
LAST_DECAYS = "SELECT note, max(at) FROM changes WHERE verb = 'decay' AND NOT undone GROUP BY note"
DECAYING = ", ".join(("row", "strength", "created", *(f'"{name}"' for name in NAMES)))


@dataclass(frozen=True, slots=True)
class StrengthChanges:
    """The rows whose strength changes, with it before and after."""

    rows: list[int]
    before: list[float]
    after: list[float]


def decayed(strength: Floats, days: Floats, rate: float) -> Floats:
    """strength × exp(−rate × days)."""
    return np.asarray(strength * np.exp(-rate * days))


def decayed_strengths(memories: Sequence[Any], last_decays: Iterable[Any], now: int, rate: float) -> StrengthChanges:
    """What a decay does now to memories (the values of DECAYING). Days count since the last decay that included a
    memory, or since its creation if that was later."""
    decays = [(_noted_bound(note), at) for note, at in last_decays]
    owners = {tuple(each[3:]) for each in memories}
    last = {owner: max((at for noted, at in decays if is_inside(owner, noted)), default=-np.inf) for owner in owners}
    begin = np.array([max(last[tuple(owner)], created) for _, _, created, *owner in memories], dtype=np.float64)
    before = np.array([each[1] for each in memories], dtype=np.float64)
    after = decayed(before, np.maximum(0.0, now - begin) / DAY, rate)
    changed = np.flatnonzero(after != before)
    rows = np.array([each[0] for each in memories], dtype=np.int64)
    return StrengthChanges(rows[changed].tolist(), before[changed].tolist(), after[changed].tolist())


def _noted_bound(note: str) -> Bound:
    """The bound in the history entry of a decay; version 0.1 wrote the collection alone."""
    noted = json.loads(note) if note else {}
    return Bound(collection=noted) if isinstance(noted, str) else Bound(**noted)
