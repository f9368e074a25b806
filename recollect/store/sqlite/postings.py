"""Postings: which slots have which term, over all parts of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats
from recollect.store.sqlite.part import Part
from recollect.store.sqlite.top_terms import WordEntries

# One word of one memory: which, where and how often (7 bytes).
ENTRY = np.dtype([("term", "<u4"), ("field", "u1"), ("times", "<u2")])
MAX_WORDS = 20_000  # whose places in a part are kept
Groups = Sequence[Sequence[int]]  # terms that count as one: the forms of a word


class Postings:
    """The entries of all parts. A slot is counted over all parts: each begins at its offset."""

    def __init__(self, parts: Sequence[Part], offsets: Sequence[int]) -> None:
        self._parts = list(zip(parts, offsets, strict=True))

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
        spans = zip(*(_spans(part, terms) for part, _ in self._parts), strict=True)
        found = [
            (number, part, offset, start, end)
            for number, each in zip(owners, spans, strict=False)
            for (part, offset), (start, end) in zip(self._parts, each, strict=True)
            if start < end
        ]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint16)
        return (
            np.repeat([number for number, *_ in found], [end - start for *_, start, end in found]),
            np.concatenate(
                [part.arrays.span("slots", start, end) + np.int32(offset) for _, part, offset, start, end in found]
            ),
            np.concatenate([part.arrays.span("fields", start, end) for _, part, _, start, end in found]),
            np.concatenate([part.arrays.span("times", start, end) for _, part, _, start, end in found]),
        )


def word_entries(part: Part, groups: Groups) -> list[list[WordEntries]]:
    """Where the words of each group occur in a part."""
    known = part.words
    if unknown := [term for group in groups for term in group if term not in known]:
        if len(known) + len(unknown) > MAX_WORDS:
            known = part.words = {}  # another thread may still use the other one
            unknown = [term for group in groups for term in group]
        for term, (start, end) in zip(unknown, _spans(part, np.array(unknown, dtype=np.uint32)), strict=True):
            spans = (part.arrays.span(name, start, end) for name in ("slots", "fields", "times"))
            known[term] = WordEntries(*spans) if start < end else None
    return [[entries for term in group if (entries := known[term]) is not None] for group in groups]


def _spans(part: Part, terms: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Where the entries of each term begin and end."""
    first, last = (np.searchsorted(part.terms, terms, side) for side in ("left", "right"))
    return list(zip(part.starts[first].tolist(), part.starts[last].tolist(), strict=True))
