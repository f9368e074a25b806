"""Files and pipes of text: read line by line, as UTF-8 or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from recollect.errors import InvalidInput


def whole_text(file: str) -> str:
    """All of a file (or of stdin), without the line break at its end."""
    return "\n".join(text_lines(file))


def text_lines(file: str) -> Iterator[str]:
    """The lines of a file, or of stdin, without their ends."""
    with _reading(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as problem:
                byte, column = line[problem.start], problem.start + 1
                raise InvalidInput(
                    f"{name(file)}, line {number} is not UTF-8 text: byte {byte:#04x} at column {column}. "
                    "Nothing was written."
                ) from None
            yield text.rstrip("\r\n")


@contextmanager
def _reading(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be read: {problem.strerror}.") from None
    with stream:
        yield stream


def check_free(file: str, never: str, ask: Callable[[str], bool]) -> bool:
    """Whether a file may be written: one that is there only when the user agrees, and never this one."""
    if file == "-" or not os.path.exists(file):
        return True
    if os.path.samefile(file, never):
        raise InvalidInput(f"{file} is the memory itself; export to another file.")
    return not os.path.isfile(file) or ask(file)  # a pipe or a device loses nothing


@contextmanager
def writing(file: str) -> Iterator[IO[str]]:
    """A text file to write, or stdout."""
    if file == "-":
        yield sys.stdout
        return
    try:
        stream = open(file, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be written: {problem.strerror}.") from None
    with stream:
        yield stream


def name(file: str) -> str:
    return "stdin" if file == "-" else file
