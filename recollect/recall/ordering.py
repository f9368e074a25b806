"""Orders that do not depend on the store: by score, and among equals by creation and id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Floats, Rows, Snapshot


def ordered(snapshot: Snapshot, rows: Rows, *keys: NDArray[np.float64] | NDArray[np.int64]) -> Rows:
    """Positions of the rows by these keys, ascending; equals by creation, then id."""
    columns = [*keys, snapshot.numbers("created", rows)]
    order = np.lexsort(columns[::-1])
    equal = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for column in columns:
        left, right = column[order[:-1]], column[order[1:]]
        equal &= (left == right) | ((left != left) & (right != right))
    if equal.any():
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        run = np.append(0, np.cumsum(~equal))[tied].tolist()
        ids = snapshot.ids(rows[order[tied]])
        order[tied] = [place for _, _, place in sorted(zip(run, ids, order[tied].tolist(), strict=True))]
    return order


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
