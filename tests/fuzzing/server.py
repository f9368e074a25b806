"""A server without a socket, for fuzzing: the whole application of ``recollect serve``, called in this process."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import mcp_types.version
from starlette.types import Message

from recollect import Mind
from recollect.serve.app import build_app
from recollect.serve.backend import Backend
from recollect.serve.mcp.http import McpEndpoint
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import TokenFile
from recollect.service import Operation, all_operations

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ANSWER_SECONDS = 60.0  # a request without an answer is a finding
CALLS_OF_A_MEMORY = 200  # then a new one is opened: what was written must not make later calls slow


class FuzzedServer:
    """An application on a small memory; a new one after some calls."""

    def __init__(self) -> None:
        logging.getLogger("recollect").setLevel(logging.CRITICAL)
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        self.loop = asyncio.new_event_loop()
        self.operations = list(all_operations().values())
        self.tools = [each.name for each in self.operations if each.tools]
        self.calls = 0
        self._numbers = itertools.count()
        self._stack: AsyncExitStack | None = None

    def open(self) -> None:
        before, self._stack = self._stack, None
        if before is not None:
            self.loop.run_until_complete(before.aclose())
        self._stack, self.calls = AsyncExitStack(), 0
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-fuzz-")))
        mind = self._stack.enter_context(Mind(folder / "memory.db", embedder=None, durability="fast"))
        mind.remember_many({"id": f"m{n}", "text": f"cup number {n} on the shelf"} for n in range(10))
        tokens = TokenFile.beside(mind.path)
        self.token = tokens.create("fuzz", "admin", {})[0]
        backend = Backend(mind, tokens, ServerSettings(rate=1e9, burst=10**9, workers=2))
        self._stack.callback(backend.close)
        self.app = build_app(backend)
        assert backend.mcp is not None
        self._stack.push_async_callback(self._start(backend.mcp))
        self._initialize()

    def _start(self, endpoint: McpEndpoint) -> Callable[[], Awaitable[None]]:
        """Let the endpoint run in a task of its own, which is what ends it, too; returns how to stop it."""
        ready, stop = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with endpoint.running():
                ready.set()
                await stop.wait()

        task = self.loop.create_task(run())
        self.loop.run_until_complete(ready.wait())

        async def end() -> None:
            stop.set()
            await task

        return end

    def request(
        self, method: str, path: bytes, query: bytes, body: bytes, headers: Mapping[str, str], check: bool = True
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send one request; status, body and headers of the answer. A status of 500 is a finding."""
        if self._stack is None or (check and self.calls >= CALLS_OF_A_MEMORY):
            self.open()
        self.calls += 1
        known = {"host": f"localhost:{ServerSettings().port}", "authorization": f"Bearer {self.token}"}
        raw = [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers.items()
        ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path.decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [*((name.encode(), value.encode()) for name, value in known.items()), *raw],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        answer: dict[str, Any] = {"status": 0, "body": b"", "headers": {}}
        sent = False

        async def receive() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
                answer["headers"] = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer["body"] += message.get("body", b"")

        self.loop.run_until_complete(asyncio.wait_for(self.app(scope, receive, send), ANSWER_SECONDS))
        status, content = answer["status"], answer["body"]
        assert 200 <= status < 600, f"status {status} of {method} {path!r}"
        assert status != 500, f"{method} {path!r}?{query!r}: {content!r}"
        return status, content, answer["headers"]

    def call(self, operation: Operation, arguments: dict[str, Any], accept: str) -> None:
        """Call an operation over HTTP with these arguments, whatever they are."""
        path, given = operation.path, dict(arguments)
        for part in ("id", "old", "session_id"):
            if f"{{{part}}}" in path:
                path = path.replace(f"{{{part}}}", quote(str(given.pop(part, "m1")), safe=""))
        headers, query, body = {**JSON, "accept": accept}, b"", b""
        if operation.method in ("GET", "DELETE"):
            texts = {
                name: value if isinstance(value, str) else json.dumps(value, default=str)
                for name, value in given.items()
            }
            query = urlencode(texts, errors="replace").encode()
        else:
            body = json.dumps(given).encode()
        self.request(operation.method, f"/v1{path}".encode(), query, body, headers)

    # MCP, in one session.

    def _initialize(self) -> None:
        about = {
            "protocolVersion": mcp_types.version.LATEST_HANDSHAKE_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "fuzz", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
        status, _, headers = self.request("POST", b"/mcp/all", b"", json.dumps(message).encode(), JSON, check=False)
        assert status == 200
        version = mcp_types.version.LATEST_HANDSHAKE_VERSION
        self.session = {"mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": version}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.request("POST", b"/mcp/all", b"", json.dumps(ready).encode(), {**JSON, **self.session}, check=False)

    def post_mcp(self, body: bytes) -> bytes:
        if self._stack is None or self.calls >= CALLS_OF_A_MEMORY:
            self.open()
        return self.request("POST", b"/mcp/all", b"", body, {**JSON, **self.session}, check=False)[1]

    def call_mcp(self, method: str, parameters: Mapping[str, Any]) -> None:
        """One request of the protocol. "InternalError" is what an exception that nobody expected becomes."""
        message = {"jsonrpc": "2.0", "id": next(self._numbers) + 1, "method": method, "params": parameters}
        answer = self.post_mcp(json.dumps(message).encode())
        assert b"InternalError" not in answer, f"{method} {parameters!r}: {answer!r}"
