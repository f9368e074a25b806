"""Sketches in memory: the tokens of all slots one after another, as signs, and where those of each slot begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.arrays import Growing

FINE = np.float32(2**16)  # steps to 1; a float32 adds them without error up to 2^24, and Σ|q| is at most √n
BLOCK = 2048  # tokens that are unpacked at a time: 32 times as large as they lie here, they should stay near


@dataclass(frozen=True, slots=True)
class Shelf:
    """The sketches at one version."""

    bits: NDArray[np.uint8]  # a row for each token
    ends: NDArray[np.int64]  # by slot: where its tokens end, and those of the next begin
    dim: int

    def likeness(self, question: NDArray[np.float32], slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """For each slot and token of the question, the highest likeness to any token of the slot; NaN without any.

        Of the question's vectors nothing is lost, of the text's the signs are there: for unit vectors q and d,
        Σ q × sign(d) ÷ √(2n/π) is about their cosine. The question is rounded to steps so fine that they cost nothing,
        and whose sums have no rounding of their own: the same bits in whatever company a slot is asked for.
        """
        question = np.asarray(np.round(question * FINE) / FINE, dtype=np.float32)
        answer = np.full((len(slots), len(question)), np.nan, dtype=np.float32)
        known = np.flatnonzero(slots >= 0)
        ends = self.ends[slots[known]]
        counts = ends - np.where(slots[known] > 0, self.ends[slots[known] - 1], 0)
        known, ends, counts = known[counts > 0], ends[counts > 0], counts[counts > 0]
        if not len(known):
            return answer
        starts = np.cumsum(counts) - counts
        tokens = np.arange(counts.sum()) + np.repeat(ends - counts - starts, counts)
        ones = np.concatenate([self._ones(tokens[at : at + BLOCK], question) for at in range(0, len(tokens), BLOCK)])
        alike = (2 * ones - question.sum(axis=1)) / np.float32(np.sqrt(2 * self.dim / np.pi))
        answer[known] = np.maximum.reduceat(alike, starts, axis=0)
        return answer

    def _ones(self, tokens: NDArray[np.int64], question: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each of these tokens and each of the question's: Σ q where d is positive."""
        bits = np.unpackbits(self.bits[tokens], axis=1, count=self.dim)
        return np.asarray(bits.astype(np.float32) @ question.T)


class Sketches:
    """Grows with the image."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._width = max(1, -(-dim // 8))  # bytes a token
        self._bits = Growing(np.uint8, self._width)
        self._ends = Growing(np.int64)
        self._last = 0

    def extend(self, sketches: Sequence[bytes]) -> Shelf:
        sketches = [each if len(each) % self._width == 0 else b"" for each in sketches]  # a torn one is none
        counts = np.array([len(each) // self._width for each in sketches], dtype=np.int64)
        ends = self._last + np.cumsum(counts)
        self._last = int(ends[-1]) if len(ends) else self._last
        packed = np.frombuffer(b"".join(sketches), dtype=np.uint8).reshape(-1, self._width)
        return Shelf(self._bits.extend(packed), self._ends.extend(ends), self._dim)
