"""Markdown files: what one says of itself in its front matter, and its chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from recollect.ingest.cutting import DEFAULT, Chunk, Cutting, chunks

DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
FIELD = re.compile(r"[A-Za-z][\w -]{0,40}")


@dataclass(frozen=True, slots=True)
class Document:
    """A file, read: what it says of itself and its chunks."""

    chunks: tuple[Chunk, ...]
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    date: datetime | None = None


def read(text: str, cutting: Cutting = DEFAULT) -> Document:
    """What a Markdown text says of itself, and its chunks."""
    lines = lines_of(text)
    begin, said = front_matter(lines)
    dates = (date_in(value) for name in ("date", "created") for value in said.get(name, ()))
    return Document(
        chunks=tuple(chunks(lines, cutting, begin)),
        title=next(iter(said.get("title", ())), ""),
        tags=tuple(tag.removeprefix("#") for tag in _several(said, "tags", "tag")),
        aliases=_several(said, "aliases", "alias"),
        date=next((date for date in dates if date is not None), None),
    )


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them, without their ends; a byte order mark is none of its text."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    return text.split("\n")


def plain_chunks(text: str, cutting: Cutting = DEFAULT) -> Iterator[str]:
    """A text that is no file, in pieces of bounded size."""
    return (chunk.text for chunk in chunks(lines_of(text), cutting))


def date_in(text: str) -> datetime | None:
    """The first ISO date in a text (with its time, when the text ends with one), such as a file's name."""
    found = DATE.search(text)
    for end in (len(text), found.end()) if found else ():
        try:
            at = datetime.fromisoformat(text[found.start() : end].strip())  # type: ignore[union-attr]
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


# Front matter: the few fields that we understand, read also from YAML that a strict parser refuses.


def front_matter(lines: Sequence[str]) -> tuple[int, dict[str, list[str]]]:
    """The index of the line after it, and its fields: ``name: value``, ``name: [a, b]`` or lines of ``- value``."""
    if not lines or lines[0].rstrip() != "---":
        return 0, {}
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return 0, {}
    said: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines[1:end]:
        name, colon, value = line.partition(":")
        if colon and value[:1].strip() == "" and FIELD.fullmatch(name.rstrip()):
            values = said.setdefault(name.rstrip().lower(), [])
            values += _values(value)
        elif line.lstrip().startswith("- "):
            values += _values(line.lstrip()[2:])
    if not said and any(line.strip() for line in lines[1:end]):  # a text between two rules
        return 0, {}
    return end + 1, said


def _values(text: str) -> list[str]:
    text = text.strip()
    listed = text.startswith("[") and text.endswith("]") and not text.startswith("[[")
    return [value for value in map(_bare, text[1:-1].split(",") if listed else [text]) if value]


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def _several(said: dict[str, list[str]], *names: str) -> tuple[str, ...]:
    """The values under several names; one text may hold many, with commas between."""
    given = (value for name in names for value in said.get(name, ()))
    return tuple(dict.fromkeys(part.strip() for value in given for part in value.split(",") if part.strip()))
