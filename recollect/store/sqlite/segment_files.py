"""Files of named arrays that are mapped into memory. Blocks are verified by checksums when they are first read.

    magic, format, bytes of the table │ table: JSON with each array's type, shape and place │ arrays, aligned
    checksums of all blocks │ checksum of the table and of the checksums

A checksum is a sum of products modulo 2⁶⁴: Σ wordᵢ × weightᵢ, with odd weights. One changed word is always found, other
damage all but 2⁻⁶⁴ of the time, and numpy computes it for many blocks at once at the speed of the memory.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.errors import DamagedIndex

MAGIC = b"recollect-index\n"
FORMAT = 4  # of the file and of its arrays
BLOCK = 4096
WORDS = BLOCK // 8
HEAD = struct.Struct("<16sIQ")  # magic, format, bytes of the table
AT_ONCE = 1 << 22  # bytes that are written or verified at a time

Blocks = Sequence[NDArray[Any]]  # an array in pieces, so that it need not be in memory as a whole


def _odd_numbers(count: int) -> NDArray[np.uint64]:
    """Mixed odd numbers, always the same ones (SplitMix64). Loading numpy.random would take 10 ms of every command."""
    numbers = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((numbers ^ (numbers >> np.uint64(31))) | np.uint64(1))


WEIGHTS = _odd_numbers(WORDS)


class ArraySource(Protocol):
    """Named arrays: in memory, or mapped and verified as they are read."""

    def names(self) -> Sequence[str]: ...

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A whole array."""

    def take(self, name: str, places: NDArray[np.int64]) -> NDArray[Any]:
        """Some rows of an array."""

    def span(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """The rows of an array from one place up to another."""

    def unverified(self, name: str) -> NDArray[Any]:
        """A whole array, of which only what ``verify`` was called for may be read."""

    def verify(self, name: str, places: NDArray[np.int64] | None) -> None:
        """Verify some rows of an array, or all."""

    def check_size(self) -> None:
        """Raise a DamagedIndex if the file has another size than when it was opened."""


class MemoryArrays:
    """Arrays in memory."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def names(self) -> Sequence[str]:
        return list(self._arrays)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def take(self, name: str, places: NDArray[np.int64]) -> NDArray[Any]:
        return self._arrays[name][places]

    def span(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self._arrays[name][start:stop]

    def unverified(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def verify(self, name: str, places: NDArray[np.int64] | None) -> None:
        """Nothing to do in memory."""

    def check_size(self) -> None:
        """Nothing to do in memory."""


def checksums(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The checksum of each block (a row)."""
    return np.asarray(np.einsum("ij,j->i", blocks, WEIGHTS))


def _sum_bytes(data: bytes) -> int:
    padded = data + b"\0" * (-len(data) % BLOCK)
    sums = checksums(np.frombuffer(padded, dtype=np.uint64).reshape(-1, WORDS))
    order = np.arange(1, len(sums) + 1, dtype=np.uint64) * np.uint64(2) - np.uint64(1)
    return int((sums * order).sum()) ^ len(data)


class SegmentWriter:
    """Writes arrays one after another, each in pieces, so that memory stays bounded."""

    def __init__(self, file: BinaryIO, put: Callable[[BinaryIO, bytes], object]) -> None:
        self._file = file
        self._write = partial(put, file)
        self._table: dict[str, Any] = {}
        self._sums: list[NDArray[np.uint64]] = []
        self._at = BLOCK  # the first block has the head
        self._write(b"\0" * BLOCK)

    def add(self, name: str, pieces: Blocks) -> None:
        first = pieces[0]
        rows = sum(len(piece) for piece in pieces)
        self._table[name] = [first.dtype.str, [rows, *first.shape[1:]], self._at]
        rest = b""
        for piece in pieces:
            data = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
            for start in range(0, len(data), AT_ONCE):
                rest = self._put(rest + data[start : start + AT_ONCE].tobytes())
        if rest:
            self._put(rest + b"\0" * (BLOCK - len(rest)))

    def _put(self, data: bytes) -> bytes:
        """Write whole blocks; what is left."""
        whole = len(data) // BLOCK * BLOCK
        if whole:
            self._write(data[:whole])
            self._sums.append(checksums(np.frombuffer(data[:whole], dtype=np.uint64).reshape(-1, WORDS)))
            self._at += whole
        return data[whole:]

    def finish(self) -> None:
        sums = np.concatenate([np.empty(0, np.uint64), *self._sums]).tobytes()
        table = json.dumps({"arrays": self._table, "sums": len(sums)}).encode()
        end = sums + table
        self._write(end)
        self._write(struct.pack("<Q", _sum_bytes(end)))
        self._file.seek(0)
        self._write(HEAD.pack(MAGIC, FORMAT, len(table)))


class MappedArrays:
    """The arrays of a file. A process that has them mapped keeps them when the file is deleted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise DamagedIndex(str(path), "it is empty") from None
        self.bytes = len(self._map)
        self._read_table()

    def _read_table(self) -> None:
        if self.bytes < BLOCK + 8:
            raise DamagedIndex(str(self.path), "it is cut off")
        magic, format, size = HEAD.unpack_from(self._map)
        if magic != MAGIC or format != FORMAT:
            raise DamagedIndex(str(self.path), "it has another format")
        end = self.bytes - 8
        try:
            table = json.loads(self._map[end - size : end])
            sums = self._map[end - size - table["sums"] : end]
            (wanted,) = struct.unpack_from("<Q", self._map, end)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedIndex(str(self.path), "it is cut off, or its table is damaged") from error
        blocks = table["sums"] // 8
        if _sum_bytes(sums) != wanted or BLOCK * (blocks + 1) + table["sums"] + size + 8 != self.bytes:
            raise DamagedIndex(str(self.path), "it is cut off, or its table is damaged")
        self._table: dict[str, tuple[NDArray[Any], int]] = {}
        for name, (kind, shape, at) in table["arrays"].items():
            array = (
                np.ndarray(shape, dtype=kind, buffer=self._map, offset=at)
                if np.prod(shape)
                else np.empty(shape, dtype=kind)
            )
            self._table[name] = array, at
        self._sums = np.frombuffer(sums[: table["sums"]], dtype=np.uint64)
        self._blocks = np.ndarray((blocks, WORDS), dtype=np.uint64, buffer=self._map, offset=BLOCK)
        self._verified = np.zeros(blocks, dtype=np.bool_)
        self._whole: set[str] = set()  # arrays of which every block is verified

    def names(self) -> Sequence[str]:
        return list(self._table)

    def __getitem__(self, name: str) -> NDArray[Any]:
        array, at = self._table[name]
        if name not in self._whole:
            self._verify_range(at, at + array.nbytes)
            self._whole.add(name)
        return array

    def take(self, name: str, places: NDArray[np.int64]) -> NDArray[Any]:
        self.verify(name, places)
        return self._table[name][0].take(places, axis=0)

    def unverified(self, name: str) -> NDArray[Any]:
        return self._table[name][0]

    def verify(self, name: str, places: NDArray[np.int64] | None) -> None:
        if places is None:
            self[name]
            return
        array, at = self._table[name]
        if name not in self._whole and len(places):
            width = array.strides[0]
            start = places * width + (at - BLOCK)  # the first block has the head
            first, last = start // BLOCK, (start + (width - 1)) // BLOCK
            if width <= BLOCK and self._verified[first].all() and self._verified[last].all():
                return
            for each in range(int((last - first).max()) + 1):
                self._verify(np.minimum(first + each, last))
            if self._verified[at // BLOCK - 1 : (at + array.nbytes - 1) // BLOCK].all():
                self._whole.add(name)

    def span(self, name: str, start: int, stop: int) -> NDArray[Any]:
        array, at = self._table[name]
        if name not in self._whole and start < stop:
            width = array.strides[0]
            self._verify_range(at + start * width, at + stop * width)
        return array[start:stop]

    def check_size(self) -> None:
        """A mapped file that was cut off ends the process when what is missing is read."""
        if self._map.size() != self.bytes:
            raise DamagedIndex(str(self.path), "it was cut off while it was open")

    def check(self) -> None:
        """Verify everything."""
        for name in self._table:
            self[name]

    def _verify_range(self, start: int, stop: int) -> None:
        if start < stop:
            first, last = start // BLOCK - 1, (stop - 1) // BLOCK
            if last - first < 4 and self._verified[first:last].all():
                return
            self._verify(np.arange(first, last))

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        blocks = blocks[~self._verified[blocks]]
        if not len(blocks):
            return
        consecutive = int(blocks[-1]) - int(blocks[0]) + 1 == len(blocks)
        if consecutive:  # no copy
            for start in range(int(blocks[0]), int(blocks[-1]) + 1, AT_ONCE // BLOCK):
                some = slice(start, min(start + AT_ONCE // BLOCK, int(blocks[-1]) + 1))
                self._compare(checksums(self._blocks[some]), self._sums[some])
        else:
            wanted = np.zeros(len(self._verified), dtype=np.bool_)
            wanted[blocks] = True
            blocks = np.flatnonzero(wanted)  # as np.unique, which loads masked arrays (8 ms)
            for start in range(0, len(blocks), AT_ONCE // BLOCK):
                chosen = blocks[start : start + AT_ONCE // BLOCK]
                self._compare(checksums(self._blocks[chosen]), self._sums[chosen])
        self._verified[blocks] = True

    def _compare(self, found: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> None:
        if not np.array_equal(found, wanted):
            raise DamagedIndex(str(self.path), "a block does not match its checksum")
