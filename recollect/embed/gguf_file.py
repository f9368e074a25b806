"""The metadata of a GGUF file, read without loading the model: architecture, dimensions, context length and pooling."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from recollect.errors import InvalidInput

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_ENTRIES = 100_000  # of metadata; real files have a few dozen
MAX_KEY_BYTES = 65_535
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate(["<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?"])) | {10: "<Q", 11: "<q", 12: "<d"}
# https://github.com/ggml-org/ggml/blob/master/docs/gguf.md


def read_metadata(path: Path, enough: Callable[[dict[str, Any]], bool] = lambda found: False) -> dict[str, Any]:
    """Numbers and texts by key, without arrays; reading stops as soon as ``enough`` was found."""
    try:
        with path.open("rb") as file:
            return _Reader(file).read(enough)
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}. Name a model file, as in 'gguf:models/embed.gguf'.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder. Name a model file in it, as in 'gguf:{path}/embed.gguf'.") from None
    except _Malformed as problem:
        raise InvalidInput(f"{path} is not a GGUF model: {problem}.") from None


class _Malformed(Exception):
    pass


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def read(self, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise _Malformed("it does not begin with 'GGUF'")
        version = self._number("<I")
        if version not in VERSIONS:
            raise _Malformed(f"its version is {version}, and {' and '.join(map(str, VERSIONS))} are supported")
        self._number("<Q")  # tensors
        entries = self._number("<Q")
        if entries > MAX_ENTRIES:
            raise _Malformed(f"it claims to have {entries:,} entries of metadata")
        found: dict[str, Any] = {}
        for _ in range(entries):
            key = self._bytes(MAX_KEY_BYTES).decode("utf-8", "replace")
            kind = self._number("<I")
            if kind == ARRAY:
                self._skip_array()
            else:
                found[key] = self._bytes(self._size).decode("utf-8", "replace") if kind == STRING else self._value(kind)
                if enough(found):
                    break
        return found

    def _skip_array(self) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        if kind == STRING:
            if count > self._size:
                raise _Malformed(f"it claims to have an array of {count:,} texts")
            for _ in range(count):
                self._skip(self._number("<Q"))
        elif kind in NUMBERS:
            self._skip(count * struct.calcsize(NUMBERS[kind]))
        else:
            raise _Malformed(f"it has an array of the unknown type {kind}")

    def _skip(self, length: int) -> None:
        if length > self._size - self._file.tell():
            raise _Malformed("it ends too early")
        self._file.seek(length, os.SEEK_CUR)

    def _value(self, kind: int) -> Any:
        if kind not in NUMBERS:
            raise _Malformed(f"it has a value of the unknown type {kind}")
        return self._number(NUMBERS[kind])

    def _bytes(self, most: int) -> bytes:
        length = self._number("<Q")
        if length > min(most, self._size - self._file.tell()):
            raise _Malformed("it ends too early")
        return self._file.read(length)

    def _number(self, form: str) -> Any:
        content = self._file.read(struct.calcsize(form))
        if len(content) < struct.calcsize(form):
            raise _Malformed("it ends too early")
        return struct.unpack(form, content)[0]
