"""The folder of index files beside a database: segments, and the manifest that names them.

What is here is derived from the database, and may be deleted at any time. A segment never changes; the manifest is
replaced as a whole. Only the holder of the lock writes, and nobody waits for it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import DamagedIndex
from recollect.store.base import Flags, Space
from recollect.store.disk import TEMPORARY, Disk, is_foreign, try_lock
from recollect.store.sqlite.part import Part
from recollect.store.sqlite.segment_files import FORMAT, MappedArrays, SegmentWriter
from recollect.store.sqlite.versions import FileVersion

log = logging.getLogger("recollect")
MANIFEST, LOCK, SEGMENT = "manifest.json", "lock", ".segment"
OWN_NAMES = re.compile(rf"manifest\.json|[0-9a-f]{{16}}\{SEGMENT}|{re.escape(TEMPORARY)}.*")  # what may be deleted


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """The index as its manifest describes it."""

    database: int  # when the database was created: copies have the same
    version: FileVersion  # the last change that it contains
    space: tuple[int, Space] | None
    parts: tuple[tuple[Part, Flags], ...]  # and which of their slots are alive

    @property
    def bytes(self) -> int:
        return sum(part.arrays.bytes for part, _ in self.parts if isinstance(part.arrays, MappedArrays))


class IndexFolder:
    """The folder of one database."""

    def __init__(self, database: str, disk: Disk | None = None) -> None:
        self.path = Path(f"{database}-index")
        self._database = database
        self._disk = disk or Disk()

    @property
    def foreign(self) -> bool:
        """Is it a link to another place, or another user's? Then nothing is read, written or deleted there."""
        return self.path.is_symlink() or is_foreign(self.path, beside=self._database)

    def read(self) -> SavedIndex | None:
        """What the manifest names, mapped; None if there is none, or it cannot be used."""
        if self.foreign:
            return None
        for _ in range(3):  # segments may be deleted while this reads: then there is a newer manifest
            try:
                manifest = self._read_manifest()
                return None if manifest is None else self._map(manifest)
            except FileNotFoundError:
                continue
            except (OSError, DamagedIndex, ValueError, KeyError, TypeError, zlib.error) as problem:
                log.info("The index in %s is built again: %s", self.path, problem)
                return None
        return None

    def stamp(self) -> int:
        """Changes whenever the manifest does; 0 without one."""
        try:
            found = os.stat(self.path / MANIFEST)
        except OSError:
            return 0
        return hash((found.st_ino, found.st_mtime_ns, found.st_size)) or 1

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            content = self._disk.read(self.path / MANIFEST)
        except (FileNotFoundError, NotADirectoryError):
            return None
        checksum, _, body = content.partition(b"\n")
        if checksum != _checksum(body):
            raise DamagedIndex(str(self.path / MANIFEST), "it does not match its checksum")
        manifest: dict[str, Any] = json.loads(body)
        if manifest["format"] != FORMAT:
            raise DamagedIndex(str(self.path / MANIFEST), f"its format is {manifest['format']}, not {FORMAT}")
        return manifest

    def _map(self, manifest: dict[str, Any]) -> SavedIndex:
        parts = []
        for name, size, dead in manifest["segments"]:
            if not OWN_NAMES.fullmatch(name):
                raise DamagedIndex(str(self.path / MANIFEST), f"it names the file {name[:100]!r}")
            part = Part(MappedArrays(self.path / name), name)
            if part.size != size:
                raise DamagedIndex(str(self.path / name), f"it has {part.size} memories, not {size}")
            parts.append((part, _unpack(dead, size)))
        space = manifest["space"]
        return SavedIndex(
            manifest["database"],
            FileVersion(*manifest["version"]),
            None if space is None else (space[0], Space(*space[1:])),
            tuple(parts),
        )

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Hold the lock if nobody else does and the folder can be written; whether that is so."""
        if self.foreign:
            log.warning("%s is a link, or another user's: the index of %s stays in memory.", self.path, self._database)
            yield False
            return
        try:
            mode = os.stat(self._database).st_mode & 0o666
            with contextlib.suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
                self.path.chmod(mode | (mode & 0o444) >> 2)
            lock = try_lock(self.path / LOCK, mode)
            locked = lock.__enter__()
        except OSError as problem:
            log.info("The index of %s stays in memory: %s", self._database, problem)
            yield False
            return
        try:
            yield locked
        finally:
            lock.__exit__(None, None, None)

    def write_segment(self, part: Part) -> Part:
        """Write a part to a file, and map it. It belongs to the index when a manifest names it."""
        name = secrets.token_hex(8) + SEGMENT

        def fill(file: Any) -> None:
            writer = SegmentWriter(file, self._disk.put)
            for array in part.arrays.names():
                writer.add(array, [part.arrays[array]])
            writer.finish()

        mode = os.stat(self._database).st_mode & 0o666
        self._disk.write_with(self.path / name, fill, mode=mode)
        return Part(MappedArrays(self.path / name), name)

    def publish(self, saved: SavedIndex) -> None:
        """Replace the manifest, then delete the files that it does not name."""
        space = saved.space
        manifest = {
            "format": FORMAT,
            "database": saved.database,
            "version": [saved.version.number, saved.version.token],
            "space": None if space is None else [space[0], space[1].name, space[1].dim],
            "segments": [[part.file, part.size, _pack(alive)] for part, alive in saved.parts],
        }
        body = json.dumps(manifest).encode()
        mode = os.stat(self._database).st_mode & 0o666
        content = _checksum(body) + b"\n" + body
        self._disk.write_with(self.path / MANIFEST, lambda file: self._disk.put(file, content), mode=mode)
        self._delete_others({part.file for part, _ in saved.parts} | {MANIFEST, LOCK})

    def _delete_others(self, names: set[str]) -> None:
        for path in self._own_files():
            if path.name not in names:
                with contextlib.suppress(OSError):  # Windows: another process has it mapped; the next one tries again
                    self._disk.delete(path)

    def _own_files(self) -> list[Path]:
        """The files that Recollect writes here. Others may be anybody's, and stay."""
        return [path for path in self.path.iterdir() if OWN_NAMES.fullmatch(path.name)]

    def forget(self) -> None:
        """Delete the manifest: what it names is not used any more."""
        if self.foreign:
            return
        with contextlib.suppress(OSError):
            self._disk.delete(self.path / MANIFEST)

    def drop(self, wait_seconds: float = 0.0) -> str:
        """Delete all files but the lock; why that is not possible, or an empty string."""
        if self.foreign or not self.path.is_dir():
            return ""
        end = time.monotonic() + wait_seconds
        while True:
            try:
                with try_lock(self.path / LOCK) as locked:
                    if locked:
                        self._disk.delete(self.path / MANIFEST)  # first: what is left is then not used
                        for path in self._own_files():
                            self._disk.delete(path)
                        return ""
            except OSError as problem:
                return f"files in {self.path} could not be deleted ({problem.strerror or problem})"
            if time.monotonic() >= end:
                return f"another process is writing {self.path}"
            time.sleep(0.02)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _pack(alive: Flags) -> str:
    return "" if alive.all() else base64.b64encode(zlib.compress(np.packbits(alive).tobytes())).decode()


def _unpack(packed: str, size: int) -> Flags:
    if not packed:
        return np.ones(size, np.bool_)
    bits = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=np.uint8)
    return np.unpackbits(bits, count=size).astype(np.bool_)
