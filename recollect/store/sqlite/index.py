"""The index of a file at one version, and how it follows the file from change to change.

It consists of parts that never change, in memory or mapped from files (see index_folder.py). Every memory has a *slot*,
its place in all arrays of its part. A changed memory gets a slot in a new part and its old one dies, so that an index
that a recall still reads stays true to its version while a newer one is built beside it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import DamagedIndex
from recollect.store.base import Flags, IndexStatus, Rows, Space
from recollect.store.sqlite.checksums import connect
from recollect.store.sqlite.erasing import last_erasure
from recollect.store.sqlite.index_folder import IndexFolder, SavedIndex
from recollect.store.sqlite.part import LocalSlots, Part
from recollect.store.sqlite.part_building import build_part, merge_parts
from recollect.store.sqlite.postings import Postings
from recollect.store.sqlite.reading import changed_rows, check_vectors, deleted_rows, read_batches
from recollect.store.sqlite.versions import FileVersion, active_space, precedes, read_database_id
from recollect.store.sqlite.vocabulary import StemIndex, Vocabulary

log = logging.getLogger("recollect")
Slots = NDArray[np.int64]
FIRST: Slots = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class IndexLimits:
    """When parts are merged and written to files, in memories."""

    min_saved: int = 5000  # smaller indexes are in memory only
    max_tail: int = 2000  # so many in memory are written to a file
    max_segment: int = 1 << 17  # larger parts are not made by merging
    merge_ratio: int = 2  # a part is merged with another that is at most so many times as large
    memory_merge_ratio: int = 8  # the same in memory, where few parts are worth more than few merges
    max_exact: float = 20_000  # vectors in scope: more are searched approximately (see nearest.py)


@dataclass(eq=False)
class View:
    """A part, and which of its slots are alive. What is derived from both is kept in the next version, too."""

    part: Part
    alive: Flags
    cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.part.size

    @cached_property
    def living(self) -> int:
        return int(np.count_nonzero(self.alive))


class Index:
    """All memories at one version. Slots are counted over all parts."""

    def __init__(self, version: FileVersion, space: Space | None, views: Sequence[View]) -> None:
        self.version = version
        self.space = space
        self.views = tuple(views)
        self.offsets = np.cumsum([0, *(view.size for view in self.views)]).tolist()
        self.size: int = self.offsets[-1]
        self.postings = Postings([view.part for view in self.views], self.offsets[:-1])
        self.derived: dict[Any, Any] = {}  # what was derived from this version
        self._last_lookup: tuple[Rows, Slots] | None = None
        self._last_split: tuple[Slots, list[tuple[View, NDArray[np.int64], LocalSlots]]] | None = None
        # The parts whose rows have no gaps and follow those of the part before: found all at once.
        self._following = _count_following(self.views)
        following = self.views[: self._following]
        self._first_rows = np.array([view.part.first_row for view in following], dtype=np.int64)
        self._sizes = np.array([view.size for view in following], dtype=np.uint64)
        self._starts = np.array(self.offsets[: self._following], dtype=np.int64)
        placed = zip(following, self.offsets, strict=False)
        self._with_dead = [(view, offset) for view, offset in placed if view.living < view.size]

    @property
    def dim(self) -> int:
        return self.space.dim if self.space else 0

    def check_sizes(self) -> None:
        """Raise a DamagedIndex if a file of it was cut off."""
        for view in self.views:
            view.part.arrays.check_size()

    def placed(self) -> Iterator[tuple[View, int]]:
        """Each part, and the slot of its first memory."""
        return zip(self.views, self.offsets, strict=False)

    def slots(self, rows: Rows) -> Slots:
        """The slot of each row, −1 for a row that is not here."""
        last = self._last_lookup
        if last is not None and last[0] is rows:  # one step after another asks for the same hits
            return last[1]
        found = self._slots_of_following(rows)
        for view, offset in zip(self.views[self._following :], self.offsets[self._following :], strict=False):
            local = view.part.find(rows)
            if view.size:
                np.copyto(found, local + offset, where=(local >= 0) & view.alive[local])
        self._last_lookup = (rows, found)
        return found

    def _slots_of_following(self, rows: Rows) -> Slots:
        """The slots of rows in the first parts, whose rows follow each other."""
        if not self._following:
            return np.full(len(rows), -1, dtype=np.int64)
        if self._following == 1:
            first, size, start = self._first_rows[0], self._sizes[0], self._starts[0]
        else:
            owners = self._first_rows.searchsorted(rows, side="right") - 1  # −1 is the last part, which begins too late
            first, size, start = self._first_rows[owners], self._sizes[owners], self._starts[owners]
        local = rows - first
        found = np.where(local.view(np.uint64) < size, local + start, -1)  # unsigned, what is negative is large
        for view, offset in self._with_dead:
            here = np.flatnonzero((found >= offset) & (found < offset + view.size))
            found[here[~view.alive[found[here] - offset]]] = -1
        return found

    def split(self, slots: Slots) -> Sequence[tuple[View, NDArray[np.int64], LocalSlots]]:
        """Which of these slots are in each part, as places in ``slots`` and as slots of the part; none for −1."""
        last = self._last_split
        if last is not None and last[0] is slots:  # one column after another is read of the same memories
            return last[1]
        parts = self._split(slots)
        self._last_split = (slots, parts)
        return parts

    def _split(self, slots: Slots) -> list[tuple[View, NDArray[np.int64], LocalSlots]]:
        if len(self.views) == 1 and len(slots) and slots.min() >= 0:
            return [(self.views[0], np.arange(len(slots)), slots)]
        owners = np.searchsorted(self.offsets, slots, side="right")  # 0 for −1
        parts = []
        for number, count in enumerate(np.bincount(owners, minlength=1).tolist()):
            if number and count:
                places = np.flatnonzero(owners == number)
                parts.append((self.views[number - 1], places, slots[places] - self.offsets[number - 1]))
        return parts

    def gather(self, slots: Slots, read: Callable[[Part, LocalSlots], NDArray[Any]], empty: NDArray[Any]) -> Any:
        """What a part has about each slot, written into ``empty``, which has what is returned for −1."""
        for view, places, local in self.split(slots):
            if len(places) == len(slots):  # all are of one part, in their order
                return read(view.part, local).astype(empty.dtype, copy=False)
            empty[places] = read(view.part, local)
        return empty

    def rows(self, slots: Slots) -> Rows:
        return np.asarray(self.gather(slots, lambda part, local: part.rows[local], np.full(len(slots), -1, np.int64)))

    def column(self, name: str, slots: Slots) -> NDArray[np.float64]:
        """The numbers of a column; NaN for −1."""
        empty = np.full(len(slots), np.nan)
        return np.asarray(self.gather(slots, lambda part, local: part.take(name, local), empty))

    def strings(self, name: str, slots: Slots) -> list[str]:
        """The strings of a column; empty for −1."""
        found = [""] * len(slots)
        for view, places, local in self.split(slots):
            if len(places) == len(slots):
                return view.part.strings(name, local)
            for place, text in zip(places.tolist(), view.part.strings(name, local), strict=True):
                found[place] = text
        return found

    def constant(self, name: str) -> list[str]:
        """The only string of a column, if all memories have the same one; else nothing."""
        if not all(view.part.constant(name) for view in self.views):
            return []
        found = {view.part.strings(name, FIRST)[0] for view in self.views if view.size}
        return list(found) if len(found) == 1 else []

    def vectors(self, slots: Slots) -> NDArray[np.float32]:
        """The vectors of slots; NaN for −1 and for slots without one."""
        parts = [(view, places, local, view.part.has_vector[local]) for view, places, local in self.split(slots)]
        if len(parts) == 1 and np.count_nonzero(parts[0][3]) == len(slots):  # none is missing: no copy is needed
            return parts[0][0].part.vectors(parts[0][2])
        found = np.full((len(slots), self.dim), np.nan, dtype=np.float32)
        for view, places, local, has in parts:
            found[places[has]] = view.part.vectors(local[has])
        return found

    def split_mask(self, flags: Flags) -> list[Flags]:
        """The part of a mask over all slots that belongs to each part."""
        return [flags[start:end] for start, end in pairwise(self.offsets)]

    def join(self, masks: Sequence[Flags]) -> Flags:
        """One mask over all slots, from one for each part."""
        return np.concatenate(masks) if masks else np.zeros(0, np.bool_)

    @cached_property
    def has_vector(self) -> Flags:
        return self.join([view.part.has_vector for view in self.views])


def _count_following(views: Sequence[View]) -> int:
    """How many of the first parts have rows without gaps, each after those of the part before."""
    end = 0
    for count, view in enumerate(views):
        first = view.part.first_row
        if first is None or first < end:
            return count
        end = first + view.size
    return len(views)


class IndexUpdater:
    """Holds the newest index, and builds the next one from it and from what has changed in the file since."""

    def __init__(self, folder: IndexFolder, limits: IndexLimits | None = None) -> None:
        self.folder = folder
        self.limits = limits or IndexLimits()
        self._lock = Lock()
        self.vocabulary: tuple[tuple[int, int], Vocabulary] | None = None  # and what it was made of
        self.stems: dict[str, StemIndex] = {}  # by language, of those that queries were in
        self._index: Index | None = None
        self._space: tuple[int, Space] | None = None
        self._saved: SavedIndex | None = None  # what the folder had when it was last read
        self._stamp = -1  # of the manifest that was last read
        self._based = 0  # the version of the manifest that the parts in files are of
        self._next_save = 0  # memories in memory at which saving is tried again

    def prepare(self) -> None:
        """Read the manifest, before a transaction begins: then it is never newer than the transaction."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    self._read_folder()

    def _read_folder(self) -> None:
        stamp = self.folder.stamp()
        if stamp != self._stamp:
            self._stamp, self._saved = stamp, self.folder.read() if stamp else None

    def at(self, connection: apsw.Connection, version: FileVersion) -> Index | None:
        """The index at the connection's version; None when a newer one exists already (begin a new snapshot then)."""
        index = self._index
        try:
            if index is not None:
                index.check_sizes()
        except DamagedIndex as damage:
            self.discard(damage)
            index = None
        if index is None or index.version != version:
            with self._lock:
                index = self._index
                if index is not None and not precedes(connection, index.version, version):
                    if index.version.number > version.number:
                        return None
                    self._begin()  # another history: the file was replaced by another one
                    index = None
                if index is None or index.version != version:
                    try:
                        index = self._advance(connection, version)
                    except DamagedIndex as damage:
                        self._forget(damage)
                        index = self._advance(connection, version)
        return index

    def discard(self, damage: DamagedIndex) -> None:
        """Drop the index and its manifest: a file of it is damaged."""
        with self._lock:
            self._forget(damage)

    def _forget(self, damage: DamagedIndex) -> None:
        log.warning("%s", damage)
        self.folder.forget()
        self._begin()

    def restart(self) -> None:
        """Drop the index: the file is no longer the one that it was made of."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        self.vocabulary = None
        self.stems = {}
        self._index = None
        self._saved = None
        self._stamp = -1
        self._next_save = 0

    def _advance(self, connection: apsw.Connection, version: FileVersion) -> Index:
        space = active_space(connection)
        index = self._index
        if index is not None and (space != self._space or last_erasure(connection) > index.version.number):
            self._begin()  # nothing of what was erased may stay in memory
            index = None
        views, since = self._start(index, connection, version, space)
        rows = changed_rows(connection, since)
        if since:
            views = _without(views, np.concatenate([rows, deleted_rows(connection, since)]))
        with self._saver(connection, version, space, views, len(rows)) as saver:
            vectors = 0
            for batch in read_batches(connection, rows, space):
                saver.add(build_part(batch))
                vectors += batch.stored_vectors
            if not since and space is not None:
                check_vectors(connection, space, vectors)
            views = saver.finish()
        if index is not None:
            index.derived.clear()  # cached scopes refer to their index: a cycle that would keep its arrays
        self._space = space
        self._index = Index(version, space[1] if space else None, views)
        return self._index

    def _start(
        self,
        index: Index | None,
        connection: apsw.Connection,
        version: FileVersion,
        space: tuple[int, Space] | None,
    ) -> tuple[list[View], int]:
        """The parts to begin with, and the version that they reach: the last index, or what is in the folder."""
        if index is not None:
            tail = sum(view.living for view in index.views if not view.part.file)
            if tail < self.limits.max_tail:
                return list(index.views), index.version.number
            self._read_folder()  # another process may have written these memories to files
            if self._saved is None or self._saved.version.number <= self._based:
                return list(index.views), index.version.number
        views, since = self._open_saved(connection, version, space)
        if since or index is None:
            self._based = since
            return views, since
        return list(index.views), index.version.number

    def _open_saved(
        self, connection: apsw.Connection, version: FileVersion, space: tuple[int, Space] | None
    ) -> tuple[list[View], int]:
        """The parts in the folder, if they belong to this version of this file, and the version that they reach."""
        saved = self._saved
        if saved is None or not _fits(saved, connection, version, space):
            return [], 0
        return [View(part, alive) for part, alive in saved.parts], saved.version.number

    def status(self, connection: apsw.Connection, version: FileVersion) -> IndexStatus:
        """What is in the folder."""
        saved, folder = self.folder.read(), str(self.folder.path)
        if saved is None:
            return IndexStatus(folder, "unusable" if self.folder.stamp() else "none")
        usable = _fits(saved, connection, version, active_space(connection))
        living = sum(int(np.count_nonzero(alive)) for _, alive in saved.parts)
        changed = len(changed_rows(connection, saved.version.number)) if usable else 0
        return IndexStatus(folder, "usable" if usable else "unusable", saved.bytes, len(saved.parts), living, changed)

    @contextmanager
    def _saver(
        self,
        connection: apsw.Connection,
        version: FileVersion,
        space: tuple[int, Space] | None,
        views: list[View],
        added: int,
    ) -> Iterator[Saver]:
        """What collects new parts: it writes them to files where that is worth it and possible."""
        saver = Saver(self.limits, self.folder, views)
        tail = added + sum(view.living for view in views if not view.part.file)
        total = added + sum(view.living for view in views)
        if (
            not version.token
            or connection.readonly("main")
            or total < self.limits.min_saved
            or tail < max(self.limits.max_tail, self._next_save)
        ):
            yield saver
            return
        with self.folder.writing() as mine:
            saver.saving = mine and _last_erasure_now(connection) <= version.number
            yield saver
            if saver.saving:
                parts = tuple((view.part, view.alive) for view in saver.views if view.part.file)
                saver.publish(SavedIndex(read_database_id(connection), version, space, parts))
        self._next_save = 0 if saver.saving else tail + self.limits.max_tail


class Saver:
    """Collects the parts of the next version: small ones are merged, and those in memory are written to files."""

    def __init__(self, limits: IndexLimits, folder: IndexFolder, views: list[View]) -> None:
        self._limits = limits
        self._folder = folder
        self.views = views
        self.saving = False
        self._fresh: list[Part] = []

    def add(self, part: Part) -> None:
        self._fresh.append(part)
        if self.saving and sum(each.size for each in self._fresh) >= self._limits.max_segment:
            self._save([View(each, np.ones(each.size, np.bool_)) for each in self._fresh])
            self._fresh = []

    def finish(self) -> list[View]:
        """All parts of the next version."""
        for part in self._fresh:
            self.views.append(View(part, np.ones(part.size, np.bool_)))
        self._fresh = []
        self.views = [view for view in self.views if view.living]
        if self.saving:
            self._save_tail()
        self._merge_in_memory()
        return self.views

    def _save_tail(self) -> None:
        """Write what is in memory, together with the files that are not much larger."""
        limits = self._limits
        chosen = [view for view in self.views if not view.part.file]
        count = sum(view.living for view in chosen)
        if not count:
            return
        for view in sorted((view for view in self.views if view.part.file), key=lambda view: view.living):
            small = view.living <= limits.merge_ratio * count or 2 * view.living < view.size
            if small and count + view.living <= limits.max_segment:
                chosen.append(view)
                count += view.living
        self.views = [view for view in self.views if view not in chosen]
        self._save(chosen)

    def _save(self, views: Sequence[View]) -> None:
        part = merge_parts([view.part for view in views], [view.alive for view in views])
        try:
            written = self._folder.write_segment(part)
            written.signatures = part.signatures
            part = written
        except OSError as problem:
            log.info("The index in %s is not written: %s", self._folder.path, problem)
            self.saving = False
        self.views.append(View(part, np.ones(part.size, np.bool_)))

    def _merge_in_memory(self) -> None:
        """Merge parts of similar size: a change costs what it adds, and there are few parts."""
        files = [view for view in self.views if view.part.file]
        memory = [view for view in self.views if not view.part.file]
        while len(memory) > 1:
            first, second = memory[-2].living, memory[-1].living
            if first > self._limits.memory_merge_ratio * second or first + second > self._limits.max_segment:
                break
            joined = merge_parts([view.part for view in memory[-2:]], [view.alive for view in memory[-2:]])
            memory[-2:] = [View(joined, np.ones(joined.size, np.bool_))]
        self.views = files + memory

    def publish(self, saved: SavedIndex) -> None:
        try:
            self._folder.publish(saved)
        except OSError as problem:
            log.info("The index in %s is not written: %s", self._folder.path, problem)
            self.saving = False


def _fits(
    saved: SavedIndex, connection: apsw.Connection, version: FileVersion, space: tuple[int, Space] | None
) -> bool:
    """Are these files an earlier state of this database, from before which nothing was erased?"""
    return (
        saved.version.token != 0
        and saved.database == read_database_id(connection)
        and saved.space == space
        and precedes(connection, saved.version, version)
        and last_erasure(connection) <= saved.version.number
    )


def _last_erasure_now(connection: apsw.Connection) -> int:
    """The version of the last erasure, also of one after the connection's transaction began: nothing that it erased may
    get into a file. An erasure that follows waits for the lock, and drops the files."""
    with contextlib.closing(connect(connection.filename, apsw.SQLITE_OPEN_READONLY)) as fresh:
        return last_erasure(fresh)


def _without(views: Sequence[View], rows: Rows) -> list[View]:
    """The parts with the slots of these rows dead; parts that have none of them stay as they are."""
    found = []
    for view in views:
        dead = view.part.find(rows)
        dead = dead[dead >= 0]
        if view.alive[dead].any():
            alive = view.alive.copy()
            alive[dead] = False
            view = View(view.part, alive)
        found.append(view)
    return found
