"""Token sketches: the tokens of some slots one after another, and where those of each slot end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import TokenSketches
from recollect.store.rows import ENCODED
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.index import Index, Slots
from recollect.store.sqlite.part import LocalSlots, Part
from recollect.store.sqlite.versions import ACTIVE

SKETCHES = (  # of ranges of rows: neighbours are beside each other
    f"SELECT k.row, k.sketch FROM json_each(?1) chosen CROSS JOIN {{table}} k "
    f"ON k.row BETWEEN chosen.value ->> 0 AND chosen.value ->> 1 AND k.space = ({ACTIVE})"
)


@dataclass(frozen=True, slots=True)
class SketchArrays:
    """The sketches of all slots of a part."""

    bits: NDArray[np.uint8]  # a row for each token
    ends: NDArray[np.int64]  # by slot: where its tokens end, and those of the next slot begin

    @classmethod
    def of(cls, sketches: Sequence[bytes], dim: int) -> SketchArrays:
        width = max(1, -(-dim // 8))  # bytes a token
        sizes = np.array([len(each) for each in sketches], dtype=np.int64)
        if (sizes % width).any():  # damaged ones are left out
            return cls.of([each if len(each) % width == 0 else b"" for each in sketches], dim)
        ends = np.cumsum(sizes // width)
        return cls(np.frombuffer(b"".join(sketches), dtype=np.uint8).reshape(-1, width), ends)

    def select(self, slots: LocalSlots) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The tokens of these slots, and how many each has."""
        starts = np.where(slots > 0, self.ends[np.maximum(slots - 1, 0)], 0)
        counts = self.ends[slots] - starts
        offsets = np.cumsum(counts) - counts
        return self.bits[np.arange(counts.sum()) + np.repeat(starts - offsets, counts)], counts


MAX_CACHED = 4096  # sketches of a part in a file that are kept in memory


def token_sketches(index: Index, connection: apsw.Connection, slots: Slots) -> TokenSketches:
    """The sketches of these slots; none for a slot below 0."""
    parts = [(view.part, places, local) for view, places, local in index.split(slots)]
    tables = _tables(index, connection)
    in_files = iter(_from_files(connection, tables, [(part, local) for part, _, local in parts if part.file]))
    counts = np.zeros(len(slots), dtype=np.int64)
    found: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []
    for part, places, local in parts:
        if part.file:
            arrays = SketchArrays.of(next(in_files), index.dim)
            bits, counts[places] = arrays.bits, np.diff(arrays.ends, prepend=0)
        else:
            bits, counts[places] = _in_memory(part, connection, tables, index.dim).select(local)
        found.append((places, bits))
    if len(found) == 1 and len(found[0][0]) == len(slots):  # all are of one part, in their order
        return TokenSketches(found[0][1], counts, index.dim)
    starts = np.cumsum(counts) - counts
    tokens = np.empty((int(counts.sum()), max(1, -(-index.dim // 8))), dtype=np.uint8)
    for places, bits in found:
        own = counts[places]
        tokens[np.arange(len(bits)) + np.repeat(starts[places] - (np.cumsum(own) - own), own)] = bits
    return TokenSketches(tokens, counts, index.dim)


def _tables(index: Index, connection: apsw.Connection) -> list[str]:
    """An older file that may only be read has sketches beside the vectors, or has none."""
    tables: list[str] | None = index.derived.get("tables of sketches")
    if tables is None:
        has_column = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'sketch'"
        tables = [table for table in ENCODED if connection.execute(has_column, (table,)).get]
        index.derived["tables of sketches"] = tables
    return tables


def _from_files(
    connection: apsw.Connection, tables: Sequence[str], wanted: Sequence[tuple[Part, LocalSlots]]
) -> list[list[bytes]]:
    """Those of slots of each part in a file: they are 2 KB each, so only some are kept. What is not is read at once."""
    caches: list[dict[int, bytes]] = [part.cache.setdefault("sketches", {}) for part, _ in wanted]
    rows = [part.rows[slots].tolist() for part, slots in wanted]
    found = [list(map(known.get, some)) for known, some in zip(caches, rows, strict=True)]
    missing = [
        [row for row, sketch in zip(some, sketches, strict=True) if sketch is None]
        for some, sketches in zip(rows, found, strict=True)
    ]
    if not any(missing):
        return [[sketch or b"" for sketch in sketches] for sketches in found]
    read = _read_sketches(connection, tables, [row for some in missing for row in some])
    for known, some in zip(caches, missing, strict=True):
        if len(known) + len(some) > MAX_CACHED:  # other threads use it, too: what is needed now is in ``found``
            known.clear()
        known.update({row: read[row] for row in some})
    return [
        [read[row] if sketch is None else sketch for row, sketch in zip(some, sketches, strict=True)]
        for some, sketches in zip(rows, found, strict=True)
    ]


def _in_memory(part: Part, connection: apsw.Connection, tables: Sequence[str], dim: int) -> SketchArrays:
    """Those of a part in memory are read once."""
    arrays: SketchArrays | None = part.cache.get("sketches")
    if arrays is None:
        arrays = part.cache["sketches"] = _read_all(part, connection, tables, dim)
    return arrays


def _read_all(part: Part, connection: apsw.Connection, tables: Sequence[str], dim: int) -> SketchArrays:
    found = _read_sketches(connection, tables, part.rows.tolist())
    return SketchArrays.of(list(found.values()), dim)


def _read_sketches(connection: apsw.Connection, tables: Sequence[str], rows: Sequence[int]) -> dict[int, bytes]:
    """By row, in this order; empty where there is none."""
    if not rows:
        return {}
    ordered = np.sort(np.asarray(rows, dtype=np.int64))
    gaps = np.diff(ordered) > 1
    spans = np.stack([ordered[np.append(True, gaps)], ordered[np.append(gaps, True)]], axis=1).tolist()
    found = dict.fromkeys(rows, b"")
    for table in tables:
        found.update(fetch(connection, SKETCHES.format(table=table), (json.dumps(spans),)))
    return found
