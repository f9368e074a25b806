"""What people have elsewhere, as the records of our own export: recognised, read piece by piece, brought in.

>>> detect("claude-export.zip")
'claude'
>>> for item in read("claude-export.zip"):
...     print(item.place, item.record or item.problem)

``Mind.import_from`` does all of it.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

from recollect.errors import InvalidInput
from recollect.ingest.imports import chats, databases
from recollect.ingest.imports import tables as plain
from recollect.ingest.imports.importer import Imported, Rehearsal, Strictly, bring, rehearse
from recollect.ingest.imports.sources import BROKEN, Item, Source, elements, is_folder, is_zip, parts, reading
from recollect.model import validation as check
from recollect.store.foreign import is_database, opened

__all__ = ["KINDS", "Imported", "Item", "Kind", "Rehearsal", "Strictly", "bring", "detect", "read", "rehearse"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: what it is called, how it is read, and whether one bad record stops it all.

    Lines of one's own can be mended, so they come in all or not at all; an export of somebody else's program cannot.
    """

    title: str
    read: Callable[[Source], Iterator[Item]]
    strict: bool = False
    note: str = ""


KINDS: dict[str, Kind] = {
    "jsonl": Kind("JSON lines", plain.json_lines, strict=True),
    "json": Kind("a list of JSON objects", plain.json_list, strict=True),
    "csv": Kind("a CSV table", plain.table, strict=True),
    "claude": Kind("conversations with Claude", chats.claude),
    "chatgpt": Kind("conversations with ChatGPT", chats.chatgpt),
    "mem0": Kind("memories of mem0", plain.mem0),
    "openmem": Kind("an OpenMem database", databases.openmem),
    "robotmem": Kind(
        "a robotmem database", databases.robotmem, note="vectors stay behind and are made anew by this memory's model"
    ),
}
LOOKED_AT = 4096  # bytes of a file, to see what it is
LOOKS: dict[bytes, str] = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a gzip file (unpack it first)",
    b"\xfd7zXZ": "an xz file (unpack it first)",
    b"BZh": "a bzip2 file (unpack it first)",
    b"7z\xbc\xaf": "a 7z archive (unpack it first)",
    b"\xff\xfe": "text in UTF-16 (save it as UTF-8)",
    b"\xfe\xff": "text in UTF-16 (save it as UTF-8)",
}
JSON_NAMES = (".json", ".jsonl", ".ndjson")
MARKS = {"chat_messages": "claude", "mapping": "chatgpt", "results": "mem0", "memory": "mem0"}


def detect(source: Source) -> str:
    """The kind of a source, by what is in it."""
    if source == "-":
        return "jsonl"
    path = _there(source)
    if is_folder(path) or is_zip(path):
        return _of_conversations(path)
    if not path.is_file():
        return "jsonl"  # a pipe cannot be looked into without taking from it
    if is_database(path):
        return _of_database(path)
    match path.suffix.lower():
        case ".csv":
            return "csv"
        case ".md" | ".markdown":
            raise InvalidInput(f"{path} is Markdown: 'recollect sync FOLDER' indexes a folder of such files.")
        case _:
            _refuse_foreign(path)
            return _of_json(path)


def read(source: Source, kind: str | None = None) -> Iterator[Item]:
    """The records of a source, each with its place; problems are items, too, and the others go on."""
    chosen = detect(source) if kind is None else kind
    if check.string(chosen, "kind") not in KINDS:
        raise InvalidInput(f"There is no kind of source called {check.short(kind)}. There are: {', '.join(KINDS)}.")
    if source != "-":
        _there(source)
    return KINDS[chosen].read(source)


def _there(source: Source) -> Path:
    if not isinstance(source, (str, PathLike)):
        raise InvalidInput(f"source must be a path, not {check.short(source)}.")
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"There is no file {path}.")
    return path


def _refuse_foreign(path: Path) -> None:
    """A file that cannot be JSON is called by what it looks like, and not read as broken JSON."""
    with reading(path) as stream:
        head = stream.read(LOOKED_AT)
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    looks = next((look for mark, look in LOOKS.items() if head.startswith(mark)), "")
    if not looks and b"\0" in head:
        looks = "a binary file"
    if not looks and begins not in (b"{", b"[", b"") and path.suffix.lower() not in JSON_NAMES:
        looks = "plain text ('recollect remember --lines-from FILE' keeps one memory a line)"
    if looks:
        known = ", ".join(f"{kind.title} ({name})" for name, kind in KINDS.items())
        raise InvalidInput(f"{path} looks like {looks}. What can be imported: {known}.")


def _of_json(path: Path) -> str:
    """Named by the first value in it. What cannot be read is taken for lines, whose reader says what is wrong."""
    with closing(parts(path)) as files:
        for _, stream in files:
            listed = stream.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
            stream.seek(0)
            found = _first(stream)
            return found or ("json" if listed else "jsonl")
    return "jsonl"


def _of_conversations(path: Path) -> str:
    found = None
    with closing(parts(path)) as files:
        for _, stream in files:
            found = found or _first(stream)
    if found is not None:
        return found
    if is_folder(path):
        raise InvalidInput(
            f"{path} is a folder without conversations.json. If it holds Markdown (an OpenClaw workspace, an Obsidian "
            f"vault), index it: recollect sync {path}"
        )
    raise InvalidInput(f"{path} holds no conversations.json of Claude or ChatGPT. Unpack it and name the file in it.")


def _first(stream: IO[bytes]) -> str | None:
    """The kind that the first value of a file belongs to."""
    values = elements(stream)
    try:
        first = next(values, None)
    except BROKEN:
        return None
    finally:
        values.close()
    return next((kind for mark, kind in MARKS.items() if isinstance(first, dict) and mark in first), None)


def _of_database(path: Path) -> str:
    with opened(path) as database:
        if database.ours:
            raise InvalidInput(
                f"{path} is a memory of Recollect already: use it with --db {path}, or carry it over with "
                f"'recollect --db {path} export all.jsonl' and 'recollect import all.jsonl'."
            )
        for kind, known in (("openmem", databases.is_openmem), ("robotmem", databases.is_robotmem)):
            if known(database):
                return kind
        tables = ", ".join(sorted(database.tables)) or "none"
    raise InvalidInput(f"{path} is a database of neither OpenMem nor robotmem (its tables: {tables}).")
