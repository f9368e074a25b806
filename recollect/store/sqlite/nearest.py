"""The vectors that are nearest to a query: by a complete scan, or by their sign bits first.

Vectors are mapped from files as float16. Numpy converts float16 one number at a time; here their bits are moved into
place for float32, which is exact and several times as fast.

**Exact**: every product is computed in float32, and whatever may be among the best n within the error of float32 is
returned. The caller computes those again in float64.

**Approximate**: three steps, each for what the one before has left.

1. The Hamming distance of the sign bits. For unit vectors at an angle θ about p = θ ÷ π of the signs differ, with a
   standard deviation of √(p (1 − p) ÷ dim).
2. Σ q × sign(v) ÷ √(2 dim ÷ π), with q in full: an estimate of the cosine with a standard deviation of
   √((π ÷ 2 − 1) (1 − cosine²) ÷ dim).
3. The product itself.

A few of the best by steps 1 and 2 give a lower bound of the n-th highest cosine. Step 1 keeps what is at most ``REACH``
standard deviations farther than that, step 2 likewise. So a query that is near to nothing gets more candidates than
one with clear answers. How complete the result is was measured on vectors of real texts: ``python bench/speed.py
scale``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
Signs = NDArray[np.uint64]
FEW = 5_000  # vectors: so many are compared exactly in the time that the sign bits of a large file take
FIRST = 128  # results for which an approximate search is made at least; the next levels have 4 times as many
SEEDS = 8  # × the number of results: those nearest by sign bits, among which the lower bound is found
REACH = 2.0, 2.5  # standard deviations, of steps 1 and 2
SPARSE = 8  # where fewer than 1 in so many vectors are allowed, only those are read
AT_ONCE = 512  # vectors that are converted at a time: their float32 values should stay in the cache
SIGNS_AT_ONCE = 1 << 16  # vectors whose sign bits are compared at a time
SCALE = 2.0**112  # what the exponent of float32 adds to that of float16
HALF_BITS = np.int32(-0x70000001)  # 0x8FFFFFFF: without the copies of the sign that a shift leaves
BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)  # the bits of each byte


def pack_signs(vectors: NDArray[np.float16]) -> Signs:
    """The signs of vectors for a search: a column of bits for each vector, 64 in a row."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(vectors), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view("<u8").T)


def _nothing(slots: Slots | None) -> None:
    """Vectors in memory need not be verified."""


@dataclass(frozen=True)
class VectorBlock:
    """Some vectors of unit length, their signs (see ``pack_signs``), and which of them may be found.

    A vector that is zero or has NaN is not allowed. A block that is only searched exactly needs no signs.
    """

    vectors: NDArray[np.float16]
    signs: Signs | None
    allowed: NDArray[np.bool_]
    verify: Callable[[Slots | None], object] = _nothing  # called with the slots, or None for all, before they are read

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.allowed))

    @cached_property
    def chosen(self) -> Slots | None:
        """The slots to be read where only few are allowed; None: all."""
        return np.flatnonzero(self.allowed) if self.count * SPARSE < len(self.allowed) else None


def nearest(
    blocks: Sequence[VectorBlock], query: NDArray[np.float32], n: int, approximate: bool = False
) -> list[Slots]:
    """For each block: slots that are allowed, in no particular order. Together they contain the n vectors with the
    highest product with the query, and all that equal the last of them.

    A larger n never changes the best of a smaller one, also where the search is approximate.
    """
    count = sum(block.count for block in blocks)
    norm = float(np.linalg.norm(query.astype(np.float64)))
    if n <= 0 or not count:
        return [np.empty(0, dtype=np.int64) for _ in blocks]
    if not approximate or count <= FEW or not norm or any(block.signs is None for block in blocks):
        return _exact(blocks, query, n, norm)
    return _Approximate(blocks, query, norm).best(n)


def _exact(blocks: Sequence[VectorBlock], query: NDArray[np.float32], n: int, norm: float) -> list[Slots]:
    products = [_products(block, query) for block in blocks]
    floor = _nth_highest(np.concatenate(products), n) - 2 * rounding_error(len(query), norm)
    near = [np.flatnonzero(each >= floor) for each in products]
    return [
        each[block.allowed[each]] if block.chosen is None else block.chosen[each]
        for block, each in zip(blocks, near, strict=True)
    ]


def rounding_error(dim: int, norm: float) -> float:
    """How much a float32 product of a query with a unit vector in float16 may be off: dim roundings of a sum that is
    never more than the product of the lengths."""
    return dim * 2.0**-23 * norm


def _products(block: VectorBlock, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product with each vector that is chosen; −inf for those that are not allowed."""
    block.verify(block.chosen)
    if block.chosen is not None:
        return half_products(block.vectors, query, block.chosen)
    products = half_products(block.vectors, query)
    if block.count < len(products):
        products[~block.allowed] = -np.inf
    return products


def half_products(
    vectors: NDArray[np.float16], query: NDArray[np.float32], slots: Slots | None = None
) -> NDArray[np.float32]:
    """The product of a query with float16 vectors, or with those in some slots, in float32.

    Two neighbouring numbers are one int32. Shifted by 3 bits, the upper one has its exponent and fraction where float32
    expects them, and is too small by ``SCALE``; the lower bits of its fraction are the other number and are cleared.
    """
    pairs = _pairs(vectors)
    if pairs is None:
        chosen = vectors if slots is None else vectors[slots]
        return np.asarray(np.einsum("ij,j->i", chosen.astype(np.float32), query))
    even, odd = (np.ascontiguousarray(query[first::2] * np.float32(SCALE)) for first in (0, 1))
    count = len(pairs) if slots is None else len(slots)
    products = np.empty(count, dtype=np.float32)
    buffer = np.empty((min(count, AT_ONCE), pairs.shape[1]), dtype=np.int32)
    for first in range(0, count, AT_ONCE):
        last = min(first + AT_ONCE, count)
        block = pairs[first:last] if slots is None else pairs[slots[first:last]]
        space = buffer[: last - first]
        numbers = space.view(np.float32)
        np.right_shift(block, 3, out=space)
        space &= HALF_BITS & ~np.int32(0x1FFF)
        np.einsum("ij,j->i", numbers, odd, out=products[first:last])
        np.left_shift(block, 16, out=space)
        space >>= 3
        space &= HALF_BITS
        products[first:last] += np.einsum("ij,j->i", numbers, even)
    return products


def _pairs(vectors: NDArray[np.float16]) -> NDArray[np.int32] | None:
    """The same memory as int32; None where that is not possible."""
    possible = vectors.shape[1] % 2 == 0 and vectors.flags.c_contiguous and vectors.dtype.isnative
    return vectors.view("<i4") if possible and np.little_endian else None


def _nth_highest(values: NDArray[Any], n: int) -> float:
    """−inf where there are fewer."""
    return float(np.partition(values, len(values) - n)[len(values) - n]) if n <= len(values) else -np.inf


class _Approximate:
    """One approximate search. A *place* is a slot, counted over all blocks."""

    def __init__(self, blocks: Sequence[VectorBlock], query: NDArray[np.float32], norm: float) -> None:
        self._blocks = blocks
        self._query = np.asarray(query / np.float32(norm), dtype=np.float32)
        self._dim = len(query)
        self._ends = np.cumsum([len(block.allowed) for block in blocks])
        self._firsts = [0, *self._ends[:-1].tolist()]  # the first place of each block
        self._signs = [block.signs for block in blocks if block.signs is not None]  # nearest has checked that all have
        own = pack_signs(self._query[None].astype(np.float16))[:, 0]
        # Distances of the chosen slots of each block; more than any where a slot is not allowed.
        self._distances = [
            _distances(block, signs, own, self._dim + 1) for block, signs in zip(blocks, self._signs, strict=True)
        ]
        padded = np.zeros(len(own) * 64, dtype=np.float32)
        padded[: self._dim] = self._query
        self._byte_sums = np.einsum("ij,bj->bi", BYTES, padded.reshape(-1, 8))  # Σ q where a byte has a 1

    def best(self, n: int) -> list[Slots]:
        """By block, slots with at least the best n.

        Searching for more finds what a search for fewer has missed. So it is made level by level: what a level adds is
        below the last result of the level before.
        """
        size, error = FIRST, 2 * rounding_error(self._dim, 1.0)
        places, products = self._search(size)
        while size < n:
            floor = _nth_highest(products, size) - error
            size *= 4
            more, more_products = self._search(size)
            added = (more_products < floor) & ~np.isin(more, places)
            places, products = np.append(places, more[added]), np.append(products, more_products[added])
        found = np.sort(places[products >= _nth_highest(products, n) - error])
        return self._by_block(found)

    def _search(self, size: int) -> tuple[Slots, NDArray[np.float32]]:
        """Places that are likely to contain the best so many, and their products with the query."""
        distance = self._distance_of(size * SEEDS)
        seeds = self._within(distance)
        estimates = self._estimates(seeds)
        promising = _nth_highest(estimates, 2 * size)
        floor = _nth_highest(self._products(seeds[estimates >= promising]), size)
        floor = min(max(floor, -1.0), 1.0)
        share = np.arccos(floor) / np.pi
        reach = share + REACH[0] * np.sqrt(share * (1 - share) / self._dim)
        deviation = np.sqrt((np.pi / 2 - 1) * (1 - floor**2) / self._dim)
        places = self._within(max(distance, int(reach * self._dim)))
        places = places[self._estimates(places) >= min(promising, floor - REACH[1] * deviation)]
        return places, self._products(places)

    def _distance_of(self, size: int) -> int:
        """A distance within which there are about so many places, found on a sample."""
        step = max(1, size // 64)
        sample = np.concatenate([each[::step] for each in self._distances])
        counts = np.cumsum(np.bincount(sample, minlength=self._dim + 2)[: self._dim + 1])
        return int(np.searchsorted(counts, min(size // step, int(counts[-1]))))

    def _within(self, distance: int) -> Slots:
        """The places at no more than this distance, ascending."""
        found = []
        for first, block, distances in zip(self._firsts, self._blocks, self._distances, strict=True):
            slots = np.flatnonzero(distances <= min(distance, self._dim))
            found.append((slots if block.chosen is None else block.chosen[slots]) + first)
        return np.concatenate(found)

    def _estimates(self, places: Slots) -> NDArray[np.float32]:
        """Σ q × sign(v), scaled to a cosine."""
        parts = zip(self._signs, self._by_block(places), strict=True)
        words = np.concatenate([signs.take(slots, axis=1) for signs, slots in parts], axis=1)
        signs_by_byte = words.view(np.uint8).reshape(len(words), -1, 8).transpose(0, 2, 1).reshape(-1, len(places))
        positive = np.zeros(len(places), dtype=np.float32)
        for sums, byte in zip(self._byte_sums, signs_by_byte, strict=True):
            positive += sums.take(byte)
        return np.asarray((2 * positive - self._query.sum()) / np.float32(np.sqrt(2 * self._dim / np.pi)))

    def _products(self, places: Slots) -> NDArray[np.float32]:
        parts = [
            (block, slots) for block, slots in zip(self._blocks, self._by_block(places), strict=True) if len(slots)
        ]
        for block, slots in parts:
            block.verify(slots)
        if len(parts) == 1:
            return half_products(parts[0][0].vectors, self._query, parts[0][1])
        chosen = [block.vectors[slots] for block, slots in parts]
        return half_products(np.concatenate([self._blocks[0].vectors[:0], *chosen]), self._query)

    def _by_block(self, places: Slots) -> list[Slots]:
        """Ascending places as slots of each block."""
        parts = np.split(places, np.searchsorted(places, self._ends[:-1]))
        return [part - first for part, first in zip(parts, self._firsts, strict=True)]


def _distances(block: VectorBlock, signs: Signs, query: NDArray[np.uint64], beyond: int) -> NDArray[np.uint16]:
    """How many signs of each chosen vector differ from those of the query; ``beyond`` where it is not allowed."""
    if block.chosen is not None:
        signs = signs.take(block.chosen, axis=1)
    distances = np.zeros(signs.shape[1], dtype=np.uint16)
    differing = np.empty(min(len(distances), SIGNS_AT_ONCE), dtype=np.uint64)
    counts, sums = (np.empty(len(differing), dtype=np.uint8) for _ in range(2))
    for first in range(0, len(distances), SIGNS_AT_ONCE):
        part = distances[first : first + SIGNS_AT_ONCE]
        size = len(part)
        for three in range(0, len(query), 3):  # whose sum fits into a byte
            sums[:size] = 0
            for row in range(three, min(three + 3, len(query))):
                np.bitwise_xor(signs[row, first : first + size], query[row], out=differing[:size])
                np.bitwise_count(differing[:size], out=counts[:size])
                sums[:size] += counts[:size]
            part += sums[:size]
    if block.chosen is None and block.count < len(distances):
        distances[~block.allowed] = beyond
    return distances
