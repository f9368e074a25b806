"""Files and pipes of text: read line by line, as UTF-8 or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from recollect.errors import InvalidInput


def whole_text(file: str) -> str:
    """All of a file (or of stdin), without the line break at its end."""
    return "\n".join(text_lines(file))


def text_lines(file: str) -> Iterator[str]:
    """The lines of a file, or of stdin, without their ends."""
    for _, line in numbered_lines(file):
        yield line


def numbered_lines(file: str) -> Iterator[tuple[int, str]]:
    with _opened(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as problem:
                raise InvalidInput(
                    f"{_name(file)}, line {number} is not UTF-8 text: byte {line[problem.start]:#04x} "
                    f"at column {problem.start + 1}."
                ) from None
            yield number, text.rstrip("\r\n")


class JsonLines:
    """The objects of a JSONL file, one at a time; ``where`` is the line that was read last."""

    def __init__(self, file: str, progress: Callable[[int, int | None], None] | None = None) -> None:
        self.file = file
        self.number = 0
        self.progress = progress

    @property
    def where(self) -> str:
        return f"{_name(self.file)}, line {self.number}"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for self.number, line in numbered_lines(self.file):
            if line.strip():
                yield self._object(line)
            if self.progress is not None and self.number % 1000 == 0:
                self.progress(self.number, None)

    def _object(self, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise InvalidInput(f"{self.where} is no JSON: {problem}. Nothing was written.") from None
        if not isinstance(value, dict):
            raise InvalidInput(f'{self.where} must be a JSON object, such as {{"text": "…"}}. Nothing was written.')
        return value


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be read: {problem.strerror}.") from None
    with stream:
        yield stream


@contextmanager
def writing(file: str, never: str) -> Iterator[IO[str]]:
    """A text file to write, or stdout; but never over this one."""
    if file == "-":
        yield sys.stdout
        return
    if os.path.exists(file) and os.path.samefile(file, never):
        raise InvalidInput(f"{file} is the memory itself; export to another file.")
    try:
        stream = open(file, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be written: {problem.strerror}.") from None
    with stream:
        yield stream


def _name(file: str) -> str:
    return "stdin" if file == "-" else file
