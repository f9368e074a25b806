"""Checkpoints: what is in the write-ahead log of a file is copied into it, and the log begins anew.

SQLite copies a log of a thousand pages after each commit, but it writes over what it has copied only if it meets a
moment in which nobody reads from the log. Where others recall all the time there is none, and the log would grow for as
long as they do. So a log of several thousand pages makes a writer wait for such a moment: others cannot write
meanwhile, and recalls that begin then read from the file.
"""

from __future__ import annotations

import contextlib
from random import random

import apsw

from recollect.store.sqlite.write_turns import wait_for_lock

COPIED_PAGES = 1_000  # in the log, from which on they are copied
RESTARTED_PAGES = 4_000  # after which the log begins anew; 16 MB
ATTEMPTED_SHARE = 1 / 32  # of the commits to a longer log: not all writers one after the other
WAIT_SECONDS = 0.1  # for readers
LATER = 1.25  # times as many pages before the next attempt, after somebody read for longer than that


def keep_log_short(connection: apsw.Connection) -> None:
    """Let a connection check the log after each of its commits."""
    limit = RESTARTED_PAGES

    def after_commit(connection: apsw.Connection, database: str, pages: int) -> int:
        nonlocal limit
        if pages < COPIED_PAGES:
            limit = RESTARTED_PAGES
            return apsw.SQLITE_OK
        with contextlib.suppress(apsw.Error):  # a commit is durable without its checkpoint
            connection.wal_checkpoint(database, apsw.SQLITE_CHECKPOINT_PASSIVE)
            if pages >= limit and random() < ATTEMPTED_SHARE:
                limit = int(pages * LATER)
                wait_for_lock(connection, WAIT_SECONDS)
                try:
                    connection.wal_checkpoint(database, apsw.SQLITE_CHECKPOINT_RESTART)
                finally:
                    wait_for_lock(connection)
        return apsw.SQLITE_OK

    connection.set_wal_hook(after_commit)
