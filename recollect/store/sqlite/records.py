"""Between rows and records: how each field of a Memory is written and read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from recollect.model import Memory, Use
from recollect.model.check import from_micros, micros

LISTS = ("keywords", "tags", "entities", "files", "flags", "emotion_tags")
MOMENTS = ("created", "updated", "valid_from", "valid_to", "expires")
# Columns in the order in which records are written and read; lines take two of them.
COLUMNS = (
    *(each.name for each in fields(Memory) if each.name not in ("lines", "use")),
    "first_line",
    "last_line",
)
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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _list(value: tuple[str, ...]) -> str:
    return _json(value) if value else "[]"


def _moment(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


WRITE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(LISTS, _list),
    **dict.fromkeys(MOMENTS, _moment),
    "context": lambda value: _json(value) if value else "{}",
}
READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(LISTS, lambda value: () if value == "[]" else tuple(json.loads(value))),
    **dict.fromkeys(MOMENTS, lambda value: None if value is None else from_micros(value)),
    "context": lambda value: {} if value == "{}" else json.loads(value),
}


def to_row(memory: Memory) -> list[Any]:
    """The values of COLUMNS for a memory."""
    values = []
    for name in COLUMNS[:-2]:
        value = getattr(memory, name)
        writer = WRITE.get(name)
        values.append(value if writer is None else writer(value))
    return [*values, *(memory.lines or (None, None))]


def from_row(values: Sequence[Any]) -> Memory:
    """A memory from the values of COLUMNS followed by those of USE_COLUMNS (all None when never used)."""
    named: dict[str, Any] = {}
    for name, value in zip(COLUMNS[:-2], values, strict=False):
        reader = READ.get(name)
        named[name] = value if reader is None else reader(value)
    first, last, *used = values[len(COLUMNS) - 2 :]
    named["lines"] = None if first is None else (first, last)
    if used and used[1] is not None:
        named["use"] = Use(
            last_accessed=_read_moment(used[0]),
            access_count=used[1],
            return_count=used[2],
            recall_count=used[3],
            last_recalled=_read_moment(used[4]),
            recall_times=tuple(map(from_micros, json.loads(used[5]))),
        )
    return Memory(**named)


def _read_moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def use_to_row(use: Use) -> list[Any]:
    """The values of USE_COLUMNS."""
    times = _json([micros(at) for at in use.recall_times])
    counts = (use.access_count, use.return_count, use.recall_count)
    return [_moment(use.last_accessed), *counts, _moment(use.last_recalled), times]


def read_column(name: str, value: Any) -> Any:
    """One stored value as the field of a Memory has it."""
    reader = READ.get(name)
    return value if reader is None else reader(value)
