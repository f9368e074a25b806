"""The nearest vectors of each of many vectors: exact for some thousands, by clusters for more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EXACT = 20_000  # vectors; the time of comparing all with all grows with the square
SPILL = 4  # clusters that each vector is looked for in
BLOCK = 512  # vectors that are compared at once

Vectors = NDArray[np.float32]
Places = NDArray[np.int64]


def find_nearest(vectors: Vectors, count: int, exact: int = EXACT) -> Places:
    """By vector: the places of about ``count`` others that are nearest to it. Its own place may be among them.

    Above ``exact`` vectors, each is compared with those of its cluster only. A cluster is what is near to one of √n
    vectors that are taken evenly; each vector is looked for in several, so that what is very near is seldom missed.
    """
    count = min(count + 1, len(vectors))
    if len(vectors) <= exact:
        return _nearest_among(vectors, vectors, count)
    leaders = vectors[:: int(len(vectors) ** 0.5)]
    clusters = _nearest_among(vectors, leaders, SPILL, in_order=True)
    found = np.repeat(np.arange(len(vectors))[:, None], count, axis=1)  # itself, where a cluster has too few
    members = _members(clusters.ravel(), len(leaders), SPILL)
    own = _members(clusters[:, 0], len(leaders), 1)
    for wanted, candidates in zip(own, members, strict=True):
        if len(wanted):
            some = min(count, len(candidates))
            found[wanted, :some] = candidates[_nearest_among(vectors[wanted], vectors[candidates], some)]
    return found


def _members(clusters: Places, count: int, each: int) -> list[Places]:
    """By cluster: the places of its vectors, of which each is in ``each`` clusters."""
    order = np.argsort(clusters, kind="stable")
    ends = np.searchsorted(clusters[order], np.arange(1, count))
    return np.split(order // each, ends)


def _nearest_among(some: Vectors, every: Vectors, count: int, in_order: bool = False) -> Places:
    """By vector of ``some``: the places of the nearest of ``every``."""
    found = np.empty((len(some), count), dtype=np.int64)
    for start in range(0, len(some), BLOCK):
        cosines = some[start : start + BLOCK] @ every.T
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        if in_order:
            order = np.argsort(-np.take_along_axis(cosines, nearest, axis=1), axis=1, kind="stable")
            nearest = np.take_along_axis(nearest, order, axis=1)
        found[start : start + BLOCK] = nearest
    return found
