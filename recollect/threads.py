"""Work in threads: with a deadline, after which its daemon thread is left behind, and for asyncio programs."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from functools import wraps
from queue import SimpleQueue
from threading import Thread
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
Arguments = ParamSpec("Arguments")
Task = tuple[Callable[[], Any], Future[Any]]

_idle: list[SimpleQueue[Task]] = []  # of the threads that wait for work: starting one takes longer than most work
_running: set[Future[Any]] = set()


def run_in_thread(work: Callable[[], T]) -> Future[T]:
    """Run work in a daemon thread: a model that hangs must not keep the program from exiting."""
    future: Future[T] = Future()
    try:
        queue = _idle.pop()
    except IndexError:
        queue = SimpleQueue()
        Thread(target=_serve, args=(queue,), name="recollect-worker", daemon=True).start()
    _running.add(future)
    queue.put((work, future))
    return future


def _serve(queue: SimpleQueue[Task]) -> None:
    """Do one piece of work after another."""
    while True:
        _run(queue, *queue.get())


def _run(queue: SimpleQueue[Task], work: Callable[[], Any], future: Future[Any]) -> None:
    if not future.set_running_or_notify_cancel():  # it was cancelled before it began
        _release(queue, future)
        return
    try:
        result = work()
    except BaseException as error:
        _release(queue, future)
        future.set_exception(error)
    else:
        _release(queue, future)
        future.set_result(result)


def _release(queue: SimpleQueue[Task], future: Future[Any]) -> None:
    """The thread can be used again; before anybody is told that it is done, so that the next work finds it."""
    _running.discard(future)
    _idle.append(queue)


def call_within(work: Callable[[], T], seconds: float, name: str) -> T:
    """The result of work; a TimeoutError with the name of what was called if it takes longer."""
    outcome = run_in_thread(work)
    try:
        return outcome.result(max(0.0, seconds))
    except FutureTimeout:
        if outcome.done():  # the work itself raised a TimeoutError
            raise
        raise TimeoutError(f"{name} did not answer within {seconds:.3g} s") from None


def in_thread(
    method: Callable[Concatenate[Any, Arguments], T],
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, T]]:
    """A method to be awaited, with the same arguments and description: that of ``self.sync``, in a worker thread."""

    @wraps(method)
    async def call(self: Any, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> T:
        from asyncio import to_thread  # most programs do without

        work: Callable[..., T] = getattr(self.sync, method.__name__)
        return await to_thread(work, *arguments, **named)

    return call


@atexit.register
def _wait_for_work(timeout_seconds: float = 2.0) -> None:
    """Wait for running models before the program exits: one that is torn down while it works can crash."""
    wait(list(_running), timeout_seconds)


def _forget_threads() -> None:
    """A forked child has none of them."""
    _idle.clear()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
