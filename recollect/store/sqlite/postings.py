"""Postings in memory: which slots have which term, in sorted segments that merge as they grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.arrays import stable_order
from recollect.store.terms import FIELDS

# One word of one memory: which, where and how often (7 bytes).
ENTRY = np.dtype([("term", "<u4"), ("field", "u1"), ("times", "<u2")])


@dataclass(frozen=True, slots=True)
class Segment:
    """Entries sorted by term, then slot. ``terms[i]`` owns entries ``starts[i]:starts[i + 1]``."""

    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    fields: NDArray[np.uint8]
    times: NDArray[np.uint16]

    def of(self, term: int) -> slice:
        at = int(np.searchsorted(self.terms, np.uint32(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return slice(0, 0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))


@dataclass(frozen=True, slots=True)
class Postings:
    """All segments, largest first. Adding a few memories makes a small segment; equals in size merge."""

    segments: tuple[Segment, ...] = ()

    def add(self, blobs: list[bytes], first_slot: int) -> tuple[Postings, NDArray[np.uint32]]:
        """The postings with these memories' entries at the following slots, and the lengths of their fields."""
        entries = np.frombuffer(b"".join(blobs), dtype=ENTRY)
        counts = np.array([len(blob) // ENTRY.itemsize for blob in blobs], dtype=np.int64)
        local = np.repeat(np.arange(len(blobs), dtype=np.int32), counts)
        cells = local.astype(np.int64) * len(FIELDS) + entries["field"]
        lengths = np.bincount(cells, weights=entries["times"], minlength=len(blobs) * len(FIELDS))
        added = _segment(
            entries["term"].copy(), local + np.int32(first_slot), entries["field"].copy(), entries["times"].copy()
        )
        segments = [*self.segments, added]
        while len(segments) > 1 and len(segments[-2].slots) <= 2 * len(segments[-1].slots):
            segments[-2:] = [_merged(segments[-2], segments[-1])]
        return Postings(tuple(segments)), lengths.reshape(len(blobs), len(FIELDS)).astype(np.uint32)

    def times(self, terms: list[int], weights: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Slots that have any of the terms in a field with weight, ascending, and Σ weight × times in each."""
        owners, amounts = [], []
        for term in terms:
            for segment in self.segments:
                span = segment.of(term)
                if span.start < span.stop:
                    owners.append(segment.slots[span])
                    amounts.append(weights[segment.fields[span]] * segment.times[span])
        if not owners:
            return np.empty(0, np.int32), np.empty(0, np.float64)
        single = len(owners) == 1
        owner = owners[0] if single else np.concatenate(owners)
        amount = amounts[0] if single else np.concatenate(amounts)
        keep = amount > 0
        if not keep.all():
            owner, amount = owner[keep], amount[keep]
        if len(owner) < 2 or bool((owner[1:] > owner[:-1]).all()):
            return owner, amount
        order = np.argsort(owner, kind="stable")
        owner, amount = owner[order], amount[order]
        starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
        return owner[starts], np.add.reduceat(amount, starts)


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
