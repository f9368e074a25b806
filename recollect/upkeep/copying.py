"""Copying a whole memory from one store to another, of any two kinds, and checking the copy by count and checksum.

Batches are committed one by one, so a copy that was stopped continues where it was. A destination may contain only what
a copy of this source has left there: if it has a memory that the source does not have, or that differs from all
versions in the source, nothing is written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, StoreError
from recollect.model import STATUSES, Clock, Edge, Memory, Use, to_json
from recollect.store.base import Rows, Store, StoredChunk, Transaction
from recollect.store.registry import open_store
from recollect.store.retrying import retried

Item = TypeVar("Item")
CopyProgress = Callable[[int, int], None]  # memories that were copied or checked, of how many
BATCH_SIZE = 512  # memories in a transaction
MAX_ROUNDS = 5  # a source that is written to meanwhile is compared and copied again
VERB = "migrate"  # of the transactions; undo does not take them back


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with all that belongs to it alone."""

    memory: Memory
    history: list[tuple[datetime, Memory]]
    vector: NDArray[np.float32] | None
    sketch: bytes
    uses_by_day: Mapping[int, int]

    def parts(self) -> Iterator[tuple[str, bytes]]:
        """What is compared, by kind."""
        yield "memories", _encode(to_json(replace(self.memory, use=Use())))
        for until, earlier in self.history:
            yield "versions", _encode([self.memory.id, until.isoformat(), to_json(earlier)])
        if self.vector is not None:
            yield "vectors", self.memory.id.encode() + self.vector.astype(np.float16).tobytes()
        if self.sketch:
            yield "sketches", self.memory.id.encode() + self.sketch
        if self.memory.use != Use() or self.uses_by_day:
            yield "uses", _encode([self.memory.id, to_json(self.memory.use), sorted(self.uses_by_day.items())])

    def digest(self) -> bytes:
        """The same for two memories that are the same in everything."""
        digests = (hashlib.sha256(kind.encode() + part).digest() for kind, part in self.parts())
        return hashlib.sha256(b"".join(digests)).digest()


@dataclass
class Tally:
    """How many things of each kind there are, and a checksum of them that does not depend on their order."""

    counts: Counter[str] = field(default_factory=Counter)
    sums: Counter[str] = field(default_factory=Counter)

    def add(self, parts: Iterable[tuple[str, bytes]]) -> None:
        for kind, part in parts:
            self.counts[kind] += 1
            self.sums[kind] = (self.sums[kind] + int.from_bytes(hashlib.sha256(part).digest())) % (1 << 256)

    def checksums(self) -> dict[str, str]:
        return {kind: f"{total:064x}" for kind, total in sorted(self.sums.items())}


@dataclass(frozen=True, slots=True)
class CopySummary:
    """What a finished copy contains. ``copied`` of its memories were written by this run."""

    source: str
    destination: str
    copied: int
    counts: dict[str, int]  # by kind of thing, the same in both stores
    checksums: dict[str, str]  # SHA-256, by kind of thing, the same in both stores


def migrate(
    source: str, destination: str, progress: CopyProgress | None = None, clock: Clock | None = None
) -> CopySummary:
    """Copy the memory at one path or URL to another one, which must be empty or an unfinished copy of it.

    The days that memories tell of begin in the time zone of the clock, by default UTC."""
    _check_different(source, destination)
    clock = clock or (lambda: datetime.now(UTC))
    with closing(open_store(source, clock, readonly=True)) as origin, closing(open_store(destination, clock)) as target:
        return copy_store(origin, target, progress)


def _check_different(source: str, destination: str) -> None:
    same_file = os.path.exists(source) and os.path.exists(destination) and os.path.samefile(source, destination)
    if source == destination or same_file:
        raise InvalidInput(f"The source and the destination are both {destination!r}; give another destination.")


def copy_store(source: Store, destination: Store, progress: CopyProgress | None = None) -> CopySummary:
    """Copy everything in one store to another one, and compare them. Call it again to continue after a failure."""
    if destination.readonly:
        raise StoreError(f"{destination.path} is read-only; nothing was written.")
    copied: set[str] = set()
    for _ in range(MAX_ROUNDS):
        with source.snapshot() as snapshot:
            version = snapshot.version
        copier = StoreCopier(source, destination, progress)
        copied |= copier.run()
        with source.snapshot() as snapshot:
            if snapshot.version == version:
                return CopySummary(source.path, destination.path, len(copied), *copier.verify())
    raise StoreError(
        f"{source.path} is written to all the time, so its copy in {destination.path} is not the same. Stop those who "
        "write to it, and run this again: it continues from here."
    )


class StoreCopier:
    """One round of a copy: what is missing in the destination, or older there, is written."""

    def __init__(self, source: Store, destination: Store, progress: CopyProgress | None) -> None:
        self.source, self.destination, self.progress = source, destination, progress
        self._expected = Tally()
        self._done = self._total = 0

    def run(self) -> set[str]:
        """Returns the ids that were written."""
        rows, present = read_rows(self.source), read_rows(self.destination)
        self._check_destination(rows, present)
        self._total = 2 * len(rows) + len(present)  # read both, then compare
        outdated = self._find_outdated(rows, present)
        missing = [id for id in rows if id not in present or id in outdated]
        for ids in _batches(missing):
            batch = read_memories(self.source, [rows[id] for id in ids])
            with self.destination.transaction(VERB, self.source.path) as transaction:
                transaction.delete([present[id] for id in ids if id in outdated])
                self._write(transaction, batch)
            self._count(batch)
        self._copy_edges()
        self._copy_relations()
        self._copy_folders()
        self._copy_receipts()
        return set(missing)

    def _check_destination(self, rows: Mapping[str, int], present: Mapping[str, int]) -> None:
        foreign = [id for id in present if id not in rows]
        if foreign:
            raise InvalidInput(
                f"The destination {self.destination.path} is not empty: it has {len(foreign):,} memories that "
                f"{self.source.path} does not have, such as {foreign[0]}. Give an empty one; nothing was written."
            )

    def _find_outdated(self, rows: Mapping[str, int], present: Mapping[str, int]) -> set[str]:
        """The memories that were changed in the source since they were copied. Others that differ are refused."""
        outdated = set()
        for ids in _batches([*present]):
            pairs = zip(
                read_memories(self.source, [rows[id] for id in ids]),
                read_memories(self.destination, [present[id] for id in ids]),
                strict=True,
            )
            same = []
            for original, copy in pairs:
                if original.digest() == copy.digest():
                    same.append(original)
                    continue
                versions = [original.memory, *(memory for _, memory in original.history)]
                if not any(replace(copy.memory, use=Use()) == replace(each, use=Use()) for each in versions):
                    raise InvalidInput(
                        f"The destination {self.destination.path} is not empty, and no unfinished copy of "
                        f"{self.source.path}: the memory {copy.memory.id} is another one there. Give an empty "
                        "destination; nothing was written."
                    )
                outdated.add(copy.memory.id)
            self._count(same)
        return outdated

    def _count(self, batch: list[StoredMemory]) -> None:
        for each in batch:
            self._expected.add(each.parts())
        self._report(2 * len(batch))

    def _report(self, more: int) -> None:
        self._done += more
        if self.progress is not None:
            self.progress(min(self._done, self._total), self._total)

    def _write(self, transaction: Transaction, batch: list[StoredMemory]) -> None:
        rows = [transaction.remember(each.memory).row for each in batch]
        embedded = []
        for row, each in zip(rows, batch, strict=True):
            for until, earlier in each.history:
                transaction.add_history(row, earlier, until)
            if each.memory.use != Use() or each.uses_by_day:
                transaction.set_use(row, each.memory.use, each.uses_by_day)
            if each.vector is not None:
                embedded.append((row, (each.vector, each.sketch)))
        if embedded and self.source.space is not None:
            transaction.embed([row for row, _ in embedded], [encoded for _, encoded in embedded], self.source.space)

    def _copy_edges(self) -> None:
        def key(edge: Edge) -> tuple[str, str, str]:
            return edge.source, edge.target, edge.kind

        wanted = {key(edge): edge for edge in self.source.edges()}
        present = {key(edge): edge for edge in self.destination.edges()}
        with self.destination.transaction(VERB) as transaction:
            for each in present.keys() - wanted.keys():
                transaction.unlink(*each)
        for edges in _batches([edge for edge in wanted.values() if present.get(key(edge)) != edge]):
            with self.destination.transaction(VERB) as transaction:
                for edge in edges:
                    transaction.link(edge)

    def _copy_relations(self) -> None:
        for relations in _batches(self.source.entity_edges()):
            with self.destination.transaction(VERB) as transaction:
                for relation in relations:
                    transaction.relate(relation)

    def _copy_folders(self) -> None:
        for collection, record in self.source.folders().items():
            chunks = self.source.chunks(collection)
            with self.destination.transaction(VERB) as transaction:
                transaction.files.set_folder(collection, record)
            for states in _batches([*self.source.files(collection).values()]):
                with self.destination.transaction(VERB) as transaction:
                    for state in states:
                        number = transaction.files.save(collection, state)
                        known = chunks.get(state.path, [])
                        rows = [transaction.row(chunk.id) for chunk in known]
                        transaction.files.add_chunks(number, rows, [chunk.digest for chunk in known])

    def _copy_receipts(self) -> None:
        present = self.destination.receipts()
        for receipt in self.source.receipts():
            if receipt not in present:
                with self.destination.transaction(VERB) as transaction:
                    transaction.add_receipt(receipt)

    def verify(self) -> tuple[dict[str, int], dict[str, str]]:
        """Read the destination again and compare it with what was read from the source; counts and checksums."""
        self._expected.add(_shared_parts(self.source))
        found = Tally()
        for rows in _batches([*read_rows(self.destination).values()]):
            for each in read_memories(self.destination, rows):
                found.add(each.parts())
            self._report(len(rows))
        found.add(_shared_parts(self.destination))
        different = [
            f"{kind} ({self._expected.counts[kind]:,} and {found.counts[kind]:,})"
            for kind in sorted(self._expected.counts | found.counts)
            if (self._expected.counts[kind], self._expected.sums[kind]) != (found.counts[kind], found.sums[kind])
        ]
        if different:
            raise StoreError(
                f"The copy in {self.destination.path} differs from {self.source.path} in: {', '.join(different)}. "
                "Do not use it. Delete it, and migrate again to an empty destination; the source is unchanged."
            )
        return dict(sorted(found.counts.items())), found.checksums()


@retried
def read_rows(store: Store) -> dict[str, int]:
    """All memories, forgotten ones too, in the order in which they were written: their rows by id."""
    with store.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, datetime.now(UTC), hidden=True)
        rows = snapshot.page(scope, "stored", scope.count)
        return dict(zip(snapshot.ids(rows), rows.tolist(), strict=True))


@retried
def read_memories(store: Store, rows: list[int]) -> list[StoredMemory]:
    """Memories with all that belongs to them."""
    wanted: Rows = np.array(rows, dtype=np.int64)
    with store.snapshot() as snapshot:
        ids = snapshot.ids(wanted)
    histories = [store.history(id) for id in ids]  # first: a version that is replaced meanwhile is not lost
    with store.snapshot() as snapshot:
        memories = snapshot.memories(wanted)
        vectors, sketches = snapshot.vectors(wanted), snapshot.token_sketches(wanted)
        used = [memory.use.uses > 0 for memory in memories]
        days = [snapshot.uses_by_day(wanted[[place]]) if used[place] else {} for place in range(len(rows))]
    ends = np.cumsum(sketches.counts)
    return [
        StoredMemory(
            memory,
            histories[place],
            vectors[place] if vectors.shape[1] and not np.isnan(vectors[place]).any() else None,
            sketches.bits[ends[place] - sketches.counts[place] : ends[place]].tobytes(),
            days[place],
        )
        for place, memory in enumerate(memories)
    ]


def _shared_parts(store: Store) -> Iterator[tuple[str, bytes]]:
    """What belongs to no single memory, by kind."""
    for edge in store.edges():
        yield "edges", _encode(to_json(edge))
    for relation in store.entity_edges():
        yield "relations", _encode(to_json(relation))
    for receipt in store.receipts():
        yield "receipts", _encode(receipt.as_dict())
    for collection, record in store.folders().items():
        yield "folders", _encode([collection, record])
        for state in store.files(collection).values():
            yield "files", repr((collection, astuple(state))).encode()
        for path, chunks in store.chunks(collection).items():
            yield from (("chunks", _encode_chunk(collection, path, chunk)) for chunk in chunks)
    if store.space is not None:
        yield "models", _encode([store.space.name, store.space.dim])


def _encode_chunk(collection: str, path: str, chunk: StoredChunk) -> bytes:
    return _encode([collection, path, chunk.id, chunk.digest.hex()])


def _encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _batches(values: list[Item]) -> Iterator[list[Item]]:
    for start in range(0, len(values), BATCH_SIZE):
        yield values[start : start + BATCH_SIZE]
