"""Slow work with a deadline: it runs in a daemon thread, which is left behind when the deadline passes."""

from __future__ import annotations

import atexit
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def run_in_thread(work: Callable[[], T]) -> Future[T]:
    """Run work in a daemon thread: a model that hangs must not keep the program from exiting."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = Thread(target=run, name="recollect-model", daemon=True)
    _threads.add(thread)
    thread.start()
    return future


def call_within(work: Callable[[], T], seconds: float, name: str) -> T:
    """The result of work; a TimeoutError with the name of what was called if it takes longer."""
    outcome = run_in_thread(work)
    try:
        return outcome.result(max(0.0, seconds))
    except FutureTimeout:
        if outcome.done():  # the work itself raised a TimeoutError
            raise
        raise TimeoutError(f"{name} did not answer within {seconds:.3g} s") from None


_threads: weakref.WeakSet[Thread] = weakref.WeakSet()


@atexit.register
def _join_threads(timeout_seconds: float = 2.0) -> None:
    """Wait for running models before the program exits: one that is torn down while it works can crash."""
    end = time.perf_counter() + timeout_seconds
    for thread in list(_threads):
        if thread.is_alive():
            thread.join(max(0.0, end - time.perf_counter()))
