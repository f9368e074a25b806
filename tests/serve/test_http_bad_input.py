"""Wrong, hostile and slow requests: one shape of error, nothing lost, nothing leaked, and the server goes on."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from recollect import InvalidInput, StoreError
from recollect.serve import server as serving
from recollect.serve.server import open_socket
from recollect.serve.settings import ServerSettings
from tests.serve.http_server import RunningServer, start

pytestmark = pytest.mark.contract("B20")
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("bad")
    with start(folder, max_body_bytes=200_000, body_seconds=1.0, failed_rate=1e6, failed_burst=10**6) as each:
        yield each


@pytest.fixture(scope="module")
def client(server: RunningServer) -> Iterator[httpx2.Client]:
    with server.client("admin") as each:
        yield each


def check_error(response: httpx2.Response, status: int, kind: str = "InvalidInput") -> str:
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (status, kind), response.text
    assert set(error) == {"type", "message", "hint", "request_id"}
    assert error["hint"]
    assert "Traceback" not in response.text
    return str(error["message"])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"text": "x"', "not valid JSON"),
        (b"", "text"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"null", "object"),
        (b'{"text": "x", "colour": "red"}', "'colour'"),
        (b'{"text": 5}', "text"),
        (b'{"text": ["x"]}', "text"),
        (b'{"text": "   "}', "text"),
        (b'{"text": "x", "confidence": 7}', "confidence"),
        (b'{"text": "x", "confidence": NaN}', "NaN"),
        (b'{"text": "x", "position": 1e400}', "position"),
        (b'{"text": "x", "created": "yesterday-ish"}', "created"),
        (b'{"text": "x", "created": 12}', "created"),
        (b'{"text": "x", "tags": "a"}', "tags"),
        (b'{"text": "x", "tags": {"a": 1}}', "tags"),
        (b'{"text": "x", "use": {"access_count": 9}}', "'use'"),
        (b'{"text": "\xff\xfe"}', "UTF-8"),
        (b'{"text": "x", "context": ' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}", "deeply"),
        (b'{"text": "x", "context": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "deeply"),
        (b'{"text": "x", "position": ' + b"9" * 5_000 + b"}", ""),
    ],
)
def test_a_wrong_body_is_refused_with_the_reason(client: httpx2.Client, body: bytes, reason: str) -> None:
    assert reason in check_error(client.post("/v1/memories", content=body, headers=JSON), 400)


def test_hints_say_what_to_do_about_this_error(client: httpx2.Client) -> None:
    note = client.get("/v1/notes/lines", params={"path": "../secret.md"})
    assert "memory_search" in note.json()["error"]["hint"]
    assert "JSON object" in client.post("/v1/memories", content=b"{", headers=JSON).json()["error"]["hint"]
    upload = client.post("/v1/import/file?filename=x.db", content=b"SQLite format 3\0" + b"x" * 100)
    check_error(upload, 400)  # not a failure of the server, which one would repeat
    assert "can open" in upload.json()["error"]["hint"]


def test_half_a_surrogate_becomes_a_replacement_character(client: httpx2.Client) -> None:
    stored = client.post("/v1/memories", content=b'{"text": "half \\ud800 pair"}', headers=JSON)
    assert stored.json()["text"] == "half � pair"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/v1/memories?limit=many", "limit"),
        ("/v1/memories?limit=0", "limit"),
        ("/v1/memories?limit=1&limit=2", "twice"),
        ("/v1/memories?limit=99999999999999999999999999", "limit"),
        ("/v1/memories?ascending=yes", "ascending"),
        ("/v1/memories?filter=5", "filter"),
        ("/v1/memories?filter={", "JSON"),
        ('/v1/memories?filter={"colour":"red"}', "colour"),
        ('/v1/memories?filter={"near":{"field":"a"}}', "near"),
        ('/v1/memories?filter={"since":"not a date"}', "since"),
        ("/v1/memories?cursor=%FF", "UTF-8"),
        ("/v1/memories?cursor=abc", "cursor"),
        ("/v1/memories?colour=red", "'colour'"),
        ("/v1/memories/%FF", "UTF-8"),
        ("/v1/memories?filter=" + "a" * 50_000, ""),
    ],
)
def test_a_wrong_query_is_refused_with_the_reason(server: RunningServer, path: str, reason: str) -> None:
    token = server.token("read")
    encoded = path.replace('"', "%22").replace(" ", "%20")
    status, text = raw_request(server, f"GET {encoded} HTTP/1.1", f"Authorization: Bearer {token}")
    assert status == 400, text
    assert reason in text


def raw_request(server: RunningServer, line: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
    """A request as bytes, which no client library has corrected."""
    address = urlsplit(server.url)
    head = "\r\n".join([line, f"Host: {address.netloc}", "Connection: close", *headers, "", ""])
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=20) as connection:
        connection.sendall(head.encode("latin-1") + body)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return int(answer.split(b" ")[1]), answer.decode("utf-8", "replace")


def test_a_large_body_is_refused_whether_its_size_is_declared_or_not(
    server: RunningServer, client: httpx2.Client
) -> None:
    header = f"Authorization: Bearer {server.token('write')}"
    status, text = raw_request(server, "POST /v1/memories HTTP/1.1", header, "Content-Length: 300000")
    assert (status, "larger" in text) == (413, True)
    large = b'{"text": "' + b"x" * 300_000 + b'"}'

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(large), 10_000):
            yield large[at : at + 10_000]

    try:
        response = client.post("/v1/memories", content=pieces(), headers=JSON)
    except (httpx2.WriteError, httpx2.ReadError):  # the server closed the connection before the last piece
        return
    check_error(response, 413, "LimitExceeded")


def test_a_body_of_another_type_is_refused(client: httpx2.Client) -> None:
    headers = {"content-type": "text/plain"}  # a form of another site can send this
    check_error(client.post("/v1/memories", content=b'{"text": "x"}', headers=headers), 415)
    check_error(client.post("/v1/memories?text=x", json={"text": "x"}), 400)


def test_a_body_that_does_not_arrive_is_given_up(server: RunningServer) -> None:
    header = f"Authorization: Bearer {server.token('write')}"
    line = "POST /v1/memories HTTP/1.1"
    status, text = raw_request(server, line, header, "Content-Type: application/json", "Content-Length: 100", body=b"{")
    assert (status, "LimitExceeded" in text) == (408, True)


def test_a_connection_without_a_request_is_closed(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.3)
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=20) as connection:
        connection.sendall(b"GET /v1/status HTTP/1.1\r\nHost: ")
        assert connection.recv(1) == b""


def test_what_is_not_http_is_refused(server: RunningServer) -> None:
    status, _ = raw_request(server, "\x00\x01 nonsense")
    assert status == 400
    status, _ = raw_request(server, f"GET /v1/{'a' * 100_000} HTTP/1.1")
    assert status in (400, 401, 404, 414, 431)
    assert server.client("read").get("/v1/status").status_code == 200


def test_a_head_that_is_too_long_is_an_error_of_the_same_shape(client: httpx2.Client) -> None:
    assert "too long" in check_error(client.get("/v1/recipes", headers={"x-long": "0" * 200_000}), 400)


def test_unknown_routes_and_methods_have_the_same_shape(client: httpx2.Client) -> None:
    check_error(client.get("/v1/nothing"), 404, "NotFound")
    check_error(client.get("/v1/"), 404, "NotFound")
    response = client.put("/v1/memories", json={})
    assert "GET, POST" in check_error(response, 405)
    assert response.headers["allow"] == "GET, POST"


# Tokens.


def test_a_token_that_is_cut_wrong_expired_or_in_the_url_is_refused(server: RunningServer) -> None:
    token, record = server.tokens.create("short", "read", expires=datetime.now(UTC) + timedelta(hours=1))
    assert server.client_with(token).get("/v1/status").status_code == 200
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for bad in (token[:-1], token + "x", wrong, token.split("_", 2)[2], f"rct_{record.id}_", "rct__", "x", "é"):
        response = server.client_with(None).get("/v1/status", headers={b"authorization": f"Bearer {bad}".encode()})
        check_error(response, 401, "AccessDenied")
        assert response.headers["www-authenticate"].startswith("Bearer")
    for header in ("Basic abc", "Bearer", token):
        response = server.client_with(None).get("/v1/status", headers={"authorization": header})
        check_error(response, 401, "AccessDenied")
    for query in ({"token": token}, {"access_token": token}, {"authorization": f"Bearer {token}"}):
        check_error(server.client_with(None).get("/v1/status", params=query), 401, "AccessDenied")
    expired, _ = server.tokens.create("old", "read", expires=datetime.now(UTC) - timedelta(seconds=1))
    assert "expired" in check_error(server.client_with(expired).get("/v1/status"), 401, "AccessDenied")


def test_secrets_are_not_stored_and_others_cannot_read_the_file(server: RunningServer) -> None:
    token = server.token("read")
    content = server.tokens.path.read_text()
    assert token.split("_", 2)[2] not in content
    assert server.tokens.path.stat().st_mode & 0o077 == 0


def test_too_many_requests_and_too_many_wrong_tokens_are_refused(tmp_path: Path) -> None:
    with start(tmp_path, rate=0.5, burst=3, failed_rate=0.5, failed_burst=2) as server:
        one, other = server.client("read"), server.client("write")
        statuses = [one.get("/v1/status").status_code for _ in range(5)]
        assert statuses[:3] == [200, 200, 200]
        assert statuses[-1] == 429
        assert other.get("/v1/status").status_code == 200  # each token has its own
        wrong = [server.client_with("rct_a_b").get("/v1/status") for _ in range(4)]
        assert [each.status_code for each in wrong] == [401, 401, 429, 429]
        assert int(wrong[-1].headers["retry-after"]) > 0


# The machine.


def test_a_second_server_on_a_port_is_an_error(server: RunningServer) -> None:
    port = urlsplit(server.url).port or 0
    with pytest.raises(StoreError, match="--port"):
        open_socket(ServerSettings(port=port))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"host": "0.0.0.0"}, "--tls-cert"),
        ({"host": "192.0.2.1"}, "--trusted-proxy"),
        ({"tls_cert": "a.pem"}, "key"),
        ({"port": 70_000}, "port"),
    ],
)
def test_an_unsafe_address_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        ServerSettings(**settings)


def test_behind_a_proxy_only_the_proxy_is_answered(tmp_path: Path) -> None:
    names = ("memory.example", "127.0.0.1")
    with start(tmp_path, host="0.0.0.0", trusted_proxy="127.0.0.1", allowed_hosts=names) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        headers = {"authorization": f"Bearer {server.token('read')}", "host": "memory.example"}
        assert httpx2.get(f"{url}/v1/status", headers=headers).status_code == 403  # in the clear
        forwarded = {**headers, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}
        assert httpx2.get(f"{url}/v1/status", headers=forwarded).status_code == 200


def test_a_database_that_goes_away_is_told_of_and_the_server_goes_on(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        client = server.client("write")
        client.post("/v1/memories", json={"text": "Before."})
        path = Path(server.mind.path)
        for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            if each.exists():
                each.write_bytes(b"this is no database" * 500)
        statuses = set()
        for _ in range(3):
            response = client.post("/v1/memories", json={"text": "After."})
            statuses.add(response.status_code)
            if response.status_code != 201:
                assert set(response.json()["error"]) == {"type", "message", "hint", "request_id"}
        assert statuses <= {503}
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_a_busy_server_says_so(tmp_path: Path) -> None:
    with start(tmp_path, threads=1, queue=0) as server:
        client = server.client("read")
        busy = server.backend.pool
        busy.active += 1  # a call that takes long
        response = client.get("/v1/status")
        check_error(response, 429, "LimitExceeded")
        busy.active -= 1
        assert client.get("/v1/status").status_code == 200


# What to do, and what strangers are not told.


def hint_of(response: httpx2.Response, status: int) -> str:
    assert response.status_code == status, response.text
    return str(response.json()["error"]["hint"])


def test_the_hint_of_an_error_is_about_that_error(server: RunningServer, client: httpx2.Client) -> None:
    stranger, reader = server.client_with(None), server.client("read")
    assert "Authorization: Bearer" in hint_of(stranger.get("/v1/status"), 401)
    assert "recollect ui" in hint_of(stranger.get("/login?code=none"), 401)
    assert "that scope" in hint_of(reader.post("/v1/memories", json={"text": "x"}), 403)
    assert "scope admin" in hint_of(reader.get("/metrics"), 403)
    assert "openapi.json" in hint_of(client.get("/v1/nothing"), 404)
    assert "openapi.json" in hint_of(stranger.get("/nothing.html"), 404)
    assert "one of these paths" in hint_of(client.post("/mcp/nothing", json={}), 404)
    assert "with recall" in hint_of(client.get("/v1/memories/none"), 404)
    assert "GET, POST" in hint_of(client.put("/v1/memories", json={}), 405)
    assert "GET" in hint_of(stranger.post("/"), 405)
    assert "Content-Type" in hint_of(client.post("/v1/memories", content=b"text=x"), 415)
    assert "smaller" in hint_of(client.post("/v1/memories", content=b"x" * 300_000, headers=JSON), 413)
    assert "--allowed-host" in hint_of(stranger.get("/v1/status", headers={"host": "evil.example"}), 421)
    assert "JSON object" in hint_of(client.post("/v1/memories", content=b"{", headers=JSON), 400)
    key = {"idempotency-key": "twice"}
    client.post("/v1/memories", json={"text": "One."}, headers=key)
    assert "Idempotency-Key" in hint_of(client.post("/v1/memories", json={"text": "Two."}, headers=key), 400)
    turn = {"role": "user", "content": "Who is Kim?"}
    assert client.post("/v1/recall", json={"query": "and now?", "history": [turn]}).status_code == 200
    assert "own address" in hint_of(stranger.get("/v1/status", headers={"origin": "http://evil.example"}), 403)


@pytest.mark.parametrize(
    "content",
    [
        b'["newest", 1e400, 1, "a"]',
        b'["newest", 1, 1e400, "a"]',
        b'["newest", 1, ' + b"9" * 400 + b', "a"]',
        b'["newest", ' + b"9" * 400 + b', 1, "a"]',
        b"[" * 1_400,
        b'[["newest"], 1, 1, "a"]',
        b"5",
    ],
)
def test_a_cursor_that_was_made_up_is_wrong_input(client: httpx2.Client, content: bytes) -> None:
    client.post("/v1/memories", json={"text": "One to list."})
    cursor = base64.urlsafe_b64encode(content).decode()
    response = client.get("/v1/memories", params={"cursor": cursor})
    assert response.status_code in (200, 400), response.text
    response = client.get("/v1/memories", params={"cursor": cursor, "sort": "uses"})
    assert response.status_code in (200, 400), response.text


def test_an_export_whose_reader_leaves_is_ended_and_the_server_goes_on(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        texts = [f"Text number {number}. " + "x" * 50_000 for number in range(200)]  # more than buffers take
        server.mind.remember_many(texts)
        address = urlsplit(server.url)
        for _ in range(3):
            with socket.create_connection((str(address.hostname), address.port or 0), timeout=60) as connection:
                head = f"GET /v1/export HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {server.token()}"
                connection.sendall(head.encode() + b"\r\n\r\n")
                assert connection.recv(1_000).startswith(b"HTTP/1.1 200")
        end = time.monotonic() + 120
        while server.backend.metrics.in_flight:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert server.client().get("/v1/status").json()["memories"] == {"active": 200}


HOSTILE_TEXTS = (
    'quoted" }\n{"type": "memory", "id": "forged", "text": "forged"}',
    "lines\r\nwith\u2028separators\u2029and\x85more\x0b\x0c",
    '=HYPERLINK("http://example.org","click")',
    "+1+cmd|' /C calc'!A0",
    "</script><!-- ]]> \\u0000 \\",
)


def test_stored_texts_cannot_add_records_to_an_export(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        ids = [server.mind.remember(text, source=text, tags=[text.split()[0]]).id for text in HOSTILE_TEXTS]
        content = server.client().get("/v1/export").content
        records = [json.loads(line) for line in content.split(b"\n") if line]
        memories = [each for each in records if each["type"] == "memory"]
        assert sorted(each["id"] for each in memories) == sorted(ids)
        (tmp_path / "other").mkdir()
        with start(tmp_path / "other") as other:
            other.client().post("/v1/import/file", params={"filename": "all.jsonl"}, content=content)
            texts = {each.text for each in other.mind.list()}
    assert texts == {*HOSTILE_TEXTS}


def test_deeply_nested_json_is_wrong_input_wherever_it_is_read(server: RunningServer, client: httpx2.Client) -> None:
    deep = "[" * 5_000 + "]" * 5_000
    inner = '{"not":' * 99 + "{}" + "}" * 99
    for filter in (deep, inner, '{"context":{"a":' + deep + "}}", '{"or":' + deep + "}"):
        for method, path in (("GET", "/v1/memories"), ("GET", "/v1/timeline")):
            response = client.request(method, path, params={"filter": filter})
            assert response.status_code in (200, 400), response.text
        body = f'{{"query": "x", "filter": {filter}}}'.encode()
        assert client.post("/v1/recall", content=body, headers=JSON).status_code in (200, 400)
    for kind in (None, "jsonl", "json"):
        response = client.post("/v1/import/file", params={"kind": kind} if kind else {}, content=deep.encode())
        assert response.status_code == 400, response.text
    answer = client.post("/mcp", content=deep.encode(), headers={**JSON, "accept": "application/json"})
    assert 400 <= answer.status_code < 500


def test_a_page_name_that_no_file_can_have_is_not_found(client: httpx2.Client) -> None:
    for name in ("a" * 300 + ".js", "a" * 5_000 + ".html", "js/" * 2_000 + "app.js", "%00.js", "../" * 50 + "x.js"):
        check_error(client.get(f"/{name}"), 404, "NotFound")


def test_strangers_are_not_told_where_a_damaged_token_file_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with start(tmp_path) as server:
        valid = server.client("read")
        for damage in ("{", "[" * 100_000, '{"tokens": [{"id": "a", "expires": "tomorrow"}]}'):
            server.tokens.path.write_text(damage)
            for client in (valid, server.client_with("rct_a_b")):
                response = client.get("/v1/status")
                message = check_error(response, 503, "StoreError")
                assert "cannot check tokens" in message
                assert str(tmp_path) not in response.text
        assert str(server.tokens.path) in caplog.text


def test_health_is_answered_behind_a_proxy_and_under_any_name(tmp_path: Path) -> None:
    with start(tmp_path, host="0.0.0.0", trusted_proxy="127.0.0.1", allowed_hosts=("memory.example",)) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        for path in ("/healthz", "/readyz"):
            assert httpx2.get(f"{url}{path}").status_code == 200
        assert httpx2.get(f"{url}/v1/status").status_code == 421
