"""Tenants: every key begins with one, row-level security is under the bounds, and no recall reads another's rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import recollect
from recollect import Mind
from recollect.store.base import Bound
from recollect.store.postgres import PostgresStore
from recollect.store.postgres.migrations import BY_TENANT
from recollect.store.postgres.statements import policy_settings
from tests.conftest import Clock
from tests.postgres.fixtures import Database
from tests.postgres.plans import noted_statements, rows_by_table, scans_of_recall
from tests.postgres.stores import ROLE, EmptyStores

SCANNED = {*BY_TENANT, "memories"}
QUOTED = """o'brien "& sons" \\ %s {x}"""


@pytest.fixture
def store(empty_stores: EmptyStores, clock: Clock) -> Iterator[PostgresStore]:
    store = empty_stores.open(clock)
    with Mind(store=store, embedder=None, clock=clock) as mind:
        for collection in ("main", "other", QUOTED):
            for user in ("anna", "ben"):
                cup = mind.remember(f"{user} of {collection} has a blue cup.", collection=collection, user=user)
                shelf = mind.remember("The shelf is high.", collection=collection, user=user, session="s")
                mind.link(cup.id, shelf.id, "near")
                mind.relate(user, "owns", "cup", collection=collection, user=user)
    yield store
    store.close()


def visible(store: PostgresStore, table: str, settings: dict[str, str]) -> int:
    """How many rows of a table the role of the tests sees with these settings."""
    schema = f'"{store.settings.schema}"'
    with psycopg.connect(store.database.url) as connection:
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        role = connection.execute("SELECT current_user").fetchone()
        assert role == (ROLE,)
        found = connection.execute(f"SELECT count(*) FROM {schema}.{table}".encode()).fetchone()
    assert found is not None
    return int(found[0])


def test_the_tests_run_as_a_role_that_owns_no_table_and_may_not_bypass_row_level_security(store: PostgresStore) -> None:
    sql = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    assert store.fetch(sql) == [(False, False)]
    sql = "SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = current_user"
    assert store.fetch(sql) == [(0,)]


def test_row_level_security_is_forced_on_every_table_with_memories(store: PostgresStore) -> None:
    sql = (
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' "
        "AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    open_tables = {name for (name,) in store.fetch(sql, (f'"{store.settings.schema}"',))}
    assert open_tables == {"migrations", "spaces", "erasure_salt"}  # these have nothing of a memory


@pytest.mark.parametrize("table", ["memories", "postings", "vocabulary", "edges", "entity_edges", "changes"])
def test_a_statement_without_any_condition_sees_only_the_tenant(store: PostgresStore, table: str) -> None:
    everything = visible(store, table, policy_settings(Bound()))
    by_collection = [
        visible(store, table, policy_settings(Bound(collection=name))) for name in ("main", "other", QUOTED)
    ]
    assert min(by_collection) > 0
    assert sum(by_collection) == everything
    assert visible(store, table, policy_settings(Bound(collection="nobody"))) == 0
    assert visible(store, table, {}) == 0


def test_a_statement_without_any_condition_sees_only_the_user_agent_and_session(store: PostgresStore) -> None:
    assert visible(store, "memories", policy_settings(Bound(user="anna"))) == 6
    assert visible(store, "memories", policy_settings(Bound(collection="main", user="anna"))) == 2
    assert visible(store, "memories", policy_settings(Bound(collection="main", user="anna", session="s"))) == 1
    assert visible(store, "memories", policy_settings(Bound(agent="robot"))) == 0


def test_nothing_can_be_written_into_another_tenant(store: PostgresStore) -> None:
    with psycopg.connect(store.database.url) as connection:
        for name, value in {
            **policy_settings(Bound(collection="main")),
            "search_path": f'"{store.settings.schema}"',
        }.items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        sql = "INSERT INTO folders SELECT (SELECT max(tenant) + 1000 FROM collections), '{}'"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(sql)


def test_a_tenant_whose_name_has_quotes_is_like_any_other(store: PostgresStore, clock: Clock) -> None:
    with Mind(store=store, embedder=None, clock=clock, collection=QUOTED, user="anna") as mind:
        (found,) = mind.recall("blue cup", k=1)
        assert found.text == f"anna of {QUOTED} has a blue cup."
        mind.edit(found.id, text="The cup is green.")
        mind.undo()
        mind.erase(found.id)
        assert mind.status().store.memories == {"active": 1}


def test_every_key_begins_with_the_tenant(store: PostgresStore) -> None:
    sql = (
        "SELECT c.relname, i.relname, a.attname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid "
        "JOIN pg_class i ON i.oid = x.indexrelid "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0] "
        "WHERE c.relnamespace = to_regnamespace(%s) AND (x.indisunique OR x.indisprimary)"
    )
    keys = store.fetch(sql, (f'"{store.settings.schema}"',))
    shared = {"collections", "spaces", "migrations"}  # copied to every shard
    assert {(table, index) for table, index, first in keys if first != "tenant" and table not in shared} == set()
    assert {table for table, _, _ in keys} - shared == {*BY_TENANT, "memories"}


# Citus cannot be installed where these tests run. These functions stand for its own: they note what they are told, and
# refuse what Citus refuses.
CITUS_FUNCTIONS = """
CREATE TABLE public.told (name text PRIMARY KEY, number serial, kind text, by_column text, with_table text);
GRANT ALL ON public.told, public.told_number_seq TO PUBLIC;
CREATE FUNCTION public.note(named regclass, kind text, by_column text, with_table text) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = named) THEN
        RAISE 'cannot create policy: subqueries are not supported in policies on distributed tables';
    END IF;
    IF EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = named AND contype = 'f' AND confrelid <> named
               AND NOT EXISTS (SELECT 1 FROM public.told t WHERE t.name = confrelid::regclass::text)) THEN
        RAISE 'the table that % refers to is not distributed', named;
    END IF;
    INSERT INTO public.told (name, kind, by_column, with_table) VALUES (named::text, kind, by_column, with_table);
END $$;
CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
    $$ SELECT public.note(table_name, 'reference', NULL, NULL) $$;
CREATE FUNCTION public.create_distributed_table(table_name regclass, distribution_column text,
    colocate_with text DEFAULT 'default') RETURNS void LANGUAGE sql AS
    $$ SELECT public.note(table_name, 'distributed', distribution_column, colocate_with) $$;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    SELECT 4000000000, 'citus', 10, oid, false, '0' FROM pg_namespace WHERE nspname = 'public';
"""


def test_every_table_with_a_tenant_is_distributed_with_the_memories(database: Database, clock: Clock) -> None:
    database.server.execute(CITUS_FUNCTIONS, database.name)
    try:
        with recollect.open(database.url, embedder=None, clock=clock, collection="main") as mind:
            id = mind.remember("The cup is blue.").id
            assert [hit.id for hit in mind.recall("cup")] == [id]
    finally:
        database.server.execute("DELETE FROM pg_extension WHERE extname = 'citus'", database.name)
    told = database.server.execute("SELECT name, kind, by_column, with_table FROM told ORDER BY number", database.name)
    shared = {("collections", "reference"), ("spaces", "reference"), ("erasure_salt", "reference")}
    assert {(name, kind) for name, kind, *_ in told[:3]} == shared
    assert told[3] == ("memories", "distributed", "tenant", "default")
    assert {*told[4:]} == {(name, "distributed", "tenant", "memories") for name in BY_TENANT}


def test_foreign_keys_stay_inside_a_tenant(store: PostgresStore) -> None:
    sql = (
        "SELECT conname FROM pg_constraint WHERE contype = 'f' AND connamespace = to_regnamespace(%s) AND NOT EXISTS "
        "(SELECT 1 FROM pg_attribute a WHERE a.attrelid = conrelid AND a.attnum = conkey[1] AND a.attname = 'tenant')"
    )
    assert store.fetch(sql, (f'"{store.settings.schema}"',)) == []


def test_texts_that_are_compared_are_compared_by_their_bytes(store: PostgresStore) -> None:
    """Another collation of the database must not change an order: what has its collation is never compared."""
    sql = (
        "SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' AND a.atttypid = 'text'::regtype "
        "AND a.attcollation = 'pg_catalog.default'::regcollation AND NOT a.attisdropped"
    )
    found = {name for (name,) in store.fetch(sql, (f'"{store.settings.schema}"',))}
    json_columns = ("flags", "emotion_tags", "keywords", "entities", "files", "tags", "context")
    logs = {"changes.note", "changes.owners", "former.record", "erasures.owners", "erasures.receipt"}
    others = {"folders.record", "files.problem", "migrations.name"}
    assert found == {*(f"memories.{name}" for name in json_columns), *logs, *others}


# What a recall does.


@pytest.fixture
def statements() -> Iterator[list[tuple[str, Any]]]:
    with noted_statements() as executed:
        yield executed


@pytest.mark.contract("B24")
def test_a_recall_is_a_handful_of_statements_in_one_snapshot(
    empty_stores: EmptyStores, clock: Clock, statements: list[tuple[str, Any]]
) -> None:
    counts = []
    for size in (20, 300):
        store = empty_stores.open(clock)
        with Mind(store=store, embedder="local", clock=clock, collection="main") as mind:
            texts = (f"Parcel {number} is on shelf {number % 7} of the hall." for number in range(size))
            mind.remember_many({"text": text, "session": f"s{at // 10}"} for at, text in enumerate(texts))
            mind.recall("where is the first parcel?")  # what it reads stays known: see below
            mind.remember("Anna took the last parcel.")
            statements.clear()
            mind.recall("which parcel is on shelf 3?", k=10)
        counts.append(len(statements))
        begun = [sql for sql, _ in statements if sql.startswith("BEGIN")]
        assert begun == ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN ISOLATION LEVEL READ COMMITTED"]
        assert max(counts) <= 20, "\n".join(sql for sql, _ in statements)  # the second one records the use
        store.close()
    assert counts[1] <= counts[0] + 4, "it does not depend on how many memories there are"


def test_a_second_recall_of_the_same_version_needs_fewer_statements(
    empty_stores: EmptyStores, clock: Clock, statements: list[tuple[str, Any]]
) -> None:
    store = empty_stores.open(clock)
    with Mind(store=store, embedder=None, clock=clock, collection="main") as mind:
        mind.remember_many(f"Parcel {number} is on shelf {number % 7}." for number in range(50))
        counts = []
        for _ in range(2):
            statements.clear()
            mind.recall("which parcel is on shelf 3?")
            counts.append(len(statements))
    store.close()
    assert counts[1] < counts[0]


@pytest.mark.contract("B24")
def test_no_statement_of_a_recall_reads_rows_of_another_tenant(empty_stores: EmptyStores, clock: Clock) -> None:
    """Every statement of a recall is explained with ANALYZE: what each part of its plan looked at, and threw away."""
    store, rows = empty_stores.open(clock), 40
    with Mind(store=store, embedder="local", clock=clock) as everybody:
        for tenant in range(6):
            everybody.remember_many(
                {"text": f"Parcel {number} of tenant {tenant} is on shelf {number % 7}.", "collection": f"t{tenant}"}
                for number in range(rows)
            )
    empty_stores.server.execute("ANALYZE", empty_stores.name)
    with Mind(store=store, embedder="local", clock=clock, collection="t3") as mind:
        scans = [scan for scan in scans_of_recall(mind, "which parcel is on shelf 3?") if scan.table in SCANNED]
        own = rows_by_table(mind, SCANNED)
    store.close()
    assert {"memories", "postings", "vocabulary", "vectors", "sketches"} <= {scan.table for scan in scans}
    assert own["memories"] == rows
    assert [scan for scan in scans if scan.rows > own[scan.table]] == []
