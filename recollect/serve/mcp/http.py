"""MCP over streamable HTTP, at /mcp of the server: each request has the token, scope and bound of its caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from recollect.errors import NotFound
from recollect.serve.tokens import Access
from recollect.service import Service

if TYPE_CHECKING:
    from recollect.serve.backend import Backend

SETS = {"/mcp": "basic", "/mcp/robot": "robot", "/mcp/notes": "notes", "/mcp/all": "all"}  # by path: the tools


class McpEndpoint:
    """An ASGI application for everything under /mcp. It answers while ``running``."""

    def __init__(self, backend: Backend, access_of: Callable[[Request], Access]) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from recollect.serve.mcp.server import RequestContext, make_server

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

        self.access_of = access_of
        self.managers = {
            path: StreamableHTTPSessionManager(
                app=make_server(service_of, (tools,)),
                security_settings=security,
                max_request_body_size=settings.max_body_bytes,
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
            raise NotFound(f"There is no {scope['path'][:200]}; there are: {', '.join(SETS)}.")
        await manager.handle_request(scope, receive, send)
