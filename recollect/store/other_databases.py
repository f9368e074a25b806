"""Databases of other programs: opened for reading only, their rows as plain dicts. Nothing in them is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import InvalidInput, StoreError
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.migrations import APPLICATION_ID

HEADER = b"SQLite format 3\0"
BUSY_MILLISECONDS = 10_000
UNWRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)


def is_database(path: str | PathLike[str]) -> bool:
    """Does the file begin with SQLite's header?"""
    with open(path, "rb") as file:
        return file.read(len(HEADER)) == HEADER


class OtherDatabase:
    """One snapshot of another program's database."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.ours = connection.pragma("application_id") == APPLICATION_ID
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        columns = "SELECT name FROM pragma_table_info(?)"
        self.tables: Mapping[str, frozenset[str]] = {
            table: frozenset(column for (column,) in fetch(connection, columns, (table,)))
            for (table,) in fetch(connection, tables)
        }

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= self.tables.get(table, frozenset())

    def rows(self, table: str, *columns: str) -> Iterator[dict[str, Any]]:
        """These columns of every row, in the order of insertion; None for a column that the table lacks."""
        if table not in self.tables:
            return
        present = [each for each in columns if each in self.tables[table]]
        absent = dict.fromkeys(each for each in columns if each not in present)
        chosen = ", ".join(map(_quote, present))
        for values in self._connection.execute(f"SELECT {chosen} FROM {_quote(table)} ORDER BY rowid"):
            yield {**absent, **dict(zip(present, values, strict=True))}


@contextmanager
def open_database(path: str | PathLike[str]) -> Iterator[OtherDatabase]:
    """A snapshot of another program's database, which may be written to meanwhile."""
    try:
        connection = _connect(Path(path))
        try:
            connection.execute("BEGIN")
            yield OtherDatabase(connection)
        finally:
            connection.close()
    except apsw.BusyError as problem:
        raise StoreError(f"{path} is in use by another program: {problem}.") from problem
    except apsw.Error as problem:
        unreadable = InvalidInput(f"{path} cannot be read as a database: {problem}.")
        raise unreadable.advise("Import a file that the program which made it can open.") from problem


def _connect(path: Path) -> apsw.Connection:
    uri, log = f"{path.absolute().as_uri()}?mode=ro", path.with_name(path.name + "-wal")
    try:
        return _open(uri)
    except UNWRITABLE:
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{path} has changes in its log ({log.name}) that cannot be read without the right to write beside "
                "it. Copy both files to a folder of your own and import from there."
            ) from None
        return _open(f"{uri}&immutable=1")


def _open(uri: str) -> apsw.Connection:
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.pragma("application_id")  # reads the file
    return connection


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
