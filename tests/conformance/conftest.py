"""The stores that the suite runs on. A new store adds a line to ``OPEN``; a server has a fixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.store.base import Store
from recollect.store.reference import ReferenceStore
from tests.conftest import Clock
from tests.postgres.stores import EmptyStores

StoreFactory = Callable[[], Store]


def open_sqlite(folder: Path, clock: Clock) -> Store:
    from recollect.store.sqlite import SqliteStore

    number = len(list(folder.glob("*.db")))
    return SqliteStore(str(folder / f"{number}.db"), clock)


def open_with_index_files(folder: Path, clock: Clock) -> Store:
    """A store that writes every few memories to files of its index."""
    from recollect.store.sqlite import SqliteStore
    from recollect.store.sqlite.index import IndexLimits

    number = len(list(folder.glob("*.db")))
    limits = IndexLimits(min_saved=2, max_tail=2, max_segment=16)
    return SqliteStore(str(folder / f"{number}.db"), clock, index_limits=limits)


OPEN: dict[str, Callable[[Path, Clock], Store]] = {
    "reference": lambda folder, clock: ReferenceStore(clock),
    "sqlite": open_sqlite,
    "sqlite with index files": open_with_index_files,
}


@pytest.fixture(params=[*OPEN, pytest.param("postgres", marks=pytest.mark.contract("B24"))])
def store_factory(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[StoreFactory]:
    """Opens empty stores of one kind, as many as a test needs; all are closed in the end."""
    opened: list[Store] = []
    if request.param == "postgres":
        stores: EmptyStores = request.getfixturevalue("empty_stores")  # skips where there is no server

    def open_one() -> Store:
        opened.append(stores.open(clock) if request.param == "postgres" else OPEN[request.param](tmp_path, clock))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()


QUICK_SEEDS = 2  # of the random sequences on a server, each of which takes seconds


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most of the random sequences on a server are slow tests."""
    for item in items:
        values: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        if values.get("store_factory") == "postgres" and values.get("seed", 0) >= QUICK_SEEDS:
            item.add_marker(pytest.mark.slow)
