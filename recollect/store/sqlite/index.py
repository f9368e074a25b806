"""The in-memory index of a file: postings, vectors and columns as arrays, updated from change to change.

Every memory has a *slot*, its place in all arrays. A changed memory gets a new slot and its old one dies, so that an
index that a recall still reads stays true to its version while a newer one is built beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.model.memory import JSON_FIELDS, KEYWORD_FIELDS
from recollect.store.base import Rows, Space
from recollect.store.sqlite.arrays import GrowingArray
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.erasing import last_erasure
from recollect.store.sqlite.postings import Postings
from recollect.store.sqlite.rows import ENCODED, select_columns
from recollect.store.sqlite.token_sketches import SketchArrays, SketchBuilder
from recollect.store.sqlite.vocabulary import StemIndex, Vocabulary
from recollect.store.text_fields import TEXT_FIELDS
from recollect.store.told_times import unpack_times

CODED = (*KEYWORD_FIELDS, "path")
ACTIVE = "SELECT space FROM spaces WHERE active"
# Every recall needs these; other columns are read when a filter or a stage first asks for them.
ALWAYS = ("status", "collection", "expires", "created", "valid_from", "valid_to")


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The last change of a file. Its random token differs in a copy of the file that was changed on its own."""

    number: int
    token: int

    def __str__(self) -> str:
        return f"{self.number}.{self.token:x}" if self.number else "0"


def read_version(connection: apsw.Connection) -> FileVersion:
    number = connection.execute("SELECT max(version) FROM changes").get or 0
    return FileVersion(number, read_change_token(connection, number))


def read_change_token(connection: apsw.Connection, number: int) -> int:
    """The token of a change; 0 in a file of version 0.1 that is opened only for reading, or without that change."""
    try:
        return connection.execute("SELECT token FROM changes WHERE version = ?", (number,)).get or 0
    except apsw.SQLError:
        if connection.readonly("main"):
            return 0
        raise


@dataclass(slots=True)
class CodedColumn:
    """A column of few distinct strings, as integers."""

    codes: dict[str, int] = field(default_factory=dict)
    values: GrowingArray = field(default_factory=lambda: GrowingArray(np.int32))

    def extend(self, strings: list[str]) -> NDArray[Any]:
        codes = self.codes
        return self.values.extend(np.array([codes.setdefault(s, len(codes)) for s in strings], dtype=np.int32))


@dataclass(slots=True)
class NumberColumn:
    """A column of numbers; NaN where there is none."""

    values: GrowingArray = field(default_factory=lambda: GrowingArray(np.float64))

    def extend(self, numbers: list[float | None]) -> NDArray[Any]:
        return self.values.extend(np.array(numbers, dtype=np.float64))


@dataclass(slots=True)
class JsonColumn:
    """A column of JSON values, by slot; slots with an empty one are left out."""

    empty: str
    values: dict[int, Any] = field(default_factory=dict)
    used: int = 0

    def extend(self, texts: list[str]) -> dict[int, Any]:
        for slot, text in enumerate(texts, self.used):
            if text != self.empty:
                self.values[slot] = json.loads(text)
        self.used += len(texts)
        return self.values


Column = CodedColumn | NumberColumn | JsonColumn


def _column(name: str) -> Column:
    if name in JSON_FIELDS:
        return JsonColumn(JSON_FIELDS[name])
    return CodedColumn() if name in CODED else NumberColumn()


@dataclass(slots=True)
class Index:
    """All memories at one version."""

    version: FileVersion
    rows: Rows
    alive: NDArray[np.bool_]
    postings: Postings
    lengths: NDArray[np.uint32]  # words by slot and field
    space: Space | None
    matrix: NDArray[np.float32]
    has_vector: NDArray[np.bool_]
    told_slots: NDArray[np.int64]  # a slot for each time that its text tells of, ascending
    told_times: NDArray[np.float64]  # the start and end of each
    columns: dict[str, Any]
    codes: dict[str, dict[str, int]]
    sketches: SketchArrays | None = None  # of all slots, once a recall has asked for them
    by_slot: dict[Any, Any] = field(default_factory=dict)  # derived arrays that hold as long as slots do
    derived: dict[Any, Any] = field(default_factory=dict)  # what was derived from this version
    _slot_order: tuple[Rows, NDArray[np.int64]] | None = None
    _last_lookup: tuple[Rows, NDArray[np.int64]] | None = None

    def slots(self, rows: Rows) -> NDArray[np.int64]:
        """The slot of each row, −1 for a row that is not here."""
        last = self._last_lookup
        if last is not None and last[0] is rows:  # one step after another asks for the same hits
            return last[1]
        if self._slot_order is None:
            living = np.flatnonzero(self.alive)
            order = np.argsort(self.rows[living], kind="stable")
            self._slot_order = (self.rows[living][order], living[order])
        known, slots = self._slot_order
        if not len(known):
            return np.full(len(rows), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        found = np.where(known[at] == rows, slots[at], -1)
        self._last_lookup = (rows, found)
        return found


class IndexUpdater:
    """Holds the newest index, and builds the next one from it and from what has changed in the file since."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.vocabulary: tuple[tuple[int, int], Vocabulary] | None = None  # and what it was made of
        self.stems: dict[str, StemIndex] = {}  # by language, of those that queries were in
        self._begin(None)

    def _begin(self, space: tuple[int, Space] | None) -> None:
        self._space = space
        self._rows = GrowingArray(np.int64)
        self._lengths = GrowingArray(np.uint32, len(TEXT_FIELDS))
        self._matrix = GrowingArray(np.float32, space[1].dim if space else 0)
        self._has_vector = GrowingArray(np.bool_)
        self._told_slots = GrowingArray(np.int64)
        self._told_times = GrowingArray(np.float64, 2)
        self._columns: dict[str, Column] = {name: _column(name) for name in ALWAYS}
        self._sketches: SketchBuilder | None = None
        self._by_slot: dict[Any, Any] = {}
        self._index: Index | None = None

    def at(self, connection: apsw.Connection, version: FileVersion) -> Index | None:
        """The index at the connection's version; None when a newer one exists already (begin a new snapshot then)."""
        index = self._index
        if index is None or index.version != version:
            with self._lock:
                index = self._index
                if index is not None and not _precedes(connection, index.version, version):
                    if index.version.number > version.number:
                        return None
                    self._begin(None)  # another history: the file was replaced by another one
                    self.vocabulary = index = None
                    self.stems = {}
                if index is None or index.version != version:
                    try:
                        index = self._advance(connection, version)
                    except BaseException:
                        self._begin(None)  # half-grown arrays must not be built upon
                        raise
        return index

    def restart(self) -> None:
        """Drop the index: the file is no longer the one that it was made of."""
        with self._lock:
            self.vocabulary = None
            self.stems = {}
            self._begin(None)

    def column(self, index: Index, connection: apsw.Connection, name: str) -> Any:
        """A column of the index, read from the file when it is first asked for."""
        if name not in index.columns:
            with self._lock:
                if name not in index.columns:  # unless another thread has read it meanwhile
                    self._read_column(index, connection, name)
        return index.columns[name]

    def _read_column(self, index: Index, connection: apsw.Connection, name: str) -> None:
        column = _column(name)
        values = dict(fetch(connection, f"SELECT m.row, {select_columns(connection, [name])} FROM memories m"))
        empty: Any = JSON_FIELDS.get(name, "" if name in CODED else None)
        read = column.extend([values.get(int(row), empty) for row in index.rows])
        index.codes[name] = column.codes if isinstance(column, CodedColumn) else {}
        index.columns[name] = read  # last: whoever sees the column must find its codes
        if index is self._index:
            self._columns[name] = column  # from now on it is updated

    def sketches(self, index: Index, connection: apsw.Connection) -> SketchArrays:
        """The token sketches of the index's slots, read from the file when they are first asked for."""
        if index.sketches is None:
            with self._lock:
                if index.sketches is None:
                    builder = SketchBuilder(index.space.dim if index.space else 0)
                    index.sketches = builder.extend(_read_sketches(connection, 0, index.rows))
                    if index is self._index:
                        self._sketches = builder  # from now on it is updated
        return index.sketches

    def _advance(self, connection: apsw.Connection, version: FileVersion) -> Index:
        space = active_space(connection)
        index = self._index
        if index is None or space != self._space or np.count_nonzero(index.alive) < len(index.rows) // 2:
            self._begin(space)
            index = None
        since = index.version.number if index else 0
        if since and last_erasure(connection) > since:  # nothing of what was erased may stay in memory
            self._begin(space)
            self.vocabulary, self.stems, index, since = None, {}, None, 0
        if since and _strengths_changed(connection, since):
            self._columns.pop("strength", None)  # it is read again when a recall asks for it
        names = list(self._columns)
        columns = select_columns(connection, names)
        sql = CHANGED_MEMORIES if since else ALL_MEMORIES
        fresh = sorted(fetch(connection, sql.format(columns=columns), (since,)))
        if any(each[1] is None for each in fresh):
            raise _inconsistent(connection, "there are memories without words")
        rows = np.array([each[0] for each in fresh], dtype=np.int64)
        vectors, has_vector = self._vectors(connection, since, rows)

        first = len(index.rows) if index else 0
        alive = np.concatenate([index.alive if index else np.empty(0, np.bool_), np.ones(len(rows), np.bool_)])
        if index:
            deleted = connection.execute("SELECT row FROM gone WHERE version > ?", (since,))
            replaced = np.concatenate([rows, np.array([row for (row,) in deleted], dtype=np.int64)])
            dead = index.slots(replaced)
            alive[dead[dead >= 0]] = False
        told_slots, told = _read_told_times(connection, since, rows)
        sketches = self._sketches.extend(_read_sketches(connection, since, rows)) if self._sketches else None
        postings, lengths = (index.postings if index else Postings()).add([each[1] for each in fresh], first)
        extended: dict[str, Any] = {
            name: self._columns[name].extend([each[at] for each in fresh]) for at, name in enumerate(names, 2)
        }
        if index:
            index.derived.clear()  # cached scopes refer to their index: a cycle that would keep its arrays
        self._index = Index(
            version=version,
            rows=self._rows.extend(rows),
            alive=alive,
            postings=postings,
            lengths=self._lengths.extend(lengths),
            space=space[1] if space else None,
            matrix=self._matrix.extend(vectors),
            has_vector=self._has_vector.extend(has_vector),
            told_slots=self._told_slots.extend(told_slots + first),
            told_times=self._told_times.extend(told),
            columns=extended,
            codes={name: each.codes for name, each in self._columns.items() if isinstance(each, CodedColumn)},
            sketches=sketches,
            by_slot=self._by_slot,
        )
        return self._index

    def _vectors(
        self, connection: apsw.Connection, since: int, rows: Rows
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        has_vector = np.zeros(len(rows), dtype=np.bool_)
        if self._space is None:
            return np.zeros((len(rows), 0), dtype=np.float32), has_vector
        number, space = self._space
        found = fetch(connection, CHANGED_VECTORS if since else ALL_VECTORS, (since, number))
        packed = b"".join(blob for _, blob in found)
        if len(packed) != len(found) * space.dim * 2:
            raise _inconsistent(connection, "there are vectors of another length than their model's")
        vectors = np.frombuffer(packed, dtype=np.float16).reshape(len(found), space.dim).astype(np.float32)
        owners = np.array([row for row, _ in found], dtype=np.int64)
        if np.array_equal(owners, rows):
            return vectors, np.ones(len(rows), dtype=np.bool_)
        if not np.isin(owners, rows).all():
            raise _inconsistent(connection, "there are vectors without memories")
        places = np.searchsorted(rows, owners)
        matrix = np.zeros((len(rows), space.dim), dtype=np.float32)
        matrix[places] = vectors
        has_vector[places] = True
        return matrix, has_vector


# The planner would scan all memories after every write: CROSS JOIN and the index keep the cost to what has changed.
ALL_MEMORIES = "SELECT m.row, w.entries, {columns} FROM memories m LEFT JOIN words w ON w.row = m.row WHERE ?1 = 0"
CHANGED_MEMORIES = (
    "SELECT m.row, w.entries, {columns} FROM memories m INDEXED BY memories_changed "
    "LEFT JOIN words w ON w.row = m.row WHERE m.changed > ?1"
)
ALL_VECTORS = "SELECT row, vector FROM vectors NOT INDEXED WHERE ?1 = 0 AND space = ?2"  # in the order of the file
CHANGED_VECTORS = (
    "SELECT v.row, v.vector FROM memories m INDEXED BY memories_changed "
    "CROSS JOIN vectors v ON v.space = ?2 AND v.row = m.row WHERE m.changed > ?1"
)
ALL_SKETCHES = f"SELECT row, sketch FROM {{table}} WHERE ?1 = 0 AND space = ({ACTIVE})"
CHANGED_SKETCHES = (
    "SELECT k.row, k.sketch FROM memories m INDEXED BY memories_changed "
    f"CROSS JOIN {{table}} k ON k.space = ({ACTIVE}) AND k.row = m.row WHERE m.changed > ?1"
)


ALL_TOLD_TIMES = "SELECT row, times FROM told_times WHERE ?1 = 0"
CHANGED_TOLD_TIMES = (
    "SELECT t.row, t.times FROM memories m INDEXED BY memories_changed "
    "CROSS JOIN told_times t ON t.row = m.row WHERE m.changed > ?1"
)


def _read_told_times(
    connection: apsw.Connection, since: int, rows: Rows
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The times told by all rows, or by what has changed: the place of its row for each, and its start and end."""
    older = connection.readonly("main")  # a file of an earlier version that is only read may lack the table
    if older and not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'told_times'").get:
        return np.empty(0, dtype=np.int64), np.empty((0, 2))
    found = sorted(fetch(connection, CHANGED_TOLD_TIMES if since else ALL_TOLD_TIMES, (since,)))
    times = [unpack_times(packed) for _, packed in found]
    owners = np.array([row for row, _ in found], dtype=np.int64)
    places = np.repeat(np.searchsorted(rows, owners), [len(each) for each in times])
    return places, np.concatenate([np.empty((0, 2)), *times])


def _read_sketches(connection: apsw.Connection, since: int, rows: Rows) -> list[bytes]:
    """The sketches of all rows, or of what has changed; empty where there is none."""
    found: dict[int, bytes] = {}
    for table in ENCODED:  # an older file that may only be read has them beside the vectors, or has none
        if connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = 'sketch'", (table,)).get:
            sql = CHANGED_SKETCHES if since else ALL_SKETCHES
            found.update(fetch(connection, sql.format(table=table), (since,)))
    return [found.get(row, b"") for row in rows.tolist()]


def _precedes(connection: apsw.Connection, before: FileVersion, now: FileVersion) -> bool:
    """Is the earlier version part of this file's history? A copy that went its own way has other tokens."""
    if before.number >= now.number:
        return before == now
    return before.number == 0 or read_change_token(connection, before.number) == before.token


def _inconsistent(connection: apsw.Connection, what: str) -> StoreError:
    return StoreError(
        f"The parts of {connection.filename} do not fit together: {what}. Another program may have written to it; "
        "'recollect doctor' shows what is wrong, and 'recollect doctor --fix' repairs it."
    )


def _strengths_changed(connection: apsw.Connection, since: int) -> bool:
    """Has a decay, or the undo of one, changed strengths without touching the memories?"""
    sql = "SELECT 1 FROM changes WHERE version > ? AND verb IN ('decay', 'undo') LIMIT 1"
    return connection.execute(sql, (since,)).get is not None


def active_space(connection: apsw.Connection) -> tuple[int, Space] | None:
    """The number and the model of the space that is searched."""
    for number, name, dim in connection.execute("SELECT space, name, dim FROM spaces WHERE active"):
        return number, Space(name, dim)
    return None
