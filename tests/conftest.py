"""What most tests start from: a file, a mind without an embedder, and a clock that stands still."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say in one line that the adapters were not tried beside their frameworks, which are not installed here."""
    adapters = Path(__file__).parent / "integrations"
    missing = [name for name in ("langgraph", "llama_index", "agents", "gymnasium") if find_spec(name) is None]
    if missing and any(adapters.is_relative_to(Path(arg.split("::")[0]).absolute()) for arg in config.args):
        names = ", ".join(missing)
        message = f"SKIPPED: adapters whose frameworks are not installed ({names}, …); run: make test-integrations"
        terminalreporter.write_line(message, yellow=True)
