"""Looking at a folder: which files are there, which are left out and why, and what a file says."""

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
WIDE = (b"\xff\xfe", b"\xfe\xff")  # the marks that UTF-16 begins with
BINARY_LOOK = 8192  # bytes in which a NUL tells that a file is no text


@dataclass(frozen=True, slots=True)
class Place:
    """A file, or a folder with all below it."""

    path: str
    kind: Kind = "file"


@dataclass(frozen=True, slots=True)
class Found:
    """A file that belongs to the index."""

    path: str  # as users see it: from the root, or the whole of it for a file elsewhere
    real: str
    kind: Kind
    size: int
    modified: int  # nanoseconds since 1970
    inode: int


@dataclass(slots=True)
class Scan:
    """What was found, what was left out and why, and where nobody could look."""

    files: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)  # what is known of files there stays as it is

    def may_be_there(self, path: str) -> bool:
        return any(not under or path == under or path.startswith(under + "/") for under in self.unseen)


class Scanner:
    """Walks places. Hidden and ignored names are left out; links are followed as far as the roots reach."""

    def __init__(self, root: str, places: Sequence[Place], ignore: Sequence[str] = ()) -> None:
        self.root = root
        self.places = places
        self.ignore = ignore
        self.roots = [root, *(place.path for place in places if not within(place.path, root))]

    def scan(self) -> Scan:
        self.result = Scan()
        self.visited: set[tuple[str, Kind]] = set()
        self.reals: set[str] = set()
        self.single: set[tuple[int, int]] = set()
        self.links: list[tuple[str, str, Kind]] = []
        there = os.path.isdir(self.root)
        if not there:
            self._unseen(self.root, "the folder is not there; what was read from it before is kept")
        for place in self.places:
            if there or not within(place.path, self.root):
                self._look(place)
        while self.links:  # after all that is there itself
            links, self.links = sorted(self.links), []
            for link in links:
                self._follow(*link)
        return self.result

    def _look(self, place: Place) -> None:
        try:
            if within(place.path, self.root) and os.path.islink(place.path):
                self.links.append((place.path, place.path, place.kind))
                return
            about = os.stat(place.path)
        except FileNotFoundError:
            if not within(place.path, self.root):  # it may be on a disk that is not mounted
                self._unseen(place.path, "it is not there; what was read from it before is kept")
            return
        except OSError as problem:
            self._unseen(place.path, f"it cannot be looked at: {problem.strerror}")
            return
        if stat.S_ISDIR(about.st_mode):
            self._walk(place.path, place.path, place.kind)
        elif place.path.endswith(SUFFIXES[place.kind]):
            if (about.st_dev, about.st_ino) not in self.single:  # one file where names differ in case alone
                self.single.add((about.st_dev, about.st_ino))
                self._take(place.path, place.path, place.kind, about)
        else:
            self._skip(place.path, f"it is none of {', '.join(SUFFIXES[place.kind])}")

    def _walk(self, top: str, shown: str, kind: Kind) -> None:
        waiting = [(top, shown)]
        while waiting:
            folder, shown = waiting.pop()
            if (folder, kind) in self.visited:
                continue
            self.visited.add((folder, kind))
            for entry in self._entries(folder, shown):
                name = entry.name
                if name[0] == "." or any(fnmatch(name, pattern) for pattern in self.ignore):
                    continue
                place = f"{shown}/{name}"
                if entry.is_symlink():
                    self.links.append((place, entry.path, kind))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, place))
                elif name.endswith(SUFFIXES[kind]):
                    try:
                        self._take(place, entry.path, kind, entry.stat(follow_symlinks=False))
                    except OSError:
                        continue  # it went while we looked

    def _entries(self, folder: str, shown: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                yield from entries
        except FileNotFoundError:
            pass  # it went while we looked
        except OSError as problem:
            self._unseen(shown, f"it cannot be looked at: {problem.strerror}")

    def _take(self, shown: str, real: str, kind: Kind, about: os.stat_result) -> None:
        path = self._shown(shown)
        if not stat.S_ISREG(about.st_mode):
            self._skip(shown, "it is no ordinary file")
        elif not _is_text(path):
            self._skip(shown, "its name is no text (not UTF-8)")
        elif real not in self.reals:
            self.reals.add(real)
            self.result.files[path] = Found(path, real, kind, about.st_size, about.st_mtime_ns, about.st_ino)

    def _follow(self, shown: str, link: str, kind: Kind) -> None:
        try:
            real = os.path.realpath(link, strict=True)
            about = os.stat(real)
        except OSError:
            self._skip(shown, "it is a link that leads nowhere, or round in circles")
            return
        home = next((root for root in self.roots if within(real, root)), None)
        if home is None:
            if stat.S_ISDIR(about.st_mode) or shown.endswith(SUFFIXES[kind]):
                self._skip(shown, f"it is a link out of the folder, to {real}")
        elif f"{os.sep}." in real[len(home) :]:
            self._skip(shown, "it is a link to something hidden")
        elif stat.S_ISDIR(about.st_mode):
            if within(link, real):
                self._skip(shown, "it is a link to a folder around it")
            else:
                self._walk(real, shown, kind)
        elif shown.endswith(SUFFIXES[kind]):
            self._take(shown, real, kind, about)

    def _unseen(self, place: str, reason: str) -> None:
        self._skip(place, reason)
        self.result.unseen.append(self._shown(place))

    def _skip(self, place: str, reason: str) -> None:
        name = self._shown(place) or place
        self.result.skipped[name.encode("utf-8", "replace").decode()] = reason

    def _shown(self, place: str) -> str:
        """A path as users see it; the root itself is the empty one."""
        if place == self.root:
            return ""
        inside = place.startswith(self.root.rstrip("/") + "/")
        return (place[len(self.root.rstrip("/")) + 1 :] if inside else place).replace(os.sep, "/")


def within(path: str, folder: str) -> bool:
    """Is it the folder, or below it?"""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Content:
    """A file's text, or why there is none; and whether it was changed while it was read."""

    text: str
    hash: bytes  # empty when it was not read to its end
    problem: str = ""
    steady: bool = True


def read_file(found: Found, most: int) -> Content:
    """Read a file whole, whatever is in it. An OSError says that it cannot be read now."""
    with open(os.open(found.real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_size > most:
            return Content("", b"", f"it has {about.st_size:,} bytes; files of more than {most:,} are left out")
        data = file.read(BINARY_LOOK)
        if b"\0" in data and not data.startswith(WIDE):
            return Content("", b"", "it is no text (there are zero bytes in it)")
        data += file.read(most)
        after = os.fstat(file.fileno())
    steady = (about.st_size, about.st_mtime_ns) == (found.size, found.modified) == (after.st_size, after.st_mtime_ns)
    text, problem = decoded(data)
    return Content(text, blake2b(data, digest_size=16).digest(), problem, steady)


def decoded(data: bytes) -> tuple[str, str]:
    """Bytes as text, and what was wrong with them."""
    encoding = "utf-16" if data.startswith(WIDE) else "utf-8-sig"
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return data.decode(
            encoding, "replace"
        ), f"not all of it is {encoding[:6].upper().rstrip('-')}: replaced, first on line {line}"
