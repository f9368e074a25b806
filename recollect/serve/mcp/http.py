"""MCP over streamable HTTP, at /mcp of the server: each request has the token, scope and bound of its caller."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from recollect.errors import AccessDenied, LimitExceeded, NotFound
from recollect.serve.mcp.server import RequestContext, make_server
from recollect.serve.tokens import Access
from recollect.serve.work import Answer
from recollect.service import Operation, Service

if TYPE_CHECKING:
    from recollect.serve.backend import Backend

SETS = {"/mcp": "basic", "/mcp/robot": "robot", "/mcp/notes": "notes", "/mcp/all": "all"}  # by path: the tools
MAX_SESSIONS_EACH = 50  # of one token
POLL_SECONDS = 0.5  # between two looks whether the token of a request is still valid
IDLE_SECONDS = 1_800.0  # after which a session that is not used ends


class McpEndpoint:
    """An ASGI application for everything under /mcp. It answers while ``running``."""

    def __init__(self, backend: Backend, access_of: Callable[[Request], Access]) -> None:
        settings = backend.settings
        names = [f"[{name}]" if ":" in name else name for name in sorted(settings.host_names)]
        security = TransportSecuritySettings(  # the guard of the server checks both, too
            enable_dns_rebinding_protection=True,
            allowed_hosts=[host for name in names for host in (name, f"{name}:*")],
            allowed_origins=[
                f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
            ],
        )

        def service_of(ctx: RequestContext) -> Service:
            request: Any = ctx.request
            return backend.service(request.scope["state"]["access"])

        async def answer(ctx: RequestContext, operation: Operation, arguments: dict[str, Any]) -> Answer:
            request: Any = ctx.request
            state = request.scope["state"]
            return await backend.answer(state["request_id"], state["access"], operation, arguments)

        self.access_of, self.is_valid, self.sessions = access_of, backend.control.is_valid, McpSessions()
        self.managers = {
            path: StreamableHTTPSessionManager(
                app=make_server(service_of, (tools,), answer),
                security_settings=security,
                max_request_body_size=settings.max_body_bytes,
                session_idle_timeout=IDLE_SECONDS,
            )
            for path, tools in SETS.items()
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in self.managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state: dict[str, Any] = scope["state"]
        state["access"] = access = self.access_of(Request(scope))
        state |= {"operation": "mcp", "caller": access.name}
        manager = self.managers.get(scope["path"].rstrip("/"))
        if manager is None:
            problem = NotFound(f"There is no {scope['path'][:200]}; there are: {', '.join(SETS)}.")
            raise problem.advise("Use one of these paths in the entry of the MCP client.")
        # The manager answers 404 when another token uses the session.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=access.id, scopes=[access.scope]))
        with self.sessions.request(scope, access.id) as watch:
            await self._answer_while_valid(manager, access, scope, receive, watch(send))

    async def _answer_while_valid(
        self, manager: StreamableHTTPSessionManager, access: Access, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request, or let a stream go on, until the token is revoked; then its session ends, too."""
        started = False

        async def send_if_valid(message: Message) -> None:
            nonlocal started
            while not self.is_valid(access):  # the loop below ends this
                await asyncio.sleep(POLL_SECONDS)
            started = started or message["type"] == "http.response.start"
            await send(message)

        answering = asyncio.ensure_future(manager.handle_request(scope, receive, send_if_valid))
        try:
            while not answering.done() and self.is_valid(access):
                await asyncio.wait([answering], timeout=POLL_SECONDS)
        finally:
            answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering
        if answering.cancelled():
            await _end_session(manager, scope)
            problem = AccessDenied("The token was revoked or has expired during the call.")
            if not started:
                raise problem
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _end_session(manager: StreamableHTTPSessionManager, scope: Scope) -> None:
    """End the session of a request as its client would, with DELETE: its other streams and calls end."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        pass

    if MCP_SESSION_ID_HEADER in Headers(scope=scope):
        await manager.handle_request({**scope, "method": "DELETE"}, receive, send)


@dataclass
class _Session:
    owner: str
    last_used: float
    requests: int = 0  # that are being answered; a stream of messages is one, too


class McpSessions:
    """Counts the sessions of each token, which the manager itself does not."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    @contextmanager
    def request(self, scope: Scope, caller: str) -> Iterator[Callable[[Send], Send]]:
        """The request of a caller; what it yields watches the answer for the id of a session."""
        headers = Headers(scope=scope)
        id, version = headers.get(MCP_SESSION_ID_HEADER), headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if id is None and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS):  # later ones have no sessions
            self._check_number(caller)
        session = self._sessions.get(id or "")
        if session is not None and session.owner == caller:
            session.requests += 1
        else:
            session = None
        status = 0

        def watch(send: Send) -> Send:
            async def watched(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    opened = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                    if opened and opened not in self._sessions and status < 300:
                        self._sessions[opened] = _Session(caller, time.monotonic())
                await send(message)

            return watched

        try:
            yield watch
        finally:
            if session is not None and id is not None:
                session.requests, session.last_used = session.requests - 1, time.monotonic()
                if status == 404 or (scope["method"] == "DELETE" and status < 300):
                    self._sessions.pop(id, None)

    def _check_number(self, caller: str) -> None:
        oldest = time.monotonic() - IDLE_SECONDS
        for id in [id for id, each in self._sessions.items() if each.last_used < oldest and not each.requests]:
            del self._sessions[id]
        if sum(each.owner == caller for each in self._sessions.values()) >= MAX_SESSIONS_EACH:
            problem = LimitExceeded(f"There are {MAX_SESSIONS_EACH} MCP sessions with this token already.")
            raise problem.advise(f"End one with DELETE; each ends after {IDLE_SECONDS / 60:g} minutes without use.")
