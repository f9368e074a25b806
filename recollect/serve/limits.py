"""What one caller may use: requests a second, open streams, and threads of the server."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from recollect.errors import LimitExceeded

T = TypeVar("T")
MAX_BUCKETS = 10_000


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


class Slots:
    """How much may be open at once: in all, and by one caller."""

    def __init__(self, what: str, most: int, most_each: int) -> None:
        self.what, self.most, self.most_each = what, most, most_each
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @contextmanager
    def take(self, caller: str) -> Iterator[None]:
        """One of them, for as long as the block lasts; LimitExceeded if there is none left."""
        own = self._taken[caller]
        if own >= self.most_each or self.taken >= self.most:
            of = f"{own} {self.what} with this token" if own >= self.most_each else f"{self.taken} {self.what}"
            raise LimitExceeded(f"There are {of} already.").advise("Close one of them first.")
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]


class ThreadPool:
    """A bounded number of threads for the work, and a bounded number of requests that wait for one."""

    def __init__(self, threads: int, queue: int) -> None:
        self.capacity, self.queue = threads, queue
        self.active = 0  # running or waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="recollect-serve")

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        if self.active >= self.capacity + self.queue:
            raise LimitExceeded(f"The server is busy: {self.active:,} requests are waiting.")
        self.active += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        future.add_done_callback(self._done)  # also when the caller has gone: the thread is still busy
        return await asyncio.shield(future)

    def _done(self, _: object) -> None:
        self.active -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
