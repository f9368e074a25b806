"""The formats that can be imported: recognising the format of a source, and reading its records."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

from recollect.errors import InvalidInput
from recollect.ingest.imports.conversations import read_chatgpt, read_claude, read_claude_code
from recollect.ingest.imports.databases import is_openmem, is_robotmem, read_openmem, read_robotmem
from recollect.ingest.imports.json_and_csv import read_csv, read_json_lines, read_json_list, read_mem0
from recollect.ingest.imports.sources import (
    READ_ERRORS,
    Source,
    SourceRecord,
    is_folder,
    is_zip,
    iterate_json,
    open_json_files,
    open_source,
)
from recollect.model import check
from recollect.store.other_databases import is_database, open_database


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """A format: its title, its reader, and whether one bad record stops the import.

    Files that users write themselves can be corrected, so they are imported completely or not at all; exports of other
    programs cannot.
    """

    title: str
    read: Callable[[Source], Iterator[SourceRecord]]
    strict: bool = False
    note: str = ""


FORMATS: dict[str, ImportFormat] = {
    "jsonl": ImportFormat("JSON lines", read_json_lines, strict=True),
    "json": ImportFormat("a list of JSON objects", read_json_list, strict=True),
    "csv": ImportFormat("a CSV table", read_csv, strict=True),
    "claude": ImportFormat("conversations with Claude", read_claude),
    "claude-code": ImportFormat("a transcript of Claude Code", read_claude_code),
    "chatgpt": ImportFormat("conversations with ChatGPT", read_chatgpt),
    "mem0": ImportFormat("memories of mem0", read_mem0),
    "openmem": ImportFormat("an OpenMem database", read_openmem),
    "robotmem": ImportFormat(
        "a robotmem database", read_robotmem, note="its vectors are not imported but made by this memory's model"
    ),
}
PREFIX_BYTES = 4096  # of a file, to recognise what it is
SIGNATURES: dict[bytes, str] = {
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
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
FORMAT_BY_KEY = {
    "chat_messages": "claude",
    "sessionId": "claude-code",
    "mapping": "chatgpt",
    "results": "mem0",
    "memory": "mem0",
}


def detect_format(source: Source) -> str:
    """The name of the format of a source, by its content."""
    if source == "-":
        return "jsonl"
    path = _existing_path(source)
    if is_folder(path) or is_zip(path):
        return _detect_conversations(path)
    if not path.is_file():
        return "jsonl"  # reading a pipe to detect its format would consume it
    if is_database(path):
        return _detect_database(path)
    match path.suffix.lower():
        case ".csv":
            return "csv"
        case ".md" | ".markdown":
            raise InvalidInput(f"{path} is Markdown: 'recollect sync FOLDER' indexes a folder of such files.")
        case _:
            _refuse_other_files(path)
            return _detect_json(path)


def read_source(source: Source, kind: str | None = None) -> Iterator[SourceRecord]:
    """The records of a source, each with its place. A problem is yielded like a record, and the others follow."""
    format = detect_format(source) if kind is None else kind
    if check.string(format, "kind") not in FORMATS:
        raise InvalidInput(f"kind must be one of {', '.join(FORMATS)}, not {check.short_repr(kind)}.")
    if source != "-":
        _existing_path(source)
    return FORMATS[format].read(source)


def _existing_path(source: Source) -> Path:
    if not isinstance(source, (str, PathLike)):
        raise InvalidInput(f"source must be a path, not {check.short_repr(source)}.")
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"There is no file {path}.")
    return path


def _refuse_other_files(path: Path) -> None:
    """Refuse a file that cannot be JSON, naming what it looks like instead."""
    with open_source(path) as stream:
        prefix = stream.read(PREFIX_BYTES)
    first = prefix.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    description = next((name for mark, name in SIGNATURES.items() if prefix.startswith(mark)), "")
    if not description and b"\0" in prefix:
        description = "a binary file"
    if not description and first not in (b"{", b"[", b"") and path.suffix.lower() not in JSON_SUFFIXES:
        description = "plain text ('recollect remember --lines-from FILE' stores one memory per line)"
    if description:
        known = ", ".join(f"{format.title} ({name})" for name, format in FORMATS.items())
        raise InvalidInput(f"{path} looks like {description}. What can be imported: {known}.")


def _detect_json(path: Path) -> str:
    """By the first value. What cannot be read counts as JSON lines, whose reader reports what is wrong."""
    with closing(open_json_files(path)) as files:
        for _, stream in files:
            is_list = stream.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
            stream.seek(0)
            return _format_of_first_value(stream) or ("json" if is_list else "jsonl")
    return "jsonl"


def _detect_conversations(path: Path) -> str:
    format = None
    with closing(open_json_files(path)) as files:
        for _, stream in files:
            format = format or _format_of_first_value(stream)
    if format is not None:
        return format
    if is_folder(path):
        raise InvalidInput(
            f"{path} is a folder without conversations.json, and so are its direct subfolders. If it has Markdown (an "
            f"OpenClaw workspace, an Obsidian vault), index it: recollect sync {path}"
        )
    raise InvalidInput(f"{path} contains no conversations.json of Claude or ChatGPT. Unpack it and import a file.")


def _format_of_first_value(stream: IO[bytes]) -> str | None:
    values = iterate_json(stream)
    try:
        first = next(values, None)
    except READ_ERRORS:
        return None
    finally:
        values.close()
    return next((format for key, format in FORMAT_BY_KEY.items() if isinstance(first, dict) and key in first), None)


def _detect_database(path: Path) -> str:
    with open_database(path) as database:
        if database.ours:
            raise InvalidInput(
                f"{path} is a memory of Recollect already: use it with --db {path}, or copy it with "
                f"'recollect --db {path} export all.jsonl' and 'recollect import all.jsonl'."
            )
        for format, matches in (("openmem", is_openmem), ("robotmem", is_robotmem)):
            if matches(database):
                return format
        tables = ", ".join(sorted(database.tables)) or "none"
    raise InvalidInput(f"{path} is not a database of OpenMem or robotmem (its tables: {tables}).")
