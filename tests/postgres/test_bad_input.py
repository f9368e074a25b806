"""Bad servers, bad moments and bad values: a clear error, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psycopg
import pytest

import recollect
from recollect import Mind
from recollect.errors import EmbeddingError, InvalidInput, StoreError, StoreUnavailable
from recollect.model import Memory
from recollect.store.base import Space
from recollect.store.postgres import PostgresStore
from recollect.store.postgres.connections import decode_text, encode_text, parse_url
from tests.conftest import Clock
from tests.postgres.fixtures import Database
from tests.postgres.server import OWNER, PostgresServer, account_for_server, started
from tests.postgres.stores import EmptyStores


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def owned(database: Database) -> Iterator[PostgresStore]:
    store = PostgresStore(database.url, now)
    yield store
    store.close()


def tables_of(server: PostgresServer, name: str) -> int:
    ((count,),) = server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'recollect'", name)
    return int(count)


def test_a_cache_beside_a_server_is_refused_with_what_to_give_instead(database: Database) -> None:
    with pytest.raises(InvalidInput, match="give the path of a cache file"):
        recollect.open(database.url, embedding_cache=True)


# Databases that are no good.


def test_a_database_without_the_extension_tells_who_can_create_it(postgres: PostgresServer, database: Database) -> None:
    postgres.execute("DROP EXTENSION vector", database.name)
    with pytest.raises(StoreError, match=r"may not create the extension pgvector.*CREATE EXTENSION vector"):
        recollect.open(database.url, embedder=None)
    assert tables_of(postgres, database.name) == 0


def test_a_server_without_pgvector_is_an_error_that_says_so(postgres: PostgresServer, database: Database) -> None:
    if postgres.programs is None or postgres.folder is None:
        pytest.skip("the files of that server are not ours")
    control = next(postgres.programs.parent.rglob("extension/vector.control"))
    postgres.execute("DROP EXTENSION vector", database.name)
    away = control.rename(control.with_name("vector.control.away"))
    try:
        with pytest.raises(StoreError, match="does not have the extension pgvector"):
            recollect.open(database.admin_url, embedder=None)
    finally:
        away.rename(control)
    assert tables_of(postgres, database.name) == 0


def test_a_role_without_rights_is_told_what_it_lacks(postgres: PostgresServer, database: Database) -> None:
    if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'recollect_stranger'"):
        postgres.execute("CREATE ROLE recollect_stranger LOGIN")
    url = postgres.url(database.name, "recollect_stranger")
    with pytest.raises(StoreError, match="lacks a right: permission denied"):
        recollect.open(url, embedder=None)
    assert tables_of(postgres, database.name) == 0
    PostgresStore(database.url, now).close()
    with pytest.raises(StoreError, match="lacks a right: permission denied"):
        recollect.open(url, embedder=None)


def test_a_schema_of_a_newer_version_is_refused_and_left_alone(owned: PostgresStore, database: Database) -> None:
    database.server.execute("INSERT INTO recollect.migrations VALUES ('9999_later', now())", database.name)
    with pytest.raises(StoreError, match=r"written by a newer version of Recollect \(it has 9999_later\)"):
        recollect.open(database.url, embedder=None)


def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer, database: Database) -> None:
    name = f"{database.name}_latin"
    postgres.create_database(name, "template0", "ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with pytest.raises(StoreError, match="has the encoding LATIN1; a memory needs UTF8"):
            recollect.open(postgres.url(name, OWNER), embedder=None)
        assert tables_of(postgres, name) == 0
    finally:
        postgres.drop_database(name)


@pytest.mark.slow
def test_a_database_of_another_collation_orders_as_a_file_does(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory() as locales, ExitStack() as stack:
        made = f"{locales}/de_DE.UTF-8"
        if subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], capture_output=True).returncode:
            pytest.skip("there are no definitions of locales here")
        os.chmod(locales, 0o755)  # the server may run as another user
        monkeypatch.setenv("LOCPATH", locales)
        server = stack.enter_context(started())
        server.create_database("german", "template0", "ENCODING 'UTF8' LOCALE 'de_DE.UTF-8'")
        server.execute("CREATE EXTENSION vector", "german")
        assert server.execute("SELECT 'ä' < 'z', 'a' < 'B'", "german") == [(True, True)]
        ids = ["b", "B", "a10", "a9", "ä", "z", "_", "ss", "ß"]
        found = []
        for path in (server.url("german", OWNER), str(tmp_path / "memory.db")):
            with recollect.open(path, embedder=None, clock=clock) as mind:
                mind.remember_many({"text": "The cup.", "id": id, "user": id, "topic": id} for id in ids)
                chosen = [memory.id for memory in mind.list({"topic": "ss"})]
                found.append(([hit.id for hit in mind.recall("cup", k=9)], [each.id for each in mind.list()], chosen))
        assert found[0] == found[1]
        assert found[0][2] == ["ss"]


def test_a_server_that_is_not_there_is_an_error_within_seconds() -> None:
    with pytest.raises(StoreUnavailable, match=r"The connection to postgresql://someone@127\.0\.0\.1:1/memory failed"):
        recollect.open("postgresql://someone:secret@127.0.0.1:1/memory", embedder=None)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("pool_size=many", "pool_size='many' in the URL of a PostgreSQL memory must be a int"),
        ("pool_size=0", "must be at least 1"),
        ("schema=x%22y", "must be lower-case letters, digits and _"),
        ("prepare=maybe", "must be a bool"),
    ],
)
def test_a_setting_that_is_no_good_is_named(setting: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        recollect.open(f"postgresql://someone@127.0.0.1:1/memory?{setting}", embedder=None)


def test_messages_have_no_password(database: Database) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        recollect.open(
            "postgresql://u:hunter22@127.0.0.1:1/m?password=hunter22&read_url=postgresql://u:hunter22@h/m",
            embedder=None,
        )
    assert "hunter22" not in str(caught.value)


# Bad moments.


def cut_connections(database: Database) -> None:
    sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    database.server.execute(sql, values=(database.name,))


def test_two_migrations_at_once_make_one_schema(database: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        for store in list(pool.map(lambda _: PostgresStore(database.url, now), range(4))):
            store.close()
    ((count,),) = database.server.execute("SELECT count(*) FROM recollect.migrations", database.name)
    assert count == 3


def test_a_connection_that_is_cut_in_the_middle_of_a_write_leaves_nothing(
    owned: PostgresStore, database: Database
) -> None:
    def write() -> None:
        with owned.transaction("remember") as transaction:
            transaction.remember(Memory(text="Half of it."))
            cut_connections(database)
            transaction.remember(Memory(text="The other half."))

    with pytest.raises(StoreUnavailable, match="Nothing was written"):
        write()
    assert owned.status().memories == {}


def test_a_mind_goes_on_after_all_its_connections_were_cut(database: Database) -> None:
    with recollect.open(database.url, embedder=None) as mind:
        mind.remember("The cup is blue.")
        cut_connections(database)
        assert [hit.text for hit in mind.recall("cup")] == ["The cup is blue."]
        cut_connections(database)
        mind.remember("The plate is white.")
        assert mind.status().store.memories == {"active": 2}


def test_a_statement_timeout_is_an_error_and_nothing_is_written(owned: PostgresStore, database: Database) -> None:
    impatient = PostgresStore(f"{database.url}&statement_timeout=0.2", now)

    def write() -> None:
        with impatient.transaction("remember") as transaction:
            transaction.remember(Memory(text="Too late."))
            transaction.connection.execute("SELECT pg_sleep(5)")

    with pytest.raises(StoreError, match="took longer than statement_timeout or lock_timeout allows"):
        write()
    impatient.close()
    assert owned.status().memories == {}


def test_a_writer_that_waits_too_long_for_another_gives_up(owned: PostgresStore, database: Database) -> None:
    with (
        recollect.open(f"{database.url}&lock_timeout=0.2", embedder=None) as impatient,
        owned.transaction("remember") as transaction,
    ):
        transaction.remember(Memory(text="First."))
        error: list[Exception] = []

        def write() -> None:
            try:
                impatient.remember("Second.")
            except StoreError as problem:
                error.append(problem)

        other = threading.Thread(target=write)
        other.start()
        other.join()
    assert len(error) == 1
    assert "lock_timeout" in str(error[0])
    assert owned.status().memories == {"active": 1}


def test_a_table_that_is_locked_too_long_ends_a_step_of_a_recall_and_not_the_recall(database: Database) -> None:
    with recollect.open(f"{database.url}&lock_timeout=0.2", embedder="local", collection="main") as mind:
        mind.remember("The cup is blue.")
        with psycopg.connect(database.admin_url) as locking:
            locking.execute("LOCK TABLE recollect.vocabulary IN ACCESS EXCLUSIVE MODE")
            recall = mind.recall("cup", recipe="robotmem")
            assert [hit.text for hit in recall] == ["The cup is blue."]
            (failure,) = recall.trace.failures
            assert failure.name == "words"
            assert "lock timeout" in failure.reason
        assert not mind.recall("cup", recipe="robotmem").trace.failures


def test_a_connection_that_is_cut_while_it_commits_is_written_again_and_once(
    owned: PostgresStore, database: Database
) -> None:
    for statement in (
        "CREATE SEQUENCE public.commits",
        "GRANT USAGE ON SEQUENCE public.commits TO PUBLIC",
        (
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('public.commits') = 1 THEN "
            "PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$"
        ),
        (
            "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON recollect.memories DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION cut()"
        ),
    ):
        database.server.execute(statement, database.name)
    with Mind(store=owned, embedder=None) as mind:
        mind.remember("The cup is blue.")
        assert [hit.text for hit in mind.recall("cup", k=9)] == ["The cup is blue."]
    assert database.server.execute("SELECT last_value FROM commits", database.name) == [(2,)], "it was cut once"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Callable[[int], object]]:
    """A file system of that size in a folder; yields a function that makes it larger."""
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", folder], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only the administrator of a machine can mount a small disk")
    try:
        yield lambda more: subprocess.run(["mount", "-o", f"remount,size={more}m", folder], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def random_texts(count: int) -> list[str]:
    return [os.urandom(15_000).hex() for _ in range(count)]


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(started())
        folder = server.folder / "small" if server.folder else tmp_path
        folder.mkdir()
        enlarge = stack.enter_context(small_disk(folder, 32))
        shutil.chown(folder, *([account.pw_uid, account.pw_gid] if (account := account_for_server()) else []))
        server.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        server.create_database("full", options="TABLESPACE small")
        mind = stack.enter_context(recollect.open(server.url("full", OWNER), embedder=None))
        mind.remember("There was room.")
        with pytest.raises(StoreError, match=r"has no room: .*No space left on device.*Nothing was written"):
            mind.remember_many(random_texts(1500))
        assert [hit.text for hit in mind.recall("room")] == ["There was room."]
        assert mind.status().store.memories == {"active": 1}
        enlarge(256)
        mind.remember("There is room again.")
        assert mind.status().store.memories == {"active": 2}
        server.drop_database("full")
        server.execute("DROP TABLESPACE small")


@pytest.mark.slow
def test_a_full_disk_of_the_log_stops_the_server_and_loses_nothing_that_was_acknowledged() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(started({"fsync": "on", "wal_init_zero": "on", "max_wal_size": "4GB"}))
        assert server.folder is not None
        server.create_database("full")
        log = server.folder / "data" / "pg_wal"
        server.stop()
        before = log.rename(server.folder / "wal")
        log.mkdir()
        enlarge = stack.enter_context(small_disk(log, 80))
        shutil.copytree(before, log, dirs_exist_ok=True)
        if account := account_for_server():
            for path in (log, *log.rglob("*")):
                os.chown(path, account.pw_uid, account.pw_gid)
        log.chmod(0o700)
        server.start()
        url = f"{server.url('full', OWNER)}&retry_timeout=0&pool_timeout=3"
        acknowledged: list[int] = []

        def write(mind: Mind) -> None:
            for number in range(1000):
                mind.remember_many([*random_texts(10), f"Batch {number}."])
                acknowledged.append(number)

        with recollect.open(url, embedder=None) as mind, pytest.raises(StoreError):
            write(mind)
        assert acknowledged
        server.stop(signal.SIGQUIT)
        enlarge(1024)
        server.start()
        with recollect.open(url, embedder=None) as mind:
            batches = [memory.text for memory in mind.list() if memory.text.startswith("Batch")]
            assert sorted(batches) == sorted(f"Batch {number}." for number in acknowledged)
            assert mind.status().store.memories == {"active": 11 * len(acknowledged)}
        server.stop()


# Bad values.


def test_a_vector_of_another_dimension_is_refused(owned: PostgresStore) -> None:
    class Small:
        name = "small"

        def __init__(self, dim: int) -> None:
            self.dim = dim

        def embed(self, texts: Any, query: bool = False) -> Any:
            return np.ones((len(texts), self.dim), dtype=np.float32)

    with Mind(store=owned, embedder=Small(3)) as mind:
        mind.remember("Three numbers.")
    with pytest.raises(EmbeddingError, match="were made by 'small' \\(3 dimensions\\), not by 'small' \\(4\\)"):
        Mind(store=owned, embedder=Small(4))
    with pytest.raises(EmbeddingError):
        _embed_four_numbers(owned)
    assert owned.status().memories == {"active": 1}


def _embed_four_numbers(store: PostgresStore) -> None:
    with store.transaction("embed") as transaction:
        row = transaction.remember(Memory(text="Four.")).row
        transaction.embed([row], [(np.ones(4, dtype=np.float32), b"")], Space("small", 4))


@pytest.mark.parametrize("text", ["a\0b", "\ud800 alone", "\udfff\0", "\U0010fffd000000", "\U0010fffd", "𝕏 ok", ""])
def test_a_text_is_read_as_it_was_written_whatever_is_in_it(text: str) -> None:
    assert decode_text(encode_text(text)) == text


def test_texts_and_names_with_nul_and_lone_surrogates_come_back(empty_stores: EmptyStores, clock: Clock) -> None:
    """A mind replaces them; other programs that use the store may not."""
    store = empty_stores.open(clock)
    text, topic = "A NUL \0 and a half \ud83d of a character.", "half \udc00"
    with store.transaction("remember") as transaction:
        id = transaction.remember(Memory(text=text, topic=topic, tags=(topic,))).id
    (stored,) = store.get([id])
    assert (stored.text, stored.topic, stored.tags) == (text, topic, (topic,))
    sql = "SELECT topic = %s, topic = ANY(%s), tag_list @> %s::text[] FROM memories"
    assert store.fetch(sql, (topic, [topic], [topic])) == [(True, True, True)]
    store.close()


def test_a_word_of_any_length_is_found(owned: PostgresStore) -> None:
    word = os.urandom(5000).hex()
    with Mind(store=owned, embedder=None) as mind:
        mind.remember("Something else.")
        id = mind.remember(f"The key is {word}.").id
        assert [hit.id for hit in mind.recall(word, recipe="qmd")] == [id]


def test_a_name_that_no_index_takes_is_refused_at_once(owned: PostgresStore) -> None:
    with Mind(store=owned, embedder=None) as mind:
        with pytest.raises(InvalidInput, match=r"too long for postgresql:.*Use shorter ones"):
            mind.remember("cup", session=os.urandom(4000).hex())
        assert mind.status().store.memories == {}


def test_a_read_only_memory_writes_nothing_and_must_be_there(database: Database) -> None:
    with pytest.raises(StoreError, match="has no memory of this version"):
        recollect.open(database.url, embedder=None, readonly=True)
    assert tables_of(database.server, database.name) == 0
    with recollect.open(database.url, embedder=None) as mind:
        mind.remember("The cup is blue.")
    with recollect.open(database.url, embedder=None, readonly=True) as mind:
        assert [hit.text for hit in mind.recall("cup")] == ["The cup is blue."]
        with pytest.raises(StoreError, match="is read-only"):
            mind.remember("More.")
    with psycopg.connect(database.url) as connection:
        connection.execute("SELECT set_config('recollect.collection', '*', false)")
        assert connection.execute("SELECT count(*) FROM recollect.use").fetchone() == (0,)


def test_a_path_names_the_same_memory_again(database: Database) -> None:
    with recollect.open(f"{database.url}&schema=team&pool_size=3", embedder=None) as mind:
        mind.remember("The cup is blue.")
        path = mind.path
    assert parse_url(path)[1].schema == "team"
    with recollect.open(path, embedder=None) as again:
        assert again.status().store.memories == {"active": 1}
