"""Possible conflicts: pairs of memories that state different values of the same thing, or opposite opinions of it.

They are found by rule, and nothing is changed: the caller decides (``supersede``, ``contradict``, or keep both).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import FilterExpression, Memory
from recollect.recall.neighbours import find_nearest
from recollect.recall.statements import (
    CONFLICT_REASONS,
    DECIDED_EDGES,
    ConflictRule,
    Statements,
    usual_cosine,
)
from recollect.store.base import Rows, Snapshot, Store
from recollect.store.retrying import retried

NEIGHBOURS = 8  # memories that each one is compared with
BATCH = 256  # memories that are compared at once, and between two reports of progress

Report = Callable[[int, int], None]  # how many memories were compared, of how many


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that may conflict, the rule that found them, and what can be done about it."""

    older: Memory
    newer: Memory
    rule: ConflictRule
    nearness: float  # 0: as near as any two memories; 1: the same

    @property
    def reason(self) -> str:
        return CONFLICT_REASONS[self.rule]

    @property
    def choices(self) -> tuple[str, ...]:
        """What one may do; keeping both needs no call."""
        older, newer = self.older.id, self.newer.id
        return (f"supersede({older!r}, {newer!r})", f"contradict({older!r}, {newer!r})", "keep both")

    def as_dict(self) -> dict[str, Any]:
        def brief(memory: Memory) -> dict[str, Any]:
            created = memory.created and memory.created.isoformat()
            return {"id": memory.id, "text": memory.text, "created": created}

        return {
            "older": brief(self.older),
            "newer": brief(self.newer),
            "rule": self.rule,
            "reason": self.reason,
            "nearness": round(self.nearness, 3),
            "choices": list(self.choices),
        }


@retried
def find_conflicts(
    store: Store, now: datetime, filter: FilterExpression | None, limit: int | None, report: Report | None = None
) -> list[Conflict]:
    """The pairs that may conflict, nearest in meaning first. Each memory is compared with its nearest ones only."""
    with store.snapshot() as snapshot:
        everything = snapshot.scope(filter, ("active",), now)
        rows = snapshot.page(everything, "stored", everything.count)
        by_owner: dict[tuple[str, ...], list[int]] = {}
        for row, owner in zip(rows.tolist(), _owners(snapshot, rows), strict=True):
            by_owner.setdefault(owner, []).append(row)
        found: dict[tuple[int, int], tuple[ConflictRule, float]] = {}
        compared = 0
        for members in by_owner.values():
            for done in _compare_all(snapshot, np.array(members, dtype=np.int64), found):
                compared += done
                if report is not None:
                    report(compared, len(rows))
        _keep_nearest_correction(snapshot, found)
        for pair in _linked(snapshot, {row for ends in found for row in ends}):
            found.pop(pair, None)
        best = sorted(found.items(), key=lambda item: (-item[1][1], snapshot.ids(np.array(item[0]))))[:limit]
        memories = snapshot.memories(np.array([row for pair, _ in best for row in pair], dtype=np.int64))
    return [Conflict(memories[2 * at], memories[2 * at + 1], rule, near) for at, (_, (rule, near)) in enumerate(best)]


def _compare_all(
    snapshot: Snapshot, rows: Rows, found: dict[tuple[int, int], tuple[ConflictRule, float]]
) -> Iterator[int]:
    """Compare each memory of an owner with its nearest and with those that follow it in its session, in batches.

    Yields how many each batch had. Each pair is compared once; those that are not near only if one may be a correction.
    """
    vectors = np.nan_to_num(snapshot.vectors(rows))  # what has no vector is near to nothing
    median = usual_cosine(snapshot, rows) or 0.0
    near: dict[tuple[int, int], float] = {}
    statements = Statements.of(snapshot, rows, nearness_of=near)
    nearest = find_nearest(vectors, NEIGHBOURS) if vectors.size else None
    places = {row: at for at, row in enumerate(rows.tolist())}
    for start in range(0, len(rows), BATCH):
        batch = range(start, min(start + BATCH, len(rows)))
        pairs = {_pair(at, other) for at in batch for other in nearest[at].tolist()} if nearest is not None else set()
        for at, after in zip(batch, snapshot.neighbours(rows[start : start + BATCH], 3)[:, 3:].tolist(), strict=True):
            pairs |= {_pair(at, places[row]) for row in after if row in places}
        compared = list(_nearness(vectors, sorted(pairs), median))
        near.clear()
        near.update({each: value for (one, other), value in compared for each in ((one, other), (other, one))})
        for (one, other), value in compared:
            older, newer = (one, other) if statements.moments[one] <= statements.moments[other] else (other, one)
            rule = statements.conflict(newer, older)
            if rule is not None:
                found[int(rows[older]), int(rows[newer])] = rule, value
        yield len(batch)


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _nearness(
    vectors: NDArray[np.float32], pairs: list[tuple[int, int]], median: float
) -> Iterator[tuple[tuple[int, int], float]]:
    """The nearness of each pair of different memories, as in Statements; −1 without vectors."""
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    if not vectors.size or not pairs:
        return ((pair, -1.0) for pair in pairs)
    ones, others = np.array(pairs).T
    cosines = np.einsum("ij,ij->i", vectors[ones], vectors[others], dtype=np.float64)
    return zip(pairs, ((cosines - median) / (1 - median)).tolist(), strict=True)


def _keep_nearest_correction(snapshot: Snapshot, found: dict[tuple[int, int], tuple[ConflictRule, float]]) -> None:
    """A correction is about the last statement before it."""
    corrected: dict[int, list[int]] = {}
    for (older, newer), (rule, _) in found.items():
        if rule == "correction":
            corrected.setdefault(newer, []).append(older)
    for newer, olders in corrected.items():
        created = snapshot.numbers("created", np.array(olders, dtype=np.int64))
        for older in olders:
            if older != olders[int(created.argmax())]:
                del found[older, newer]


def _owners(snapshot: Snapshot, rows: Rows) -> list[tuple[str, ...]]:
    return list(zip(*(snapshot.strings(name, rows) for name in ("collection", "user")), strict=True))


def _linked(snapshot: Snapshot, rows: set[int]) -> Iterator[tuple[int, int]]:
    """The pairs, both ways round, about which somebody has decided already."""
    edges = snapshot.edges(np.array(sorted(rows), dtype=np.int64), DECIDED_EDGES)
    for a, b in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True):
        yield a, b
        yield b, a
