"""Watching places for changes: when a sync is due, and how places that vanish and come back are followed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from stat import S_ISDIR
from threading import Event, Thread
from typing import Any

from recollect.errors import RecollectError
from recollect.ingest.scan import SUFFIXES, Place

log = logging.getLogger("recollect")
WAKE = 0.1  # seconds between looks at what the system does not report: whether places are there, and the clock
KNOWN = tuple(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)


class Watch:
    """Follows places in a thread of its own: ``follow`` is told why a sync is due, and in the end that it ended."""

    def __init__(
        self, places: Sequence[Place], follow: Callable[[str], None], debounce: float, interval: float | None
    ) -> None:
        self._follow = follow
        self._stop = Event()
        self._reasons = due(places, self._stop, debounce, interval)
        self._thread = Thread(target=self._run, name="recollect-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self, seconds: float | None = None) -> bool:
        """Until it has ended, or for so long; has it?"""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            for reason in self._reasons:
                try:
                    self._follow(reason)
                except (RecollectError, OSError) as problem:  # the next change may find the trouble gone
                    log.warning("A sync failed: %s", problem)
        finally:  # whatever ended it, nobody is to think that changes are still seen
            self._follow("ended")


def due(places: Sequence[Place], stop: Event, debounce: float = 1.5, interval: float | None = None) -> Iterator[str]:
    """Say why a sync is due, whenever one is, until told to stop; the first one is, as soon as changes are seen.

    A change is due ``debounce`` seconds after it was seen; what else changes until then goes with it, so that somebody
    who never stops writing is followed all the same.
    """
    since: float | None = None  # when the first change was seen that no sync has followed
    last: float | None = None
    for changed in _changes(places, stop):
        now = time.monotonic()
        if last is None:
            last = now
            yield "started"
            continue
        if changed and since is None:
            since = now
        if since is not None and now - since >= debounce:
            since, last = None, now
            yield "changed"
        elif interval is not None and now - last >= interval:
            last = now
            yield "interval"


def _changes(places: Sequence[Place], stop: Event) -> Iterator[bool]:
    """Every moment: could anything have changed since the last one?"""
    polling = False
    folders, files = _looks(places)
    while not stop.is_set():
        unseen = True  # what changed before the watch began
        try:
            for reported in _reports(list(folders), stop, polling):
                looks = _looks(places)
                again, moved = looks[0] != folders, looks != (folders, files)
                ours = any(_is_ours(path, folders) for _, path in reported)
                folders, files = looks
                yield moved or ours or unseen
                unseen = False
                if again:  # one went, or came, or another came in its place: watch those that are there now
                    break
        except OSError as problem:  # a folder went meanwhile, or the system watches no more of them
            if all(map(os.path.isdir, folders)):
                log.warning("Watching by looking again and again: %s.", problem)
                polling = True
            yield True
            stop.wait(WAKE)
            folders, files = _looks(places)


def _reports(folders: Sequence[str], stop: Event, polling: bool) -> Iterator[Any]:
    """What the system reports of the folders, or nothing, every moment."""
    if not folders:
        while not stop.wait(WAKE):
            yield ()
        return
    from watchfiles import watch  # on first use: it brings a library of its own

    yield from watch(
        *folders,
        watch_filter=None,  # what it leaves out would hold up the clock
        debounce=50,
        step=50,
        rust_timeout=int(WAKE * 1000),
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        force_polling=polling or None,
        ignore_permission_denied=True,
    )


def _is_ours(path: str, folders: Iterable[str]) -> bool:
    """Markdown, transcripts and folders, or what may have been one, unless they are hidden below what is watched."""
    top = next((folder for folder in folders if path.startswith(folder + os.sep)), "")
    return f"{os.sep}." not in path[len(top) :] and (path.endswith(KNOWN) or not os.path.isfile(path))


def _looks(places: Sequence[Place]) -> tuple[dict[str, int], dict[str, tuple[int, int, int]]]:
    """The folders that are there, by which they are, and the files, by how they look."""
    folders, files = {}, {}
    for place in places:
        try:
            about = os.stat(place.path)
        except OSError:
            continue
        if S_ISDIR(about.st_mode):
            folders[place.path] = about.st_ino
        else:
            files[place.path] = (about.st_ino, about.st_size, about.st_mtime_ns)
    return folders, files
