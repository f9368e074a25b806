"""Files outside of SQLite: written whole or not at all. Tests put a disk that fails in this one's place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from recollect.errors import StoreError

TEMPORARY = ".partial-"


class Disk:
    """Reads and writes files. A file that exists is complete: it is written under another name, synced and renamed."""

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def write(self, path: Path, content: bytes, sync: bool = True) -> None:
        """Write a file. Without ``sync`` a power cut may damage it until ``sync_all`` was called."""
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                self.put(file, content)
                if sync:
                    self.sync(file)
            self.rename(Path(name), path, sync)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def put(self, file: BinaryIO, content: bytes) -> None:
        file.write(content)

    def sync(self, file: BinaryIO) -> None:
        file.flush()
        os.fsync(file.fileno())

    def rename(self, path: Path, to: Path, sync: bool = True) -> None:
        os.replace(path, to)
        if sync:
            self.sync_folder(to.parent)

    def sync_all(self, paths: Iterable[Path]) -> None:
        """Make files that were written without ``sync`` survive a power cut."""
        folders = set()
        for path in paths:
            with path.open("rb+") as file:
                self.sync(file)
            folders.add(path.parent)
        for folder in sorted(folders):
            self.sync_folder(folder)

    def sync_folder(self, folder: Path) -> None:
        """Make a renamed file survive a power cut; Windows does so by itself."""
        if os.name == "posix":
            number = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)

    def delete(self, path: Path) -> None:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Hold a lock file; a StoreError with this message if another process holds it. It is free when that one ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        try:
            _lock(file)
        except OSError:
            raise StoreError(message) from None
        yield


def _lock(file: BinaryIO) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
