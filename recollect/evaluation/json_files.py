"""JSON from files, with the place of what is wrong in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput


def json_lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with where it stands."""
    try:
        stream = file.open("rb")
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be read: {problem.strerror}.") from None
    with stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                where = f"{file}, line {number}"
                record = from_json(line, where)
                if not isinstance(record, dict):
                    raise InvalidInput(f"{where} must be a JSON object.")
                yield where, record


def from_json(text: bytes, where: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        told = f"byte {text[problem.start]:#04x} at column {problem.start + 1}"
        raise InvalidInput(f"{where} is not UTF-8 text: {told}.") from None
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"{where} is no JSON: {problem}.") from None


def needs(where: str, record: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if not isinstance(record.get(name), str):
            raise InvalidInput(f"{where} needs a text under {name!r}.")
