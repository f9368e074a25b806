"""What tests of abmind start from: minds whose clock stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind
from tests.systems.abmind.kit import Open, minds


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Open]:
    with minds(tmp_path) as open_mind:
        yield open_mind


@pytest.fixture
def mind(at: Open) -> Mind:
    return at()
