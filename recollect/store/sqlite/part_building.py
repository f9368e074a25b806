"""Makes parts of the index: from rows of the file, and from other parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Flags, Floats, Rows
from recollect.store.sqlite.context_values import ValueTable, context_keys, tag_keys
from recollect.store.sqlite.nearest import pack_signs
from recollect.store.sqlite.part import CODED, NUMBERS, Part, sum_lengths
from recollect.store.sqlite.postings import ENTRY
from recollect.store.sqlite.segment_files import ArraySource, MemoryArrays
from recollect.store.sqlite.string_table import StringTable, encode, merge_tables
from recollect.store.text_fields import TEXT_FIELDS

Arrays = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Batch:
    """What the file has about some memories, by ascending row."""

    rows: Rows
    words: list[bytes]  # packed entries, see postings.ENTRY
    columns: dict[str, list[Any]]
    vectors: NDArray[np.float16]
    has_vector: Flags
    stored_vectors: int = 0  # with those that cannot be compared
    told_slots: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    told_times: Floats = field(default_factory=lambda: np.empty((0, 2)))


def build_part(batch: Batch) -> Part:
    arrays: Arrays = {"rows": batch.rows}
    for name in CODED:
        _add_strings(arrays, name, batch.columns[name])
    for name in NUMBERS:
        arrays[f"column.{name}"] = _compact(np.array(batch.columns[name], dtype=np.float64))
    _add_words(arrays, batch.words)
    _add_values(arrays, ValueTable.of([_keys(*each) for each in zip(*map(batch.columns.get, JSON), strict=True)]))
    _add_vectors(arrays, batch.vectors, batch.has_vector)
    arrays["told.slots"], arrays["told.times"] = batch.told_slots, batch.told_times
    owners = [batch.columns[name] for name in OWNER]
    _add_session_order(arrays, hash_groups(owners))
    return Part(MemoryArrays(arrays))


JSON = ("tags", "context")
OWNER = ("collection", "user", "session")


def _keys(tags: str, context: str) -> list[bytes]:
    keys = [] if tags == "[]" else tag_keys(json.loads(tags))
    if context != "{}":
        keys += context_keys(json.loads(context))
    return keys


def _compact(values: NDArray[Any]) -> NDArray[Any]:
    """One value where all are the same; the fewest bytes for codes."""
    same = values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values  # by its bits, NaN equals NaN
    if len(same) > 1 and same[0] == same[-1] and (same == same[0]).all():
        values = values[:1].copy()
    if values.dtype.kind == "i":
        highest = int(values.max()) if len(values) else 0
        values = values.astype(np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.int32)
    return values


def _add_strings(arrays: Arrays, name: str, strings: Sequence[str]) -> None:
    distinct = sorted({encode(each) for each in set(strings)})
    codes = {string.decode("utf-8", "surrogatepass"): code for code, string in enumerate(distinct)}
    arrays[f"column.{name}"] = _compact(np.array([codes[each] for each in strings], dtype=np.int64))
    _add_table(arrays, name, StringTable.of(distinct))


def _add_table(arrays: Arrays, name: str, table: StringTable) -> None:
    arrays[f"strings.{name}"], arrays[f"ends.{name}"] = table.data, table.ends


def _add_words(arrays: Arrays, blobs: Sequence[bytes]) -> None:
    entries = np.frombuffer(b"".join(blobs), dtype=ENTRY)
    counts = np.array([len(blob) // ENTRY.itemsize for blob in blobs], dtype=np.int64)
    slots = np.repeat(np.arange(len(blobs), dtype=np.int32), counts)
    cells = slots.astype(np.int64) * len(TEXT_FIELDS) + entries["field"]
    lengths = np.bincount(cells, weights=entries["times"], minlength=len(blobs) * len(TEXT_FIELDS))
    _add_lengths(arrays, lengths.reshape(len(blobs), len(TEXT_FIELDS)).astype(np.uint32))
    order = _stable_order(entries["term"])
    _add_postings(arrays, entries["term"][order], slots[order], entries["field"][order], entries["times"][order])


def _add_lengths(arrays: Arrays, lengths: NDArray[np.uint32]) -> None:
    """The words of each memory by field, and in all fields."""
    arrays["lengths"], arrays["lengths.all"] = lengths, sum_lengths(lengths)


def _add_postings(
    arrays: Arrays,
    terms: NDArray[np.uint32],
    slots: NDArray[np.int32],
    fields: NDArray[np.uint8],
    times: NDArray[np.uint16],
) -> None:
    """Entries that are sorted by term, then slot."""
    first = np.flatnonzero(np.append(True, terms[1:] != terms[:-1])[: len(terms)])
    arrays["terms"], arrays["starts"] = terms[first].copy(), np.append(first, len(terms)).astype(np.int64)
    arrays["slots"], arrays["fields"], arrays["times"] = slots, fields.copy(), times.copy()


def _add_values(arrays: Arrays, table: ValueTable) -> None:
    arrays["values.keys"], arrays["values.ends"] = table.keys.data, table.keys.ends
    arrays["values.starts"], arrays["values.slots"] = table.starts, table.slots


def _add_vectors(arrays: Arrays, vectors: NDArray[np.float16], has_vector: Flags) -> None:
    arrays["vectors"] = vectors
    arrays["has_vector"] = _compact(has_vector)
    arrays["signs"], arrays["large"] = pack_signs(vectors)


def hash_groups(owners: Sequence[Sequence[str]]) -> NDArray[np.uint64]:
    """For each memory, a number for its session of its user in its collection."""
    known: dict[tuple[str, ...], int] = {}
    for owner in set(zip(*owners, strict=True)):
        digest = blake2b(b"".join(len(part).to_bytes(8, "big") + part for part in map(encode, owner)), digest_size=8)
        known[owner] = int.from_bytes(digest.digest(), "big")
    return np.array([known[owner] for owner in zip(*owners, strict=True)], dtype=np.uint64)


def session_groups(arrays: ArraySource, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The number of the session of each of these slots."""
    groups: NDArray[np.uint64] = arrays.take("order.groups", arrays.take("order.places", slots).astype(np.int64))
    return groups


def _add_session_order(arrays: Arrays, groups: NDArray[np.uint64]) -> None:
    """The slots by session, and in it by position, creation and row; and the place of each slot in that order."""
    size = len(groups)
    position, created = (np.broadcast_to(arrays[f"column.{name}"], (size,)) for name in ("position", "created"))
    order = np.lexsort((arrays["rows"], created, np.nan_to_num(position), groups))
    arrays["order"], arrays["order.groups"] = order.astype(np.int32), groups[order]
    arrays["order.places"] = np.empty(size, dtype=np.int32)
    arrays["order.places"][order] = np.arange(size, dtype=np.int32)


# Merging.


def merge_parts(parts: Sequence[Part], living: Sequence[Flags]) -> Part:
    """One part with the living slots of these; no row lives in two of them."""
    chosen = [np.flatnonzero(flags) for flags in living]
    rows = np.concatenate([part.rows[slots] for part, slots in zip(parts, chosen, strict=True)])
    order = np.argsort(rows, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    places = np.split(place, np.cumsum([len(slots) for slots in chosen])[:-1])
    moved = []  # for each part, the new slot of each of its slots; −1 for a dead one
    for part, slots, new in zip(parts, chosen, places, strict=True):
        moved.append(np.full(part.size, -1, dtype=np.int64))
        moved[-1][slots] = new
    merge = _Merge(parts, chosen, order, moved)
    arrays: Arrays = {"rows": rows[order]}
    for name in CODED:
        merge.strings(arrays, name)
    for name in NUMBERS:
        arrays[f"column.{name}"] = _compact(merge.gather(lambda part, slots, name=name: part.take(name, slots)))
    _add_lengths(arrays, merge.gather(lambda part, slots: part.arrays["lengths"][slots]))
    merge.postings(arrays)
    merge.values(arrays)
    vectors = merge.gather(lambda part, slots: part.arrays.take("vectors", slots))
    _add_vectors(arrays, vectors, merge.gather(lambda part, slots: part.has_vector[slots]))
    merge.told(arrays)
    merge.session_order(arrays)
    merged = Part(MemoryArrays(arrays))
    known = [dict(part.signatures) for part in parts]  # readers may add to them meanwhile
    for bits in set().union(*known):
        merged.signatures[bits] = _merge_signatures(merge, known, bits)
    return merged


def _merge_signatures(
    merge: _Merge, known: Sequence[dict[int, tuple[NDArray[np.uint8], Flags]]], bits: int
) -> tuple[NDArray[np.uint8], Flags]:
    """The signatures that a part has already, and which these are."""
    found = [
        each[bits]
        if bits in each
        else (np.zeros((part.size, bits // 8), dtype=np.uint8), np.zeros(part.size, np.bool_))
        for each, part in zip(known, merge.parts, strict=True)
    ]
    values, flags = (
        np.concatenate([pair[at][slots] for pair, slots in zip(found, merge.chosen, strict=True)])[merge.order]
        for at in (0, 1)
    )
    return values, flags


@dataclass(slots=True)
class _Merge:
    parts: Sequence[Part]
    chosen: list[NDArray[np.int64]]
    order: NDArray[np.int64]
    moved: list[NDArray[np.int64]]

    def gather(self, read: Any) -> NDArray[Any]:
        found = [read(part, slots) for part, slots in zip(self.parts, self.chosen, strict=True)]
        return np.concatenate(found)[self.order]

    def strings(self, arrays: Arrays, name: str) -> None:
        tables = [part.table(name) for part in self.parts]
        if len(self.order) and all(len(each) == 1 for each in tables) and len({each.at(0) for each in tables}) == 1:
            arrays[f"column.{name}"] = _compact(np.zeros(len(self.order), dtype=np.int64))  # as most columns are
            _add_table(arrays, name, tables[0])
            return
        table, moved = merge_tables(tables)
        codes = {id(part): new for part, new in zip(self.parts, moved, strict=True)}
        found = self.gather(lambda part, slots: codes[id(part)][part.take(name, slots)])
        used, compact = np.unique(found, return_inverse=True)  # strings that only dead slots had are left out
        if len(used) < len(table):
            table, found = StringTable.of(table.at(code) for code in used.tolist()), compact
        arrays[f"column.{name}"] = _compact(found.astype(np.int64))
        _add_table(arrays, name, table)

    def postings(self, arrays: Arrays) -> None:
        kept: list[list[NDArray[Any]]] = []
        for part, moved in zip(self.parts, self.moved, strict=True):
            slots = moved[part.arrays["slots"]]
            keep = slots >= 0
            terms = np.repeat(part.terms, np.diff(part.starts))
            fields, times = part.arrays["fields"], part.arrays["times"]
            kept.append([terms[keep], slots[keep].astype(np.int32), fields[keep], times[keep]])
        terms, slots, fields, times = (np.concatenate(each) for each in zip(*kept, strict=True))
        if len(kept) > 1:  # runs that are sorted already: merged in one pass
            order = np.argsort((terms.astype(np.int64) << 32) | slots, kind="stable")
            terms, slots, fields, times = terms[order], slots[order], fields[order], times[order]
        _add_postings(arrays, terms, slots, fields, times)

    def values(self, arrays: Arrays) -> None:
        tables = [part.values for part in self.parts]
        merged, moved = merge_tables([table.keys for table in tables])
        keys = np.concatenate([np.repeat(new, np.diff(table.starts)) for table, new in zip(tables, moved, strict=True)])
        slots = np.concatenate([new[table.slots] for table, new in zip(tables, self.moved, strict=True)])
        keys, slots = keys[slots >= 0], slots[slots >= 0]
        order = np.lexsort((slots, keys))
        keys, slots = keys[order], slots[order].astype(np.int32)
        used, counts = np.unique(keys, return_counts=True)
        if len(used) < len(merged):
            merged = StringTable.of(merged.at(place) for place in used.tolist())
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        _add_values(arrays, ValueTable(merged, starts, slots, len(self.order)))

    def told(self, arrays: Arrays) -> None:
        slots = np.concatenate(
            [moved[part.arrays["told.slots"]] for part, moved in zip(self.parts, self.moved, strict=True)]
        )
        times = np.concatenate([part.arrays["told.times"] for part in self.parts])
        order = np.argsort(slots, kind="stable")
        order = order[np.count_nonzero(slots < 0) :]
        arrays["told.slots"], arrays["told.times"] = slots[order], times[order]

    def session_order(self, arrays: Arrays) -> None:
        _add_session_order(arrays, self.gather(lambda part, slots: session_groups(part.arrays, slots)))


def _stable_order(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Stable sort order of 32-bit numbers in two passes of 16 bits, which numpy sorts by radix, in linear time."""
    low = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
    if not len(values) or values.max() < 1 << 16:
        return low
    high = np.argsort((values[low] >> 16).astype(np.uint16), kind="stable")
    return low[high]
