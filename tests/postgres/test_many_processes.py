"""Several processes on one database: nothing is lost or outdated, whatever the order in which their commits end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Mind
from recollect.model import Memory
from recollect.serve import events
from recollect.serve.access import LOCAL_ID
from recollect.serve.backend import Backend
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access, TokenFile
from recollect.store.base import Bound, Space, UseRecord
from recollect.store.postgres import PostgresStore
from recollect.store.sqlite import SqliteStore
from recollect.upkeep.copying import migrate
from tests.conftest import Clock
from tests.postgres.fixtures import Database
from tests.postgres.stores import EmptyStores


def now() -> datetime:
    return datetime.now(UTC)


def test_commits_that_end_in_another_order_than_they_began_are_all_seen(database: Database) -> None:
    """The first writer takes the lower number and commits last: a reader that compared the highest number alone would
    take its answers of before for those of now."""
    first, second, reader = (PostgresStore(database.url, now) for _ in range(3))
    with Mind(store=reader, embedder=None) as mind:
        mind.remember("A cup.", collection="one")
        mind.remember("A cup.", collection="two")
        with first.transaction("remember") as early:
            early.remember(Memory(text="An early cup.", collection="one"))
            with second.transaction("remember") as late:
                late.remember(Memory(text="A late cup.", collection="two"))
            assert {hit.text for hit in mind.recall("cup", k=9)} == {"A cup.", "A late cup."}
            numbers = [early.version("one"), late.version("two")]
            assert numbers == sorted(numbers)
        assert {hit.text for hit in mind.recall("cup", k=9)} == {"A cup.", "A late cup.", "An early cup."}
    for store in (first, second, reader):
        store.close()


def test_no_use_is_lost_when_many_record_it_at_once(empty_stores: EmptyStores, clock: Clock) -> None:
    store = empty_stores.open(clock)
    with store.transaction("remember") as transaction:
        *rows, other = [transaction.remember(Memory(text=f"Parcel {number}.")).row for number in range(5)]
    orders = [rows, rows[::-1], rows[1:], rows[:2]]

    def use(number: int) -> None:
        store.record_use(UseRecord(orders[number % 4], clock(), ("access", "recall")))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(64)))
    expected = [sum(row in order for order in orders) * 16 for row in rows]

    def is_written() -> bool:
        """One that found no connection at once is written with the next."""
        store.record_use(UseRecord([other], clock()))
        with store.snapshot() as snapshot:
            return bool(snapshot.use_numbers("access_count", np.array(rows)).tolist() == expected)

    _wait(is_written)
    store.close()


def test_a_use_that_cannot_be_written_does_not_make_the_one_before_it_count_twice(database: Database) -> None:
    store = PostgresStore(f"{database.url}&pool_size=1", now)
    with store.transaction("remember") as transaction:
        rows = [transaction.remember(Memory(text=f"Parcel {number}.")).row for number in range(3)]
    with store.snapshot():  # it has the only connection
        for row in rows[:2]:
            store.record_use(UseRecord([row], now()))
    for statement in (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$",
        (
            "CREATE TRIGGER refused BEFORE INSERT OR UPDATE ON recollect.use FOR EACH ROW "
            f"WHEN (NEW.row = {rows[1]}) EXECUTE FUNCTION refuse()"
        ),
    ):
        database.server.execute(statement, database.name)
    store.record_use(UseRecord([rows[2]], now()))
    assert _accesses(store, rows) == [1, 0, 0]
    database.server.execute("DROP TRIGGER refused ON recollect.use", database.name)
    store.record_use(UseRecord([rows[0]], now()))
    assert _accesses(store, rows) == [2, 1, 1]
    store.close()


def _accesses(store: PostgresStore, rows: list[int]) -> list[float]:
    with store.snapshot() as snapshot:
        return list(np.nan_to_num(snapshot.use_numbers("access_count", np.array(rows))).tolist())


def test_what_another_process_writes_edits_and_erases_is_seen_at_once(database: Database) -> None:
    with recollect.open(database.url, embedder=None) as mind, recollect.open(database.url, embedder=None) as other:
        id = other.remember("The cup is blue.").id
        assert [hit.text for hit in mind.recall("cup")] == ["The cup is blue."]
        other.edit(id, text="The cup is green.")
        assert [hit.text for hit in mind.recall("cup")] == ["The cup is green."]
        other.decay(0.5)
        assert mind.show(id).strength == other.show(id).strength
        other.erase(id)
        assert list(mind.recall("cup")) == []


def test_a_snapshot_from_before_an_erasure_of_another_process_leaves_nothing_of_it_in_the_caches(
    database: Database,
) -> None:
    store, other = PostgresStore(database.url, now), PostgresStore(database.url, now)
    with store.transaction("remember") as transaction:
        kept = transaction.remember(Memory(text="A cup.", collection="kept")).row
        erased = transaction.remember(Memory(text="A secret cup.", collection="erased"))
    with store.snapshot() as before:
        other.within(Bound(collection="erased")).erase(None)
        with store.snapshot() as after:
            assert after.texts(np.array([kept])) == ["A cup."]
        assert before.texts(np.array([erased.row])) == ["A secret cup."], "it was there when the snapshot began"
        before.scope(None, ("active",), now())
    assert "secret" not in repr(_kept(store))
    assert "A cup." in repr(_kept(store)), "what was read after the erasure is kept"
    store.close()
    other.close()


def _kept(store: PostgresStore) -> list[Any]:
    return [dict(cache._entries) for cache in vars(store._shared.derived).values() if hasattr(cache, "_entries")]


def test_both_stores_hold_equal_bits(database: Database, tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(50, 384)).astype(np.float32) * chance.choice([1e-6, 1e-3, 1.0], size=(50, 1))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0, :10] = [6e-8, 5.96e-8, 1e-9, -1e-9, 0.0, -0.0, 6.1e-5, 0.1, 0.3333, 1e-7]  # also below half's smallest
    read = []
    for store in (PostgresStore(database.url, now), SqliteStore(str(tmp_path / "m.db"), now)):
        with store.transaction("remember") as transaction:
            rows = [transaction.remember(Memory(text=f"{number}")).row for number in range(50)]
            space = Space("any", 384)
            transaction.embed(rows, [(vector, bytes(48)) for vector in vectors], space)
        with store.snapshot() as snapshot:
            read.append(snapshot.vectors(np.array(rows)).astype(np.float16).view(np.uint16))
        store.close()
    assert np.array_equal(read[0], read[1])


# Changes that are told of.


def test_a_store_with_a_listen_url_is_told_of_changes(database: Database) -> None:
    url = f"{database.url}&listen_url={urllib.parse.quote(database.url, safe='')}"
    listening, other = PostgresStore(url, now), PostgresStore(url, now)
    try:
        before = _wait(listening.change_count)
        with Mind(store=other, embedder=None) as mind:
            mind.remember("The cup is blue.")
        assert _wait(lambda: listening.change_count() != before)
        assert PostgresStore(database.url, now).change_count() is None
    finally:
        listening.close()
        other.close()


def test_a_listener_whose_connection_is_cut_is_asked_again(database: Database) -> None:
    url = f"{database.url}&listen_url={urllib.parse.quote(database.url, safe='')}"
    store = PostgresStore(url, now)
    try:
        before = _wait(store.change_count)
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'recollect-listen'"
        database.server.execute(sql)
        assert _wait(lambda: (count := store.change_count()) is not None and count > before)
    finally:
        store.close()


def test_a_writer_that_tells_of_nothing_is_noticed_by_a_stream_of_events(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "COMPARE_SECONDS", 1.0)
    url = f"{database.url}&listen_url={urllib.parse.quote(database.url, safe='')}"

    async def changed(mind: Mind, writer: Mind) -> bytes:
        backend = Backend(mind, TokenFile(tmp_path / "tokens.json"), ServerSettings(port=0))
        async for event in backend.feed.stream(Access(LOCAL_ID, "test", "admin")):
            if event.startswith(b"event: ready"):
                await asyncio.to_thread(_wait, mind.store.change_count)
                await asyncio.sleep(2)  # the stream has noticed that the store listens
                await asyncio.to_thread(writer.remember, "The cup is blue.")
            if event.startswith(b"event: change"):
                return event
        raise AssertionError("the stream has ended")

    with recollect.open(url, embedder=None) as mind, recollect.open(database.url, embedder=None) as writer:
        found = asyncio.run(asyncio.wait_for(changed(mind, writer), 60))
        assert b'"added": 1' in found


def test_a_listener_that_cannot_connect_is_closed_all_the_same(database: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts connections and never answers
        silent_url = urllib.parse.quote(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none", safe="")
        store = PostgresStore(f"{database.url}&listen_url={silent_url}", now)
        assert store.change_count() is None
        silent.accept()
        closing = threading.Thread(target=store.close, daemon=True)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


def _wait(condition: Any, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


# Servers.


def serve(url: str, folder: Path, port_file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "recollect", "--db", url, "--embedder", "none", "serve", "--port", "0"]
    with port_file.open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, "NO_COLOR": "1"})


class Balancer:
    """Gives each connection to the next of some addresses, as a balancer of TCP connections does."""

    def __init__(self, addresses: list[str]) -> None:
        self._next = cycle([urllib.parse.urlsplit(each) for each in addresses])
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections: list[int | None] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listening.accept()
                chosen = next(self._next)
                self.connections.append(chosen.port)
                server = socket.create_connection((chosen.hostname or "", chosen.port or 0))
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listening.close()


@pytest.mark.slow
@pytest.mark.contract("B24")
def test_servers_behind_a_balancer_never_answer_from_the_past(database: Database, tmp_path: Path) -> None:
    """Each call goes to another process: what one wrote, edited, forgot, undid or erased, the other answers with."""
    recollect.open(database.url, embedder=None).close()
    with ExitStack() as stack:
        addresses = []
        for number in range(2):
            log = tmp_path / f"{number}.log"
            process = serve(database.url, tmp_path, log)
            stack.callback(process.wait)
            stack.callback(process.send_signal, signal.SIGTERM)
            addresses.append(_wait(lambda log=log: _address(log), 120))
        token = _token(database.url, tmp_path)
        balancer = Balancer(addresses)
        stack.callback(balancer.close)

        def call(name: str, **arguments: Any) -> Any:
            with recollect.Client(balancer.url, token) as client:  # a connection of its own
                return client.call(name, **arguments)

        def found(query: str) -> list[tuple[str, str]]:
            """What all of the servers answer, which must be the same."""
            answers = [call("recall", query=query, k=3)["results"] for _ in addresses]
            texts = [[(each["memory"]["id"], each["memory"]["text"]) for each in answer] for answer in answers]
            assert texts[0] == texts[1]
            return texts[0]

        for number in range(6):
            text, later = f"Parcel {number} is on shelf {number * 7}.", f"Parcel {number} has left the hall."
            id = call("remember", text=text)["id"]
            assert found(text)[0] == (id, text)
            call("update", id=id, text=later)
            assert found(later)[0] == (id, later)
            call("undo")
            assert found(text)[0] == (id, text)
            call("forget", ids=[id])
            assert id not in dict(found(text))
            call("undo")
            assert id in dict(found(text))
            if number % 2:
                code = call("erase", ids=[id])["code"]
                call("erase", ids=[id], code=code)
                assert id not in dict(found(text))
        ports = balancer.connections
        assert all(one != other for one, other in pairwise(ports)), "they took turns"


def _address(log: Path) -> str:
    words = log.read_text().split()
    return next((word.rstrip("/.,") for word in words if word.startswith("http://127.0.0.1:")), "")


def _token(url: str, folder: Path) -> str:
    command = [sys.executable, "-m", "recollect", "--db", url, "token", "create", "test", "--scope", "admin"]
    made = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


# recollect migrate, killed in the middle.


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    path = tmp_path / "large.db"
    with Mind(path, embedder=None) as mind:
        mind.remember_many({"text": f"Fact {number} about room {number % 17}."} for number in range(3000))
    return path


def kill_until_some_is_copied(source: str, destination: str) -> int:
    """Begin a copy and kill it once it has written something, a few times; how many memories there are then."""
    program = "import sys; from recollect.upkeep.copying import migrate; migrate(*sys.argv[1:])"
    for wanted in (1, 600):
        process = subprocess.Popen([sys.executable, "-c", program, source, destination])
        while process.poll() is None and _count(destination) < wanted:
            time.sleep(0.05)
        process.kill()
        process.wait()
    return _count(destination)


def _count(path: str) -> int:
    try:
        with recollect.open(path, embedder=None) as mind:
            return sum(mind.status().store.memories.values())
    except recollect.RecollectError:
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["to a server", "to a file"])
def test_a_copy_that_was_killed_is_continued_and_verified(
    direction: str, large_file: Path, database: Database, tmp_path: Path
) -> None:
    source, destination = str(large_file), database.url
    if direction == "to a file":
        migrate(source, destination)
        source, destination = database.url, str(tmp_path / "copy.db")
    present = kill_until_some_is_copied(source, destination)
    assert 0 < present < 3000
    done = migrate(source, destination)
    assert done.copied == 3000 - present
    assert done.counts == {"memories": 3000}
    with recollect.open(source, embedder=None) as one, recollect.open(destination, embedder=None) as other:
        assert [hit.id for hit in one.recall("room 5")] == [hit.id for hit in other.recall("room 5")]


def test_bounds_of_two_threads_do_not_meet(database: Database) -> None:
    """A pool gives the connection of one bound to another one: its settings end with the transaction."""
    store = PostgresStore(f"{database.url}&pool_size=2", now)
    for name in ("anna", "ben"):
        Mind(store=store, embedder=None, user=name).remember(f"The cup of {name}.")
    wrong: list[str] = []

    def ask(name: str) -> None:
        mind = Mind(store=store.within(Bound(user=name)), embedder=None)
        for _ in range(20):
            texts = [hit.text for hit in mind.recall("cup")]
            if texts != [f"The cup of {name}."]:
                wrong.append(f"{name}: {texts}")

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("anna", "ben") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert wrong == []
