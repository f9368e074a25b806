"""Which database a file contains, and how far its history reaches: read from the file alone, without its log.

A file that is overwritten in place while it is open (``cp other.db memory.db``) stays the same file for the system, and
pages that SQLite has in memory or in the log would be mixed with those of the other one. A checkpoint, which also
writes to the file, only lets its history grow.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

import apsw

from recollect.store.sqlite.checksums import connect

ATTEMPTS, PAUSE_SECONDS = 8, 0.1  # another process may be in the middle of a checkpoint


@dataclass(frozen=True, slots=True)
class Lineage:
    """The database, and the last change in its file; its token tells copies apart that went different ways."""

    database: int  # the moment at which it was created
    version: int
    token: int


OTHER = Lineage(0, 0, 0)  # not a memory


def read_lineage(uri: str) -> Lineage | None:
    """What the file contains; None if it cannot be read, as in the middle of a checkpoint."""
    try:
        with contextlib.closing(_open(uri)) as connection:
            database = connection.execute("SELECT applied FROM migrations WHERE name = '0001_memories'").get
            last = connection.execute("SELECT version, token FROM changes ORDER BY version DESC LIMIT 1").get
    except (apsw.NotADBError, apsw.SQLError):
        return OTHER
    except apsw.Error:
        return None
    return None if database is None else Lineage(database, *(last or (0, 0)))


def is_overwritten(path: str, uri: str, known: Lineage) -> bool:
    """Does the file contain something else than what it contained, and later changes? Only what stays so for a while
    counts."""
    for _ in range(ATTEMPTS):
        modified = _modified(path)
        if _continues(uri, known) or modified != _modified(path):
            return False  # if it is being written right now, the next use looks again
        time.sleep(PAUSE_SECONDS)
    return True


def _continues(uri: str, known: Lineage) -> bool:
    found = read_lineage(uri)
    if found is None:
        return True
    if found.database != known.database:
        return False
    with contextlib.suppress(apsw.Error), contextlib.closing(_open(uri)) as connection:
        # A rebuild gives all changes new tokens.
        sql = "SELECT 1 FROM changes WHERE (version = ?1 AND token = ?2) OR (version > ?1 AND verb = 'doctor') LIMIT 1"
        is_known = known.version == 0 or connection.execute(sql, (known.version, known.token)).get is not None
        # While a reader needs an older version, a file without its log may be no consistent database.
        return is_known or connection.execute("PRAGMA quick_check(1)").get != "ok"
    return True


def _open(uri: str) -> apsw.Connection:
    """The file without its log: immutable files have none."""
    return connect(f"{uri}?immutable=1", apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY)


def _modified(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0
