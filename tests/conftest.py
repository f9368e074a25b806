"""What most tests start from: a file, a mind without an embedder, and a clock that stands still."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from recollect import Mind
from tests.postgres.fixtures import database, postgres
from tests.postgres.server import ENVIRONMENT_VARIABLE, NEEDED_PACKAGES
from tests.postgres.stores import StoresByPath, emptied_after_the_test, empty_stores, stores_by_path

__all__ = ["database", "emptied_after_the_test", "empty_stores", "postgres", "stores_by_path"]

settings.register_profile("untimed", deadline=None)  # no test asserts time: the machine may be busy
settings.load_profile("untimed")

# Dates without a zone are in that of the machine: here UTC, wherever the tests run.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# What a shell starts in the background ignores Ctrl-C, and programs that tests start and stop would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def examples(few: int, many: int) -> int:
    """How many examples Hypothesis tries: few, or many where the slow tests run, too (``make test-all``)."""
    return many if _with_slow_tests else few


_with_slow_tests = False


def pytest_configure(config: pytest.Config) -> None:
    global _with_slow_tests
    _with_slow_tests = config.option.markexpr != "not slow"


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


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory without anything in it. Copying it takes a tenth of the time that creating its tables takes."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    Mind(path, embedder=None).close()
    return path


@pytest.fixture
def mind(path: Path, empty_file: Path, stores_by_path: StoresByPath | None) -> Iterator[Mind]:
    if stores_by_path is None:
        shutil.copy(empty_file, path)
    with Mind(path, embedder=None) as mind:
        yield mind


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say in one line each that adapters were not tried beside their frameworks, or nothing on PostgreSQL."""
    adapters = Path(__file__).parent / "integrations"
    missing = [name for name in ("langgraph", "llama_index", "agents", "gymnasium") if find_spec(name) is None]
    if missing and any(adapters.is_relative_to(Path(arg.split("::")[0]).absolute()) for arg in config.args):
        names = ", ".join(missing)
        message = f"SKIPPED: adapters whose frameworks are not installed ({names}, …); run: make test-integrations"
        terminalreporter.write_line(message, yellow=True)
    if ENVIRONMENT_VARIABLE not in os.environ and any(find_spec(name) is None for name in NEEDED_PACKAGES):
        message = "SKIPPED: everything on PostgreSQL, which is not installed here; run: make test-postgres"
        terminalreporter.write_line(message, yellow=True)
