"""Converts between rows of tables and records: the columns of a Memory, in order, and of its Use. For stores in SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from recollect.model import FIELDS, Memory, Use, from_micros, micros

# Columns in the order in which rows are written and read; lines take two of them.
PLAIN_COLUMNS = tuple(name for name, field in FIELDS.items() if field.kind not in ("lines", "use"))
COLUMNS = (*PLAIN_COLUMNS, "first_line", "last_line")
SELECT = ", ".join(f"m.{name}" for name in COLUMNS)
USE_COLUMNS = (
    "last_accessed",
    "access_count",
    "return_count",
    "recall_count",
    "last_recalled",
    "recall_times",
)
SELECT_USE = ", ".join(f"u.{name}" for name in USE_COLUMNS)
ENCODED = {"vectors": "vector", "sketches": "sketch"}  # tables with a row for a memory and a space, and their column


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _write_moment(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


def _read_moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def _read_list(value: str) -> tuple[Any, ...]:
    return tuple(json.loads(value))


WRITE: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: _json(value) if value else "[]",
    "object": lambda value: _json(value) if value else "{}",
    "moment": _write_moment,
}
# By kind: the stored value of a field that is empty, what it is then, and how any other one is read.
READ: dict[str, tuple[Any, Callable[[], Any], Callable[[Any], Any]]] = {
    "list": ("[]", tuple, _read_list),
    "object": ("{}", dict, json.loads),
    "moment": (None, lambda: None, from_micros),
}
_KINDS = [FIELDS[name].kind for name in PLAIN_COLUMNS]
READERS = tuple((at, *READ[kind]) for at, kind in enumerate(_KINDS) if kind in READ)
WRITERS = tuple((at, WRITE[kind]) for at, kind in enumerate(_KINDS) if kind in WRITE)
ID, CONTEXT, CREATED, UPDATED = (COLUMNS.index(name) for name in ("id", "context", "created", "updated"))
LINES = list(FIELDS).index("lines")
_plain_values = attrgetter(*PLAIN_COLUMNS)


def to_row(memory: Memory) -> list[Any]:
    """The values of COLUMNS for a memory."""
    values = list(_plain_values(memory))
    for at, write in WRITERS:
        values[at] = write(values[at])
    values.extend(memory.lines or (None, None))
    return values


def from_row(values: Sequence[Any]) -> Memory:
    """A memory from the values of COLUMNS followed by those of USE_COLUMNS (all None when never used)."""
    fields = list(values[: len(COLUMNS)])
    for at, stored, empty, read in READERS:
        value = fields[at]
        fields[at] = empty() if value == stored else read(value)
    last = fields.pop()
    first = fields.pop()
    fields.insert(LINES, None if first is None else (first, last))
    use = values[len(COLUMNS) :]
    if use and use[1] is not None:
        fields.append(read_use(use))
    return Memory(*fields)


DEFAULTS: dict[str, Any] = dict(zip(COLUMNS, to_row(Memory(text="")), strict=True))


def as_values(record: Any) -> list[Any]:
    """The values of a record of the history: of a memory, in the order of COLUMNS, with defaults for later columns."""
    return [record.get(name, DEFAULTS[name]) for name in COLUMNS] if isinstance(record, dict) else record


def read_use(values: Sequence[Any]) -> Use:
    last_accessed, accesses, returns, recalls, last_recalled, times = values
    moments = () if times == "[]" else tuple(map(from_micros, json.loads(times)))
    return Use(_read_moment(last_accessed), accesses, returns, recalls, _read_moment(last_recalled), moments)


def use_to_row(use: Use) -> list[Any]:
    """The values of USE_COLUMNS."""
    times = _json([micros(at) for at in use.recall_times])
    counts = (use.access_count, use.return_count, use.recall_count)
    return [_write_moment(use.last_accessed), *counts, _write_moment(use.last_recalled), times]
