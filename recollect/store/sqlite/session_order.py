"""Session order: which memories come before and after each other in a session.

Each part has its slots in the order of sessions; the neighbours of a memory are looked up in every part and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Bound, Flags, Rows
from recollect.store.sqlite.index import Index, Slots, View
from recollect.store.sqlite.part import LocalSlots, Part
from recollect.store.sqlite.part_building import OWNER, hash_groups
from recollect.store.sqlite.scope import find_bound_slots

# Without sessions, is a memory about what the one before it was about? In conversations and diaries the cosine of two
# that follow one another is .13 to .38 above that of two at random; in collections of documents −.01 to .09.
COHERENT = 0.1
SAMPLE = 2000  # pairs that are compared
Keys = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # position, creation and row: the order in a session


@dataclass(frozen=True, slots=True)
class PartOrder:
    """The slots of a part that are inside a bound, session by session. A session name means another session for
    another user or collection."""

    part: Part
    sequence: NDArray[Any]  # slots
    groups: NDArray[np.uint64]  # for each, the number of its session, ascending

    @classmethod
    def of(cls, view: View, bound: Bound) -> PartOrder:
        key = ("session order", bound)
        known: PartOrder | None = view.cache.get(key)
        if known is None:
            sequence, groups = view.part.arrays["order"], view.part.arrays["order.groups"]
            inside = find_bound_slots(view, bound)
            if not inside.all():
                here = inside[sequence]
                sequence, groups = sequence[here], groups[here]
            known = view.cache[key] = cls(view.part, sequence, groups)
        return known

    def keys(self, places: NDArray[np.int64]) -> Keys:
        """What these places of the sequence are sorted by."""
        return order_keys(self.part, self.sequence[places])

    def range(self, groups: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each session begins and ends in the sequence."""
        return np.searchsorted(self.groups, groups, "left"), np.searchsorted(self.groups, groups, "right")

    def find(self, low: NDArray[np.int64], high: NDArray[np.int64], wanted: Keys) -> NDArray[np.int64]:
        """Between two places: the first that does not come before each key."""
        low, high = low.copy(), high.copy()
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) // 2
            before = _before(self.keys(middle), (wanted[0][open_], wanted[1][open_], wanted[2][open_]))
            low[open_] = np.where(before, middle + 1, low[open_])
            high[open_] = np.where(before, high[open_], middle)
        return low


def order_keys(part: Part, slots: LocalSlots) -> Keys:
    return np.nan_to_num(part.take("position", slots)), part.take("created", slots), part.rows[slots]


def _before(first: Keys, second: Keys) -> Flags:
    """Which of the first come before the second."""
    (position, created, row), (position2, created2, row2) = first, second
    earlier = (created < created2) | ((created == created2) & (row < row2))
    return np.asarray((position < position2) | ((position == position2) & earlier))


class SessionOrder:
    """The order of the memories inside a bound."""

    def __init__(self, index: Index, bound: Bound) -> None:
        self._index = index
        self._orders = [PartOrder.of(view, bound) for view in index.views]
        self._coherent: dict[int, bool] = {}

    def neighbours(self, slots: Slots, rows: Rows, reach: int) -> NDArray[np.int64]:
        """The rows before each slot, nearest first, and those after it; −1 where there is none."""
        found = np.full((len(slots), 2 * reach), -1, dtype=np.int64)
        known = np.flatnonzero(slots >= 0)
        groups, ordered = self._groups(slots[known])
        known, groups = known[ordered], groups[ordered]
        if len(known):
            wanted = self._keys(slots[known], rows[known])
            found[known] = self._around(groups, wanted, reach)
        return found

    def _groups(self, slots: Slots) -> tuple[NDArray[np.uint64], Flags]:
        """The number of each slot's session, and whether its order means anything."""
        owners = [self._index.strings(name, slots) for name in OWNER]
        groups = hash_groups(owners)
        loose = {int(group) for group, session in zip(groups.tolist(), owners[-1], strict=True) if not session}
        aimless = [group for group in loose if not self._is_coherent(group)]
        return groups, ~np.isin(groups, np.array(aimless, dtype=np.uint64))

    def _keys(self, slots: Slots, rows: Rows) -> Keys:
        return np.nan_to_num(self._index.column("position", slots)), self._index.column("created", slots), rows

    def _around(self, groups: NDArray[np.uint64], wanted: Keys, reach: int) -> NDArray[np.int64]:
        sides: list[list[Keys]] = [[], []]
        steps = np.arange(1, reach + 1)
        for order in self._orders:
            low, high = order.range(groups)
            if not (low < high).any():
                continue
            at = order.find(low, high, wanted)
            own = np.minimum(at, max(len(order.sequence) - 1, 0))
            here = (at < high) & (order.keys(own)[2] == wanted[2])  # the memory itself
            sides[0].append(_candidates(order, at[:, None] - steps, low, high))
            sides[1].append(_candidates(order, (at + here)[:, None] + steps - 1, low, high))
        before = _nearest(sides[0], reach, -1)
        return np.concatenate([before, _nearest(sides[1], reach, 1)], axis=1)

    def _is_coherent(self, group: int) -> bool:
        if group not in self._coherent:
            self._coherent[group] = self._compute_coherence(group)
        return self._coherent[group]

    def _compute_coherence(self, group: int) -> bool:
        """Are memories that follow one another more similar than any two? The first ones are compared."""
        found: list[tuple[Part, LocalSlots]] = []
        for order in self._orders:
            low, high = (int(place[0]) for place in order.range(np.array([group], dtype=np.uint64)))
            slots = _first_with_vectors(order, low, high)
            if len(slots):
                found.append((order.part, slots))
        key = tuple((part.serial, slots.tobytes()) for part, slots in found)
        if not found:
            return False
        cache = found[0][0].cache
        known: tuple[Any, bool] | None = cache.get(("coherence", group))
        if known is None or known[0] != key:
            known = cache["coherence", group] = key, _neighbours_are_similar(found)
        return known[1]


def _first_with_vectors(order: PartOrder, low: int, high: int) -> LocalSlots:
    """The first slots between two places that have a vector."""
    found: list[LocalSlots] = []
    count = 0
    while low < high and count < SAMPLE:
        slots = order.sequence[low : min(high, low + 2 * SAMPLE)].astype(np.int64)
        found.append(slots[order.part.has_vector[slots]])
        count += len(found[-1])
        low += 2 * SAMPLE
    return np.concatenate([np.empty(0, np.int64), *found])[:SAMPLE]


def _neighbours_are_similar(parts: Sequence[tuple[Part, LocalSlots]]) -> bool:
    keys = [order_keys(part, slots) for part, slots in parts]
    position, created, rows = (np.concatenate(each) for each in zip(*keys, strict=True))
    chosen = np.lexsort((rows, created, position))[:SAMPLE]
    if len(chosen) < 8:
        return False
    vectors = np.concatenate([part.vectors(slots) for part, slots in parts])[chosen]
    following = np.einsum("ij,ij->i", vectors[1:], vectors[:-1]).mean()
    mean = vectors.mean(axis=0)
    return bool(following - mean @ mean > COHERENT)


def _candidates(order: PartOrder, places: NDArray[np.int64], low: NDArray[Any], high: NDArray[Any]) -> Keys:
    """The keys of these places; a row of −1 outside of the session."""
    inside = (places >= low[:, None]) & (places < high[:, None])
    position, created, rows = order.keys(np.where(inside, places, 0))
    return position, created, np.where(inside, rows, -1)


def _nearest(candidates: Sequence[Keys], reach: int, direction: int) -> NDArray[np.int64]:
    """The rows of the nearest candidates of all parts, in one direction."""
    if len(candidates) == 1:
        return candidates[0][2]
    position, created, rows = (np.concatenate(each, axis=1) for each in zip(*candidates, strict=True))
    order = np.lexsort((direction * rows, direction * created, direction * position, rows < 0), axis=1)
    return np.take_along_axis(rows, order[:, :reach], axis=1)
