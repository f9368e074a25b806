"""Checkpoints: what is in the write-ahead log of a file is copied into it, and the log begins anew.

SQLite itself copies a log of a thousand pages within a commit, which then waits for two syncs; recalls commit their use
dozens of times a second, and others would wait for them. Here a thread copies it. SQLite writes over what it has
copied only if it meets a moment in which nobody reads from the log; where others recall all the time there is none. So
a log of several thousand pages makes that thread wait for such a moment: others cannot write meanwhile, and recalls
that begin then read from the file.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from random import random
from threading import Lock

import apsw

from recollect.errors import StoreError
from recollect.store.sqlite.write_turns import wait_for_lock
from recollect.threads import run_in_thread

log = logging.getLogger("recollect")
COPIED_PAGES = 1_000  # of the log, between two checkpoints: SQLite's own number
RESTARTED_PAGES = 4_000  # after which the log begins anew; 16 MB
ATTEMPTED_SHARE = 1 / 4  # of the checkpoints of a longer log: not all processes one after the other
RESTART_SECONDS, MAX_RESTART_SECONDS = 0.1, 0.5  # to wait for readers
LATER = 1.25  # times as many pages before the next attempt, after somebody read for longer than that
CLOSE_SECONDS = 10.0  # to wait for a checkpoint that is under way
PAUSE_SECONDS = 0.01  # between two attempts to empty the log

_paused: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()


@contextmanager
def paused(connection: apsw.Connection) -> Iterator[None]:
    """No checkpoint because of what this connection commits: it will empty the log itself."""
    _paused.add(connection)
    try:
        yield
    finally:
        _paused.discard(connection)


def empty_log(connection: apsw.Connection, seconds: float) -> None:
    """Copy the whole log and truncate it; a BusyError if others keep it in use for so long.

    While another checkpoint is under way SQLite says so at once, whatever the timeout is.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            return
        except apsw.BusyError:
            if time.monotonic() >= end:
                raise
        time.sleep(PAUSE_SECONDS)


class Checkpoints:
    """The checkpoints of a file that this process has open: one at a time, in a thread with a connection of its own."""

    def __init__(self, path: str, connect: Callable[[], AbstractContextManager[apsw.Connection]]) -> None:
        self.path = path
        self._connect = weakref.WeakMethod(connect)  # connections know this object, and must not keep themselves alive
        self._copied = 0  # pages of the log, when the last checkpoint began
        self._limit = 0  # pages, from which on the log may begin anew
        self._last: Future[None] | None = None
        self._process = 0  # that began the last one: a forked child does not have its thread
        self._starting = Lock()

    def watch(self, connection: apsw.Connection) -> None:
        """Look at the log after each commit of a connection, instead of SQLite."""
        connection.set_wal_hook(self._after_commit)

    def wait(self) -> None:
        """Before the file is closed: wait for the checkpoint that is under way."""
        if (running := self._running()) is not None:
            wait([running], CLOSE_SECONDS)

    def after_fork(self) -> None:
        """In a forked child: its parent's checkpoint is none of its own, and may have left a lock behind."""
        self._last, self._starting = None, Lock()

    def _after_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if connection not in _paused and self._starting.acquire(blocking=False):
            try:
                self._start_if_due(pages)
            except Exception as problem:  # the commit has happened: it must not look as if it had failed
                log.info("no checkpoint of %s: %s", self.path, problem)
            finally:
                self._starting.release()
        return apsw.SQLITE_OK

    def _start_if_due(self, pages: int) -> None:
        if pages < self._copied:  # the log has begun anew
            self._copied = self._limit = 0
        if pages - self._copied >= COPIED_PAGES and self._running() is None:
            self._last = run_in_thread(partial(self._copy, pages))
            self._copied, self._process = pages, os.getpid()

    def _running(self) -> Future[None] | None:
        last = self._last if self._process == os.getpid() else None
        return None if last is None or last.done() else last

    def _copy(self, pages: int) -> None:
        connect = self._connect()
        if connect is None:  # nobody has the file open any more: SQLite has copied the log
            return
        try:
            with connect() as connection:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                if pages >= max(self._limit, RESTARTED_PAGES) and random() < ATTEMPTED_SHARE:
                    self._limit = int(pages * LATER)
                    # The longer the log, the longer it may wait: many readers in turn leave few such moments.
                    wait_for_lock(connection, min(MAX_RESTART_SECONDS, RESTART_SECONDS * pages / RESTARTED_PAGES))
                    try:
                        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                    finally:
                        wait_for_lock(connection)
        except (apsw.Error, StoreError) as problem:  # commits are durable without it, and a later one may succeed
            log.info("no checkpoint of %s: %s", self.path, problem)
