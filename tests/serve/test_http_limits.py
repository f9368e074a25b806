"""What one token may have open at once, and what ends when it is revoked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from recollect.serve import access, api, events
from recollect.serve.mcp import http as mcp_http
from tests.serve.http_server import RunningServer, start

pytestmark = pytest.mark.contract("B20")
MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with start(tmp_path) as each:
        yield each


def test_an_export_stops_when_its_token_is_revoked(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "EXPORT_LINES", 8)
    server.mind.remember_many([{"text": f"Number {at}. {'x' * 50_000}"} for at in range(200)])  # more than buffers take
    token, record = server.tokens.create("short", "read")
    received = 0

    def read_all() -> None:
        nonlocal received
        with server.client_with(token) as client, client.stream("GET", "/v1/export") as response:
            for line in response.iter_lines():
                if not received:
                    server.tokens.revoke(record.id)
                received += bool(line)

    with pytest.raises(httpx2.RemoteProtocolError):  # cut, so that nobody takes it for the whole
        read_all()
    assert 0 < received < 190
    assert server.client("read").get("/v1/status").status_code == 200


def test_events_end_when_their_token_is_revoked(server: RunningServer) -> None:
    token, record = server.tokens.create("short", "read")
    with server.client_with(token) as client, client.stream("GET", "/v1/events", timeout=20) as response:
        names = []
        for line in response.iter_lines():
            if line == "event: ready":
                server.tokens.revoke(record.id)
            names += [line] if line.startswith("event: ") else []
    assert names == ["event: ready", "event: end"]


class SlowEmbedder:
    """Embeds at once, except for a query, which waits until it is released."""

    name, dim = "slow", 4

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if query:
            self.asked.set()
            self.released.wait(30)
        return [[1.0, 0.0, 0.0, 0.0] for _ in texts]


def begin(client: httpx2.Client) -> dict[str, str]:
    """The headers of a new MCP session that is ready for calls."""
    opened = open_session(client)
    headers = {**MCP, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
    client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


def test_an_mcp_call_is_not_answered_when_its_token_is_revoked_meanwhile(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    parameters = {"name": "recall", "arguments": {"query": "door code"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": parameters}
    with start(tmp_path, embedder) as server:
        server.mind.remember("The door code is 4711.")
        token, record = server.tokens.create("short", "read")
        with server.client_with(token) as client, server.client_with(token) as other, ThreadPoolExecutor() as threads:
            headers = begin(client)
            answer = threads.submit(client.post, "/mcp", json=call, headers=headers)
            assert embedder.asked.wait(20), answer.result(1).text
            server.tokens.revoke(record.id)
            response = answer.result(20)  # although the work goes on
            embedder.released.set()
            assert "4711" not in response.text
            assert "result" not in response.text
            assert other.post("/mcp", json={**call, "id": 3}, headers=headers).status_code == 401
        assert server.backend.mcp is not None
        assert not any(manager._server_instances for manager in server.backend.mcp.managers.values())


def test_a_client_of_mcp_gets_an_error_when_its_token_is_revoked_during_a_call(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    with start(tmp_path, embedder) as server:
        server.mind.remember("The door code is 4711.")
        token, record = server.tokens.create("short", "read")

        async def main() -> None:
            http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=30)
            async with Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client:

                async def revoke() -> None:
                    assert await anyio.to_thread.run_sync(embedder.asked.wait, 20)
                    server.tokens.revoke(record.id)

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(revoke)
                    with anyio.fail_after(20), pytest.raises(MCPError):
                        await client.call_tool("recall", {"query": "door code"})
                embedder.released.set()
                with anyio.fail_after(20), pytest.raises(MCPError):
                    await client.call_tool("recall", {"query": "door code"})

        anyio.run(main)


def test_the_stream_of_an_mcp_session_ends_when_its_token_is_revoked(server: RunningServer) -> None:
    token, record = server.tokens.create("short", "read")
    with server.client_with(token) as client:
        headers = begin(client)
        with client.stream("GET", "/mcp", headers=headers, timeout=20) as response:
            assert response.status_code == 200
            server.tokens.revoke(record.id)
            assert "data" not in "".join(response.iter_lines())  # it ends, or this would time out


def test_a_token_has_a_limited_number_of_event_streams(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.backend.feed.slots, "most_each", 2)
    one, other = server.client("read"), server.client("write")
    lines: list[Iterator[str]] = []
    with contextlib.ExitStack() as streams:

        def listen(client: httpx2.Client) -> httpx2.Response:
            response = streams.enter_context(client.stream("GET", "/v1/events", timeout=20))
            if response.status_code == 200:
                lines.append(response.iter_lines())  # one that is dropped closes its stream
                assert next(lines[-1]) == "event: ready"
            else:
                response.read()
            return response

        assert [listen(one).status_code for _ in range(2)] == [200, 200]
        refused = listen(one)
        assert (refused.status_code, "with this token" in refused.text) == (429, True)
        assert listen(other).status_code == 200
    one.close()
    for _ in range(100):  # the server notices that they were closed
        if not server.backend.feed.slots.taken:
            break
        server.client("admin").get("/v1/status")
    assert events.MAX_STREAMS_EACH < events.MAX_STREAMS


def test_a_token_has_a_limited_number_of_login_codes_and_sessions(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MAX_SESSIONS_EACH", 2)
    one, other = server.client("read"), server.client("write")

    def sign_in(client: httpx2.Client) -> httpx2.Client:
        code = client.post("/v1/login-codes").json()["code"]
        browser = server.client_with(None)
        assert browser.get("/login", params={"code": code}).status_code == 303
        return browser

    theirs = sign_in(other)
    mine = [sign_in(one) for _ in range(3)]
    assert [each.get("/v1/status").status_code for each in mine] == [401, 200, 200]  # the oldest one ended
    assert theirs.get("/v1/status").status_code == 200
    assert [one.post("/v1/login-codes").status_code for _ in range(3)] == [200, 200, 429]
    assert other.post("/v1/login-codes").status_code == 200


def open_session(client: httpx2.Client, path: str = "/mcp") -> httpx2.Response:
    response = client.post(path, json=INITIALIZE, headers=MCP)
    response.read()
    return response


def list_tools(client: httpx2.Client, session: str) -> httpx2.Response:
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    return client.post("/mcp", json=call, headers={**MCP, "mcp-session-id": session})


@pytest.mark.contract("B18", "B19")
def test_an_mcp_session_belongs_to_the_token_that_opened_it(server: RunningServer) -> None:
    one, other = server.client("read"), server.client("admin")
    session = open_session(one).headers["mcp-session-id"]
    assert list_tools(one, session).status_code == 200
    assert list_tools(other, session).status_code == 404
    assert other.delete("/mcp", headers={**MCP, "mcp-session-id": session}).status_code == 404
    assert "recall" in list_tools(one, session).text


@pytest.mark.contract("B19")
def test_a_token_has_a_limited_number_of_mcp_sessions(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "MAX_SESSIONS_EACH", 2)
    one, other = server.client("read"), server.client("write")
    sessions = [open_session(one, path).headers["mcp-session-id"] for path in ("/mcp", "/mcp/all")]
    refused = open_session(one)
    assert refused.status_code == 429
    assert "MCP sessions" in json.loads(refused.text)["error"]["message"]
    assert list_tools(one, sessions[0]).status_code == 200
    assert open_session(other).status_code == 200
    assert one.delete("/mcp", headers={**MCP, "mcp-session-id": sessions[0]}).status_code == 200
    assert open_session(one).status_code == 200
    monkeypatch.setattr(mcp_http, "IDLE_SECONDS", -1.0)  # all of them are unused for longer than that
    assert open_session(one).status_code == 200
