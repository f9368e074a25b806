"""Orders that do not depend on the store: by score, and among equals by creation and id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats, Rows, Snapshot


def ordered(snapshot: Snapshot, rows: Rows, *keys: NDArray[np.float64] | NDArray[np.int64]) -> Rows:
    """Positions of the rows by these keys, ascending; equals by creation, then id."""
    order = np.lexsort(keys[::-1])
    tied, runs = _ties(order, *keys)
    if len(tied):
        places = order[tied]
        created = snapshot.numbers("created", rows[places])
        places = order[tied] = places[np.lexsort((created, runs))]
        created = snapshot.numbers("created", rows[places])
        same, runs = _ties(np.arange(len(places)), runs, created)
        if len(same):
            ids = snapshot.ids(rows[places[same]])
            by_id = sorted(zip(runs.tolist(), ids, places[same].tolist(), strict=True))
            order[tied[same]] = [place for _, _, place in by_id]
    return order


def _ties(order: Rows, *keys: NDArray[np.float64] | NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The places in an order whose keys equal those of a neighbour, and for each the number of its run of equals."""
    equal = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for key in keys:
        left, right = key[order[:-1]], key[order[1:]]
        equal &= (left == right) | ((left != left) & (right != right))
    if not equal.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    return tied, np.append(0, np.cumsum(~equal))[tied]


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
