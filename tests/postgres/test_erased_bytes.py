"""Erasing on PostgreSQL (B6): no row has it; what the server's files keep is said, and until when is tested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import recollect
from recollect import Mind
from recollect.store.postgres import store as postgres_store
from recollect.store.postgres.erasing import clear_statistics, erase
from recollect.store.postgres.transaction import PostgresTransaction
from tests.contract.test_erasing import NOW, OWNER, SECRETS, Embedding, fill
from tests.postgres.fixtures import Database

pytestmark = pytest.mark.contract("B6")
WORDS = (*SECRETS, OWNER)
TABLES = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
STATISTICS = "SELECT coalesce(most_common_vals::text, '') || coalesce(histogram_bounds::text, '') FROM pg_stats"


@pytest.fixture
def mind(database: Database) -> Iterator[Mind]:
    with recollect.open(database.url, embedder=Embedding(), clock=lambda: NOW) as opened:
        fill(opened)
        database.server.execute("ANALYZE", database.name)
        yield opened


def found_in_rows(database: Database) -> set[str]:
    """Which of the words are in a row of any table, or in the statistics of the planner."""
    texts = [text for (text,) in database.server.execute(STATISTICS, database.name)]
    for schema, table in database.server.execute(TABLES, database.name):
        rows = database.server.execute(f'SELECT row_to_json(x)::text FROM "{schema}"."{table}" x', database.name)
        texts += [text for (text,) in rows]
    everything = "\n".join(texts).lower()
    return {word for word in WORDS if word in everything}


def found_in_files(folder: Path) -> set[str]:
    """Which folders of the server have one of the words in a file."""
    words, found = [word.encode() for word in WORDS], set()
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        with suppress(FileNotFoundError):  # a running server replaces some
            if any(word in path.read_bytes().lower() for word in words):
                found.add("log" if "pg_wal" in path.parts else "tables")
    return found


def test_no_row_and_no_statistic_has_what_was_erased(mind: Mind, database: Database) -> None:
    assert {"nautilus", "capybara", OWNER} <= found_in_rows(database)
    erased = mind.erase(user=OWNER)
    assert erased.removed["memories"] == 3
    assert found_in_rows(database) == set()
    assert mind.verify_erasure(erased.receipt or {}).holds


@pytest.mark.parametrize("name", ["collection", "user", "agent", "session"])
def test_no_row_has_the_name_or_the_words_of_a_former_owner(database: Database, name: str) -> None:
    with recollect.open(database.url, embedder=Embedding(), clock=lambda: NOW) as mind:
        owner: dict[str, Any] = {name: OWNER}
        mind.remember("The zanzibar quokka is mine.", id="moved", **owner)
        mind.remember("The capybara.", id="last", **owner)
        other: dict[str, Any] = {name: "anna"}
        mind.edit("moved", text="The cup is here.", **other)
        mind.remember("A nautilus.", id="other", user="ben")
        mind.edit("other", text="A shell.")
        assert {"zanzibar", "quokka", "capybara", OWNER} <= found_in_rows(database)
        mind.erase("last")
        assert found_in_rows(database) == {"nautilus"}  # a version of somebody else


def test_a_whole_collection_is_erased_within_its_bound(mind: Mind, database: Database) -> None:
    mind.remember("A nautilus.", collection="shells")
    with recollect.open(database.url, embedder=Embedding(), collection="shells") as bound:
        assert bound.erase(collection="shells").removed["memories"] == 1
    assert database.server.execute("SELECT 1 FROM recollect.collections WHERE name = 'shells'", database.name) == []


def test_the_files_of_the_server_keep_it_until_an_operator_writes_them_anew_and_the_result_says_so(
    mind: Mind, database: Database
) -> None:
    folder = database.server.folder
    if folder is None:
        pytest.skip("the files of a server that was there already are not looked at")
    (pending,) = mind.erase(user=OWNER).pending
    assert "write-ahead log" in pending
    assert "VACUUM FULL" in pending
    database.server.execute("CHECKPOINT")
    assert "tables" in found_in_files(folder), "the note is needed"
    database.server.execute("VACUUM FULL", database.name)
    database.server.execute("CHECKPOINT")
    assert found_in_files(folder) <= {"log"}


def test_an_erasure_stays_pending_while_an_older_transaction_can_read_what_was_erased(
    mind: Mind, database: Database
) -> None:
    with psycopg.connect(database.admin_url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM recollect.memories")
        assert any("began before the erasure" in reason for reason in mind.erase(user=OWNER).pending)
        assert reader.execute('SELECT text FROM recollect.memories WHERE "user" = %s', (OWNER,)).fetchall()
        assert _pending(database) == 1
    assert mind.finish_erasures() == ()
    assert _pending(database) == 0


def test_an_erasure_that_is_committed_during_the_vacuum_of_another_stays_pending(
    mind: Mind, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is committed when the tables were vacuumed and the first one is not recorded as finished yet."""

    def erase_another(connection: Any, schema: str) -> None:
        clear_statistics(connection, schema)
        monkeypatch.setattr(postgres_store, "clear_statistics", clear_statistics)
        with mind.store.transaction("erase") as transaction:
            assert isinstance(transaction, PostgresTransaction)
            erase(transaction, [other], None, None, False)

    other = mind.remember("A cup.", user="somebody").id
    monkeypatch.setattr(postgres_store, "clear_statistics", erase_another)
    mind.erase(user=OWNER)
    assert _pending(database) == 1
    mind.finish_erasures()
    assert _pending(database) == 0


def _pending(database: Database) -> int:
    ((count,),) = database.server.execute("SELECT count(*) FROM recollect.erasures WHERE pending", database.name)
    return int(count)
