"""What most tests start from: a file, a mind without an embedder, and a clock that stands still."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings

from recollect import Mind

settings.register_profile("untimed", deadline=None)  # no test asserts time: the machine may be busy
settings.load_profile("untimed")

# What a shell starts in the background ignores Ctrl-C, and programs that tests start and stop would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Clock:
    """Stands still until it is told to move."""

    def __init__(self) -> None:
        self.now = datetime(2025, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with Mind(path, embedder=None) as mind:
        yield mind
