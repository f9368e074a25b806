"""Similarity of vectors: cosines of whole texts, and of the tokens of a query to those of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.ordering import best_first
from recollect.store.base import Floats, Rows, Scope, Snapshot, TokenSketches

STEPS = np.float32(2**16)  # steps to 1; float32 has whole numbers up to 2^24, and Σ|q| is at most √n
BLOCK = 1 << 15  # numbers that are summed at a time: they should stay in the cache
SMALL_PRODUCT = 1 << 18  # multiplications: OpenBLAS computes up to so many in the calling thread
HALF_BYTES = np.unpackbits(np.arange(16, dtype=np.uint8)[:, None], axis=1)[:, 4:].astype(np.int64)  # their bits


def cosines(snapshot: Snapshot, vector: NDArray[np.float32], rows: Rows) -> Floats:
    """The cosine of each row's vector to this one, in double precision; NaN for a row without a vector.

    Each row is computed on its own: the same bits whatever the other rows are.
    """
    vectors = snapshot.vectors(rows)
    if not vectors.size:
        return np.full(len(rows), np.nan)
    return np.asarray(np.einsum("ij,j->i", vectors.astype(np.float64), vector.astype(np.float64)))


@dataclass(frozen=True, slots=True)
class NearestRows:
    """Rows by descending cosine, and their cosines."""

    rows: Rows
    cosines: Floats
    approximate: bool  # one of the nearest may be missing
    stable: bool  # searching for more never changes the first


def nearest(snapshot: Snapshot, vector: NDArray[np.float32], scope: Scope, n: int) -> NearestRows:
    """The n rows in scope with the highest cosine; ties by creation and id."""
    proposal = snapshot.nearest(vector, scope, n)
    similarity = cosines(snapshot, vector, proposal.rows)
    best = best_first(snapshot, proposal.rows, similarity, n)
    return NearestRows(proposal.rows[best], similarity[best], proposal.approximate, proposal.stable)


def pairwise_products(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of each vector with each other one.

    In pieces that BLAS computes in one thread: on a busy machine its threads wait for one another, and a product of
    100 vectors takes 17 ms instead of 0.2.
    """
    count, dim = vectors.shape
    columns = max(1, min(count, SMALL_PRODUCT // (4 * dim)))
    rows = max(1, SMALL_PRODUCT // (columns * dim))
    products = np.empty((count, count), dtype=np.float32)
    for left in range(0, count, columns):
        others = vectors[left : left + columns].T
        for top in range(0, count, rows):
            products[top : top + rows, left : left + columns] = vectors[top : top + rows] @ others
    return products


def token_similarity(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.float32]:
    """By row (down) and token of the query (across): the highest similarity to any token of the row's text; NaN for a
    row without a sketch.

    The query's vectors q are exact, of the text's vectors d only the signs are stored: for unit vectors
    Σ q × sign(d) ÷ √(2n/π) estimates their cosine. q is rounded to steps of 2⁻¹⁶, whose sums are whole numbers: the
    same bits whatever the other rows are.
    """
    similarity = np.full((len(sketches.counts), len(query)), np.nan, dtype=np.float32)
    known = np.flatnonzero(sketches.counts)
    if len(known):
        steps = _steps(query, sketches)
        highest = _Agreement(steps).highest(sketches.bits, sketches.counts[known])
        similarity[known] = _estimated_cosines(highest, steps, sketches.dim)
    return similarity


def similarity_of_each_token(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.float32]:
    """By token of all sketches (down) and token of the query (across): their similarity, as in ``token_similarity``."""
    if not len(sketches.bits):
        return np.empty((0, len(query)), dtype=np.float32)
    steps = _steps(query, sketches)
    return _estimated_cosines(_Agreement(steps).of_each(sketches.bits), steps, sketches.dim)


def _steps(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.int64]:
    """The query's vectors in steps, with zeros up to the end of the last byte of a sketch."""
    steps = np.zeros((len(query), sketches.bits.shape[1] * 8), dtype=np.int64)
    steps[:, : sketches.dim] = np.round(query * STEPS)
    return steps


def _estimated_cosines(agreement: NDArray[np.float32], steps: NDArray[np.int64], dim: int) -> NDArray[np.float32]:
    """By token of the texts and of the query. Σ q × sign(d) is what agrees minus what does not."""
    difference = 2 * agreement.T - np.abs(steps).sum(axis=1).astype(np.float32)
    return np.asarray(difference / STEPS / np.float32(np.sqrt(2 * dim / np.pi)))


class _Agreement:
    """Σ |q| where q and d have the same sign, in steps, for each token q of a query and tokens d of texts.

    Looked up byte by byte, which is faster than a matrix product on one core. The sums of several tokens of the query
    are fields of a 64-bit integer, three of 21 bits, and are added at once.
    """

    def __init__(self, steps: NDArray[np.int64]) -> None:
        self._count = len(steps)
        self._size = int(np.abs(steps).sum(axis=1).max(initial=1)).bit_length()
        self._fields = max(1, 63 // self._size)
        self._table, self._negative = _byte_table(steps, self._fields, self._size)
        self._rows = max(1, BLOCK // len(self._negative))  # tokens of texts at a time

    def highest(self, bits: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.float32]:
        """By token of the query (down) and text (across): the highest of the tokens of the text, which are so many."""
        highest = np.empty((self._count, len(counts)), dtype=np.float32)
        ends = np.cumsum(counts)
        first = begin = 0
        while first < len(counts):  # whole texts at a time
            last = max(first + 1, int(ends.searchsorted(begin + self._rows, "right")))
            starts = ends[first:last] - counts[first:last] - begin
            end = int(ends[last - 1])
            for numbers, field in self._unpacked(self._sums(bits[begin:end])):
                highest[numbers, first:last] = np.maximum.reduceat(field, starts, axis=0).T
            first, begin = last, end
        return highest

    def of_each(self, bits: NDArray[np.uint8]) -> NDArray[np.float32]:
        """By token of the query (down) and of the texts (across)."""
        agreement = np.empty((self._count, len(bits)), dtype=np.float32)
        for start in range(0, len(bits), self._rows):
            end = min(start + self._rows, len(bits))
            for numbers, field in self._unpacked(self._sums(bits[start:end])):
                agreement[numbers, start:end] = field.T
        return agreement

    def _sums(self, bits: NDArray[np.uint8]) -> NDArray[np.int64]:
        sums, chosen = np.empty((2, len(bits), len(self._negative)), dtype=np.int64)
        sums[:] = self._negative  # where q is negative, d agrees unless its bit is set
        for by_value, byte in zip(self._table, bits.T, strict=True):
            by_value.take(byte, axis=0, out=chosen, mode="clip")  # other modes make a copy
            sums += chosen
        return sums

    def _unpacked(self, sums: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """One field of all integers after the other, and the tokens of the query that these are."""
        for field in range(min(self._fields, self._count)):
            values = sums >> (field * self._size)
            values &= (1 << self._size) - 1
            numbers = slice(field, self._count, self._fields)
            yield numbers, values[:, : len(range(self._count)[numbers])]


def _byte_table(steps: NDArray[np.int64], fields: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By byte of a sketch and by its value: Σ q where it has a 1, in integers that have fields of so many bits, one for
    each token of the query; and −Σ q where q is negative."""
    integers = max(1, -(-len(steps) // fields))
    integers += integers == 3  # numpy copies 4 faster
    padded = np.zeros((integers * fields, steps.shape[1]), dtype=np.int64)
    padded[: len(steps)] = steps
    padded <<= np.tile(size * np.arange(fields), integers)[:, None]
    packed, negative = (each.reshape(integers, fields, -1).sum(axis=1) for each in (padded, -np.minimum(padded, 0)))
    halves = HALF_BYTES @ packed.T.reshape(-1, 2, 4, integers)  # by byte, half, value of that half
    return (halves[:, 0, :, None] + halves[:, 1, None]).reshape(-1, 256, integers), negative.sum(axis=1)
