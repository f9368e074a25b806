"""What one caller may use: requests a second, threads of the server, and idempotency keys."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from recollect.errors import InvalidInput, LimitExceeded

T = TypeVar("T")
MAX_BUCKETS = 10_000
KEY_SECONDS = 24 * 3600.0
MAX_KEYS = 10_000
MAX_KEY_BYTES = 64 << 20  # of remembered answers


class RateLimit:
    """A bucket of requests for each caller, which fills again at a steady rate."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # by caller: (requests left, at)

    def take(self, caller: str) -> float:
        """Take a request; 0, or the seconds after which there will be one."""
        left, at = self._buckets.pop(caller, (float(self.burst), 0.0))
        now = time.monotonic()
        left = min(float(self.burst), left + (now - at) * self.rate)
        wait = 0.0 if left >= 1 else (1 - left) / self.rate
        self._buckets[caller] = (left if wait else left - 1, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return wait

    def is_empty(self, caller: str) -> bool:
        """Is nothing left? Takes nothing."""
        left, at = self._buckets.get(caller, (float(self.burst), 0.0))
        return left + (time.monotonic() - at) * self.rate < 1


class WorkerPool:
    """A bounded number of threads for the work, and a bounded number of requests that wait for one."""

    def __init__(self, workers: int, queue: int) -> None:
        self.workers, self.queue = workers, queue
        self.active = 0  # running or waiting
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="recollect-serve")

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        if self.active >= self.workers + self.queue:
            raise LimitExceeded(f"The server is busy: {self.active:,} requests are waiting.")
        self.active += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        future.add_done_callback(self._done)  # also when the caller has gone: the thread is still busy
        return await asyncio.shield(future)

    def _done(self, _: object) -> None:
        self.active -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished response: what is sent, and what is sent again for the same idempotency key."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class IdempotencyKeys:
    """Answers by caller and key, for a day and as long as this server runs. A key belongs to one request."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, str], tuple[float, bytes, asyncio.Future[Answer]]] = OrderedDict()
        self._bytes = 0

    async def begin(self, caller: str, key: str, request: bytes) -> Answer | None:
        """The earlier answer to this request, awaited if it is not finished; None if this is the first one."""
        self._expire()
        entry = self._entries.get((caller, key))
        if entry is None:
            self._entries[caller, key] = (time.monotonic(), request, asyncio.get_running_loop().create_future())
            return None
        if entry[1] != request:
            raise InvalidInput("Idempotency-Key was used for another request; use a new one for each request.")
        return await asyncio.shield(entry[2])

    def finish(self, caller: str, key: str, answer: Answer | None) -> None:
        """Remember the answer; None when there is none that would be the same again, such as after an error."""
        entry = self._entries.get((caller, key))
        if entry is None or entry[2].done():
            return
        if answer is None:
            del self._entries[caller, key]
            entry[2].set_exception(LimitExceeded("The request with this Idempotency-Key failed; send it again."))
            entry[2].exception()  # nobody has to wait for it
        else:
            self._bytes += len(answer.body)
            entry[2].set_result(answer)

    def clear(self) -> None:
        """Drop all answers that are finished."""
        for key, (_, _, future) in list(self._entries.items()):
            if future.done():
                self._entries.pop(key, None)
        self._bytes = 0

    def _expire(self) -> None:
        oldest = time.monotonic() - KEY_SECONDS
        while self._entries:
            key, (at, _, future) = next(iter(self._entries.items()))
            if (at > oldest and len(self._entries) < MAX_KEYS and self._bytes < MAX_KEY_BYTES) or not future.done():
                return
            self._bytes -= len(future.result().body)
            del self._entries[key]
