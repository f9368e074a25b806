"""Postings in memory: which slots have which term, in sorted segments that merge as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats
from recollect.store.sqlite.arrays import stable_order
from recollect.store.text_fields import TEXT_FIELDS

# One word of one memory: which, where and how often (7 bytes).
ENTRY = np.dtype([("term", "<u4"), ("field", "u1"), ("times", "<u2")])
Groups = Sequence[Sequence[int]]  # terms that count as one: the forms of a word


@dataclass(frozen=True, slots=True)
class Segment:
    """Entries sorted by term, then slot. ``terms[i]`` owns entries ``starts[i]:starts[i + 1]``."""

    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    fields: NDArray[np.uint8]
    times: NDArray[np.uint16]

    def spans(self, terms: NDArray[np.uint32]) -> list[tuple[int, int]]:
        """Where the entries of each term begin and end."""
        first, last = (np.searchsorted(self.terms, terms, side) for side in ("left", "right"))
        return list(zip(self.starts[first].tolist(), self.starts[last].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Postings:
    """All segments, largest first. Adding a few memories makes a small segment; equals in size merge."""

    segments: tuple[Segment, ...] = ()

    def add(self, blobs: list[bytes], first_slot: int) -> tuple[Postings, NDArray[np.uint32]]:
        """The postings with these memories' entries at the following slots, and the lengths of their fields."""
        entries = np.frombuffer(b"".join(blobs), dtype=ENTRY)
        counts = np.array([len(blob) // ENTRY.itemsize for blob in blobs], dtype=np.int64)
        local = np.repeat(np.arange(len(blobs), dtype=np.int32), counts)
        cells = local.astype(np.int64) * len(TEXT_FIELDS) + entries["field"]
        lengths = np.bincount(cells, weights=entries["times"], minlength=len(blobs) * len(TEXT_FIELDS))
        added = _segment(
            entries["term"].copy(), local + np.int32(first_slot), entries["field"].copy(), entries["times"].copy()
        )
        segments = [*self.segments, added]
        while len(segments) > 1 and len(segments[-2].slots) <= 2 * len(segments[-1].slots):
            segments[-2:] = [_merged(segments[-2], segments[-1])]
        return Postings(tuple(segments)), lengths.reshape(len(blobs), len(TEXT_FIELDS)).astype(np.uint32)

    def times(self, groups: Groups, weights: NDArray[np.float64]) -> tuple[NDArray[np.int32], Floats, list[int]]:
        """For each group: slots that have any of its terms in a field with weight, ascending, and Σ weight × times.

        The slots and sums of all groups, one after the other, and where each group ends.
        """
        group, slots, fields, times = self._entries(groups)
        amount = weights[fields] * times
        place = (group << 32) + slots
        if (weights <= 0).any():
            keep = amount > 0
            place, slots, amount = place[keep], slots[keep], amount[keep]
        if not (place[1:] > place[:-1]).all():  # several terms of a group in one slot, or one in several fields
            order = np.argsort(place, kind="stable")
            place, amount = place[order], amount[order]
            starts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
            place, amount = place[starts], np.add.reduceat(amount, starts)
            slots = place.astype(np.int32)  # the lower half
        return slots, amount, np.searchsorted(place, np.arange(1, len(groups) + 1) << 32).tolist()

    def occur(self, groups: Groups, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each group: has any of these slots one of its terms?"""
        group, slots, _, _ = self._entries(groups)
        return np.bincount(group[among[slots]], minlength=len(groups)) > 0

    def _entries(self, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[Any]]:
        """The entries of all terms, group by group: whose they are, their slots, fields and times."""
        terms = np.array([term for group in groups for term in group], dtype=np.uint32)
        owners = [number for number, group in enumerate(groups) for _ in group]
        spans = zip(*(segment.spans(terms) for segment in self.segments), strict=True)
        found = [
            (number, segment, slice(start, end))
            for number, each in zip(owners, spans, strict=False)
            for segment, (start, end) in zip(self.segments, each, strict=True)
            if start < end
        ]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint16)
        return (
            np.repeat([number for number, _, _ in found], [span.stop - span.start for _, _, span in found]),
            np.concatenate([segment.slots[span] for _, segment, span in found]),
            np.concatenate([segment.fields[span] for _, segment, span in found]),
            np.concatenate([segment.times[span] for _, segment, span in found]),
        )


def _segment(
    terms: NDArray[np.uint32], slots: NDArray[np.int32], fields: NDArray[np.uint8], times: NDArray[np.uint16]
) -> Segment:
    order = stable_order(terms)
    ordered = terms[order]
    fresh = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.empty(0, np.int64)
    starts = np.append(fresh, len(ordered)).astype(np.int64)
    return Segment(ordered[fresh], starts, slots[order], fields[order], times[order])


def _merged(first: Segment, second: Segment) -> Segment:
    """Slots of the second all come after those of the first, so a stable sort keeps them ascending."""
    return _segment(
        np.concatenate([np.repeat(each.terms, np.diff(each.starts)) for each in (first, second)]),
        np.concatenate([first.slots, second.slots]),
        np.concatenate([first.fields, second.fields]),
        np.concatenate([first.times, second.times]),
    )
