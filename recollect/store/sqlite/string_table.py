"""A sorted table of distinct byte strings in two arrays, which may be mapped from a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StringTable:
    """Distinct byte strings in ascending order. UTF-8 sorts as its characters do, so texts are stored as UTF-8."""

    data: NDArray[np.uint8]  # all strings, one after another
    ends: NDArray[np.int64]  # where each ends

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> StringTable:
        """The table of strings that are sorted and distinct already."""
        listed = list(strings)
        data = np.frombuffer(b"".join(listed), dtype=np.uint8)
        return cls(data, np.cumsum([len(each) for each in listed], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, place: int) -> bytes:
        start = int(self.ends[place - 1]) if place else 0
        return self.data[start : int(self.ends[place])].tobytes()

    def text(self, place: int) -> str:
        return decode(self.at(place))

    def texts(self, places: Sequence[int]) -> list[str]:
        """The strings at several places, read together."""
        at = np.asarray(places, dtype=np.int64)
        data, ends = self.data.data, self.ends[at].tolist()
        starts = np.where(at > 0, self.ends[at - 1], 0).tolist()
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]

    def between(self, first: int, last: int) -> list[bytes]:
        """The strings from one place up to another."""
        if first >= last:
            return []
        start = int(self.ends[first - 1]) if first else 0
        data = self.data[start : int(self.ends[last - 1])].tobytes()
        cuts = [0, *(self.ends[first:last] - start).tolist()]
        return [data[cuts[at] : cuts[at + 1]] for at in range(last - first)]

    def all(self) -> list[bytes]:
        return self.between(0, len(self))

    def left(self, string: bytes) -> int:
        """The place of the first string that is not smaller."""
        low, high = 0, len(self.ends)
        while low < high:
            middle = (low + high) // 2
            if self.at(middle) < string:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, string: bytes) -> int:
        """The place of a string, −1 if it is not here."""
        place = self.left(string)
        return place if place < len(self) and self.at(place) == string else -1

    def starting_with(self, prefix: bytes) -> tuple[int, int]:
        """From which place to which the strings begin with this prefix, which has no byte 255 at its end."""
        return self.left(prefix), self.left(prefix[:-1] + bytes([prefix[-1] + 1])) if prefix else len(self)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(string: bytes) -> str:
    return string.decode("utf-8", "surrogatepass")


def merge_tables(tables: Sequence[StringTable]) -> tuple[StringTable, list[NDArray[np.int64]]]:
    """One table of all strings, and for each table the new places of its strings."""
    if len(tables) == 1:
        return tables[0], [np.arange(len(tables[0]))]
    listed = [table.all() for table in tables]
    merged = sorted(set().union(*listed))
    places = {string: place for place, string in enumerate(merged)}
    moved = [np.array([places[string] for string in strings], dtype=np.int64) for strings in listed]
    return StringTable.of(merged), moved
