"""A disk that fails, for what is written outside of SQLite: backups and files of the index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from recollect.store.disk import Disk


class FailingDisk(Disk):
    """A disk whose n-th operation fails; before it is done, or after half of it."""

    def __init__(self, fail_at: int, error: int) -> None:
        self.left, self.error = fail_at, error

    def _count(self) -> bool:
        self.left -= 1
        return self.left == 0

    def _fail(self) -> None:
        raise OSError(self.error, os.strerror(self.error))

    def put(self, file: BinaryIO, content: bytes) -> None:
        if self._count():
            super().put(file, content[: len(content) // 2])
            self._fail()
        super().put(file, content)

    def sync(self, file: BinaryIO) -> None:
        if self._count():
            self._fail()
        super().sync(file)

    def rename(self, path: Path, to: Path, sync: bool = True) -> None:
        if self._count():
            self._fail()
        super().rename(path, to, sync)

    def delete(self, path: Path) -> None:
        if self._count():
            self._fail()
        super().delete(path)
