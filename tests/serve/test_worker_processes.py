"""Several worker processes: answers, errors and limits are those of one process, and one that dies is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from recollect import Mind, RecollectError
from recollect.client import Client
from recollect.errors import InvalidInput
from recollect.serve import processes as worker_processes
from recollect.serve.backend import Backend
from recollect.serve.server import running
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import TokenFile
from tests.serve.http_server import RunningServer, start
from tests.serve.worker_services import ending_after_the_first_write, open_counting_services, open_services, unusable

pytestmark = pytest.mark.contract("B20")


@contextlib.contextmanager
def start_workers(path: Path, open_services: Any = open_services, **settings: Any) -> Iterator[RunningServer]:
    with Mind(path, embedder=None) as mind:
        tokens = TokenFile.beside(path)
        made: list[Backend] = []

        def make(actual: ServerSettings) -> Backend:
            made.append(Backend(mind, tokens, actual, open_services=partial(open_services, path)))
            return made[0]

        with running(make, ServerSettings(port=0, workers=2, **settings)) as url:
            yield RunningServer(url, mind, tokens, made[0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with start_workers(tmp_path_factory.mktemp("workers") / "memory.db") as started:
        yield started


def processes(server: RunningServer) -> list[int]:
    assert server.backend.processes is not None
    return [each.process.pid or 0 for each in server.backend.processes.workers if each.ready]


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_both_workers_answer_with_what_was_just_written(server: RunningServer) -> None:
    client = server.client()
    for number in range(6):
        id = client.post("/v1/memories", json={"text": f"The lamp number {number} is in the cellar."}).json()["id"]
        seen: list[bool] = []

        def ask(id: str = id, number: int = number, seen: list[bool] = seen) -> None:
            with server.client_with(server.token("read")) as reader:
                found = reader.post("/v1/recall", json={"query": f"lamp number {number}"}).json()["results"]
                seen.append(id in [each["memory"]["id"] for each in found])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert seen == [True] * 4


def test_workers_that_have_nothing_to_do_read_what_was_written(tmp_path: Path) -> None:
    """No recall has to do it then."""

    def snapshots() -> list[int]:
        return [path.stat().st_size for path in tmp_path.glob("snapshots-*")]

    with start_workers(tmp_path / "memory.db", open_counting_services) as server:
        before = snapshots()
        assert len(before) == 2
        server.client().post("/v1/memories", json={"text": "The lamp is in the cellar."})
        wait_for(lambda: min(snapshots()) > max(before))
        assert server.client().post("/v1/recall", json={"query": "lamp"}).json()["results"]


def test_a_worker_that_was_read_from_reads_what_was_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one waits, and so does this one after the next write: perhaps nobody reads from it any more."""

    def snapshots() -> list[int]:
        return sorted(path.stat().st_size for path in tmp_path.glob("snapshots-*"))

    monkeypatch.setattr(worker_processes, "CATCH_UP_SECONDS", 1e6)
    with start_workers(tmp_path / "memory.db", open_counting_services) as server:
        client = server.client()
        for caught_up in (2, 3):
            client.post("/v1/recall", json={"query": "lamp"})
            client.post("/v1/memories", json={"text": "The lamp is in the cellar."})
            wait_for(lambda expected=[1, caught_up]: snapshots() == expected)  # type: ignore[misc]
            client.post("/v1/memories", json={"text": "The chair is in the attic."})
            time.sleep(0.1)
            assert snapshots() == [1, caught_up]


def test_reads_go_to_the_worker_with_the_fewest_reads(server: RunningServer) -> None:
    """One that only waits for the disk can read."""
    processes = server.backend.processes
    assert processes is not None
    first, last = processes.workers
    assert processes._choose(read_only=True) is last
    first._pending[-1] = last._pending[-2] = asyncio.Future(loop=asyncio.new_event_loop()), lambda: None
    last.reads = 1
    try:
        assert processes._choose(read_only=True) is first
        assert processes._choose(read_only=False) is first
        first.reads = 1
        assert processes._choose(read_only=True) is last
    finally:
        first.reads = last.reads = 0
        del first._pending[-1], last._pending[-2]


def test_errors_are_those_of_a_server_with_one_process(server: RunningServer, tmp_path: Path) -> None:
    bad = [
        ("GET", "/v1/memories/nobody", None),
        ("POST", "/v1/recall", {"query": ""}),
        ("POST", "/v1/recall", {"query": "x", "colour": "red"}),
        ("POST", "/v1/recall", {"query": "x", "recipe": "none"}),
        ("POST", "/v1/memories", {"text": 7}),
    ]
    with start(tmp_path) as single:
        for method, path, body in bad:
            answers = [each.client().request(method, path, json=body) for each in (server, single)]
            shown = [(each.status_code, {**each.json()["error"], "request_id": ""}) for each in answers]
            assert shown[0] == shown[1]


def test_a_key_is_answered_once_by_all_workers(server: RunningServer) -> None:
    client = server.client()
    answers = [
        client.post("/v1/memories", json={"text": "Sent twice."}, headers={"idempotency-key": "workers-1"})
        for _ in range(4)
    ]
    assert len({each.json()["id"] for each in answers}) == 1
    assert [each.headers.get("idempotency-replayed") for each in answers] == [None, "true", "true", "true"]


def test_tags_are_compared_by_workers(server: RunningServer) -> None:
    client = server.client()
    made = client.post("/v1/memories", json={"text": "A memory with a tag."})
    place = f"/v1/memories/{made.json()['id']}"
    tag = client.get(place).headers["etag"]
    assert client.get(place, headers={"if-none-match": tag}).status_code == 304
    assert client.patch(place, json={"text": "Changed."}, headers={"if-match": '"old"'}).status_code == 412


def test_a_token_sees_its_bound_alone_in_every_worker(server: RunningServer) -> None:
    ann, bob = server.client("write", user="ann"), server.client("read", user="bob")
    id = ann.post("/v1/memories", json={"text": "Ann keeps a violin."}).json()["id"]
    for _ in range(4):
        assert bob.get(f"/v1/memories/{id}").status_code == 404
        assert bob.post("/v1/recall", json={"query": "violin"}).json()["results"] == []
    assert bob.post("/v1/memories", json={"text": "No."}).status_code == 403


def test_mcp_tools_are_answered_by_workers(server: RunningServer) -> None:
    token = server.token("write")

    async def session() -> tuple[str, bool]:
        headers = {"authorization": f"Bearer {token}"}
        http = httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60)
        async with http, McpClient(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client:
            await client.call_tool("remember", {"text": "The spare key is under the third flower pot."})
            found = await client.call_tool("recall", {"query": "spare key"})
            wrong = await client.call_tool("recall", {"query": ""})
            assert found.structured_content is not None
            return found.structured_content["results"][0]["memory"]["text"], bool(wrong.is_error)

    assert anyio.run(session) == ("The spare key is under the third flower pot.", True)


def test_metrics_have_the_worker_processes(server: RunningServer) -> None:
    lines = server.client().get("/metrics").text.splitlines()
    figures = {line.split()[0]: float(line.split()[1]) for line in lines if not line.startswith("#")}
    assert figures["recollect_worker_processes"] == 2
    assert figures["recollect_workers_cpu_seconds_total"] > 0
    assert figures["recollect_workers_resident_memory_bytes"] > 1e6


def test_a_worker_that_is_killed_is_replaced_and_reads_go_on(tmp_path: Path) -> None:
    with start_workers(tmp_path / "memory.db") as server:
        client = server.client()
        for number in range(20):
            client.post("/v1/memories", json={"text": f"Box {number} is blue."})
        before = processes(server)
        statuses: list[int] = []
        stop = threading.Event()

        def ask() -> None:
            with server.client_with(server.token("read")) as reader:
                while not stop.is_set():
                    statuses.append(reader.post("/v1/recall", json={"query": "blue box"}).status_code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        wait_for(lambda: len(statuses) > 10)
        os.kill(before[1], signal.SIGKILL)
        wait_for(lambda: len(processes(server)) == 2 and before[1] not in processes(server))
        stop.set()
        for each in threads:
            each.join()
        assert {*statuses} == {200}
        assert client.get("/readyz").status_code == 200


def test_a_worker_that_cannot_be_started_again_is_started_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with start_workers(tmp_path / "memory.db") as server:
        killed = processes(server)[1]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, hard))  # no further file can be opened
        try:
            os.kill(killed, signal.SIGKILL)
            wait_for(lambda: "worker 1 was not started" in caplog.text)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        wait_for(lambda: len(processes(server)) == 2)
        assert killed not in processes(server)


def test_writes_that_were_acknowledged_survive_a_worker_that_is_killed(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    refused: list[RecollectError] = []
    with start_workers(tmp_path / "memory.db") as server:

        def write(number: int) -> None:
            with Client(server.url, server.token("write")) as memory:
                for count in range(200):
                    try:
                        acknowledged.append(memory.remember(f"Writer {number}, number {count}.").id)
                    except RecollectError as problem:
                        refused.append(problem)
                        return

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        wait_for(lambda: len(acknowledged) > 40)
        os.kill(processes(server)[0], signal.SIGKILL)
        for each in threads:
            each.join()
        assert {type(each).__name__ for each in refused} <= {"ServerUnavailable"}
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert len(mind.store.get(acknowledged, missing_ok=True)) == len(acknowledged)


def test_a_write_whose_outcome_is_not_known_is_not_stored_twice_by_its_key(tmp_path: Path) -> None:
    path, body, key = tmp_path / "memory.db", {"text": "The cup is red."}, {"idempotency-key": "key-1"}
    with start_workers(path, ending_after_the_first_write) as server:
        token = server.token("write")
        client = server.client_with(token)
        first = client.post("/v1/memories", json=body, headers=key)
        again = client.post("/v1/memories", json=body, headers=key)
        assert [first.status_code, again.status_code, again.headers["idempotency-replayed"]] == [503, 503, "true"]
        assert again.json() == first.json()
        assert first.json()["error"]["type"] == "ServerUnavailable"
        assert "it is not known whether it was stored" in first.json()["error"]["message"]
    with start_workers(path) as server:
        assert server.client_with(token).post("/v1/memories", json=body, headers=key).json() == first.json()
        assert [each.text for each in server.mind.list()] == ["The cup is red."]
        assert server.client_with(token).post("/v1/memories", json={"text": "Another."}).status_code == 201


def test_workers_end_with_the_server(tmp_path: Path) -> None:
    with start_workers(tmp_path / "memory.db") as server:
        id = server.client().post("/v1/memories", json={"text": "The cup is red."}).json()["id"]
        server.client().post("/v1/recall", json={"query": "cup"})
        started = server.backend.processes
        assert started is not None
    assert [each.process.is_alive() for each in started.workers] == [False, False]
    assert [each.process.exitcode for each in started.workers] == [0, 0]
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert mind.show(id).use.access_count == 1  # use that was pending is written at the end


def test_a_worker_that_cannot_open_the_memory_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(RecollectError, match="cannot be opened here"), start_workers(tmp_path / "m.db", unusable):
        pass


def test_the_number_of_workers_is_checked() -> None:
    with pytest.raises(InvalidInput, match="workers must be between 1 and 64, not 0"):
        ServerSettings(workers=0)
