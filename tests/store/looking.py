"""How these tests look at a memory from outside: what it holds, and whether its file is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect import Mind
from recollect.store.sqlite.checksums import connect
from tests.postgres.stores import schema_of


def held(mind: Mind, *but: str) -> list[dict[str, Any]]:
    """Everything that a user could carry away, without some fields."""
    return [{name: value for name, value in record.items() if name not in but} for record in mind.export()]


def texts(mind: Mind, query: str, **options: Any) -> list[str]:
    return [result.text for result in mind.recall(query, **options)]


def sql(path: str | Path, statement: str) -> list[Any]:
    """Ask the file itself, or the schema that stands for it, beside the library."""
    if (schema := schema_of(path)) is not None:
        return schema.execute(statement)
    connection = connect(str(path))
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def assert_whole(path: Path) -> None:
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]


def rare_word(number: int) -> str:
    """A word of its own for each number, which no stemmer touches."""
    letters = "bcfghjkmpqrtvwxz"
    return "".join(letters[int(digit, 16)] for digit in f"{number:08x}")
