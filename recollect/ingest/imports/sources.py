"""Reading sources of imports: files, folders and zip files of JSON, streamed, however large they are."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from recollect.errors import InvalidInput
from recollect.model import JsonObject, check_limit, limit
from recollect.model.limits import limit_message

Source = str | PathLike[str]  # a path, or - for stdin
READ_CHARACTERS = 1 << 18  # at a time; more when one value needs more
CONVERSATIONS = re.compile(r"conversations[-_\d]*\.json", re.IGNORECASE)
SEPARATORS = re.compile(r"[\s,]*")
INCOMPLETE_MARGIN = 16  # an error so near the end of what was read may only mean that more follows
READ_ERRORS = (ValueError, RecursionError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a source and its place there (file and line or number); or a problem, which names the place."""

    place: str
    record: JsonObject | None = None
    problem: str = ""


def source_name(source: Source) -> str:
    return "stdin" if source == "-" else fspath(source)


@contextmanager
def open_source(source: Source) -> Iterator[IO[bytes]]:
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(source, "rb")  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}.") from None
    with stream:
        yield stream


def limited_lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a stream; None in the place of one that is longer than the limit, which is not held in memory."""
    size = limit("import_record_bytes")
    while line := stream.readline(size + 1):
        if len(line) <= size:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(size)
        yield None


def open_json_files(source: Source) -> Generator[tuple[str, IO[bytes]], None, None]:
    """The JSON files of a source with their names: the file itself, or conversations*.json in a zip file, or in a
    folder and its direct subfolders: what is deeper is seldom of the same export."""
    if is_folder(source):
        inside = chain(Path(source).glob("*.json"), Path(source).glob("*/*.json"))
        paths = sorted(each for each in inside if CONVERSATIONS.fullmatch(each.name))
        check_limit("import_files", len(paths), f"{source} has {len(paths):,} files to import")
        for path in paths:
            with open_source(path) as stream:
                yield str(path), stream
    elif is_zip(source):
        with _unzip_errors(source):
            archive = zipfile.ZipFile(source)
        with archive:
            for name in sorted(each for each in archive.namelist() if CONVERSATIONS.fullmatch(Path(each).name)):
                with _unzip_errors(source):
                    stream = archive.open(name)
                with stream:
                    yield f"{source}/{name}", stream
    else:
        with open_source(source) as stream:
            yield source_name(source), stream


def is_folder(source: Source) -> bool:
    return source != "-" and Path(source).is_dir()


def is_zip(source: Source) -> bool:
    """False for a pipe, which cannot be read twice."""
    return source != "-" and Path(source).is_file() and zipfile.is_zipfile(source)


@contextmanager
def _unzip_errors(source: Source) -> Iterator[None]:
    """Turn errors of damaged, encrypted or unsupported archives into InvalidInput."""
    try:
        yield
    except (zipfile.BadZipFile, RuntimeError, OSError) as error:
        raise InvalidInput(f"{source} cannot be unpacked: {error}.") from None


def iterate_objects(source: Source, noun: str) -> Iterator[SourceRecord]:
    """The JSON objects of a source, each with its file, this noun and its number as the place."""
    for name, stream in open_json_files(source):
        number = 0
        try:
            for number, value in enumerate(iterate_json(stream), 1):
                place = f"{name}, {noun} {number}"
                if isinstance(value, dict):
                    yield SourceRecord(place, value)
                else:
                    yield SourceRecord(place, problem=f"{place} is not a JSON object but {type(value).__name__}.")
        except READ_ERRORS as error:
            place = f"{name}, {noun} {number + 1}"
            yield SourceRecord(place, problem=f"{place} cannot be read, nor what follows it: {_reason(error)}.")


def iterate_json(stream: IO[bytes], read_characters: int = READ_CHARACTERS) -> Generator[Any, None, None]:
    """The values of a JSON list, or of consecutive JSON values, with one of them in memory at a time."""
    text, decode = io.TextIOWrapper(stream, "utf-8-sig"), json.JSONDecoder().raw_decode
    try:
        buffer = text.read(read_characters)
        at, size = _skip_separators(buffer, 0), read_characters
        is_list = buffer[at : at + 1] == "["
        at += is_list
        while True:
            at = _skip_separators(buffer, at)
            if is_list and buffer[at : at + 1] == "]":
                return
            try:
                value, end = decode(buffer, at)
                incomplete = end == len(buffer) and not isinstance(value, (dict, list, str))  # a number may continue
            except json.JSONDecodeError as error:
                if not _may_continue(error, buffer):
                    raise ValueError(error.msg) from None
                incomplete = True
            if incomplete:
                more = text.read(size)
                if not more:
                    if buffer[at:] or is_list:
                        raise ValueError("the file ends in the middle of it")
                    return
                buffer, at, size = buffer[at:] + more, 0, size * 2
                if len(buffer) > limit("import_record_bytes") + read_characters:
                    raise ValueError(limit_message("import_record_bytes", "it has more characters").rstrip("."))
                continue
            yield value
            at, size = end, read_characters
    finally:
        text.detach()  # the stream is closed by whoever opened it


def _skip_separators(buffer: str, at: int) -> int:
    match = SEPARATORS.match(buffer, at)
    return match.end() if match else at


def _may_continue(error: json.JSONDecodeError, buffer: str) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos >= len(buffer) - INCOMPLETE_MARGIN


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.object[error.start]:#04x})"
    return str(error).rstrip(".") or type(error).__name__
