"""A part of the index: the arrays of some memories, each with a *slot* in all of them. Parts never change.

A part is in memory, or mapped from a file of the index; parts of equal size are merged into larger ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model.memory import KEYWORD_FIELDS, NUMBER_FIELDS
from recollect.store.base import Flags, Rows
from recollect.store.sqlite.context_values import ValueTable
from recollect.store.sqlite.nearest import to_float32
from recollect.store.sqlite.segment_files import ArraySource
from recollect.store.sqlite.string_table import StringTable, encode
from recollect.store.text_fields import TEXT_FIELDS

CODED = (*KEYWORD_FIELDS, "path")
# A decay changes all strengths without touching the memories: they are read from the rows.
NUMBERS = tuple(name for name in NUMBER_FIELDS if name != "strength")
LocalSlots = NDArray[np.int64]
_serials = count()


class Part:
    """Some memories, by ascending row. What is derived from the arrays is kept as long as the part is."""

    def __init__(self, arrays: ArraySource, file: str = "") -> None:
        self.arrays = arrays
        self.file = file  # its name; empty for a part in memory
        self.rows: Rows = arrays["rows"]
        self.size = len(self.rows)
        # Its first row, where no row is missing after it: a slot is then found by subtraction.
        self.first_row = int(self.rows[0]) if self.size and self.rows[-1] - self.rows[0] == self.size - 1 else None
        self.serial = next(_serials)  # tells parts apart as long as the process lives
        self.cache: dict[Any, Any] = {}
        self.words: dict[int, Any] = {}  # entries of terms that were looked up (see postings.py)
        # By the number of bits: those of the slots that were asked for, and which these are (see signatures.py).
        self.signatures: dict[int, tuple[NDArray[np.uint8], Flags]] = {}
        self._tables: dict[str, StringTable] = {}

    def find(self, rows: Rows) -> LocalSlots:
        """The slot of each row, −1 where it is not here."""
        if not self.size:
            return np.full(len(rows), -1, dtype=np.int64)
        if self.first_row is not None:
            at = rows - self.first_row
            return np.where((at >= 0) & (at < self.size), at, -1)
        at = np.minimum(np.searchsorted(self.rows, rows), self.size - 1)
        return np.where(self.rows[at] == rows, at, -1)

    # Columns.

    def column(self, name: str) -> NDArray[Any]:
        """The codes or numbers of all slots; one that is the same everywhere takes no room."""
        column = self.arrays[f"column.{name}"]
        return np.broadcast_to(column, (self.size,)) if len(column) != self.size else column

    def take(self, name: str, slots: LocalSlots) -> NDArray[Any]:
        """The codes or numbers of some slots."""
        column = self.arrays[f"column.{name}"]
        return column[slots] if len(column) == self.size else np.full(len(slots), column[0])

    def constant(self, name: str) -> bool:
        return len(self.arrays[f"column.{name}"]) == 1

    def table(self, name: str) -> StringTable:
        """The strings that the codes of a column stand for."""
        if name not in self._tables:
            self._tables[name] = StringTable(self.arrays[f"strings.{name}"], self.arrays[f"ends.{name}"])
        return self._tables[name]

    def code(self, name: str, value: str) -> int:
        """The code of a string, −1 if no slot has it."""
        key = ("code", name, value)
        if key not in self.cache:
            if len(self.cache) > 4096:
                self.cache.clear()
            self.cache[key] = self.table(name).find(encode(value))
        return int(self.cache[key])

    def having(self, name: str, values: Sequence[str]) -> Flags:
        """The slots whose column has one of these strings."""
        codes = [code for code in (self.code(name, value) for value in values) if code >= 0]
        if not codes or self.constant(name):
            return np.full(self.size, bool(codes))
        column = self.column(name)
        return np.asarray(column == codes[0]) if len(codes) == 1 else np.isin(column, codes)

    def strings(self, name: str, slots: LocalSlots) -> list[str]:
        table = self.table(name)
        if self.constant(name):
            return [table.text(int(self.arrays[f"column.{name}"][0]))] * len(slots)
        codes = self.take(name, slots).tolist()
        distinct = list(set(codes))
        texts = dict(zip(distinct, table.texts(distinct), strict=True))
        return [texts[code] for code in codes]

    @cached_property
    def values(self) -> ValueTable:
        """Contexts and tags."""
        keys = StringTable(self.arrays["values.keys"], self.arrays["values.ends"])
        return ValueTable(keys, self.arrays["values.starts"], self.arrays["values.slots"], self.size)

    # Words.

    @property
    def terms(self) -> NDArray[np.uint32]:
        array: NDArray[np.uint32] = self.arrays["terms"]
        return array

    @property
    def starts(self) -> NDArray[np.int64]:
        array: NDArray[np.int64] = self.arrays["starts"]
        return array

    def lengths(self, fields: tuple[int, ...]) -> NDArray[np.unsignedinteger[Any]]:
        """By slot: its words in these fields."""
        if len(fields) == len(TEXT_FIELDS):
            return self.arrays["lengths.all"]
        key = ("lengths", fields)
        if key not in self.cache:
            self.cache[key] = sum_lengths(self.arrays["lengths"][:, list(fields)])
        lengths: NDArray[np.unsignedinteger[Any]] = self.cache[key]
        return lengths

    # Vectors.

    @property
    def dim(self) -> int:
        return int(self.arrays.span("vectors", 0, 0).shape[1])

    @property
    def has_vector(self) -> Flags:
        column: Flags = self.arrays["has_vector"]
        return np.broadcast_to(column, (self.size,)) if len(column) != self.size else column

    def vectors(self, slots: LocalSlots) -> NDArray[np.float32]:
        return to_float32(self.arrays.take("vectors", slots))


def sum_lengths(lengths: NDArray[np.uint32]) -> NDArray[np.unsignedinteger[Any]]:
    """The words of each memory (a row) in some fields (columns)."""
    counts = lengths.sum(axis=1, dtype=np.uint32)
    return np.asarray(counts.astype(np.uint16) if not len(counts) or counts.max() < 1 << 16 else counts)
