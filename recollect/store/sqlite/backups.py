"""What a file knows of its backups: when the last one was made, and into which folder."""

from __future__ import annotations

from datetime import datetime

import apsw

from recollect.model.validation import from_micros, micros
from recollect.store.base import LastBackup
from recollect.store.sqlite.connections import fetch


def record_backup(connection: apsw.Connection, folder: str, at: datetime) -> None:
    """It is no change of the content, and enters no history."""
    connection.execute("INSERT OR REPLACE INTO backups VALUES (?, ?)", (folder, micros(at)))


def read_backup_folders(connection: apsw.Connection) -> list[str]:
    """The folders that have backups of the file."""
    if not fetch(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'backups'"):
        return []
    return [str(folder) for (folder,) in fetch(connection, "SELECT folder FROM backups ORDER BY folder")]


def read_last_backup(connection: apsw.Connection) -> LastBackup | None:
    if not fetch(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'backups'"):  # of an earlier version
        return None
    found = fetch(connection, "SELECT at, folder FROM backups ORDER BY at DESC LIMIT 1")
    return LastBackup(from_micros(found[0][0]), str(found[0][1])) if found else None
