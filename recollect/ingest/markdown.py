"""Markdown files: what one says of itself in its front matter, and its chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from recollect.ingest.chunking import DEFAULT, Chunk, Cutting, chunks
from recollect.ingest.front_matter import front_matter, line, typed
from recollect.model import JsonObject

DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
LONG = 1000  # characters of a text by which nobody filters
TAGS, ALIASES, DATES = ("tags", "tag"), ("aliases", "alias"), ("date", "created")


@dataclass(frozen=True, slots=True)
class Document:
    """A file, read: what it says of itself and its chunks."""

    chunks: tuple[Chunk, ...]
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    date: datetime | None = None
    context: JsonObject = field(default_factory=dict)  # what else it says of itself, if it is short
    remarks: tuple[str, ...] = ()  # the same and all the rest, in words: "author: Ann"
    problem: str = ""


def read(text: str, cutting: Cutting = DEFAULT) -> Document:
    """What a Markdown text says of itself, and its chunks."""
    lines = lines_of(text)
    front = front_matter(lines)
    cut = tuple(chunks(lines, cutting, front.end, front_is_text=bool(front.problem)))
    if not cut and front.fields:  # a note that is nothing else
        cut = tuple(chunks(lines, cutting, front.end, front_is_text=True))
    dates = (date_in(value) for name in DATES for value in front.texts(name))
    others = front.others("title", *TAGS, *ALIASES)
    return Document(
        chunks=cut,
        title=next(front.texts("title"), ""),
        tags=tuple(tag.removeprefix("#") for tag in _parts(front.texts(*TAGS))),
        aliases=_parts(front.texts(*ALIASES)),
        date=next((date for date in dates if date is not None), None),
        context={name: typed(value) for name, value in others.items() if len(line(value)) <= LONG},
        remarks=tuple(line({name: value}) for name, value in others.items()),
        problem=front.problem,
    )


def _parts(values: Iterator[str]) -> tuple[str, ...]:
    """Each once; one text may hold many, with commas between."""
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them, without their ends: the last one's begins no other. A byte order mark
    is none of its text."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    return text.removesuffix("\n").split("\n")


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
