"""Fixtures for tests on a real PostgreSQL. Where there is none, they skip and say how to get one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from tests.postgres.server import HOW_TO_RUN, OWNER, PostgresServer, ServerMissing, available

_numbers = count()


@dataclass(frozen=True)
class Database:
    """An empty database with the extensions."""

    server: PostgresServer
    name: str

    @property
    def url(self) -> str:
        """As the user that owns it, who is no superuser."""
        return self.server.url(self.name, OWNER)

    @property
    def admin_url(self) -> str:
        """As superuser."""
        return self.server.url(self.name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server, one for each process of the tests."""
    try:
        with available() as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(f"{missing}: {HOW_TO_RUN}")


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """An empty database, which is dropped after the test."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    postgres.create_database(name)
    yield Database(postgres, name)
    postgres.drop_database(name)
