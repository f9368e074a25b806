"""Files outside of SQLite: written whole or not at all. Tests put a disk that fails in this one's place."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from recollect.errors import StoreError

TEMPORARY = ".partial-"
BEGINNING_SECONDS = 10  # in which a process locks the folder that it has made
COPIES, IN_USE = ".recollect-backup-", "in-use"  # folders of copies, and what is locked in them


class Disk:
    """Reads and writes files. A file that exists is complete: it is written under another name, synced and renamed."""

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def write(self, path: Path, content: bytes, sync: bool = True) -> None:
        """Write a file. Without ``sync`` a power cut may damage it until ``sync_all`` was called."""
        make_private_folder(path.parent)
        self.write_with(path, lambda file: self.put(file, content), sync)

    def write_with(
        self, path: Path, fill: Callable[[BinaryIO], object], sync: bool = True, mode: int | None = None
    ) -> None:
        """Write a file by a function, which uses ``put``; with the permissions of ``mode``, or for its owner alone."""
        number, name = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                fill(file)
                if mode is not None and os.name == "posix":
                    os.fchmod(file.fileno(), mode)
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


def make_private_folder(path: Path) -> None:
    """Create a folder, and the missing ones above it, that only their owner may use. One that exists stays as it is."""
    if not path.is_dir():
        make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def create_private(path: str, like: str | None = None) -> None:
    """Create an empty file that only its owner may read and write, or whoever may do so with another file.

    Where it exists or cannot be created, nothing happens: opening it tells."""
    with contextlib.suppress(OSError):
        mode = os.stat(like).st_mode & 0o666 if like is not None and os.path.exists(like) else 0o600
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if mode != 0o600 and os.name == "posix":
                os.fchmod(number, mode)
        finally:
            os.close(number)


def is_foreign(path: str | os.PathLike[str], beside: str | os.PathLike[str] | None = None) -> bool:
    """Does a file or folder, or a link in its place, belong to another user, who may have put it there before this
    program did?

    It may be root's, and that of the owner of the file which it is ``beside``. What does not exist is not foreign."""
    if os.name != "posix":
        return False
    owners, known = set[int](), {os.geteuid(), 0}
    with contextlib.suppress(OSError):
        owners.add(os.lstat(path).st_uid)
        owners.add(os.stat(path).st_uid)
    with contextlib.suppress(OSError):
        known |= {os.stat(beside).st_uid} if beside is not None else set()
    return not owners <= known


def replace_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read: under a new name first, which nobody can have taken."""
    number, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def try_lock(path: Path, mode: int = 0o600) -> Iterator[bool]:
    """Hold a lock file if nobody else does; whether that is so. It is free when its holder ends."""
    with _open_lock(path, mode) as file:
        try:
            _lock(file)
        except OSError:
            yield False
            return
        yield True


@contextmanager
def translate_disk_errors(what: str) -> Iterator[None]:
    """Turn errors of the disk, such as a folder without the right to write, into a StoreError that says what failed."""
    try:
        yield
    except OSError as error:
        name = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"{what}: {error.strerror or error}{name}. Nothing else was changed.") from error


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder that only this user can read, for as long as it is needed; what killed processes left there before is
    removed first."""
    remove_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=COPIES, dir=parent))
    try:
        with locked(folder / IN_USE, f"{folder} is in use."):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders of processes that were killed: those that nobody has locked."""
    for folder in parent.glob(f"{COPIES}*"):
        with contextlib.suppress(OSError, StoreError):
            if not folder.is_symlink() and time.time() - folder.stat().st_mtime > BEGINNING_SECONDS:
                with locked(folder / IN_USE, ""):
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Hold a lock file; a StoreError with this message if another process holds it. It is free when that one ends."""
    make_private_folder(path.parent)
    with _open_lock(path) as file:
        try:
            _lock(file)
        except OSError:
            raise StoreError(message) from None
        yield


def _open_lock(path: Path, mode: int = 0o600) -> BinaryIO:
    """A link in place of the lock is an error: the file would be created elsewhere."""
    return open(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), mode), "r+b")


def _lock(file: BinaryIO) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
