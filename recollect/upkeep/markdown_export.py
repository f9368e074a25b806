"""Pages: memories as Markdown files that people read, and that sync can read back.

One page for each session, for each topic of what belongs to no session, and for each day of the rest. Moments are UTC.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.text.words import slug

LONGEST = 60  # letters of a title in a file's name
NAMED = 3  # files that a refusal names
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}  # on Windows
OURS = re.compile(r"---\n(.*?)recollect: (\w+)\n---\n(.*)", re.DOTALL)
EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Page:
    """A file to be: its path under the folder, and its Markdown."""

    path: str
    markdown: str


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export to Markdown did."""

    memories: int
    pages: int
    changed: list[Path]  # files that were not there, or said something else


def pages(memories: Iterable[Memory]) -> list[Page]:
    """The pages of these memories, by path; the same memories give the same pages."""
    groups: dict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in memories:
        groups[_group(memory)].append(memory)
    return sorted((_page(*key, held) for key, held in groups.items()), key=lambda page: page.path)


def write(folder: str | PathLike[str], memories: Sequence[Memory], force: bool = False) -> ExportResult:
    """The pages as files. A file that is none of ours, or was edited since, is written over by force only."""
    made, root = pages(memories), Path(folder)
    try:
        stale = [page for page in made if not _says(root / page.path, page.markdown)]
        foreign = [page.path for page in stale if not force and not _ours(root / page.path)]
        if foreign:
            some = ", ".join(foreign[:NAMED]) + (", …" if len(foreign) > NAMED else "")
            raise InvalidInput(
                f"{root} holds {len(foreign)} of these files already, not from an export or edited since: {some}. "
                "Choose another folder, or write over them with --force (force=True). Nothing was written."
            )
        for page in stale:
            path = root / page.path
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".md.new")
            fresh.write_bytes(page.markdown.encode("utf-8"))
            fresh.replace(path)
    except OSError as problem:
        raise InvalidInput(f"{problem.filename or root} cannot be written: {problem.strerror}.") from None
    return ExportResult(len(memories), len(made), [root / page.path for page in stale])


def _group(memory: Memory) -> tuple[str, str, str]:
    """The collection, the folder and the name that a memory is filed under."""
    if memory.session:
        return memory.collection, "sessions", memory.session
    if memory.topic:
        return memory.collection, "topics", memory.topic
    return memory.collection, "days", _day(memory.created)


def _page(collection: str, folder: str, name: str, memories: list[Memory]) -> Page:
    memories.sort(key=lambda each: (each.position is None, each.position or 0, each.created or EVER, each.id))
    titles = {memory.title for memory in memories}
    shared = next(iter(titles)) if folder == "sessions" and len(titles) == 1 else ""  # a conversation's own
    begun = min((each.created for each in memories if each.created), default=None)
    title = " ".join((shared or name).split())
    file = f"{_day(begun)}-{_file_name(shared, unlike=name)}" if folder == "sessions" else _file_name(name)
    home = "" if collection == "main" else _file_name(collection) + "/"
    about = {
        "title": title,
        "date": begun.isoformat() if begun else None,
        folder.removesuffix("s"): name,
        "collection": "" if collection == "main" else collection,
        "source": ", ".join(sorted({each.source for each in memories if each.source})),
    }
    front = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in about.items() if value)
    body = "\n".join([f"\n# {title}\n", *(_section(memory, shared) for memory in memories)])
    return Page(f"{home}{folder}/{file}.md", f"---\n{front}recollect: {_digest(front + body)}\n---\n{body}")


def _section(memory: Memory, shared: str) -> str:
    own = "" if memory.title == shared else " ".join(memory.title.split())
    moment = memory.created.strftime("%Y-%m-%d %H:%M") if memory.created else ""
    head = " · ".join(filter(None, (own, memory.speaker or memory.role, moment)))
    details = (
        memory.kind if memory.kind != "memory" else "",
        memory.status if memory.status != "active" else "",
        " ".join(f"#{slug(tag)}" for tag in memory.tags if slug(tag)),
        ", ".join(memory.entities),
        ", ".join((memory.path, *memory.files)) if memory.path else ", ".join(memory.files),
        f"^{memory.id}",
    )
    return f"## {head}\n\n{memory.text.strip()}\n\n*{' · '.join(filter(None, details))}*\n"


def _file_name(text: str, unlike: str | None = None) -> str:
    """A name for a file on any system. What it cannot tell apart, a few letters of a digest do."""
    name = slug(text)[:LONGEST].strip("-")
    if unlike is None and name == text and name not in DEVICES:
        return name
    return "-".join(filter(None, (name, _digest(text if unlike is None else unlike)[:6])))


def _day(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d") if moment else "undated"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def _says(path: Path, markdown: str) -> bool:
    return path.is_file() and path.read_bytes() == markdown.encode("utf-8")


def _ours(path: Path) -> bool:
    """Is the place free, or taken by a page as an export left it?"""
    if not path.exists() and not path.is_symlink():
        return True
    found = OURS.match(path.read_bytes().decode("utf-8", "replace")) if path.is_file() else None
    return found is not None and _digest(found[1] + found[3]) == found[2]
