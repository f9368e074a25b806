"""SQL that the modules of this store share: the condition of a bound, and the columns of a file that may be older."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from recollect.store.base import Bound
from recollect.store.rows import COLUMNS, DEFAULTS


def bound_condition(bound: Bound, prefix: str = "") -> tuple[str, tuple[str, ...]]:
    """`` AND collection = ? …`` for a WHERE clause, and its values."""
    return "".join(f" AND {prefix}{name} = ?" for name in bound.values), tuple(bound.values.values())


def select_columns(connection: apsw.Connection, names: Sequence[str] = COLUMNS, table: str = "m") -> str:
    """SQL for columns of memories; the default of each that the file lacks.

    Only a file of an earlier version that is opened for reading lacks any: others are migrated when they are opened.
    """
    present: set[Any] = set(names)
    if connection.readonly("main"):
        present = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memories')")}
    default = apsw.format_sql_value
    return ", ".join(f"{table}.{name}" if name in present else default(DEFAULTS[name]) for name in names)
