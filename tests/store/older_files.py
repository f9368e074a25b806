"""Files of an older format, made by the migrations that an older version had."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from recollect.store.sqlite.migrations import APPLICATION_ID, MIGRATIONS

SKETCHES_BESIDE_VECTORS = """
UPDATE vectors SET sketch = s.sketch FROM current.sketches s WHERE s.space = vectors.space AND s.row = vectors.row
"""


def make_older(path: Path, migrations: int) -> None:
    """Replace a file by one that only the first so many migrations have shaped, with all that it has room for."""
    current = path.rename(path.with_name("current.db"))
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied INTEGER NOT NULL)")
        for name, script in list(MIGRATIONS.items())[:migrations]:
            connection.execute(script)
            connection.execute("INSERT INTO migrations VALUES (?, 0)", (name,))
        connection.execute("ATTACH ? AS current", (str(current),))
        tables = _tables(connection, "main") & _tables(connection, "current") - {"migrations"}
        for table in tables:
            names = ", ".join(_columns(connection, "main", table) & _columns(connection, "current", table))
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM current.{table}")
        if "sketch" in _columns(connection, "main", "vectors"):
            connection.execute(SKETCHES_BESIDE_VECTORS)
        connection.execute("DETACH current; PRAGMA journal_mode = wal; VACUUM")
    current.unlink()


def _tables(connection: apsw.Connection, schema: str) -> set[str]:
    found = connection.execute(f"SELECT name FROM {schema}.sqlite_schema WHERE type = 'table'")
    return {name for (name,) in found if not name.startswith("sqlite_")}


def _columns(connection: apsw.Connection, schema: str, table: str) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?, ?)", (table, schema))}
