"""Session order: which memories come before and after each other in a session.

Each part has its slots in the order of sessions; the neighbours of a memory are looked up in every part and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Bound, Flags, Rows
from recollect.store.sqlite.index import Index, Slots, View
from recollect.store.sqlite.part import LocalSlots, Part
from recollect.store.sqlite.part_building import session_groups
from recollect.store.sqlite.scope import find_bound_slots
from recollect.store.sqlite.segment_files import ArraySource, MemoryArrays

# Without sessions, is a memory about what the one before it was about? In conversations and diaries the cosine of two
# that follow one another is .13 to .38 above that of two at random; in collections of documents −.01 to .09.
COHERENT = 0.1
SAMPLE = 2000  # pairs that are compared
NO_GROUPS: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
NO_PLACES: NDArray[np.int64] = np.empty(0, dtype=np.int64)
Keys = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # position, creation and row: the order in a session


@dataclass(frozen=True, slots=True)
class PartOrder:
    """The slots of a part that are inside a bound, session by session. A session name means another session for
    another user or collection."""

    part: Part
    arrays: ArraySource  # "order": slots; "order.groups": the session of each, ascending; "order.places": by slot
    size: int

    @classmethod
    def of(cls, view: View, bound: Bound) -> PartOrder:
        key = ("session order", bound)
        known: PartOrder | None = view.cache.get(key)
        if known is None:
            known = view.cache[key] = cls._inside(view, find_bound_slots(view, bound))
        return known

    @classmethod
    def _inside(cls, view: View, inside: Flags) -> PartOrder:
        part = view.part
        if inside.all():
            return cls(part, part.arrays, part.size)
        here = inside[part.arrays["order"]]
        sequence, groups = part.arrays["order"][here], part.arrays["order.groups"][here]
        places = np.full(part.size, -1, dtype=np.int32)
        places[sequence] = np.arange(len(sequence), dtype=np.int32)
        arrays = MemoryArrays({"order": sequence, "order.groups": groups, "order.places": places})
        return cls(part, arrays, len(sequence))

    def slots(self, places: NDArray[np.int64]) -> LocalSlots:
        return self.arrays.take("order", places).astype(np.int64)

    def keys(self, places: NDArray[np.int64]) -> Keys:
        """What these places of the order are sorted by."""
        return order_keys(self.part, self.slots(places))

    def begin(self, groups: NDArray[np.uint64]) -> tuple[NDArray[np.int64], Flags]:
        """Where each session begins in the order, and whether it has any memory here."""
        all_groups = self.arrays["order.groups"]
        first = np.searchsorted(all_groups, groups)
        return first, all_groups[np.minimum(first, self.size - 1)] == groups

    def end(self, groups: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Where each session ends in the order."""
        return np.searchsorted(self.arrays["order.groups"], groups, "right")

    def find(self, low: NDArray[np.int64], high: NDArray[np.int64], wanted: Keys) -> NDArray[np.int64]:
        """Between two places: the first that does not come before each key."""
        low, high = low.copy(), high.copy()
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) // 2
            before = _before(self.keys(middle), (wanted[0][open_], wanted[1][open_], wanted[2][open_]))
            low[open_] = np.where(before, middle + 1, low[open_])
            high[open_] = np.where(before, high[open_], middle)
        return low

    def inside(self, places: NDArray[np.int64], groups: NDArray[np.uint64]) -> tuple[NDArray[np.int64], Flags]:
        """Which of these places (a row for each session) are in their session; the others are replaced by 0."""
        inside = (places >= 0) & (places < self.size)
        places = np.where(inside, places, 0)
        inside &= self.arrays.take("order.groups", places.ravel()).reshape(places.shape) == groups[:, None]
        return np.where(inside, places, 0), inside

    def rows(self, places: NDArray[np.int64], groups: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The rows of these places; −1 outside of the session."""
        places, inside = self.inside(places, groups)
        return np.where(inside, self.part.rows[self.slots(places.ravel())].reshape(places.shape), -1)


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
        self._orders = {view.part.serial: PartOrder.of(view, bound) for view in index.views}
        self._coherent: dict[int, bool] = {}

    def neighbours(self, slots: Slots, rows: Rows, reach: int) -> NDArray[np.int64]:
        """The rows before each slot, nearest first, and those after it; −1 where there is none."""
        found = np.full((len(slots), 2 * reach), -1, dtype=np.int64)
        parts = [
            (
                self._orders[view.part.serial],
                places,
                local,
                session_groups(self._orders[view.part.serial].arrays, local),
            )
            for view, places, local in self._index.split(slots)
        ]
        several = self._in_several_parts(np.concatenate([NO_GROUPS, *(groups for *_, groups in parts)]))
        for order, places, local, groups in parts:
            ordered = self._are_ordered(order.part, local, groups)
            if not ordered.all():
                places, local, groups = places[ordered], local[ordered], groups[ordered]
            if len(places):
                found[places] = self._around(order, local, groups, rows[places], reach, several)
        return found

    def _in_several_parts(self, groups: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Those of these sessions that more than one part has a memory of, ascending: few."""
        orders = [order for order in self._orders.values() if order.size]
        if len(orders) < 2:
            return NO_GROUPS
        groups = np.sort(groups)
        groups = groups[np.append(True, groups[1:] != groups[:-1])[: len(groups)]]
        return np.asarray(groups[np.sum([order.begin(groups)[1] for order in orders], axis=0) > 1])

    def _are_ordered(self, part: Part, slots: LocalSlots, groups: NDArray[np.uint64]) -> Flags:
        """Does the order in the session of each slot mean anything? Without a session, neighbours must be similar."""
        loose = part.take("session", slots) == part.code("session", "")
        unordered = [group for group in set(groups[loose].tolist()) if not self._is_coherent(group)]
        return ~np.isin(groups, np.array(unordered, dtype=np.uint64)) if unordered else np.ones(len(slots), np.bool_)

    def _around(
        self,
        own: PartOrder,
        slots: LocalSlots,
        groups: NDArray[np.uint64],
        rows: Rows,
        reach: int,
        several: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        at, steps = own.arrays.take("order.places", slots).astype(np.int64), np.arange(1, reach + 1)
        places = at[:, None] + np.concatenate([-steps, steps])
        found = own.rows(places, groups)
        shared = np.flatnonzero(np.isin(groups, several)) if len(several) else NO_PLACES
        if len(shared):
            others = [order for order in self._orders.values() if order is not own and order.size]
            some = [order for order in others if order.begin(groups[shared])[1].any()]
            position, created, _ = order_keys(own.part, slots[shared])
            keys = position, created, rows[shared]
            sides = places[shared, :reach], places[shared, reach:]
            found[shared] = _merge(own, some, sides, groups[shared], keys)
        return found

    def _is_coherent(self, group: int) -> bool:
        if group not in self._coherent:
            self._coherent[group] = self._compute_coherence(group)
        return self._coherent[group]

    def _compute_coherence(self, group: int) -> bool:
        """Are memories that follow one another more similar than any two? The first ones are compared."""
        found: list[tuple[Part, LocalSlots]] = []
        for order in self._orders.values():
            if not order.size:
                continue
            wanted = np.array([group], dtype=np.uint64)
            slots = _first_with_vectors(order, int(order.begin(wanted)[0][0]), int(order.end(wanted)[0]))
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
        slots = order.slots(np.arange(low, min(high, low + 2 * SAMPLE)))
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


def _merge(
    own: PartOrder,
    others: Iterable[PartOrder],
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    groups: NDArray[np.uint64],
    keys: Keys,
) -> NDArray[np.int64]:
    """The neighbours of memories whose sessions are in several parts: of each the nearest, and of these the nearest."""
    reach = places[0].shape[1]
    steps = np.arange(1, reach + 1)
    sides = [[_candidates(own, side, groups)] for side in places]
    for order in others:
        at = order.find(order.begin(groups)[0], order.end(groups), keys)[:, None]
        sides[0].append(_candidates(order, at - steps, groups))
        sides[1].append(_candidates(order, at + steps - 1, groups))
    return np.concatenate([_nearest(sides[0], reach, -1), _nearest(sides[1], reach, 1)], axis=1)


def _candidates(order: PartOrder, places: NDArray[np.int64], groups: NDArray[np.uint64]) -> Keys:
    """The keys of these places; a row of −1 outside of the session."""
    places, inside = order.inside(places, groups)
    position, created, rows = order.keys(places.ravel())
    shape = places.shape
    return position.reshape(shape), created.reshape(shape), np.where(inside, rows.reshape(shape), -1)


def _nearest(candidates: Sequence[Keys], reach: int, direction: int) -> NDArray[np.int64]:
    """The rows of the nearest candidates of all parts, in one direction."""
    position, created, rows = (np.concatenate(each, axis=1) for each in zip(*candidates, strict=True))
    order = np.lexsort((direction * rows, direction * created, direction * position, rows < 0), axis=1)
    return np.take_along_axis(rows, order[:, :reach], axis=1)
