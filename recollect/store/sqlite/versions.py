"""Versions of a file: the number and the random token of its last change; and the model whose vectors are searched."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from recollect.store.base import Space

ACTIVE = "SELECT space FROM spaces WHERE active"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The last change of a file. Its random token differs in a copy of the file that was changed on its own."""

    number: int
    token: int

    def __str__(self) -> str:
        return f"{self.number}.{self.token:x}" if self.number else "0"


def read_version(connection: apsw.Connection) -> FileVersion:
    try:
        last = connection.execute("SELECT version, token FROM changes ORDER BY version DESC LIMIT 1").get
    except apsw.SQLError:
        if not connection.readonly("main"):
            raise
        return FileVersion(connection.execute("SELECT max(version) FROM changes").get or 0, 0)
    return FileVersion(*last) if last else FileVersion(0, 0)


def read_change_token(connection: apsw.Connection, number: int) -> int:
    """The token of a change; 0 in a file of version 0.1 that is opened only for reading, or without that change."""
    try:
        return connection.execute("SELECT token FROM changes WHERE version = ?", (number,)).get or 0
    except apsw.SQLError:
        if connection.readonly("main"):
            return 0
        raise


def precedes(connection: apsw.Connection, before: FileVersion, now: FileVersion) -> bool:
    """Is the earlier version part of this file's history? A copy that went its own way has other tokens."""
    if before.number >= now.number:
        return before == now
    return before.number == 0 or read_change_token(connection, before.number) == before.token


def read_database_id(connection: apsw.Connection) -> int:
    """When the file was created: the same in its copies."""
    return int(connection.execute("SELECT applied FROM migrations WHERE name = '0001_memories'").get or 0)


def active_space(connection: apsw.Connection) -> tuple[int, Space] | None:
    """The number and the model of the space that is searched."""
    for number, name, dim in connection.execute("SELECT space, name, dim FROM spaces WHERE active"):
        return number, Space(name, dim)
    return None
