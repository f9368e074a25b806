"""Where imports come from: files, folders and zip files of JSON, read piece by piece, however large they are."""

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
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from recollect.errors import InvalidInput
from recollect.model import JsonObject

Source = str | PathLike[str]  # a path, or - for stdin
CHUNK = 1 << 18  # characters read at a time; more when one value needs more
CONVERSATIONS = re.compile(r"conversations[-_\d]*\.json", re.IGNORECASE)
BETWEEN = re.compile(r"[\s,]*")
CUT_SHORT = 16  # an error so near the end of what was read may only mean that more is to come
BROKEN = (ValueError, RecursionError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class Item:
    """One record of a source and its place there; or a problem, as a sentence that names the place."""

    place: str
    record: JsonObject | None = None
    problem: str = ""


def called(source: Source) -> str:
    return "stdin" if source == "-" else fspath(source)


@contextmanager
def reading(source: Source) -> Iterator[IO[bytes]]:
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(source, "rb")  # noqa: SIM115
    except OSError as problem:
        raise InvalidInput(f"{source} cannot be read: {problem.strerror}.") from None
    with stream:
        yield stream


def parts(source: Source) -> Generator[tuple[str, IO[bytes]], None, None]:
    """The JSON files of a source, with their names: the file itself, or the conversations in a folder or zip file."""
    if is_folder(source):
        for path in sorted(each for each in Path(source).rglob("*.json") if CONVERSATIONS.fullmatch(each.name)):
            with reading(path) as stream:
                yield str(path), stream
    elif is_zip(source):
        with _unpacking(source):
            archive = zipfile.ZipFile(source)
        with archive:
            for name in sorted(each for each in archive.namelist() if CONVERSATIONS.fullmatch(Path(each).name)):
                with _unpacking(source):
                    stream = archive.open(name)
                with stream:
                    yield f"{source}/{name}", stream
    else:
        with reading(source) as stream:
            yield called(source), stream


def is_folder(source: Source) -> bool:
    return source != "-" and Path(source).is_dir()


def is_zip(source: Source) -> bool:
    """A pipe is none: it could not be read twice."""
    return source != "-" and Path(source).is_file() and zipfile.is_zipfile(source)


@contextmanager
def _unpacking(source: Source) -> Iterator[None]:
    """Damaged, locked by a password, or packed in a rare way."""
    try:
        yield
    except (zipfile.BadZipFile, RuntimeError, OSError) as problem:
        raise InvalidInput(f"{source} cannot be unpacked: {problem}.") from None


def objects(source: Source, word: str) -> Iterator[Item]:
    """The JSON objects of a source, each called by this word and its number."""
    for name, stream in parts(source):
        number = 0
        try:
            for number, value in enumerate(elements(stream), 1):
                place = f"{name}, {word} {number}"
                if isinstance(value, dict):
                    yield Item(place, value)
                else:
                    yield Item(place, problem=f"{place} is no JSON object but {type(value).__name__}.")
        except BROKEN as problem:
            place = f"{name}, {word} {number + 1}"
            yield Item(place, problem=f"{place} cannot be read, nor what follows it: {_reason(problem)}.")


def elements(stream: IO[bytes], chunk: int = CHUNK) -> Generator[Any, None, None]:
    """The values of a JSON list, or those that stand one after another, without holding more than one in memory."""
    text, decode = io.TextIOWrapper(stream, "utf-8-sig"), json.JSONDecoder().raw_decode
    try:
        buffer = text.read(chunk)
        at, size = _next(buffer, 0), chunk
        listed = buffer[at : at + 1] == "["
        at += listed
        while True:
            at = _next(buffer, at)
            if listed and buffer[at : at + 1] == "]":
                return
            try:
                value, end = decode(buffer, at)
                cut = end == len(buffer) and not isinstance(value, (dict, list, str))  # a number may go on
            except json.JSONDecodeError as problem:
                if not _may_go_on(problem, buffer):
                    raise ValueError(problem.msg) from None
                cut = True
            if cut:
                more = text.read(size)
                if not more:
                    if buffer[at:] or listed:
                        raise ValueError("the file ends in the middle of it")
                    return
                buffer, at, size = buffer[at:] + more, 0, size * 2
                continue
            yield value
            at, size = end, chunk
    finally:
        text.detach()  # the stream is closed by whoever opened it


def _next(buffer: str, at: int) -> int:
    found = BETWEEN.match(buffer, at)
    return found.end() if found else at


def _may_go_on(problem: json.JSONDecodeError, buffer: str) -> bool:
    return problem.msg.startswith("Unterminated string") or problem.pos >= len(buffer) - CUT_SHORT


def _reason(problem: Exception) -> str:
    if isinstance(problem, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {problem.object[problem.start]:#04x})"
    return str(problem).rstrip(".") or type(problem).__name__
