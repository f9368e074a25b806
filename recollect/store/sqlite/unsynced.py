"""Connections for counting use: their commits do not wait for the disk, not even now and then for a checkpoint.

SQLite checkpoints its log at the commit that makes it long, and at each following one while readers keep the log from
beginning anew. Recalls commit their use dozens of times a second, so one in a hundred would wait for two syncs, and
others would wait for it. Here a thread makes the checkpoints.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import Future, wait
from functools import partial

import apsw

from recollect.errors import StoreError
from recollect.store.sqlite.connections import Connections, fork_gate
from recollect.threads import run_in_thread

log = logging.getLogger("recollect")
PAGES = 1000  # of the log, between two checkpoints: SQLite's own number
LONG_PAGES = 4 * PAGES  # a log that others keep from beginning anew: they wait while the rest of it is written
BUSY_MILLISECONDS = 200  # to wait for them
CLOSE_SECONDS = 10.0  # to wait for a checkpoint


class UnsyncedConnections(Connections):
    """One connection for each thread, and another one for checkpoints."""

    def __init__(self, path: str) -> None:
        self._pages = 0  # of the log, when the last checkpoint began
        self._checkpoint: Future[None] | None = None  # the last one
        self._process = 0  # that began it: a forked child does not have its thread
        super().__init__(path, readonly=False, durable=False)

    def _open(self, uri: str) -> apsw.Connection:
        connection = super()._open(uri)
        connection.set_wal_hook(self._after_commit)  # instead of SQLite's own, which makes checkpoints
        return connection

    def _after_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._pages:
            self._pages = 0  # the log has begun anew
        if pages - self._pages >= PAGES and self._running() is None:
            self._pages, self._process = pages, os.getpid()
            self._checkpoint = run_in_thread(partial(self._write_back, pages >= LONG_PAGES))
        return apsw.SQLITE_OK

    def _running(self) -> Future[None] | None:
        last = self._checkpoint
        return None if last is None or last.done() or self._process != os.getpid() else last

    def _write_back(self, whole: bool) -> None:
        try:
            with fork_gate.hold():
                connection = self.get()
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                if whole:
                    connection.set_busy_timeout(BUSY_MILLISECONDS)
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        except (apsw.Error, StoreError) as problem:  # a later one may succeed, and closing the file makes one, too
            log.info("no checkpoint of %s: %s", self.path, problem)

    def close(self) -> None:
        running = self._running()
        if running is not None:
            wait([running], CLOSE_SECONDS)
        super().close()
