"""Turns of writers: who has waited for the file longest asks for it most often, and who has just written pauses.

SQLite gives its lock to whoever asks at the right moment. Its own timeout asks less often the longer it waits, at last
ten times a second, and a process that writes again at once is nearly always first: of eight processes that write all
the time, some would wait for seconds. A queue of locks, where each one waits for the one before it, is fairer still but
halves what all of them write together.
"""

from __future__ import annotations

import time
from random import uniform
from threading import local

import apsw

LOCK_SECONDS = 30.0  # to wait for others
INTERVALS = ((0.05, 0.002), (0.2, 0.001))  # who has waited less than the first asks again after the second; in seconds
SHORTEST_INTERVAL = 0.0003
WAITED_SECONDS = 0.005  # for the lock: somebody else had it, and not only to count a use
CONTENDED_SECONDS = 1.0  # for which others are taken to write, too
PAUSES = (0.002, 0.004)  # seconds between two writes of a process while others write: longer than the first interval
_this_thread = local()  # waited: the seconds for which others had the lock that it asked for last


def wait_for_lock(connection: apsw.Connection, seconds: float = LOCK_SECONDS) -> None:
    """Let a connection wait so long whenever others have the lock that it needs."""
    begun = 0.0

    def keep_waiting(attempts: int) -> bool:
        nonlocal begun
        now = time.monotonic()
        begun = begun if attempts else now
        waited = now - begun
        _this_thread.waited = waited
        if waited >= seconds:
            return False
        time.sleep(next((each for limit, each in INTERVALS if waited < limit), SHORTEST_INTERVAL))
        return True

    connection.set_busy_handler(keep_waiting)


class WriteTurns:
    """When this process last wrote, and when it last had to wait for others."""

    def __init__(self) -> None:
        self._wrote = self._waited = float("-inf")

    def take_lock(self, connection: apsw.Connection) -> None:
        """Begin to write, a little later if this process wrote just now and others want to write."""
        now = time.monotonic()
        if now - self._waited < CONTENDED_SECONDS and (left := self._wrote + uniform(*PAUSES) - now) > 0:
            time.sleep(left)
        _this_thread.waited = 0.0
        connection.execute("BEGIN IMMEDIATE")
        if _this_thread.waited > WAITED_SECONDS:  # not how long it took: a busy machine makes everything slow
            self._waited = time.monotonic()

    def finished(self) -> None:
        self._wrote = time.monotonic()
