"""Whole copies of a file for backups: making one while others write, checking it, and putting one in place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import apsw

from recollect.errors import DamagedFile, StoreError
from recollect.model.validation import from_micros, micros
from recollect.store.sqlite.checksums import connect, new_copy
from recollect.store.sqlite.connections import Connections, fetch, fork_gate, translate_errors
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.versions import read_version

STEP_PAGES = 512


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What a copy contains."""

    version: str
    database: int  # tells memories apart: the moment at which the file was created
    counts: dict[str, int]  # rows by table


def copy_file(path: str, to: str, progress: Callable[[int, int], object] | None = None) -> None:
    """Copy a file as it is at one moment, while others may read and write it. Every page is verified as it is read."""
    connections = Connections(path, readonly=True, durable=True)
    try:
        with translate_errors(path), fork_gate.hold():
            source = connections.get()
            source.execute("BEGIN")
            try:
                fetch(source, "SELECT count(*) FROM changes")  # from here on it is one version
                with contextlib.closing(new_copy(source, path, to)) as copy:
                    step = copy.backup("main", source, "main")
                    try:
                        while not step.done:
                            step.step(STEP_PAGES)
                            if progress is not None:
                                progress(step.page_count - step.remaining, step.page_count)
                    finally:
                        step.close(True)  # the error of the step is the one to report
            finally:
                if source.in_transaction:
                    source.execute("COMMIT")
    finally:
        connections.close()
    finish_copy(to)


def finish_copy(path: str) -> None:
    """Bring a copy into one file, without a write-ahead log beside it."""
    with translate_errors(path), contextlib.closing(connect(path, apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.pragma("journal_mode", "delete")


def check_copy(path: str) -> FileSummary:
    """Read all of a copy: a DamagedFile if anything is wrong with it."""
    with translate_errors(path), contextlib.closing(connect(path, apsw.SQLITE_OPEN_READONLY)) as connection:
        if problems := [problem for (problem,) in fetch(connection, "PRAGMA integrity_check(5)") if problem != "ok"]:
            raise DamagedFile(path, f"SQLite's own check finds: {problems[0]}")
        if fetch(connection, "PRAGMA foreign_key_check"):
            raise DamagedFile(path, "it has rows that belong to no memory")
        tables = fetch(connection, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').get for (name,) in tables}
        database = connection.execute("SELECT applied FROM migrations WHERE name = '0001_memories'").get
        return FileSummary(str(read_version(connection)), database, counts)


def read_first_change(path: str) -> datetime | None:
    """When the first change in a copy was made; None if there is none."""
    with translate_errors(path), contextlib.closing(connect(path, apsw.SQLITE_OPEN_READONLY)) as connection:
        first = connection.execute("SELECT min(at) FROM changes").get
    return None if first is None else from_micros(first)


def undo_after(store: SqliteStore, moment: datetime) -> tuple[int, tuple[str, ...]]:
    """Undo the operations after a moment, latest first; how many, and the verbs of changes that cannot be undone."""
    connection, since = store.connection, (micros(moment),)
    with translate_errors(store.path):
        later = [row for (row,) in fetch(connection, LATER_OPERATIONS, since)]
        verbs = fetch(connection, "SELECT DISTINCT verb FROM changes WHERE at > ? AND undone", since)
    for operation in later:
        with store.transaction("undo") as transaction:
            transaction.undo(operation)
    return len(later), tuple(verb for (verb,) in verbs if verb not in ("embed", "reembed", "doctor"))


LATER_OPERATIONS = (
    "SELECT operation FROM changes WHERE undone = 0 GROUP BY operation HAVING min(at) > ? ORDER BY max(version) DESC"
)


@contextmanager
def nobody_else(path: str) -> Iterator[None]:
    """Keep others from opening a file that is about to be replaced; a StoreError if somebody has it open.

    A file that is too damaged to be opened cannot be locked, and is in nobody's use."""
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        try:
            connection.pragma("checksum_verification", 0)
            connection.set_busy_timeout(0)
            connection.pragma("journal_mode", "delete")
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError:
            raise StoreError(
                f"{path} is open elsewhere, so it cannot be replaced. Close everything that uses it, or restore to "
                "another path."
            ) from None
        except apsw.Error:
            connection.close()
        yield
    finally:
        connection.close()


def put_in_place(new: Path, path: Path, aside: Path | None) -> None:
    """Rename a finished file to its place; what was there stays beside it under the other name."""
    if aside is not None:
        for suffix in ("-wal", "-shm"):  # of a file that could not be locked: they must not meet the new one
            if os.path.exists(f"{path}{suffix}"):
                os.replace(f"{path}{suffix}", f"{aside}{suffix}")
        try:
            os.link(path, aside)
        except OSError:
            os.replace(path, aside)
    os.replace(new, path)
