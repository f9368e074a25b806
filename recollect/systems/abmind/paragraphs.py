"""Notes as paragraphs: what stands between blank lines, with its place and heading, and what a note says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
SAID = re.compile(r"([A-Za-z_]+)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    first: int  # line, counted from 1
    last: int
    heading: str  # the nearest one above it


def front_matter(text: str) -> dict[str, str]:
    """What a note says of itself between two lines of ``---`` at its beginning, as ``name: value``."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return {}
    said: dict[str, str] = {}
    for line in lines[1:]:
        if line.strip() == "---":
            break
        match = SAID.fullmatch(line.strip())
        if match:
            said[match[1].lower()] = match[2].strip().strip("\"'")
    return said


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Paragraphs in order. Headings and front matter are none themselves.

    >>> [(each.text, each.heading) for each in paragraphs("# Week 10\\n\\nMoved to SQLite.\\nIt was easy.")]
    [('Moved to SQLite.\\nIt was easy.', 'Week 10')]
    """
    lines = text.lstrip("\ufeff").splitlines()
    skip = 0
    if front_matter(text):
        skip = next(at for at, line in enumerate(lines[1:], 1) if line.strip() == "---") + 1
    heading, first = "", 0
    block: list[str] = []
    for number, line in enumerate([*lines[skip:], ""], skip + 1):
        title = HEADING.match(line)
        if line.strip() and not title:
            first = first if block else number
            block.append(line.rstrip())
            continue
        if block:
            yield Paragraph("\n".join(block).strip(), first, number - 1, heading)
            block = []
        if title:
            heading = title[1]
