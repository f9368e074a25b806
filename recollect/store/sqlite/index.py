"""The image: what recalls search, held in memory as arrays, following the file from change to change.

Every memory has a *slot*, its place in all arrays. A changed memory gets a new slot and its old one dies, so an
image that a recall still reads stays true to its version while a newer one is made beside it.
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
from recollect.store.sqlite.arrays import Growing
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.postings import Postings
from recollect.store.sqlite.rows import ENCODED, select_columns
from recollect.store.sqlite.token_sketches import Shelf, Sketches
from recollect.store.text_fields import FIELDS

CODED = (*KEYWORD_FIELDS, "path")
ACTIVE = "SELECT space FROM spaces WHERE active"
# Every recall needs these; others are read when a filter or a stage asks.
ALWAYS = ("status", "collection", "expires", "created", "valid_from", "valid_to")


@dataclass(slots=True)
class Codes:
    """A column of few distinct strings, as small numbers."""

    index: dict[str, int] = field(default_factory=dict)
    values: Growing = field(default_factory=lambda: Growing(np.int32))

    def extend(self, strings: list[str]) -> NDArray[Any]:
        index = self.index
        return self.values.extend(np.array([index.setdefault(s, len(index)) for s in strings], dtype=np.int32))


@dataclass(slots=True)
class Numbers:
    """A column of numbers; NaN where there is none."""

    values: Growing = field(default_factory=lambda: Growing(np.float64))

    def extend(self, numbers: list[float | None]) -> NDArray[Any]:
        return self.values.extend(np.array(numbers, dtype=np.float64))


@dataclass(slots=True)
class Objects:
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


Column = Codes | Numbers | Objects


def _column(name: str) -> Column:
    if name in JSON_FIELDS:
        return Objects(JSON_FIELDS[name])
    return Codes() if name in CODED else Numbers()


@dataclass(slots=True)
class Image:
    """The memories at one version."""

    version: int
    rows: Rows
    alive: NDArray[np.bool_]
    postings: Postings
    lengths: NDArray[np.uint32]  # words by slot and field
    space: Space | None
    matrix: NDArray[np.float32]
    has_vector: NDArray[np.bool_]
    columns: dict[str, Any]
    codes: dict[str, dict[str, int]]
    shelf: Shelf | None = None  # the sketches of all slots, once a recall has asked for them
    lasting: dict[Any, Any] = field(default_factory=dict)  # answers by slot, which hold as long as slots do
    memo: dict[Any, Any] = field(default_factory=dict)  # answers that hold for this version
    _order: tuple[Rows, NDArray[np.int64]] | None = None
    _looked_up: tuple[Rows, NDArray[np.int64]] | None = None

    def slots(self, rows: Rows) -> NDArray[np.int64]:
        """The slot of each row, −1 for a row that is not here."""
        last = self._looked_up
        if last is not None and last[0] is rows:  # steps ask for the same hits in turn
            return last[1]
        if self._order is None:
            living = np.flatnonzero(self.alive)
            order = np.argsort(self.rows[living], kind="stable")
            self._order = (self.rows[living][order], living[order])
        known, slots = self._order
        if not len(known):
            return np.full(len(rows), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        found = np.where(known[at] == rows, slots[at], -1)
        self._looked_up = (rows, found)
        return found


class Follower:
    """Keeps the newest image, and makes the next one out of it and what has changed in the file since."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.kept: dict[str, Any] = {}  # what outlives an image: see the lexicon
        self._begin(None)

    def _begin(self, space: tuple[int, Space] | None) -> None:
        self._space = space
        self._rows = Growing(np.int64)
        self._lengths = Growing(np.uint32, len(FIELDS))
        self._matrix = Growing(np.float32, space[1].dim if space else 0)
        self._has_vector = Growing(np.bool_)
        self._columns: dict[str, Column] = {name: _column(name) for name in ALWAYS}
        self._sketches: Sketches | None = None
        self._lasting: dict[Any, Any] = {}
        self._image: Image | None = None

    def at(self, connection: apsw.Connection, version: int) -> Image | None:
        """The image at the connection's version; None when a newer one is already made (read again then)."""
        image = self._image
        if image is None or image.version != version:
            with self._lock:
                image = self._image
                if image is None or image.version < version:
                    try:
                        image = self._advance(connection, version)
                    except BaseException:
                        self._begin(None)  # half-grown arrays must not be built upon
                        raise
                elif image.version > version:
                    return None
        return image

    def restart(self) -> None:
        """Forget the image: the file is no longer the one that it was made of."""
        with self._lock:
            self.kept.clear()
            self._begin(None)

    def column(self, image: Image, connection: apsw.Connection, name: str) -> Any:
        """A column of the image, read from the file when it is asked for the first time."""
        if name not in image.columns:
            with self._lock:
                if name not in image.columns:  # another thread has read it meanwhile
                    self._read_column(image, connection, name)
        return image.columns[name]

    def _read_column(self, image: Image, connection: apsw.Connection, name: str) -> None:
        column = _column(name)
        values = dict(connection.execute(f"SELECT m.row, {select_columns(connection, [name])} FROM memories m"))
        empty: Any = JSON_FIELDS.get(name, "" if name in CODED else None)
        read = column.extend([values.get(int(row), empty) for row in image.rows])
        image.codes[name] = column.index if isinstance(column, Codes) else {}
        image.columns[name] = read  # last: who sees the column must find its codes
        if image is self._image:
            self._columns[name] = column  # from now on it follows

    def shelf(self, image: Image, connection: apsw.Connection) -> Shelf:
        """The sketches of the image's slots, read from the file when they are asked for the first time."""
        if image.shelf is None:
            with self._lock:
                if image.shelf is None:
                    sketches = Sketches(image.space.dim if image.space else 0)
                    image.shelf = sketches.extend(_sketches_of(connection, 0, image.rows))
                    if image is self._image:
                        self._sketches = sketches  # from now on it follows
        return image.shelf

    def _advance(self, connection: apsw.Connection, version: int) -> Image:
        space = active_space(connection)
        image = self._image
        if image is None or space != self._space or np.count_nonzero(image.alive) < len(image.rows) // 2:
            self._begin(space)
            image = None
        since = image.version if image else 0
        if since and _strengths_moved(connection, since):
            self._columns.pop("strength", None)  # it is read anew when a recall asks for it
        names = list(self._columns)
        where = "WHERE m.changed > ?1" if since else "WHERE ?1 = 0"
        fresh = fetch(
            connection,
            f"SELECT m.row, w.entries, {select_columns(connection, names)} "
            f"FROM memories m LEFT JOIN words w ON w.row = m.row {where} ORDER BY m.row",
            (since,),
        )
        if any(each[1] is None for each in fresh):
            raise _torn(connection, "there are memories without words")
        rows = np.array([each[0] for each in fresh], dtype=np.int64)
        vectors, has_vector = self._vectors(connection, where, since, rows)

        first = len(image.rows) if image else 0
        alive = np.concatenate([image.alive if image else np.empty(0, np.bool_), np.ones(len(rows), np.bool_)])
        if image:
            gone = connection.execute("SELECT row FROM gone WHERE version > ?", (since,))
            replaced = np.concatenate([rows, np.array([row for (row,) in gone], dtype=np.int64)])
            dead = image.slots(replaced)
            alive[dead[dead >= 0]] = False
        shelf = self._sketches.extend(_sketches_of(connection, since, rows)) if self._sketches else None
        postings, lengths = (image.postings if image else Postings()).add([each[1] for each in fresh], first)
        columns: dict[str, Any] = {
            name: self._columns[name].extend([each[at] for each in fresh]) for at, name in enumerate(names, 2)
        }
        self._image = Image(
            version=version,
            rows=self._rows.extend(rows),
            alive=alive,
            postings=postings,
            lengths=self._lengths.extend(lengths),
            space=space[1] if space else None,
            matrix=self._matrix.extend(vectors),
            has_vector=self._has_vector.extend(has_vector),
            columns=columns,
            codes={name: each.index for name, each in self._columns.items() if isinstance(each, Codes)},
            shelf=shelf,
            lasting=self._lasting,
        )
        return self._image

    def _vectors(
        self, connection: apsw.Connection, where: str, since: int, rows: Rows
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        has_vector = np.zeros(len(rows), dtype=np.bool_)
        if self._space is None:
            return np.zeros((len(rows), 0), dtype=np.float32), has_vector
        number, space = self._space
        found = fetch(
            connection,
            f"SELECT v.row, v.vector FROM memories m JOIN vectors v ON v.row = m.row AND v.space = ?2 {where}"
            if since
            else "SELECT row, vector FROM vectors NOT INDEXED WHERE ?1 = 0 AND space = ?2",  # in the order of the file
            (since, number),
        )
        packed = b"".join(blob for _, blob in found)
        if len(packed) != len(found) * space.dim * 2:
            raise _torn(connection, "there are vectors of another length than their model's")
        vectors = np.frombuffer(packed, dtype=np.float16).reshape(len(found), space.dim).astype(np.float32)
        owners = np.array([row for row, _ in found], dtype=np.int64)
        if np.array_equal(owners, rows):
            return vectors, np.ones(len(rows), dtype=np.bool_)
        if not np.isin(owners, rows).all():
            raise _torn(connection, "there are vectors without memories")
        places = np.searchsorted(rows, owners)
        matrix = np.zeros((len(rows), space.dim), dtype=np.float32)
        matrix[places] = vectors
        has_vector[places] = True
        return matrix, has_vector


def _torn(connection: apsw.Connection, what: str) -> StoreError:
    return StoreError(
        f"The parts of {connection.filename} do not fit together: {what}. Another program may have written to it; "
        "'recollect doctor' says what is wrong, and with --fix mends it."
    )


def _sketches_of(connection: apsw.Connection, since: int, rows: Rows) -> list[bytes]:
    """The sketches of all rows, or of what has changed; empty where there is none."""
    changed = "AND row IN (SELECT row FROM memories WHERE changed > ?1)" if since else "AND ?1 = 0"
    held: dict[int, bytes] = {}
    for table in ENCODED:  # an older file that may only be read has them beside the vectors, or has none
        if connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = 'sketch'", (table,)).get:
            sql = f"SELECT row, sketch FROM {table} WHERE space = ({ACTIVE}) {changed}"
            held.update(connection.execute(sql, (since,)))
    return [held.get(row, b"") for row in rows.tolist()]


def _strengths_moved(connection: apsw.Connection, since: int) -> bool:
    """Has a decay, or the undo of one, changed strengths without touching the memories?"""
    sql = "SELECT 1 FROM changes WHERE version > ? AND verb IN ('decay', 'undo') LIMIT 1"
    return connection.execute(sql, (since,)).get is not None


def active_space(connection: apsw.Connection) -> tuple[int, Space] | None:
    """The number and the model of the space that is searched."""
    for number, name, dim in connection.execute("SELECT space, name, dim FROM spaces WHERE active"):
        return number, Space(name, dim)
    return None
