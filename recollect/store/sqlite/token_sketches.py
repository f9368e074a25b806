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

SKETCHES = (
    f"SELECT k.row, k.sketch FROM json_each(?1) chosen CROSS JOIN {{table}} k "
    f"ON k.row = chosen.value AND k.space = ({ACTIVE})"
)


@dataclass(frozen=True, slots=True)
class SketchArrays:
    """The sketches of all slots of a part."""

    bits: NDArray[np.uint8]  # a row for each token
    ends: NDArray[np.int64]  # by slot: where its tokens end, and those of the next slot begin

    @classmethod
    def of(cls, sketches: Sequence[bytes], dim: int) -> SketchArrays:
        width = max(1, -(-dim // 8))  # bytes a token
        sketches = [each if len(each) % width == 0 else b"" for each in sketches]  # damaged ones are left out
        ends = np.cumsum([len(each) // width for each in sketches], dtype=np.int64)
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
    in_files = iter(_from_files(connection, [(part, local) for part, _, local in parts if part.file]))
    counts = np.zeros(len(slots), dtype=np.int64)
    found: list[tuple[NDArray[np.int64], NDArray[np.uint8]]] = []
    for part, places, local in parts:
        if part.file:
            arrays = SketchArrays.of(next(in_files), index.dim)
            bits, counts[places] = arrays.bits, np.diff(arrays.ends, prepend=0)
        else:
            bits, counts[places] = _in_memory(part, connection, index.dim).select(local)
        found.append((places, bits))
    if len(found) == 1 and len(found[0][0]) == len(slots):  # all are of one part, in their order
        return TokenSketches(found[0][1], counts, index.dim)
    starts = np.cumsum(counts) - counts
    tokens = np.empty((int(counts.sum()), max(1, -(-index.dim // 8))), dtype=np.uint8)
    for places, bits in found:
        own = counts[places]
        tokens[np.arange(len(bits)) + np.repeat(starts[places] - (np.cumsum(own) - own), own)] = bits
    return TokenSketches(tokens, counts, index.dim)


def _from_files(connection: apsw.Connection, wanted: Sequence[tuple[Part, LocalSlots]]) -> list[list[bytes]]:
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
    read = _read_sketches(connection, [row for some in missing for row in some])
    for known, some in zip(caches, missing, strict=True):
        if len(known) + len(some) > MAX_CACHED:  # other threads use it, too: what is needed now is in ``found``
            known.clear()
        known.update((row, read.get(row, b"")) for row in some)
    return [
        [read.get(row, b"") if sketch is None else sketch for row, sketch in zip(some, sketches, strict=True)]
        for some, sketches in zip(rows, found, strict=True)
    ]


def _in_memory(part: Part, connection: apsw.Connection, dim: int) -> SketchArrays:
    """Those of a part in memory are read once."""
    arrays: SketchArrays | None = part.cache.get("sketches")
    if arrays is None:
        arrays = part.cache["sketches"] = _read_all(part, connection, dim)
    return arrays


def _read_all(part: Part, connection: apsw.Connection, dim: int) -> SketchArrays:
    rows = part.rows.tolist()
    found = _read_sketches(connection, rows)
    return SketchArrays.of([found.get(row, b"") for row in rows], dim)


def _read_sketches(connection: apsw.Connection, rows: Sequence[int]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for table in ENCODED:  # an older file that may only be read has them beside the vectors, or has none
        if connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = 'sketch'", (table,)).get:
            found.update(fetch(connection, SKETCHES.format(table=table), (json.dumps(rows),)))
    return found
