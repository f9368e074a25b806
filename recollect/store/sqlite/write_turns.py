"""Turns of writers: a process that writes all the time lets others have the file in between.

SQLite gives its lock to whoever asks at the right moment, and those who wait ask once a millisecond or less often. A
process that writes again at once would nearly always be first, and others would wait for seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import uniform

WAITED_SECONDS = 0.005  # for the lock: somebody else had it, and not only to count a use
CONTENDED_SECONDS = 1.0  # for which others are taken to write, too
PAUSES = (0.001, 0.002)  # seconds between two writes of a process while others write


class WriteTurns:
    """When this process last wrote, and when it last had to wait for others."""

    def __init__(self) -> None:
        self._wrote = self._waited = float("-inf")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around taking the lock: waits a little if this process wrote just now and others want to write."""
        begun = time.monotonic()
        if begun - self._waited < CONTENDED_SECONDS and (left := self._wrote + uniform(*PAUSES) - begun) > 0:
            time.sleep(left)
            begun = time.monotonic()
        yield
        now = time.monotonic()
        if now - begun > WAITED_SECONDS:
            self._waited = now

    def finished(self) -> None:
        self._wrote = time.monotonic()
