"""The stores that the suite runs on. A new store adds a line to ``OPEN``; a server has a fixture."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.store.base import Store
from recollect.store.reference import ReferenceStore
from tests.conftest import Clock
from tests.postgres.stores import EmptyStores

StoreFactory = Callable[[], Store]


def open_sqlite(file: Path, clock: Clock) -> Store:
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(str(file), clock)


def open_with_index_files(file: Path, clock: Clock) -> Store:
    """A store that writes every few memories to files of its index."""
    from recollect.store.sqlite import SqliteStore
    from recollect.store.sqlite.index import IndexLimits

    return SqliteStore(str(file), clock, index_limits=IndexLimits(min_saved=2, max_tail=2, max_segment=16))


OPEN: dict[str, Callable[[Path, Clock], Store]] = {  # by a file without anything in it
    "reference": lambda file, clock: ReferenceStore(clock),
    "sqlite": open_sqlite,
    "sqlite with index files": open_with_index_files,
}


@pytest.fixture(params=[*OPEN, pytest.param("postgres", marks=pytest.mark.contract("B24"))])
def store_factory(
    request: pytest.FixtureRequest, tmp_path: Path, empty_file: Path, clock: Clock
) -> Iterator[StoreFactory]:
    """Opens empty stores of one kind, as many as a test needs; all are closed in the end."""
    opened: list[Store] = []
    if request.param == "postgres":
        stores: EmptyStores = request.getfixturevalue("empty_stores")  # skips where there is no server

    def open_one() -> Store:
        if request.param == "postgres":
            opened.append(stores.open(clock))
        else:
            file = Path(shutil.copy(empty_file, tmp_path / f"{len(opened)}.db"))
            opened.append(OPEN[request.param](file, clock))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()


# How many of the random sequences are no slow tests: one beside the reference itself shows that it is deterministic.
QUICK_SEEDS = {"reference": 1, "sqlite": 4, "sqlite with index files": 6, "postgres": 2}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most of the random sequences are slow tests."""
    for item in items:
        values: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        if values.get("seed", 0) >= QUICK_SEEDS.get(values.get("store_factory", ""), 12):
            item.add_marker(pytest.mark.slow)
