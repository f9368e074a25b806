"""Scanning folders: which files belong to the index, which are skipped and why; and reading a file as text."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from hashlib import blake2b
from typing import Literal

Kind = Literal["file", "transcript"]
SUFFIXES: dict[Kind, tuple[str, ...]] = {"file": (".md", ".markdown"), "transcript": (".jsonl",)}
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
BINARY_PREFIX_BYTES = 8192  # a NUL among these means that a file is not text


@dataclass(frozen=True, slots=True)
class IndexedPath:
    """A file to index, or a folder with everything below it."""

    path: str
    kind: Kind = "file"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that belongs to the index."""

    path: str  # as users see it: relative to the root, or absolute for a file elsewhere
    real: str
    kind: Kind
    size: int
    modified: int  # nanoseconds since 1970
    inode: int


@dataclass(slots=True)
class ScanResult:
    """The files that were found, what was skipped and why, and which folders could not be read."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)  # what is indexed of files there is kept

    def may_exist(self, path: str) -> bool:
        """Could the file be in a folder that could not be read?"""
        return any(not under or path == under or path.startswith(under + "/") for under in self.unreadable)


class Scanner:
    """Walks the indexed paths. Hidden and ignored names are skipped; links are followed inside the roots."""

    def __init__(self, root: str, targets: Sequence[IndexedPath], ignore: Sequence[str] = ()) -> None:
        self.root = root
        self.targets = targets
        self.ignore = ignore
        self.roots = [root, *(target.path for target in targets if not is_within(target.path, root))]

    def scan(self) -> ScanResult:
        self.result = ScanResult()
        self.visited: set[tuple[str, Kind]] = set()
        self.reals: set[str] = set()
        self.single: set[tuple[int, int]] = set()
        self.links: list[tuple[str, str, Kind]] = []
        root_exists = os.path.isdir(self.root)
        if not root_exists:
            self._mark_unreadable(self.root, "the folder does not exist; what was read from it before is kept")
        for target in self.targets:
            if root_exists or not is_within(target.path, self.root):
                self._look(target)
        while self.links:  # after the files and folders themselves
            links, self.links = sorted(self.links), []
            for link in links:
                self._follow(*link)
        return self.result

    def _look(self, target: IndexedPath) -> None:
        try:
            if is_within(target.path, self.root) and os.path.islink(target.path):
                self.links.append((target.path, target.path, target.kind))
                return
            info = os.stat(target.path)
        except FileNotFoundError:
            if not is_within(target.path, self.root):  # it may be on a disk that is not mounted
                self._mark_unreadable(target.path, "it does not exist; what was read from it before is kept")
            return
        except OSError as problem:
            self._mark_unreadable(target.path, f"it cannot be read: {problem.strerror}")
            return
        if stat.S_ISDIR(info.st_mode):
            self._walk(target.path, target.path, target.kind)
        elif target.path.endswith(SUFFIXES[target.kind]):
            if (info.st_dev, info.st_ino) not in self.single:  # one file where names differ in case alone
                self.single.add((info.st_dev, info.st_ino))
                self._take(target.path, target.path, target.kind, info)
        else:
            self._skip(target.path, f"its name does not end with one of {', '.join(SUFFIXES[target.kind])}")

    def _walk(self, top: str, display_path: str, kind: Kind) -> None:
        waiting = [(top, display_path)]
        while waiting:
            folder, display_path = waiting.pop()
            if (folder, kind) in self.visited:
                continue
            self.visited.add((folder, kind))
            for entry in self._entries(folder, display_path):
                name = entry.name
                if name[0] == "." or any(fnmatch(name, pattern) for pattern in self.ignore):
                    continue
                target = f"{display_path}/{name}"
                if entry.is_symlink():
                    self.links.append((target, entry.path, kind))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, target))
                elif name.endswith(SUFFIXES[kind]):
                    try:
                        self._take(target, entry.path, kind, entry.stat(follow_symlinks=False))
                    except OSError:
                        continue  # it was deleted during the scan

    def _entries(self, folder: str, display_path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                yield from entries
        except FileNotFoundError:
            pass  # it was deleted during the scan
        except OSError as problem:
            self._mark_unreadable(display_path, f"it cannot be read: {problem.strerror}")

    def _take(self, display_path: str, real: str, kind: Kind, info: os.stat_result) -> None:
        path = self._display_path(display_path)
        if not stat.S_ISREG(info.st_mode):
            self._skip(display_path, "it is not a regular file")
        elif not _is_text(path):
            self._skip(display_path, "its name is not valid UTF-8")
        elif real not in self.reals:
            self.reals.add(real)
            self.result.files[path] = FoundFile(path, real, kind, info.st_size, info.st_mtime_ns, info.st_ino)

    def _follow(self, display_path: str, link: str, kind: Kind) -> None:
        try:
            real = os.path.realpath(link, strict=True)
            info = os.stat(real)
        except OSError:
            self._skip(display_path, "it is a broken or circular link")
            return
        target_root = next((root for root in self.roots if is_within(real, root)), None)
        if target_root is None:
            if stat.S_ISDIR(info.st_mode) or display_path.endswith(SUFFIXES[kind]):
                self._skip(display_path, f"it is a link out of the folder, to {real}")
        elif f"{os.sep}." in real[len(target_root) :]:
            self._skip(display_path, "it is a link to a hidden file or folder")
        elif stat.S_ISDIR(info.st_mode):
            if is_within(link, real):
                self._skip(display_path, "it is a link to a folder that contains it")
            else:
                self._walk(real, display_path, kind)
        elif display_path.endswith(SUFFIXES[kind]):
            self._take(display_path, real, kind, info)

    def _mark_unreadable(self, target: str, reason: str) -> None:
        self._skip(target, reason)
        self.result.unreadable.append(self._display_path(target))

    def _skip(self, target: str, reason: str) -> None:
        name = self._display_path(target) or target
        self.result.skipped[name.encode("utf-8", "replace").decode()] = reason

    def _display_path(self, target: str) -> str:
        """A path as users see it; the root itself is the empty string."""
        if target == self.root:
            return ""
        is_inside = target.startswith(self.root.rstrip("/") + "/")
        return (target[len(self.root.rstrip("/")) + 1 :] if is_inside else target).replace(os.sep, "/")


def is_within(path: str, folder: str) -> bool:
    """Is it the folder, or below it?"""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's text, or why there is none; and whether the file changed while it was read."""

    text: str
    hash: bytes  # empty when it was not read to its end
    problem: str = ""
    unchanged_while_read: bool = True


def read_file(file: FoundFile, max_bytes: int) -> FileContent:
    """Read a whole file, whatever is in it; an OSError means that it cannot be read now."""
    with open(os.open(file.real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
        info = os.fstat(stream.fileno())
        if info.st_size > max_bytes:
            return FileContent("", b"", f"it has {info.st_size:,} bytes, more than max_file_bytes ({max_bytes:,})")
        data = stream.read(BINARY_PREFIX_BYTES)
        if b"\0" in data and not data.startswith(UTF16_MARKS):
            return FileContent("", b"", "it is not text (it contains NUL bytes)")
        data += stream.read(max_bytes)
        after = os.fstat(stream.fileno())
    expected = (file.size, file.modified)
    unchanged = (info.st_size, info.st_mtime_ns) == expected == (after.st_size, after.st_mtime_ns)
    text, problem = decode(data)
    return FileContent(text, blake2b(data, digest_size=16).digest(), problem, unchanged)


def decode(data: bytes) -> tuple[str, str]:
    """Bytes as text, and what was wrong with them."""
    encoding = "utf-16" if data.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return data.decode(
            encoding, "replace"
        ), f"it is not valid {encoding[:6].upper().rstrip('-')}: wrong bytes were replaced, the first on line {line}"
