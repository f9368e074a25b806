"""The stores that the suite runs on. A new store adds a line to ``OPEN``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.store.base import Store
from recollect.store.reference import ReferenceStore
from tests.conftest import Clock

StoreFactory = Callable[[], Store]


def open_sqlite(folder: Path, clock: Clock) -> Store:
    from recollect.store.sqlite import SqliteStore

    number = len(list(folder.glob("*.db")))
    return SqliteStore(str(folder / f"{number}.db"), clock)


OPEN: dict[str, Callable[[Path, Clock], Store]] = {
    "reference": lambda folder, clock: ReferenceStore(clock),
    "sqlite": open_sqlite,
}


@pytest.fixture(params=OPEN)
def store_factory(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[StoreFactory]:
    """Opens empty stores of one kind, as many as a test needs; all are closed in the end."""
    opened: list[Store] = []

    def open_one() -> Store:
        opened.append(OPEN[request.param](tmp_path, clock))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()
