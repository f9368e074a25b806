"""Trying again when a store could not answer just now: its server was gone for a moment, as in a failover, or a file of
its index turned out to be damaged, which is then built again."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from recollect.errors import DamagedIndex, StoreUnavailable

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds


def retry(action: Callable[[], Result]) -> Result:
    """Do something as often as a store says that it was not done, but may be done soon."""
    begun, pause, index_was_damaged = time.monotonic(), FIRST_PAUSE, False
    while True:
        try:
            return action()
        except DamagedIndex:
            if index_was_damaged:
                raise
            index_was_damaged = True
            continue
        except StoreUnavailable as error:
            if time.monotonic() + pause - begun > error.retry_seconds:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def retried(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that only reads, and does so again as ``retry`` does."""

    @wraps(function)
    def read(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return retry(lambda: function(*arguments, **named))

    return read
