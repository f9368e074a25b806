"""Empty stores on a real PostgreSQL, opened by a role that owns no table, so that row-level security holds for it.

A store is a schema of one database. Schemas are emptied and used again: creating the tables takes a while.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import pytest

from recollect import Mind
from recollect.errors import StoreError
from tests.postgres.server import OWNER, PostgresServer

if TYPE_CHECKING:
    from recollect.store.base import Store
    from recollect.store.postgres import PostgresStore
    from recollect.store.sqlite.store import VectorSearch

ROLE = "recollect_app"
SCHEMA_FILE = "a schema of the server of the tests: "
TEST_STORE = "RECOLLECT_TEST_STORE"  # "postgres": what tests open by the path of a file is a schema on a server


class EmptyStores:
    """Opens empty stores in one database."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        self.spoilt: set[str] = set()  # schemas that a test has damaged
        self._free: list[str] = []
        self._numbers = count()
        server.create_database(name)
        if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", values=(ROLE,)):
            server.execute(f"CREATE ROLE {ROLE} LOGIN")

    def url(self, schema: str, role: str = ROLE, **parameters: str) -> str:
        return self.server.url(self.name, role, schema=schema, **parameters)

    def new_schema(self) -> str:
        """A schema with tables, which the role of the tests may use but does not own."""
        from recollect.store.postgres import PostgresStore

        schema = f"memories_{next(self._numbers)}"
        PostgresStore(self.url(schema, OWNER), _never).close()
        for statement in (
            f'GRANT USAGE ON SCHEMA "{schema}" TO {ROLE}',
            f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{schema}" TO {ROLE}',
            f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA "{schema}" TO {ROLE}',
            f'GRANT MAINTAIN ON ALL TABLES IN SCHEMA "{schema}" TO {ROLE}',  # VACUUM after an erasure
        ):
            self.server.execute(statement, self.name)
        return schema

    def open(self, clock: Callable[[], datetime]) -> PostgresStore:
        """An empty store; closing it empties its schema for the next one."""
        from recollect.store.postgres import PostgresStore

        schema, stores = self.take(), self

        class EmptiedStore(PostgresStore):
            def close(self) -> None:
                super().close()
                stores.empty(schema)

        return EmptiedStore(self.url(schema), clock)

    def take(self) -> str:
        """An empty schema with tables; ``empty`` gives it back."""
        return self._free.pop() if self._free else self.new_schema()

    def empty(self, schema: str) -> None:
        from recollect.store.postgres.migrations import BY_TENANT

        if schema in self.spoilt:
            self.server.execute(f'DROP SCHEMA "{schema}" CASCADE', self.name)
            return
        tables = ("memories", *BY_TENANT, "spaces")
        deleted = [f'DELETE FROM "{schema}".{name};' for name in tables]  # quicker than TRUNCATE for a few rows
        deleted.append(f'DELETE FROM "{schema}".collections WHERE tenant > 0;')
        self.server.execute(f"DO $$ BEGIN {' '.join(deleted)} END $$", self.name)
        self._free.append(schema)


class StoresByPath:
    """Opens a schema on the server wherever a test opens a file. The file itself has the name of the schema, so that
    commands find it, and it may be renamed. A file that is no such file is opened as it is."""

    def __init__(self, stores: EmptyStores) -> None:
        self.stores = stores
        self.taken: set[str] = set()
        self._open_store = Mind._open_store

    def open(
        self, mind: Mind, path: str | PathLike[str], readonly: bool, durability: str, vector_search: VectorSearch
    ) -> Store:
        from recollect.store.postgres import PostgresStore

        if not isinstance(path, (str, PathLike)) or "://" in fspath(path):
            return self._open_store(mind, path, readonly, durability, vector_search)
        is_temporary = fspath(path) == ":memory:"
        file = Path(path)
        if readonly and not is_temporary and not file.exists():
            raise StoreError(f"There is no memory at {path}.")
        if is_temporary or not file.exists() or not file.stat().st_size:
            schema = self.stores.take()
            self.taken.add(schema)
            if not is_temporary:
                file.write_text(f"{SCHEMA_FILE}{schema}", "utf-8")
        elif (name := schema_name(file)) is None:
            return self._open_store(mind, path, readonly, durability, vector_search)
        else:
            schema = name
        TestSchema.by_name[schema] = TestSchema(schema, self.stores)
        return PostgresStore(self.stores.url(schema), mind.clock, readonly=readonly)

    def empty_all_but(self, kept: set[str]) -> None:
        for schema in self.taken - kept:
            self.taken.remove(schema)
            self.stores.empty(schema)


def schema_name(file: Path) -> str | None:
    """The name of the schema that a file stands for."""
    raw = file.read_bytes()[: len(SCHEMA_FILE) + 64]
    return raw.decode().removeprefix(SCHEMA_FILE) if raw.startswith(SCHEMA_FILE.encode()) else None


@dataclass(frozen=True)
class TestSchema:
    """A schema that stands for a file, for tests that look into it or damage it beside the library."""

    __test__ = False
    by_name: ClassVar[dict[str, TestSchema]] = {}
    name: str
    stores: EmptyStores

    def execute(self, statement: str) -> list[Any]:
        """As superuser, with its tables. One that is changed is not used for another test."""
        import psycopg

        if not statement.startswith("SELECT"):
            self.stores.spoilt.add(self.name)
        with psycopg.connect(self.stores.server.url(self.stores.name), autocommit=True) as connection:
            connection.execute(f'SET search_path = "{self.name}", public'.encode())
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def schema_of(path: str | Path) -> TestSchema | None:
    """The schema that a file stands for, or that a URL names."""
    if "://" in str(path):
        return TestSchema.by_name[dict(parse_qsl(urlsplit(str(path)).query))["schema"]]
    name = schema_name(Path(path)) if Path(path).is_file() else None
    return None if name is None else TestSchema.by_name[name]


def _never() -> datetime:
    raise AssertionError("a migration asks for no time")


@pytest.fixture(scope="session")
def empty_stores(postgres: PostgresServer) -> Iterator[EmptyStores]:
    stores = EmptyStores(postgres, f"stores_{os.getpid()}")
    yield stores
    postgres.drop_database(stores.name)


@pytest.fixture(scope="session", autouse=True)
def stores_by_path(request: pytest.FixtureRequest) -> Iterator[StoresByPath | None]:
    """With RECOLLECT_TEST_STORE=postgres the tests run on PostgreSQL instead of on files."""
    if os.environ.get(TEST_STORE) != "postgres":
        yield None
        return
    with pytest.MonkeyPatch.context() as patched:
        by_path = StoresByPath(request.getfixturevalue("empty_stores"))
        patched.setattr(Mind, "_open_store", lambda mind, *options: by_path.open(mind, *options))
        yield by_path


@pytest.fixture(autouse=True)
def emptied_after_the_test(request: pytest.FixtureRequest, stores_by_path: StoresByPath | None) -> Iterator[None]:
    if stores_by_path is None:
        yield
        return
    marked = request.node.get_closest_marker("file")
    if marked is not None:
        pytest.skip(f"only for a file: {marked.args[0]}")
    before = {*stores_by_path.taken}
    yield
    stores_by_path.empty_all_but(before)
