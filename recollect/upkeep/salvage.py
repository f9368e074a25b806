"""Salvaging: what can be read of a damaged file is written to a new one, when there is no backup."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path

from recollect.embed import Embedder
from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.ingest.imports.importer import Importer, numbered_records
from recollect.ingest.writer import Writer
from recollect.model import JsonObject, to_json
from recollect.store.sqlite.salvage import Salvaged, salvage_memories, salvage_receipts
from recollect.store.sqlite.store import SqliteStore
from recollect.upkeep.erasing import add_receipts, apply_receipts


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What is in the new file."""

    path: str
    memories: int
    unverified: tuple[str, ...]  # ids of memories from damaged pages: their texts may be wrong
    links: int  # between memories, and relations
    damaged_pages: int
    erased: int  # memories that had been erased, were found nevertheless, and are erased again
    problems: tuple[str, ...]  # what could not be written, and what to look at


def salvage(
    path: str | PathLike[str], to: str | PathLike[str], embedder: Embedder | None, clock: Callable[[], datetime]
) -> SalvageReport:
    """Write every memory, link and receipt of an erasure that can be read from a file to a new one; words and vectors
    are made again. The damaged file is not changed. History, use and the state of folders are not carried over."""
    source, new = Path(path), Path(to)
    if not source.is_file():
        raise NotFound(f"There is no file {source}.")
    if new.exists() or new.is_symlink():
        raise InvalidInput(f"{new} exists already; salvage into a new file.")
    try:
        found = salvage_memories(source)
    except OSError as error:
        raise StoreError(f"{source} cannot be read: {error.strerror}.") from error
    if not found.memories:
        raise StoreError(f"No memory can be read from {source}. Put a backup in its place with 'recollect restore'.")
    try:
        return _write(found, source, new, embedder, clock)
    except BaseException:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{new}{suffix}").unlink(missing_ok=True)
        raise


def _write(
    found: Salvaged, source: Path, new: Path, embedder: Embedder | None, clock: Callable[[], datetime]
) -> SalvageReport:
    with closing(SqliteStore(fspath(new), clock)) as store:
        os.chmod(new, source.stat().st_mode & 0o777)
        items = numbered_records(_records(found))
        done = Importer(Writer(store, embedder), strict=False).run("", lambda: items)
        receipts = salvage_receipts(source)
        erased = apply_receipts(store, receipts, clock()).get("memories", 0)
        add_receipts(store, receipts)
        memories = store.status().memories
    problems = list(done.problems)
    if not found.deleted_known:
        problems.append(
            "The first page is damaged, so memories that had been deleted from the file may be there again."
        )
    unverified = set(found.unverified) & set(done.ids)
    return SalvageReport(
        fspath(new),
        sum(memories.values()),
        tuple(sorted(unverified)),
        done.links,
        found.damaged_pages,
        erased,
        tuple(problems),
    )


def _records(found: Salvaged) -> Iterator[JsonObject]:
    for memory in found.memories:
        yield {"type": "memory", **to_json(memory)}
    for edge in found.edges:
        yield {"type": "edge", **to_json(edge)}
    for relation in found.relations:
        yield {"type": "entity_edge", **to_json(relation)}
