"""What belongs to one memory alone: its short columns, text, vector, token sketch and signature.

They are kept by row and last change (see caches.py). A recall asks for all of them of the same few candidates, one kind
after the other: where few are missing, one statement reads every kind of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Rows
from recollect.store.postgres.caches import Derived, LatestUsed
from recollect.store.postgres.statements import join_by_row, read_vectors
from recollect.store.rows import COLUMNS
from recollect.text.signatures import Signature, pack_signs, word_directions
from recollect.text.words import words

if TYPE_CHECKING:
    from recollect.store.postgres.snapshot import PostgresSnapshot

LONG = ("text", "original", "summary", "keywords", "entities", "files", "flags", "emotion_tags", "tags", "context")
HEAD = [name for name in COLUMNS if name not in LONG]
MAX_TOGETHER = 2000  # memories of which every kind is read: about 3 KB each


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of detail: where it is kept, the columns that it is read from, and how."""

    cache: LatestUsed
    more: tuple[int, ...]  # what it depends on beside the memory: the space
    columns: str
    width: int  # how many columns
    joined: str
    read: Callable[[Any], Any]  # of its values; they may be None


class MemoryDetails:
    """Details of the memories of one snapshot."""

    def __init__(self, snapshot: PostgresSnapshot, derived: Derived, space: tuple[int, int] | None) -> None:
        self._snapshot, self._derived, self._space = snapshot, derived, space
        self._missing: dict[str, set[int]] = {}  # by kind, rows that have none in this snapshot
        head = ", ".join(f'm."{name}"' for name in HEAD)
        self._kinds = {
            "head": Kind(derived.columns, (), head, len(HEAD), "", tuple),
            "text": Kind(derived.texts, (), "m.text", 1, "", lambda values: values[0]),
        }
        if space is not None:
            number, dim = space

            def kind(table: str, column: str, cache: LatestUsed, read: Callable[[bytes], Any]) -> Kind:
                joined = f"LEFT {join_by_row(table, table, f' AND {table}.space = {number}')}"
                return Kind(cache, (number,), column, 1, joined, lambda found: found[0] and read(found[0]))

            vectors = derived.vectors, lambda packed: read_vectors([packed], dim)[0]
            self._kinds["vector"] = kind("vectors", "halfvec_send(vectors.vector)", *vectors)
            self._kinds["sketch"] = kind("sketches", "sketches.sketch", derived.sketches, bytes)

    def head(self, name: str, rows: Rows, missing: Any) -> list[Any]:
        """A short column of each row."""
        at = HEAD.index(name)
        return [missing if each is None else each[at] for each in self._get("head", rows)]

    def texts(self, rows: Rows) -> list[str]:
        return [each or "" for each in self._get("text", rows)]

    def vectors(self, rows: Rows) -> NDArray[np.float32]:
        """NaN for a row without one."""
        vectors = np.full((len(rows), self._space[1] if self._space else 0), np.nan, dtype=np.float32)
        if self._space is not None:
            for at, vector in enumerate(self._get("vector", rows)):
                if vector is not None:
                    vectors[at] = vector
        return vectors

    def sketches(self, rows: Rows) -> list[bytes]:
        return [each or b"" for each in self._get("sketch", rows)] if self._space else [b""] * len(rows)

    def signatures(self, bits: int, rows: Rows) -> Signature:
        cache = self._derived.signatures
        keys, unknown, found = self._known(cache, rows, (bits,))
        if unknown:
            found |= self._keep(cache, keys, _sign(self._snapshot.among("m.row, m.text", unknown), bits))
        nothing = np.zeros(bits // 8, dtype=np.uint8)
        signatures = [nothing if key is None else found.get(key, nothing) for key in keys]
        return np.array(signatures, dtype=np.uint8).reshape(len(rows), bits // 8)

    # Known and unknown.

    def _get(self, name: str, rows: Rows) -> list[Any]:
        """One kind of detail of each row; None for a row outside the bound or without it."""
        kind = self._kinds[name]
        keys, unknown, found = self._known(kind.cache, rows, kind.more)
        missing = self._missing.setdefault(name, set())
        if unknown := [row for row in unknown if row not in missing]:
            found |= self._read(name, unknown)
            missing.update({*unknown} - {key[0] for key in found})
        return [None if key is None else found.get(key) for key in keys]

    def _known(
        self, cache: LatestUsed, rows: Rows, more: tuple[int, ...]
    ) -> tuple[list[tuple[int, ...] | None], list[int], dict[Any, Any]]:
        """The key of each row (None outside the bound), the rows that are not known yet, and what is known, by key."""
        columns = self._snapshot.columns
        slots = columns.slots(rows)
        changed = columns.changed[slots] if len(columns.rows) else slots
        keys = [
            (row, at, *more) if slot >= 0 else None
            for row, at, slot in zip(rows.tolist(), changed.tolist(), slots.tolist(), strict=True)
        ]
        found = cache.get_all([key for key in keys if key is not None])
        return keys, [key[0] for key in keys if key is not None and key not in found], found

    def _read(self, name: str, unknown: Sequence[int]) -> dict[Any, Any]:
        """Read and keep this kind of detail, and the other kinds with it if they are few. Returns it by key."""
        kinds = list(self._kinds.values()) if len(unknown) <= MAX_TOGETHER else [self._kinds[name]]
        columns = ", ".join(["m.row", *(kind.columns for kind in kinds)])
        found = self._snapshot.among(columns, unknown, " ".join(kind.joined for kind in kinds))
        start, wanted = 1, dict[Any, Any]()
        for kind in kinds:
            end = start + kind.width
            keys, _, _ = self._known(kind.cache, np.array(unknown, dtype=np.int64), kind.more)
            values = {row[0]: kind.read(row[start:end]) for row in found}
            kept = self._keep(kind.cache, keys, values)
            if kind is self._kinds[name]:
                wanted = kept
            start = end
        return wanted

    def _keep(
        self, cache: LatestUsed, keys: Sequence[tuple[int, ...] | None], values: Mapping[int, Any]
    ) -> dict[Any, Any]:
        """Keep what there is of these keys, by row. What is missing may come without a change of the memory."""
        entries = {key: values[key[0]] for key in keys if key is not None and values.get(key[0]) is not None}
        cache.put_all(entries, self._snapshot.generation)
        return entries


def _sign(texts: Sequence[tuple[int, str]], bits: int) -> dict[int, Signature]:
    """The signature of each text, by row."""
    by_row = {row: sorted({*words(text)}) for row, text in texts}
    distinct = {word: at for at, word in enumerate(dict.fromkeys(w for text in by_row.values() for w in text))}
    table = word_directions(list(distinct), bits)
    sums = {row: table[[distinct[word] for word in text]].sum(axis=0, dtype=np.int32) for row, text in by_row.items()}
    return {row: pack_signs(each) for row, each in sums.items()}
