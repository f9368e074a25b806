"""Trying again when the server of a store was gone for a moment, as in a failover."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from recollect.errors import StoreUnavailable

Result = TypeVar("Result")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds


def retry(action: Callable[[], Result]) -> Result:
    """Do something as often as a store says that it was not done, but may be done soon."""
    begun, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return action()
        except StoreUnavailable as error:
            if time.monotonic() + pause - begun > error.retry_seconds:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
