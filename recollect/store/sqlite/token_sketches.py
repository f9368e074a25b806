"""Token sketches in memory: the tokens of all slots one after another, and where those of each slot end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import TokenSketches
from recollect.store.sqlite.arrays import GrowingArray


@dataclass(frozen=True, slots=True)
class SketchArrays:
    """The sketches at one version."""

    bits: NDArray[np.uint8]  # a row for each token
    ends: NDArray[np.int64]  # by slot: where its tokens end, and those of the next slot begin
    dim: int

    def select(self, slots: NDArray[np.int64]) -> TokenSketches:
        """The sketches of these slots; none for a slot below 0."""
        known = slots >= 0
        ends = np.where(known, self.ends[slots], 0) if len(self.ends) else np.zeros(len(slots), np.int64)
        starts = np.where(known & (slots > 0), self.ends[np.maximum(slots - 1, 0)], 0) if len(self.ends) else ends
        counts = ends - starts
        offsets = np.cumsum(counts) - counts
        tokens = np.arange(counts.sum()) + np.repeat(starts - offsets, counts)
        return TokenSketches(self.bits[tokens], counts, self.dim)


class SketchBuilder:
    """Grows with the index."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._width = max(1, -(-dim // 8))  # bytes a token
        self._bits = GrowingArray(np.uint8, self._width)
        self._ends = GrowingArray(np.int64)
        self._last = 0

    def extend(self, sketches: Sequence[bytes]) -> SketchArrays:
        sketches = [each if len(each) % self._width == 0 else b"" for each in sketches]  # damaged ones are left out
        counts = np.array([len(each) // self._width for each in sketches], dtype=np.int64)
        ends = self._last + np.cumsum(counts)
        self._last = int(ends[-1]) if len(ends) else self._last
        packed = np.frombuffer(b"".join(sketches), dtype=np.uint8).reshape(-1, self._width)
        return SketchArrays(self._bits.extend(packed), self._ends.extend(ends), self._dim)
