"""The vectors that are nearest to a query: by a complete scan, or by their sign bits first.

Vectors are mapped from files as float16. Numpy converts float16 one number at a time; here their bits are moved into
place for float32, which is exact and several times as fast.

**Exact**: every product is computed in float32, and whatever may be among the best n within the error of float32 is
returned. The caller computes those again in float64.

**Approximate**: four steps, each for what the one before has left. θ is the angle between two unit vectors.

1. Their Hamming distance: of the signs of their numbers about p = θ ÷ π differ, with a standard deviation of
   √(p (1 − p) dim).
2. The same with a weight for each sign: how large that number of the query is.
3. The same with the knowledge which numbers of the vector are *large*, as a bit for each: they count three times.
4. The product itself.

Steps 2 and 3 estimate the cosine: Σ q v̂ ÷ (a √dim), where v̂ is what is known of each v, and for normally distributed v
of variance 1 a is the expected v v̂. Its standard deviation is √((E v̂² ÷ a² − 1) (1 − cosine²) ÷ dim). Weights are whole
numbers of two bits: everything before the last step is counting bits.

Each step keeps what is at most ``REACH`` standard deviations farther than the n-th nearest. So a query that is near to
nothing gets more candidates than one with clear answers. How complete the result is was measured on vectors of real
texts: ``python bench/speed.py scale``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import erfc, exp, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.segment_files import ArraySource

Slots = NDArray[np.int64]
Bits = NDArray[np.uint64]
FEW = 5_000  # vectors: so many are compared exactly in the time that the sign bits of a large file take
MIN_DIMENSIONS = 12  # of a query that is searched for by signs; those of texts have 65 to 142 of 384
FIRST = 64  # results for which an approximate search is made at least; the next levels have 4 times as many
REACH = 3.2, 3.7, 4.0  # standard deviations, of steps 1 to 3
STEP = 0.72  # of weights, × the average size of the query's numbers: of 4 weights most are then used by normal ones
MAX_WEIGHT, WEIGHT_BITS = 3, (0, 1)
LARGE = 0.9  # × 1 ÷ √dim: numbers of a vector that are larger than that are large
SPARSE = 8  # where fewer than 1 in so many vectors are allowed, only those are read
AT_ONCE = 256  # vectors that are converted at a time: their float32 values should stay in the cache
SIGNS_AT_ONCE = 1 << 17  # vectors whose sign bits are compared at a time
# a and E v̂² of v̂. With sizes, 3 is known of the share of normally distributed numbers that is large, 1 of the others.
SIGNS_ONLY = sqrt(2 / pi), 1.0
SIGNS_AND_SIZES = sqrt(2 / pi) * (1 + 2 * exp(-(LARGE**2) / 2)), 1 + 8 * erfc(LARGE / sqrt(2))
SCALE = 2.0**112  # what the exponent of float32 adds to that of float16
HALF_BITS = np.int32(-0x70000001)  # 0x8FFFFFFF: without the copies of the sign that a shift leaves


def pack_signs(vectors: NDArray[np.float16]) -> tuple[Bits, Bits]:
    """What a search needs to know of vectors: their signs, a column for each vector, and which numbers are large, a row
    for each; 64 bits in a number. Of float16 the bits are compared, which is many times as fast."""
    halves = vectors.view(np.int16)
    limit = np.float16(LARGE / np.sqrt(max(1, vectors.shape[1]))).view(np.int16)
    return np.ascontiguousarray(_pack(halves > 0).T), _pack(halves & np.int16(0x7FFF) > limit)


def _pack(flags: NDArray[Any]) -> Bits:
    """Flags as bits, 64 in a number."""
    bits = np.packbits(flags, axis=-1)
    padded = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // 8) * 8), dtype=np.uint8)
    padded[..., : bits.shape[-1]] = bits
    return padded.view("<u8")


@dataclass(frozen=True)
class VectorBlock:
    """Some vectors of unit length, and which of them may be found. One that is zero or has NaN is not allowed.

    The arrays are ``vectors`` and, unless all searches are exact, those of ``pack_signs``: ``signs`` and ``large``.
    """

    arrays: ArraySource
    allowed: NDArray[np.bool_]

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.allowed))

    @cached_property
    def chosen(self) -> Slots | None:
        """The slots to be read where only few are allowed; None: all."""
        return np.flatnonzero(self.allowed) if self.count * SPARSE < len(self.allowed) else None

    @property
    def open(self) -> NDArray[np.bool_] | None:
        """Where all are read: which of them are allowed, unless all are."""
        return self.allowed if self.chosen is None and self.count < len(self.allowed) else None

    def products(self, query: NDArray[np.float32], slots: Slots | None) -> NDArray[np.float32]:
        """The product of a query with the vectors in some slots, or with all."""
        self.arrays.verify("vectors", slots)
        return half_products(self.arrays.unverified("vectors"), query, slots)


def nearest(
    blocks: Sequence[VectorBlock], query: NDArray[np.float32], n: int, approximate: bool = False
) -> list[Slots]:
    """For each block: slots that are allowed, in no particular order. Together they contain the n vectors with the
    highest product with the query, and all that equal the last of them.

    A larger n never changes the best of a smaller one, also where the search is approximate.
    """
    count = sum(block.count for block in blocks)
    whole = query.astype(np.float64)
    norm = sqrt(whole @ whole)
    if n <= 0 or not count:
        return [np.empty(0, dtype=np.int64) for _ in blocks]
    if not approximate or count <= FEW or not norm or _effective_dimensions(query, norm) < MIN_DIMENSIONS:
        return _exact(blocks, query, n, norm)
    return _Approximate(blocks, query, norm).best(n)


def _effective_dimensions(query: NDArray[np.float32], norm: float) -> float:
    """In how many dimensions the query is large: signs say little where that is in few of them."""
    squares = np.square(query, dtype=np.float64)
    fourth = float(squares @ squares)
    return norm**4 / fourth if fourth else 0.0


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
    products = block.products(query, block.chosen)
    if block.chosen is None and block.count < len(products):
        products[~block.allowed] = -np.inf
    return products


def half_products(
    vectors: NDArray[np.float16], query: NDArray[np.float32], slots: Slots | None = None
) -> NDArray[np.float32]:
    """The product of a query with float16 vectors, or with those in some slots, in float32."""
    scaled, halves = query * np.float32(SCALE), vectors.view(np.int16)
    count = len(vectors) if slots is None else len(slots)
    products = np.empty(count, dtype=np.float32)
    space = np.empty((min(count, AT_ONCE), vectors.shape[1]), dtype=np.int32)
    for first in range(0, count, AT_ONCE):
        last = min(first + AT_ONCE, count)
        some = halves[first:last] if slots is None else halves.take(slots[first:last], axis=0, mode="clip")
        np.vecdot(_scaled_floats(some, space[: last - first]), scaled, out=products[first:last])
    return products


def to_float32(vectors: NDArray[np.float16]) -> NDArray[np.float32]:
    """The same numbers, which must be finite."""
    floats = _scaled_floats(vectors.view(np.int16), np.empty(vectors.shape, dtype=np.int32))
    floats *= np.float32(SCALE)
    return floats


def _scaled_floats(halves: NDArray[np.int16], space: NDArray[np.int32]) -> NDArray[np.float32]:
    """Numbers in half precision, given as their bits, ÷ ``SCALE``; in the memory of ``space``.

    Shifted by 13 bits, exponent and fraction are where float32 expects them, and four copies of the sign above them.
    """
    space[...] = halves
    space <<= 13
    space &= HALF_BITS
    return space.view(np.float32)


def _nth_highest(values: NDArray[Any], n: int) -> float:
    """−inf where there are fewer."""
    return float(np.partition(values, len(values) - n)[len(values) - n]) if n <= len(values) else -np.inf


def _nth_lowest(distances: NDArray[Any], n: int) -> int:
    """The highest where there are fewer."""
    return int(np.bincount(distances).cumsum().searchsorted(min(n, len(distances))))


class _Approximate:
    """One approximate search. A *place* is a slot, counted over all blocks."""

    def __init__(self, blocks: Sequence[VectorBlock], query: NDArray[np.float32], norm: float) -> None:
        self._blocks = blocks
        self._query = np.asarray(query / np.float32(norm), dtype=np.float32)
        self._dim = len(query)
        self._ends = np.cumsum([len(block.allowed) for block in blocks])
        self._firsts = [0, *self._ends[:-1].tolist()]  # the first place of each block
        sizes = np.abs(self._query)
        self._step = STEP * float(sizes.mean())
        weights = np.minimum(np.rint(sizes / self._step), MAX_WEIGHT).astype(np.uint8)
        self._weight_sum = int(weights.sum(dtype=np.int64))
        self._own_signs, *bits = _pack(np.stack([self._query > 0, *(weights >> bit & 1 for bit in WEIGHT_BITS)]))
        self._weight_bits = [(1 << bit, each[:, None]) for bit, each in zip(WEIGHT_BITS, bits, strict=True)]
        self._distances = [_distances(block, self._own_signs) for block in blocks]

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
        return [slots for _, slots in self._by_block(found)]

    def _search(self, size: int) -> tuple[Slots, NDArray[np.float32]]:
        """Places that are likely to contain the best so many, and their products with the query."""
        places = self._near(size)
        differing = self._differing_signs(places)
        distances = self._weigh(differing)
        likely = self._likely(distances, size, SIGNS_ONLY, REACH[1])
        places, differing, distances = places[likely], differing.take(likely, axis=1), distances[likely]
        large = self._large(places)
        distances += 2 * self._weigh(differing & large) - self._weigh(large)
        places = places[self._likely(distances, size, SIGNS_AND_SIZES, REACH[2])]
        return places, self._products(places)

    def _weigh(self, bits: Bits) -> NDArray[np.int32]:
        """Σ weight of the bits in each column."""
        sums = np.zeros(bits.shape[1], dtype=np.int32)
        for weight, chosen in self._weight_bits:
            sums += np.int32(weight) * np.bitwise_count(bits & chosen).sum(axis=0, dtype=np.int32)
        return sums

    def _likely(self, distances: NDArray[np.int32], size: int, values: tuple[float, float], reach: float) -> Slots:
        """Those that may be among the nearest so many. Σ q v̂ is Σ weights − 2 × distance, in steps."""
        product, square = values
        unit = 2 * self._step / (product * sqrt(self._dim))
        lowest = int(distances.min())
        nth = lowest + _nth_lowest(distances - lowest, size)
        cosine = (self._weight_sum / 2 - nth) * unit
        deviation = sqrt((square / product**2 - 1) * max(0.0, 1 - cosine**2) / self._dim)
        return np.flatnonzero(distances <= nth + reach * deviation / unit)

    def _near(self, size: int) -> Slots:
        """Places that are not much farther than the so many-th nearest, ascending. A sample tells where to look."""
        samples = zip(self._distances, (block.open for block in self._blocks), strict=True)
        step = size // 4
        sample = [each[::step] if open is None else each[::step][open[::step]] for each, open in samples]
        counts = np.bincount(_joined(sample), minlength=self._dim + 1).cumsum()
        distance, wanted = self._dim, 8  # of the sample: about 2 × size of all
        while wanted < counts[-1]:
            near = self._within(int(counts.searchsorted(wanted)))
            distances = _joined([each[slots] for each, slots in zip(self._distances, near, strict=True)])
            if len(distances) >= size:
                distance = _nth_lowest(distances, size)
                break
            wanted *= 2
        share = distance / self._dim
        parts = self._within(distance + int(REACH[0] * sqrt(share * (1 - share) * self._dim)))
        for at, (first, block) in enumerate(zip(self._firsts, self._blocks, strict=True)):
            if block.chosen is not None:
                parts[at] = block.chosen[parts[at]]
            parts[at] += first
        return _joined(parts)

    def _within(self, distance: int) -> list[Slots]:
        """For each block, which of its distances are of allowed slots and no higher than this one."""
        near = [np.flatnonzero(each <= distance) for each in self._distances]
        every = zip(near, (block.open for block in self._blocks), strict=True)
        return [slots if open is None else slots[open[slots]] for slots, open in every]

    def _differing_signs(self, places: Slots) -> Bits:
        """Which signs differ from those of the query: a column for each place."""
        parts = self._by_block(places)
        signs = _joined([block.arrays["signs"].take(slots, axis=1, mode="clip") for block, slots in parts], axis=1)
        signs ^= self._own_signs[:, None]
        return signs

    def _large(self, places: Slots) -> Bits:
        """Which numbers are large: a column for each place."""
        parts = self._by_block(places)
        return np.ascontiguousarray(_joined([block.arrays.take("large", slots) for block, slots in parts]).T)

    def _products(self, places: Slots) -> NDArray[np.float32]:
        return _joined([block.products(self._query, slots) for block, slots in self._by_block(places)])

    def _by_block(self, places: Slots) -> Iterator[tuple[VectorBlock, Slots]]:
        """Each block, and those of these ascending places that are in it, as its slots."""
        cuts = pairwise([0, *places.searchsorted(self._ends).tolist()])
        for block, first, (start, end) in zip(self._blocks, self._firsts, cuts, strict=True):
            yield block, places[start:end] - first


def _joined(parts: Sequence[NDArray[Any]], axis: int = 0) -> NDArray[Any]:
    """One array; without a copy where there is one part."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _distances(block: VectorBlock, query: Bits) -> NDArray[np.uint16]:
    """How many signs of each chosen vector differ from those of the query."""
    signs = block.arrays["signs"]
    if block.chosen is not None:
        signs = signs.take(block.chosen, axis=1)
    distances = np.zeros(signs.shape[1], dtype=np.uint16)
    differing = np.empty(min(len(distances), SIGNS_AT_ONCE), dtype=np.uint64)
    counts, sums = (np.empty(len(differing), dtype=np.uint8) for _ in range(2))
    for first in range(0, len(distances), SIGNS_AT_ONCE):
        part = distances[first : first + SIGNS_AT_ONCE]
        size = len(part)
        for row, number in enumerate(query):
            np.bitwise_xor(signs[row, first : first + size], number, out=differing[:size])
            if row % 3 == 0:  # the sum of three fits into a byte
                np.bitwise_count(differing[:size], out=sums[:size])
            else:
                np.bitwise_count(differing[:size], out=counts[:size])
                sums[:size] += counts[:size]
            if row % 3 == 2 or row == len(query) - 1:
                part += sums[:size]
    return distances
