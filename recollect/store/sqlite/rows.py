"""Between rows and records: how each field of a Memory is written and read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Any

from recollect.model import Memory, Use
from recollect.model.validation import from_micros, micros

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
ENCODED = {"vectors": "vector", "sketches": "sketch"}  # tables with a row for a memory and a space, and what they hold


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


READERS = tuple((at, READ[name]) for at, name in enumerate(COLUMNS) if name in READ)
WRITERS = tuple((at, WRITE[name]) for at, name in enumerate(COLUMNS) if name in WRITE)
ID, CONTEXT, CREATED, UPDATED = (COLUMNS.index(name) for name in ("id", "context", "created", "updated"))
LINES = [each.name for each in fields(Memory)].index("lines")
_plain = attrgetter(*COLUMNS[:-2])


def to_row(memory: Memory) -> list[Any]:
    """The values of COLUMNS for a memory."""
    values = list(_plain(memory))
    for at, writer in WRITERS:
        values[at] = writer(values[at])
    values.extend(memory.lines or (None, None))
    return values


def from_row(values: Sequence[Any]) -> Memory:
    """A memory from the values of COLUMNS followed by those of USE_COLUMNS (all None when never used)."""
    read = list(values[: len(COLUMNS)])
    for at, reader in READERS:
        read[at] = reader(read[at])
    last = read.pop()
    first = read.pop()
    read.insert(LINES, None if first is None else (first, last))
    used = values[len(COLUMNS) :]
    if used and used[1] is not None:
        read.append(read_use(used))
    return Memory(*read)


def read_use(values: Sequence[Any]) -> Use:
    seen, accesses, returns, recalls, recalled, times = values
    moments = () if times == "[]" else tuple(map(from_micros, json.loads(times)))
    return Use(_read_moment(seen), accesses, returns, recalls, _read_moment(recalled), moments)


def _read_moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def as_values(kept: Any) -> list[Any]:
    """The values of a kept record: of a memory, by their names, in the order of COLUMNS."""
    return [kept.get(name) for name in COLUMNS] if isinstance(kept, dict) else kept


def use_to_row(use: Use) -> list[Any]:
    """The values of USE_COLUMNS."""
    times = _json([micros(at) for at in use.recall_times])
    counts = (use.access_count, use.return_count, use.recall_count)
    return [_moment(use.last_accessed), *counts, _moment(use.last_recalled), times]
