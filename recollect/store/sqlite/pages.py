"""The pages of a file that do not match their checksums: which they are, what is on them, and how they are accepted."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from recollect.errors import StoreError
from recollect.store.rows import ENCODED
from recollect.store.sqlite.checksums import checksum_state, connect, lock_alone, rewrite_pages, unlock
from recollect.store.sqlite.connections import switch_to_wal, translate_errors
from recollect.store.sqlite.migrations import APPLICATION_ID
from recollect.store.sqlite.write_turns import wait_for_lock


@dataclass(frozen=True, slots=True)
class PageReport:
    """Pages that do not match their checksums."""

    count: int
    contents: dict[str, int]  # pages by table or index; free pages are not counted
    intact: bool  # SQLite can follow the structure of the file in spite of them, and read every text
    ids: tuple[str, ...]  # memories on these pages

    @property
    def what(self) -> str:
        shown = ", ".join(f"{name} ({count})" for name, count in self.contents.items()) or "free pages"
        return f"Pages that do not match their checksums: {self.count}. On them: {shown}."


def inspect_pages(path: str, application_id: int = APPLICATION_ID) -> PageReport | None:
    """Read every page; None if all match, or if the file has no checksums. A StoreError if it is no database at all."""
    with translate_errors(path), _unverified(path) as connection:
        if checksum_state(connection, path, application_id) != "complete":
            return None
        connection.pragma("checksum_verification", 1)
        size = connection.pragma("page_size")
        wrong = [page for page in range(1, os.path.getsize(path) // size + 1) if not _matches(connection, page, size)]
        connection.pragma("checksum_verification", 0)
        if not wrong:
            return None
        contents: dict[str, int] = {}
        ids: tuple[str, ...] = ()
        intact = False
        with contextlib.suppress(apsw.Error, UnicodeDecodeError):  # the structure itself is damaged
            intact = connection.execute("PRAGMA integrity_check(1)").get == "ok" and _texts_are_readable(connection)
            listed = json.dumps(wrong)
            contents = dict(
                connection.execute(
                    "SELECT name, count(*) FROM dbstat WHERE pageno IN (SELECT value FROM json_each(?)) GROUP BY name",
                    (listed,),
                )
            )
            if "memories" in contents:
                ids = tuple(_unverified_ids(connection, path))
        return PageReport(len(wrong), contents, intact, ids)


def _texts_are_readable(connection: apsw.Connection) -> bool:
    """Is every text of every table still UTF-8?"""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    try:
        for (table,) in tables:
            for _ in connection.execute(f'SELECT * FROM "{table}"'):
                pass
    except UnicodeDecodeError:
        return False
    return True


def accept_pages(path: str, copy_to: str) -> None:
    """Give all pages the checksums of what is on them now, after a copy of the file as it is.

    Vectors on such pages are dropped, since nothing else tells whether they are right; texts are what they are.
    """
    with translate_errors(path), _unverified(path, writable=True) as connection:
        vectors = {table: _unverified_rows(connection, path, table) for table in ENCODED}
        if not lock_alone(connection):
            raise StoreError(f"{path} is open elsewhere. Close everything that uses it, and repair it then.")
        try:
            _copy_bytes(connection, path, copy_to)
            for table, rows in vectors.items():
                connection.executemany(f"DELETE FROM {table} WHERE space = ? AND row = ?", rows)
            connection.executemany(
                "INSERT OR IGNORE INTO unembedded VALUES (?)", {(row,) for _, row in vectors["vectors"]}
            )
            rewrite_pages(connection)
        finally:
            unlock(connection)
        wait_for_lock(connection)
        switch_to_wal(connection)


@contextmanager
def _unverified(path: str, writable: bool = False) -> Iterator[apsw.Connection]:
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    try:
        wait_for_lock(connection)
        connection.read("main", 0, 0, 100)  # the VFS sees that there are checksums
        connection.pragma("checksum_verification", 0)
        yield connection
    finally:
        connection.close()


def _matches(connection: apsw.Connection, page: int, size: int) -> bool:
    try:
        connection.read("main", 0, (page - 1) * size, size)
    except apsw.Error:
        return False
    return True


def _unverified_ids(connection: apsw.Connection, path: str) -> Iterator[str]:
    rows = _unverified_rows(connection, path, "memories")
    sql = "SELECT id FROM memories WHERE row = ?"
    return (str(connection.execute(sql, row).get) for row in rows)


def _unverified_rows(connection: apsw.Connection, path: str, table: str) -> list[tuple[int, ...]]:
    """The rows of a table that cannot be read with their checksums, by their keys."""
    keys = "row" if table == "memories" else "space, row"
    wanted = " AND ".join(f"{key} = ?" for key in keys.split(", "))
    wrong: list[tuple[int, ...]] = []
    with _unverified(path) as verified:
        verified.execute("BEGIN")
        verified.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # stays in its cache, though it may be wrong
        verified.pragma("checksum_verification", 1)
        for key in connection.execute(f"SELECT {keys} FROM {table} NOT INDEXED").fetchall():
            try:
                verified.execute(f"SELECT * FROM {table} WHERE {wanted}", key).fetchall()
            except apsw.Error:
                wrong.append(tuple(key))  # type: ignore[arg-type]
    return wrong


def _copy_bytes(connection: apsw.Connection, path: str, to: str) -> None:
    """Copy the file as it is, through SQLite: closing a file that this process opened itself would drop its locks."""
    size = os.path.getsize(path)
    page = connection.pragma("page_size")
    with open(to, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as copy:
        for offset in range(0, size, page):
            copy.write(connection.read("main", 0, offset, page)[1])
        copy.flush()
        os.fsync(copy.fileno())
