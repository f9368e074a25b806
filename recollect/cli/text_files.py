"""Reads and writes text files and pipes; anything that is not UTF-8 is refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from recollect.errors import InvalidInput


def read_text(file: str) -> str:
    """The text of a file, or of stdin, without the line break at its end."""
    return "\n".join(read_lines(file))


def read_lines(file: str) -> Iterator[str]:
    """The lines of a file, or of stdin, without line breaks."""
    from recollect.ingest.imports.sources import open_source, source_name

    with open_source(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte, column = line[error.start], error.start + 1
                raise InvalidInput(
                    f"{source_name(file)}, line {number} is not UTF-8 text: byte {byte:#04x} at column {column}. "
                    "Nothing was written."
                ) from None
            yield text.rstrip("\r\n")


def confirm_overwrite(file: str, db: str, ask: Callable[[str], bool]) -> bool:
    """Whether a file may be written: an existing one only if the user agrees, the database never."""
    if file == "-" or not os.path.exists(file):
        return True
    if os.path.samefile(file, db):
        raise InvalidInput(f"{file} is the database itself; export to another file.")
    return not os.path.isfile(file) or ask(file)  # writing to a pipe or a device overwrites nothing


@contextmanager
def open_output(file: str) -> Iterator[IO[str]]:
    """A text file opened for writing, or stdout."""
    if file == "-":
        yield sys.stdout
        return
    try:
        stream = open(file, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}.") from None
    with stream:
        yield stream
