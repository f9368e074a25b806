"""Batch APIs: many texts handed over at once, half the price, and an answer when there is one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from recollect.embed.http import Failure
from recollect.errors import InvalidInput
from recollect.model import validation as check

log = logging.getLogger("recollect")
T = TypeVar("T")
Found = dict[int, Any]  # the vectors that a batch brought, by the place of their text


@dataclass(frozen=True, slots=True)
class Batching:
    """When texts go to a batch API, and how it is waited for."""

    least: int = 100  # fewer texts than this are asked for directly
    most: int = 2000  # texts in one batch
    concurrency: int = 2  # batches that run beside each other
    poll: float = 10.0  # seconds between looks
    timeout: float = 24 * 3600.0  # seconds, after which a batch is given up

    def __post_init__(self) -> None:
        for name in ("least", "most", "concurrency"):
            if check.whole(getattr(self, name), name) < 1:
                raise InvalidInput(f"{name} must be at least 1, not {getattr(self, name)}.")
        check.number(self.poll, "poll", low=0.0)
        check.number(self.timeout, "timeout", low=0.0)

    @property
    def at_once(self) -> int:
        """Texts that keep all batches busy."""
        return self.most * self.concurrency


def in_batches(texts: Sequence[str], settings: Batching, run: Callable[[Sequence[str]], Found]) -> Found:
    """The vectors that batches brought; what is missing, because one failed or left it out, must be asked for."""

    def group(start: int) -> Found:
        part = texts[start : start + settings.most]
        try:
            brought = run(part)
        except Failure as failure:
            log.warning("A batch of %s texts failed: %s They are asked for directly.", len(part), failure)
            return {}
        if len(brought) < len(part):
            log.warning(
                "A batch left out %s of %s texts. They are asked for directly.", len(part) - len(brought), len(part)
            )
        return {start + at: vector for at, vector in brought.items()}

    with ThreadPoolExecutor(settings.concurrency, "recollect-batch") as pool:
        groups = list(pool.map(group, range(0, len(texts), settings.most)))
    return {at: vector for brought in groups for at, vector in brought.items()}


def awaited(look: Callable[[], T | None], settings: Batching) -> T | None:
    """What the look at a batch brings in the end; None when it took too long."""
    until = time.monotonic() + settings.timeout
    while (ended := look()) is None and time.monotonic() < until:
        time.sleep(settings.poll)
    return ended
