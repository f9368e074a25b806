"""Reads what changed in the file, in batches that become parts of the index."""

from __future__ import annotations

import json
from collections.abc import Iterator

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.store.base import Flags, Floats, Rows, Space
from recollect.store.sqlite.connections import fetch, fetch_value
from recollect.store.sqlite.part import CODED, NUMBERS
from recollect.store.sqlite.part_building import JSON, Batch
from recollect.store.sqlite.statements import select_columns
from recollect.store.told_times import unpack_times

BATCH = 4096  # memories that are read at a time
CHANGED_ROWS = "SELECT row FROM memories INDEXED BY memories_changed WHERE changed > ?"
# CROSS JOIN keeps the order: the planner would begin with all memories.
CHOSEN = "FROM json_each(?1) chosen CROSS JOIN"
WORDS = "LEFT JOIN words w ON w.row = m.row"
MEMORIES = f"SELECT m.row, w.entries, {{columns}} {CHOSEN} memories m ON m.row = chosen.value {WORDS}"
VECTORS = f"SELECT v.row, v.vector {CHOSEN} vectors v ON v.row = chosen.value AND v.space = ?2"
TOLD_TIMES = f"SELECT t.row, t.times {CHOSEN} told_times t ON t.row = chosen.value"
COLUMNS = (*CODED, *NUMBERS, *JSON)


def changed_rows(connection: apsw.Connection, since: int) -> Rows:
    """The rows that changed after a version, ascending."""
    return np.sort(np.array([row for (row,) in fetch(connection, CHANGED_ROWS, (since,))], dtype=np.int64))


def deleted_rows(connection: apsw.Connection, since: int) -> Rows:
    found = fetch(connection, "SELECT row FROM gone WHERE version > ?", (since,))
    return np.array([row for (row,) in found], dtype=np.int64)


def read_batches(connection: apsw.Connection, rows: Rows, space: tuple[int, Space] | None) -> Iterator[Batch]:
    """Everything about these rows, in their order."""
    for start in range(0, len(rows), BATCH):
        yield read_batch(connection, rows[start : start + BATCH], space)


def read_batch(connection: apsw.Connection, rows: Rows, space: tuple[int, Space] | None) -> Batch:
    chosen = json.dumps(rows.tolist())
    found = fetch(connection, MEMORIES.format(columns=select_columns(connection, COLUMNS)), (chosen,))
    if any(each[1] is None for each in found):
        raise inconsistent(connection, "there are memories without words")
    stored, words, *columns = zip(*found, strict=True) if found else ([] for _ in range(len(COLUMNS) + 2))
    own = np.array(stored, dtype=np.int64)
    vectors, has_vector, stored_vectors = _read_vectors(connection, chosen, own, space)
    slots, times = _read_told_times(connection, chosen, own)
    named = {name: list(values) for name, values in zip(COLUMNS, columns, strict=True)}
    return Batch(own, list(words), named, vectors, has_vector, stored_vectors, slots, times)


def check_vectors(connection: apsw.Connection, space: tuple[int, Space], count: int) -> None:
    """Refuse a file with vectors that belong to no memory."""
    if fetch_value(connection, "SELECT count(*) FROM vectors WHERE space = ?", (space[0],)) != count:
        raise inconsistent(connection, "there are vectors without memories")


def _read_vectors(
    connection: apsw.Connection, chosen: str, rows: Rows, space: tuple[int, Space] | None
) -> tuple[NDArray[np.float16], Flags, int]:
    """By row: its vector, and whether it has one that can be compared; and how many are stored."""
    has_vector = np.zeros(len(rows), dtype=np.bool_)
    if space is None:
        return np.zeros((len(rows), 0), dtype=np.float16), has_vector, 0
    number, dim = space[0], space[1].dim
    found = fetch(connection, VECTORS, (chosen, number))
    packed = b"".join(blob for _, blob in found)
    if len(packed) != len(found) * dim * 2:
        raise inconsistent(connection, "there are vectors of another length than their model's")
    places = np.searchsorted(rows, np.array([row for row, _ in found], dtype=np.int64))
    vectors = np.zeros((len(rows), dim), dtype=np.float16)
    vectors[places] = np.frombuffer(packed, dtype=np.float16).reshape(len(found), dim)
    has_vector[places] = True
    damaged = ~np.isfinite(vectors).all(axis=1)
    if damaged.any():  # no comparison with these means anything; doctor names them
        vectors[damaged], has_vector[damaged] = 0, False
    return vectors, has_vector, len(found)


def _read_told_times(connection: apsw.Connection, chosen: str, rows: Rows) -> tuple[NDArray[np.int64], Floats]:
    """The times told by these rows: the place of its row for each, and its start and end."""
    older = connection.readonly("main")  # a file of an earlier version that is only read may lack the table
    if older and not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'told_times'").get:
        return np.empty(0, dtype=np.int64), np.empty((0, 2))
    found = fetch(connection, TOLD_TIMES, (chosen,))
    times = [unpack_times(packed) for _, packed in found]
    owners = np.array([row for row, _ in found], dtype=np.int64)
    places = np.repeat(np.searchsorted(rows, owners), [len(each) for each in times])
    return places, np.concatenate([np.empty((0, 2)), *times])


def inconsistent(connection: apsw.Connection, what: str) -> StoreError:
    return StoreError(
        f"The parts of {connection.filename} do not fit together: {what}. Another program may have written to it; "
        "'recollect doctor' shows what is wrong, and 'recollect doctor --fix' repairs it."
    )
