"""Similarity of vectors: cosines of whole texts, and of the tokens of a query to those of a memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.ordering import best_first
from recollect.store.base import Floats, Rows, Scope, Snapshot, TokenSketches

STEPS = np.float32(2**16)  # steps to 1; a float32 adds them without error up to 2^24, and Σ|q| is at most √n
BLOCK = 1 << 16  # numbers that are summed at a time: they should stay in the cache
SMALL_PRODUCT = 1 << 18  # multiplications: OpenBLAS computes up to so many in the calling thread
BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)  # the bits of each byte


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
    Σ q × sign(d) ÷ √(2n/π) estimates their cosine. q is rounded to steps of 2⁻¹⁶, whose sums are exact in float32: the
    same bits whatever the other rows are.
    """
    query = _rounded(query)
    similarity = np.full((len(sketches.counts), len(query)), np.nan, dtype=np.float32)
    known = np.flatnonzero(sketches.counts)
    if not len(known):
        return similarity
    counts = sketches.counts[known]
    highest = np.maximum.reduceat(_all_positive_sums(query, sketches), np.cumsum(counts) - counts, axis=0)
    similarity[known] = _estimated_cosines(highest, query, sketches.dim)
    return similarity


def similarity_of_each_token(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.float32]:
    """By token of all sketches (down) and token of the query (across): their similarity, as in ``token_similarity``."""
    query = _rounded(query)
    if not len(sketches.bits):
        return np.empty((0, len(query)), dtype=np.float32)
    return _estimated_cosines(_all_positive_sums(query, sketches), query, sketches.dim)


def _rounded(query: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.round(query * STEPS) / STEPS, dtype=np.float32)


def _estimated_cosines(positive: NDArray[np.float32], query: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    return np.asarray((2 * positive - query.sum(axis=1)) / np.float32(np.sqrt(2 * dim / np.pi)))


def _all_positive_sums(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.float32]:
    sums = _byte_sums(query, sketches)
    size = max(1, BLOCK // max(1, len(query)))  # tokens
    blocks = [sketches.bits[at : at + size] for at in range(0, len(sketches.bits), size)]
    return np.concatenate([_positive_sums(block, sums) for block in blocks])


def _byte_sums(query: NDArray[np.float32], sketches: TokenSketches) -> NDArray[np.float32]:
    """By byte of a sketch, by the value of that byte, by token of the query: Σ q where the byte has a 1."""
    padded = np.zeros((len(query), sketches.bits.shape[1] * 8), dtype=np.float32)
    padded[:, : sketches.dim] = query
    return np.asarray(BYTES @ padded.reshape(len(query), -1, 8).transpose(1, 2, 0))


def _positive_sums(bits: NDArray[np.uint8], sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each token and each token of the query: Σ q where d is positive.

    Looked up byte by byte: as fast as a matrix product on one core. BLAS would use all cores, which costs three times
    the CPU on a busy machine.
    """
    positive = np.zeros((len(bits), sums.shape[2]), dtype=np.float32)
    for by_value, byte in zip(sums, bits.T, strict=True):
        positive += by_value.take(byte, axis=0)
    return positive
