"""Watching folders: calls back when a sync is due, also for folders that disappear and come back."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from stat import S_ISDIR
from threading import Event, Thread
from typing import Any

from recollect.errors import RecollectError
from recollect.ingest.scan import SUFFIXES, IndexedPath
from recollect.protocols import ClosedOnExit

log = logging.getLogger("recollect")
POLL_SECONDS = 0.1  # between checks that the system does not report: whether paths exist, and the clock
INDEXED_SUFFIXES = tuple(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)


class FolderWatch(ClosedOnExit):
    """Watches paths in a thread: calls ``on_due`` with the reason for a sync, and at the end with "ended"."""

    def __init__(
        self, paths: Sequence[IndexedPath], on_due: Callable[[str], None], debounce: float, interval: float | None
    ) -> None:
        self._on_due = on_due
        self._stop = Event()
        self._reasons = sync_reasons(paths, self._stop, debounce, interval)
        self._thread = Thread(target=self._run, name="recollect-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the watch has ended, or for this long; returns whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for reason in self._reasons:
                try:
                    self._on_due(reason)
                except (RecollectError, OSError) as error:  # the next sync may succeed
                    log.warning("A sync failed: %s", error)
        finally:  # whatever ended it, the caller must know that changes are no longer seen
            self._on_due("ended")


def sync_reasons(
    paths: Sequence[IndexedPath], stop: Event, debounce: float = 1.5, interval: float | None = None
) -> Iterator[str]:
    """Yield "started", "changed" or "interval" whenever a sync is due, until ``stop`` is set.

    A sync is due ``debounce`` seconds after the first change; further changes do not delay it, so that it also happens
    while somebody keeps writing.
    """
    first_change: float | None = None  # since the last sync
    last: float | None = None
    for changed in _detect_changes(paths, stop):
        now = time.monotonic()
        if last is None:
            last = now
            yield "started"
            continue
        if changed and first_change is None:
            first_change = now
        if first_change is not None and now - first_change >= debounce:
            first_change, last = None, now
            yield "changed"
        elif interval is not None and now - last >= interval:
            last = now
            yield "interval"


def _detect_changes(paths: Sequence[IndexedPath], stop: Event) -> Iterator[bool]:
    """Yield, every POLL_SECONDS, whether anything may have changed since the last time."""
    polling = False
    folders, files = _file_states(paths)
    while not stop.is_set():
        first = True  # files may have changed before the watch began
        try:
            for events in _system_events(list(folders), stop, polling):
                current = _file_states(paths)
                folders_changed, changed = current[0] != folders, current != (folders, files)
                relevant = any(_is_relevant(path, folders) for _, path in events)
                folders, files = current
                yield changed or relevant or first
                first = False
                if folders_changed:  # one was deleted, created or replaced: watch those that exist now
                    break
        except OSError as error:  # a folder was deleted, or the system's limit of watches is reached
            if all(map(os.path.isdir, folders)):
                log.warning("The system cannot watch more folders, so they are polled: %s.", error)
                polling = True
            yield True
            stop.wait(POLL_SECONDS)
            folders, files = _file_states(paths)


def _system_events(folders: Sequence[str], stop: Event, polling: bool) -> Iterator[Any]:
    """The changes that the system reports, or nothing, every POLL_SECONDS."""
    if not folders:
        while not stop.wait(POLL_SECONDS):
            yield ()
        return
    from watchfiles import watch  # on first use: it loads a native library

    yield from watch(
        *folders,
        watch_filter=None,  # filtered events would delay the interval
        debounce=50,
        step=50,
        rust_timeout=int(POLL_SECONDS * 1000),
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        force_polling=polling or None,
        ignore_permission_denied=True,
    )


def _is_relevant(path: str, folders: Iterable[str]) -> bool:
    """Is it an indexed file, or a folder or what may have been one, and not hidden below a watched folder?"""
    top = next((folder for folder in folders if path.startswith(folder + os.sep)), "")
    return f"{os.sep}." not in path[len(top) :] and (path.endswith(INDEXED_SUFFIXES) or not os.path.isfile(path))


def _file_states(paths: Sequence[IndexedPath]) -> tuple[dict[str, int], dict[str, tuple[int, int, int]]]:
    """The existing folders with their inodes, and the existing files with inode, size and modification time."""
    folders, files = {}, {}
    for each in paths:
        try:
            info = os.stat(each.path)
        except OSError:
            continue
        if S_ISDIR(info.st_mode):
            folders[each.path] = info.st_ino
        else:
            files[each.path] = (info.st_ino, info.st_size, info.st_mtime_ns)
    return folders, files
