"""Orders that do not depend on the store: by score, and among equals by creation and id."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Flags, Floats, Rows, Snapshot


def ordered(snapshot: Snapshot, rows: Rows, *keys: NDArray[np.float64] | NDArray[np.int64]) -> Rows:
    """Positions of the rows by these keys, ascending; equals by creation, then id."""
    order = np.lexsort(keys[::-1])
    tied, runs = _ties(*(key[order] for key in keys))
    if len(tied):
        places = order[tied]
        created = snapshot.numbers("created", rows[places])
        by_creation = np.lexsort((created, runs))
        places = order[tied] = places[by_creation]
        same, runs = _ties(runs, created[by_creation])  # each run keeps its places, so ``runs`` is sorted already
        if len(same):
            ids = snapshot.ids(rows[places[same]])
            by_id = sorted(zip(runs.tolist(), ids, places[same].tolist(), strict=True))
            order[tied[same]] = [place for _, _, place in by_id]
    return order


def _ties(*keys: NDArray[np.float64] | NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The places in sorted keys that equal a neighbour, and for each the number of its run of equals."""
    equal = reduce(np.logical_and, map(_equal_to_next, keys))
    if not equal.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    tied = np.zeros(len(equal) + 1, dtype=np.bool_)
    tied[:-1] = equal
    tied[1:] |= equal
    run = np.zeros(len(tied), dtype=np.int64)
    np.cumsum(~equal, out=run[1:])
    return np.flatnonzero(tied), run[tied]


def _equal_to_next(key: NDArray[np.float64] | NDArray[np.int64]) -> Flags:
    """For all but the last: does the next one equal it? NaN equals NaN."""
    equal = key[:-1] == key[1:]
    if key.dtype.kind == "f" and (unknown := np.isnan(key)).any():
        equal |= unknown[:-1] & unknown[1:]
    return np.asarray(equal)


def best_first(snapshot: Snapshot, rows: Rows, scores: Floats, n: int) -> Rows:
    """Positions of the n highest scores, best first."""
    if n <= 0 or not len(rows):
        return np.empty(0, dtype=np.int64)
    if n < len(rows):
        floor = np.partition(scores, len(rows) - n)[len(rows) - n]
        chosen = np.flatnonzero(scores >= floor)
    else:
        chosen = np.arange(len(rows))
    return chosen[ordered(snapshot, rows[chosen], -scores[chosen])][:n]
