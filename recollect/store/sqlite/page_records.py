"""The records on the pages of a database file, read without SQLite: for a file that is too damaged for it.

https://www.sqlite.org/fileformat2.html. Every page is looked at by itself, so that one which is damaged costs no more
than what is on it. Nothing here relies on the header or the schema: pages have the size that Recollect gives them.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.checksums import MAGIC, RESERVED_BYTES

PAGE_BYTES = 4096
FREE_PAGES_AT = 32  # of the header: the first page of the list of free ones
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
AT_ONCE = 4096  # pages whose checksums are computed together
MAX_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A row of a table, or an entry of an index or of a table without row numbers."""

    row: int | None
    values: tuple[Any, ...]
    verified: bool  # all pages that it is on match their checksums


class PageRecords:
    """The pages of a file, with those of its log that were committed in their place."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            empty = os.fstat(file.fileno()).st_size == 0
            self._content = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._log = _read_log(Path(f"{path.resolve()}-wal"))
        self.count = self._log.page_count or len(self._content) // PAGE_BYTES
        self.matching = self._matching()
        self.usable = (
            PAGE_BYTES - RESERVED_BYTES if self.matching.any() else PAGE_BYTES
        )  # older files have no checksums
        self.has_checksums = self.usable < PAGE_BYTES
        self.free = self._free_pages()

    @property
    def damaged(self) -> int:
        """How many pages that are in use do not match their checksums."""
        wrong = {int(at) + 1 for at in np.flatnonzero(~self.matching)} if self.has_checksums else set()
        return len(wrong - self.free)

    def page(self, number: int) -> bytes:
        """A page by its number, which begins with 1."""
        begin = (number - 1) * PAGE_BYTES
        page = self._log.pages.get(number) or self._content[begin : begin + PAGE_BYTES]
        return page.ljust(PAGE_BYTES, b"\0")

    def __iter__(self) -> Iterator[PageRecord]:
        for number in range(1, self.count + 1):
            if number in self.free:
                continue
            for at in _cells(self.page(number), 100 if number == 1 else 0):
                try:
                    yield self._read(number, at)
                except (IndexError, ValueError, struct.error, OverflowError):  # no record: the page is damaged
                    continue

    def _read(self, number: int, at: int) -> PageRecord:
        page = self.page(number)
        kind = page[100 if number == 1 else 0]
        if kind == INDEX_INTERIOR:
            at += 4  # the page below it
        size, at = _varint(page, at)
        row = None
        if kind == TABLE_LEAF:
            row, at = _varint(page, at)
        payload, verified = self._payload(page, at, size, kind)
        verified &= bool(self.matching[number - 1]) or not self.has_checksums
        return PageRecord(row, _values(payload), verified)

    def _payload(self, page: bytes, at: int, size: int, kind: int) -> tuple[bytes, bool]:
        """What a cell has, with what is on further pages; and whether those match their checksums."""
        if size > self.count * PAGE_BYTES:
            raise ValueError("longer than the file")
        most = self.usable - 35 if kind == TABLE_LEAF else (self.usable - 12) * 64 // 255 - 23
        if size <= most:
            return _cut(page, at, size), True
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (size - least) % (self.usable - 4)
        here = here if here <= most else least
        parts, left, verified = [_cut(page, at, here)], size - here, True
        (next,) = struct.unpack_from(">I", page, at + here)
        while left > 0:
            if not 0 < next <= self.count:
                raise ValueError("no such page")
            verified &= bool(self.matching[next - 1]) or not self.has_checksums
            further = self.page(next)
            parts.append(_cut(further, 4, min(left, self.usable - 4)))
            left -= len(parts[-1])
            (next,) = struct.unpack_from(">I", further)
        return b"".join(parts), verified

    def _matching(self) -> NDArray[np.bool_]:
        """By page: does it match its checksum? In the file that is one of SQLite's checksum VFS, in the log its own."""
        found = [np.empty(0, dtype=np.bool_)]
        for start in range(1, self.count + 1, AT_ONCE):
            content = b"".join(map(self.page, range(start, min(start + AT_ONCE, self.count + 1))))
            pages = np.frombuffer(content, dtype="<u4").reshape(-1, PAGE_BYTES // 4)
            sums = _checksums(pages[:, : -RESERVED_BYTES // 4], np.zeros((len(pages), 2), dtype=np.uint32))
            found.append((sums == pages[:, -2:]).all(axis=1) & pages.any(axis=1))
        matching = np.concatenate(found)
        for number in self._log.pages.keys() & range(1, self.count + 1):
            matching[number - 1] = number in self._log.matching
        return matching

    def _free_pages(self) -> set[int]:
        """Pages that belong to nothing any more, as far as their list can be followed: what is on them was deleted."""
        free: set[int] = set()
        if not self.count or not self.page(1).startswith(MAGIC):
            return free
        (trunk,) = struct.unpack_from(">I", self.page(1), FREE_PAGES_AT)
        while 0 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            next, count = struct.unpack_from(">II", self.page(trunk))
            listed = min(count, self.usable // 4 - 2)
            free.update(struct.unpack_from(f">{listed}I", self.page(trunk), 8))
            trunk = next
        return free


@dataclass(frozen=True, slots=True)
class _Log:
    """What a write-ahead log has in the place of pages of the file."""

    pages: dict[int, bytes]  # by number; the last one that was committed
    matching: set[int]  # numbers of those that match their checksums
    page_count: int  # of the file after the last commit; 0 if the log does not tell


def _read_log(log: Path) -> _Log:
    content = log.read_bytes() if log.exists() else b""
    frame_bytes = FRAME_HEADER_BYTES + PAGE_BYTES
    count = max(0, len(content) - WAL_HEADER_BYTES) // frame_bytes
    frames = np.frombuffer(content, np.uint8, count * frame_bytes, WAL_HEADER_BYTES if count else 0)
    matching = _matching_frames(content[:WAL_HEADER_BYTES], frames.reshape(count, frame_bytes))
    pages: dict[int, bytes] = {}
    verified: dict[int, bool] = {}
    pending: dict[int, tuple[bytes, bool]] = {}
    page_count = 0
    for at in range(count):
        begin = WAL_HEADER_BYTES + at * frame_bytes
        number, size_after_commit = struct.unpack_from(">II", content, begin)
        if content[begin + 8 : begin + 16] != content[16:24] or not number:
            break  # of an earlier log
        pending[number] = content[begin + FRAME_HEADER_BYTES : begin + frame_bytes], bool(matching[at])
        if size_after_commit:
            pages |= {each: page for each, (page, _) in pending.items()}
            verified |= {each: is_matching for each, (_, is_matching) in pending.items()}
            pending = {}
            page_count = size_after_commit if matching[at] else page_count
    return _Log(pages, {number for number, is_matching in verified.items() if is_matching}, page_count)


def _matching_frames(header: bytes, frames: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """By frame of a log: does it match its checksum? That continues the checksum of the frame before it."""
    stored = np.frombuffer(header[24:32] + frames[:, 16:24].tobytes(), dtype=">u4").reshape(-1, 2)
    order = ">u4" if header[3:4] == b"\x83" else "<u4"
    found = [np.empty(0, dtype=np.bool_)]
    for start in range(0, len(frames), AT_ONCE):
        some = frames[start : start + AT_ONCE]
        words = np.concatenate([some[:, :8], some[:, FRAME_HEADER_BYTES:]], axis=1).view(order)
        sums = _checksums(words, stored[start : start + len(some)])
        found.append((sums == stored[start + 1 : start + 1 + len(some)]).all(axis=1))
    return np.concatenate(found)


def _checksums(words: NDArray[np.uint32], begin: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The two sums of each row of words, as SQLite computes them for its log, from where each begins."""
    columns = np.ascontiguousarray(words.T, dtype=np.uint32)
    first, second = np.array(begin.T, dtype=np.uint32)
    for step in range(0, len(columns), 2):
        first += columns[step] + second
        second += columns[step + 1] + first
    return np.stack([first, second], axis=1)


def _cells(page: bytes, start: int) -> Iterator[int]:
    """Where the records of a page begin; none if it is of another kind."""
    if page[start] not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
        return
    (count,) = struct.unpack_from(">H", page, start + 3)
    first = start + (12 if page[start] == INDEX_INTERIOR else 8)
    count = min(count, (PAGE_BYTES - first) // 2)
    yield from (at for at in struct.unpack_from(f">{count}H", page, first) if first < at < PAGE_BYTES)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where the next one begins."""
    value = 0
    for place in range(8):
        byte = content[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | content[at + 8], at + 9


def _values(payload: bytes) -> tuple[Any, ...]:
    """The columns of a record; a ValueError if it is none."""
    size, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < size and len(kinds) < MAX_COLUMNS:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != size:
        raise ValueError("no header of a record")
    values: list[Any] = []
    for kind in kinds:
        length = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
        content = _cut(payload, at, length)
        at += length
        if kind >= 12:
            values.append(content if kind % 2 == 0 else content.decode("utf-8"))
        elif kind == 7:
            values.append(struct.unpack(">d", content)[0])
        else:
            values.append(None if kind == 0 else kind - 8 if kind >= 8 else int.from_bytes(content, "big", signed=True))
    if at != len(payload):
        raise ValueError("longer than its columns")
    return tuple(values)


def _cut(content: bytes, at: int, size: int) -> bytes:
    if at + size > len(content):
        raise ValueError("beyond the end")
    return content[at : at + size]
