"""The HTTP server: what a client relies on, on a real port."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect.serve import idempotency, work
from recollect.serve.access import LOCAL_ID
from recollect.serve.server import open_socket
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access
from recollect.service import all_operations
from tests.serve.http_server import RunningServer, start

pytestmark = pytest.mark.contract("B20")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with start(tmp_path_factory.mktemp("http"), failed_rate=1e6, failed_burst=10**6) as each:
        yield each


@pytest.fixture(scope="module")
def client(server: RunningServer) -> Iterator[httpx2.Client]:
    with server.client("admin") as each:
        yield each


def remember(client: httpx2.Client, text: str, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/memories", json={"text": text, **fields})
    assert response.status_code == 201, response.text
    stored: dict[str, Any] = response.json()
    return stored


# Changes.


def test_a_change_needs_the_tag_of_what_was_read(client: httpx2.Client) -> None:
    id = remember(client, "The blue cup is on the shelf.")["id"]
    read = client.get(f"/v1/memories/{id}")
    tag = read.headers["etag"]
    assert client.get(f"/v1/memories/{id}", headers={"if-none-match": tag}).status_code == 304
    changed = client.patch(f"/v1/memories/{id}", json={"tags": ["a"]}, headers={"if-match": tag})
    assert (changed.status_code, changed.json()["tags"]) == (200, ["a"])
    late = client.patch(f"/v1/memories/{id}", json={"tags": ["b"]}, headers={"if-match": tag})
    assert (late.status_code, late.json()["error"]["type"]) == (412, "EditConflict")
    assert client.get(f"/v1/memories/{id}").json()["tags"] == ["a"]
    fresh = client.patch(f"/v1/memories/{id}", json={"tags": ["b"]}, headers={"if-match": changed.headers["etag"]})
    assert fresh.json()["tags"] == ["b"]
    assert client.get(f"/v1/memories/{id}", headers={"if-none-match": tag}).status_code == 200


def test_use_does_not_change_the_tag(client: httpx2.Client) -> None:
    id = remember(client, "The walrus sleeps on the ice.")["id"]
    tag = client.get(f"/v1/memories/{id}").headers["etag"]
    found = client.post("/v1/recall", json={"query": "walrus"}).json()["results"][0]["memory"]
    assert found["id"] == id
    again = client.get(f"/v1/memories/{id}")
    assert (again.headers["etag"], again.json()["use"]["access_count"]) == (tag, 1)


def test_of_two_changes_with_one_tag_one_wins(client: httpx2.Client) -> None:
    id = remember(client, "A race.")["id"]
    tag = client.get(f"/v1/memories/{id}").headers["etag"]
    statuses: list[int] = []

    def change(number: int) -> None:
        response = client.patch(f"/v1/memories/{id}", json={"tags": [str(number)]}, headers={"if-match": tag})
        statuses.append(response.status_code)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(statuses) == [200, 412, 412, 412, 412, 412]


def test_a_write_with_the_same_idempotency_key_happens_once(server: RunningServer, client: httpx2.Client) -> None:
    headers = {"idempotency-key": "key-1"}
    answers: list[httpx2.Response] = []

    def write() -> None:
        answers.append(client.post("/v1/memories", json={"text": "Only once."}, headers=headers))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {each.status_code for each in answers} == {201}
    assert len({each.json()["id"] for each in answers}) == 1
    assert sum("idempotency-replayed" in each.headers for each in answers) == 3
    assert len(server.mind.list({"status": "active"})) == len({each.id for each in server.mind.list()})
    other = client.post("/v1/memories", json={"text": "Something else."}, headers=headers)
    assert (other.status_code, "Idempotency-Key" in other.json()["error"]["message"]) == (400, True)
    foreign = server.client_with(server.token("write")).post(
        "/v1/memories", json={"text": "Only once."}, headers=headers
    )
    assert foreign.status_code == 201
    assert "idempotency-replayed" not in foreign.headers  # keys are per token


def test_a_write_is_recognised_by_its_key_after_a_restart(tmp_path: Path) -> None:
    headers = {"idempotency-key": "key-1"}
    calls: list[tuple[str, str, Any]] = [
        ("remember", "/v1/memories", {"text": "A secret of the harbour."}),
        ("remember_many", "/v1/memories/batch", {"items": [{"text": "One."}, {"text": "Two."}]}),
        ("start_session", "/v1/sessions", {}),
    ]
    with start(tmp_path) as server:
        token = server.token("admin")
        client = server.client_with(token)
        first = {name: client.post(path, json=body, headers={"idempotency-key": name}) for name, path, body in calls}
        edited = client.patch(f"/v1/memories/{first['remember'].json()['id']}", json={"tags": ["a"]}, headers=headers)
        stored = server.mind.list()
    file = tmp_path / "memory.db-requests.jsonl"
    assert "harbour" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(file.read_text() + '{"caller": "cut o')
    with start(tmp_path) as server:
        client = server.client_with(token)
        for name, path, body in calls:
            again = client.post(path, json=body, headers={"idempotency-key": name})
            assert (again.status_code, again.headers.get("idempotency-replayed")) == (201, "true")
            assert again.json() == (edited.json() if name == "remember" else first[name].json())
        assert server.mind.list() == stored
        other = client.post("/v1/memories", json={"text": "Another."}, headers={"idempotency-key": "remember"})
        assert other.status_code == 400


def test_an_erased_memory_is_not_stored_again_by_its_key(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        token, headers = server.token("admin"), {"idempotency-key": "key-1"}
        client = server.client_with(token)
        id = client.post("/v1/memories", json={"text": "A secret."}, headers=headers).json()["id"]
        plan = client.post("/v1/erase", json={"ids": [id]}).json()
        assert client.post("/v1/erase", json={"ids": [id], "code": plan["code"]}).status_code == 200
        assert client.post("/v1/memories", json={"text": "A secret."}, headers=headers).status_code == 404
        assert server.mind.list() == []
    with start(tmp_path) as server:
        again = server.client_with(token).post("/v1/memories", json={"text": "A secret."}, headers=headers)
        assert (again.status_code, "were erased" in again.json()["error"]["message"]) == (404, True)
        assert server.mind.list() == []


def test_keys_expire_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"idempotency-key": "key-1"}
    with start(tmp_path) as server:
        token = server.token("write")
        server.client_with(token).post("/v1/memories", json={"text": "Twice.", "session": "s"}, headers=headers)
    monkeypatch.setattr(idempotency, "KEY_SECONDS", 0.0)
    with start(tmp_path) as server:
        server.client_with(token).post("/v1/memories", json={"text": "Twice.", "session": "s"}, headers=headers)
        assert len(server.mind.list()) == 2


def test_a_failed_write_may_be_sent_again_with_its_key(client: httpx2.Client) -> None:
    headers = {"idempotency-key": "key-2"}
    assert client.post("/v1/memories/none/reinforce", json={}, headers=headers).status_code == 404
    assert client.post("/v1/memories/none/reinforce", json={}, headers=headers).status_code == 404


# Reading.


def test_pages_are_followed_by_their_cursor(client: httpx2.Client) -> None:
    for number in range(7):
        remember(client, f"Page note {number}.", collection="pages", created=f"2026-02-0{number + 1}")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query = {"limit": "3", "filter": json.dumps({"collection": "pages"}), **cursor}
        page = client.get("/v1/memories", params=query).json()
        seen += [each["text"] for each in page["memories"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"Page note {number}." for number in reversed(range(7))]


def test_an_export_is_streamed_and_imported_again(server: RunningServer, tmp_path: Path) -> None:
    writer = server.client("write", collection="exported")
    server.mind.remember_many([{"text": f"Exported {at}.", "collection": "exported"} for at in range(600)])
    with writer.stream("GET", "/v1/export") as response:
        assert response.headers["content-type"].startswith("application/x-ndjson")
        records = [json.loads(line) for line in response.iter_lines() if line]
    assert len([each for each in records if each["type"] == "memory"]) == 600
    with start(tmp_path) as other:
        done = other.client("write").post("/v1/import", json={"records": records}).json()
        assert done["added"] == 600
        assert other.client("write").post("/v1/import", json={"records": records}).json()["same"] == 600


def test_an_import_tells_of_its_progress(server: RunningServer) -> None:
    client = server.client("write", collection="progress")
    records = [{"text": f"Record {number}."} for number in range(1_500)]
    with client.stream(
        "POST", "/v1/import", json={"records": records}, headers={"accept": "text/event-stream"}
    ) as sent:
        events = [line[7:] for line in sent.iter_lines() if line.startswith("event: ")]
    assert events[-1] == "result"
    assert set(events[:-1]) <= {"progress"}
    wrong = client.post("/v1/import", json={"records": [{"text": ""}]}, headers={"accept": "text/event-stream"})
    assert "event: error" in wrong.text
    assert "InvalidInput" in wrong.text


def test_an_uploaded_file_is_imported(server: RunningServer) -> None:
    client = server.client("write", collection="upload")
    content = b"text,tags\nThe first row.,a\nThe second row.,b\n"
    done = client.post("/v1/import/file", params={"filename": "../../notes.csv"}, content=content)
    assert (done.status_code, done.json()["added"]) == (200, 2)
    strange = client.post("/v1/import/file", params={"kind": "nonsense"}, content=content)
    assert (strange.status_code, "kind" in strange.json()["error"]["message"]) == (400, True)
    broken = client.post("/v1/import/file", params={"filename": "x.json"}, content=b'{"a":')
    assert (broken.status_code, "/tmp" in broken.text) == (400, False)
    assert server.client("read").post("/v1/import/file", content=content).status_code == 403


def test_ids_with_slashes_are_reached_by_encoding_them(client: httpx2.Client) -> None:
    remember(client, "An id with a slash.", id="a/b?c")
    assert client.get("/v1/memories/a%2Fb%3Fc").json()["text"] == "An id with a slash."
    assert client.get("/v1/memories/a%2Fb%3Fc/history").json()["versions"] == []


def test_answers_have_request_ids(client: httpx2.Client) -> None:
    assert client.get("/v1/status", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    forged = client.get("/v1/memories/none", headers={"x-request-id": "a b\t{}"})
    assert forged.json()["error"]["request_id"] == forged.headers["x-request-id"]
    assert len(forged.headers["x-request-id"]) == 16


def test_logs_contain_neither_tokens_nor_queries(
    server: RunningServer, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    token = server.token("read")
    with caplog.at_level("DEBUG", logger="recollect"):
        server.client_with(token).get("/v1/memories", params={"filter": '{"topic": "swordfish"}'})
        server.client_with(token).post("/v1/recall", json={"query": "swordfish"})
        server.client_with("rct_wrong_swordfish").get("/v1/memories")
        server.client_with(token).get("/v1/memories/a%0Ab")
        end = time.monotonic() + 20
        while len(lines := _serve_lines(caplog)) < 4 and time.monotonic() < end:  # written after the answer
            time.sleep(0.01)
    assert any("GET /v1/memories 200" in line for line in lines)
    assert not any("\n" in line for line in lines)
    assert not any("swordfish" in line or token in line or token.split("_", 2)[2] in line for line in lines)


def _serve_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "recollect.serve"]


def test_health_and_readiness_need_no_token(server: RunningServer) -> None:
    anyone = server.client_with(None)
    assert [anyone.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    assert anyone.get("/metrics").status_code == 401


# Browsers.


def test_the_page_has_a_strict_policy_and_only_its_own_files(server: RunningServer) -> None:
    anyone = server.client_with(None)
    page = anyone.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    for path in (
        "/../api.py",
        "/%2e%2e/api.py",
        "/..%2fapi.py",
        "/api.py",
        "/.hidden.html",
        "//etc/passwd",
        "/a%00.html",
    ):
        response = anyone.get(path)
        assert (response.status_code, response.json()["error"]["type"]) == (404, "NotFound"), path
    assert anyone.post("/", content=b"x").status_code == 405


def test_a_one_time_code_becomes_a_cookie_that_other_sites_cannot_use(server: RunningServer) -> None:
    code = server.backend.control.make_code(Access(LOCAL_ID, "ui", "write", (("collection", "browser"),)))
    browser = server.client_with(None)
    answer = browser.get("/login", params={"code": code})
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert browser.get("/v1/status").json()["bound"] == {"collection": "browser"}
    assert server.client_with(None).get("/login", params={"code": code}).status_code == 401  # once only
    body = {"text": "From the page."}
    assert browser.post("/v1/memories", json=body).status_code == 401  # without an Origin
    assert browser.post("/v1/memories", json=body, headers={"origin": "https://evil.example"}).status_code == 403
    assert browser.post("/v1/memories", json=body, headers={"origin": server.url}).status_code == 201
    assert browser.delete("/v1/session", headers={"origin": server.url}).status_code == 200
    assert browser.get("/v1/status").status_code == 401


def test_a_session_ends_when_its_token_is_revoked(server: RunningServer) -> None:
    token, record = server.tokens.create("to revoke", "read")
    code = server.client_with(token).post("/v1/login-codes").json()["code"]
    browser = server.client_with(None)
    browser.get("/login", params={"code": code})
    assert browser.get("/v1/status").status_code == 200
    server.tokens.revoke(record.id)
    assert browser.get("/v1/status").status_code == 401
    assert server.client_with(token).get("/v1/status").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]", "localhost.evil"]
)
def test_a_foreign_host_is_refused(server: RunningServer, client: httpx2.Client, host: str) -> None:
    response = client.get("/v1/status", headers={"host": host})
    assert (response.status_code, response.json()["error"]["type"]) == (421, "AccessDenied")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1.evil.example"]
)
def test_a_foreign_origin_is_refused_for_reading_too(client: httpx2.Client, origin: str) -> None:
    assert client.get("/v1/status", headers={"origin": origin}).status_code == 403


# What the description says.


def test_the_description_is_complete(client: httpx2.Client, server: RunningServer) -> None:
    described = server.client_with(None).get("/v1/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    names = {method["operationId"] for path in described["paths"].values() for method in path.values()}
    assert names >= all_operations().keys()
    targets = json.dumps(described).split('"$ref": "')[1:]
    for target in (each.split('"')[0] for each in targets):
        place: Any = described
        for part in target.removeprefix("#/").split("/"):
            place = place[part]


def test_a_read_that_takes_long_does_not_keep_others_waiting() -> None:
    """Reads of one process take turns, but only for a moment (``TURN_SECONDS``)."""
    entered, done = threading.Event(), threading.Event()
    recall = all_operations()["recall"]

    def slow() -> None:
        with work.turn_of(recall):
            entered.set()
            done.wait(30)

    thread = threading.Thread(target=slow)
    thread.start()
    entered.wait(30)
    with work.turn_of(recall):
        assert thread.is_alive()  # it still has the turn
    done.set()
    thread.join(30)
    with work.turn_of(recall):  # a turn that nobody gave back is not returned twice
        assert work._turn.locked()
    assert not work._turn.locked()


def test_a_response_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    """asyncio sends small packets at once only on sockets whose protocol is named."""
    with (
        open_socket(ServerSettings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.proto == socket.IPPROTO_TCP
