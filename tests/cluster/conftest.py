"""One cluster for all tests here. Where its parts are missing they are skipped, and say how to get them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.nodes import HOW_TO_RUN, Cluster, find_missing, started


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    missing = find_missing()
    if missing is not None:
        pytest.skip(f"{missing} is not installed: {HOW_TO_RUN}")
    with started() as running:
        yield running
