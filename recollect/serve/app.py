"""The application: /v1, health, readiness, metrics, signing in, and the files of the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import AccessDenied, InvalidInput, LimitExceeded, NotFound, RecollectError
from recollect.serve.api import RETRY, ROUTES, Api
from recollect.serve.backend import Backend
from recollect.serve.guard import Guard, Refusal
from recollect.serve.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from recollect.serve.mcp.http import McpEndpoint

PAGE = Path(__file__).parent / "page"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}


def build_app(backend: Backend, page: Path = PAGE) -> ASGIApp:
    """The application of a server; ``page`` is the folder with the files of the web page."""
    cookie = f"recollect_session_{backend.settings.port}"  # browsers share cookies between the ports of a host
    api = Api(backend, cookie)

    async def healthz(request: Request) -> Response:
        return _named(request, "healthz", Response("ok\n", media_type="text/plain"))

    async def readyz(request: Request) -> Response:
        request.scope["state"]["operation"] = "readyz"
        if backend.stopping.is_set():
            return Response("stopping\n", 503, media_type="text/plain")
        try:
            await backend.pool.run(backend.check_ready)
        except RecollectError:
            return Response("the store does not answer\n", 503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    async def metrics(request: Request) -> Response:
        access = api.access(request)
        if not access.is_unbound_admin:  # it counts the requests of all callers
            problem = AccessDenied("/metrics needs a token with the scope 'admin' and without a bound.")
            raise problem.advise("Create one: recollect token create NAME --scope admin.")
        return _named(request, "metrics", Response(backend.metrics.text(), headers={"content-type": CONTENT_TYPE}))

    async def login(request: Request) -> Response:
        """A one-time code becomes a cookie that scripts and other sites cannot use."""
        address = request.client.host if request.client else "unknown"
        if backend.failures.is_empty(address):
            raise Refusal(429, LimitExceeded("Too many wrong codes.").advise(RETRY), retry_after="5")
        try:
            session = backend.control.open_session(request.query_params.get("code", ""))
        except AccessDenied as problem:
            backend.failures.take(address)
            raise Refusal(401, problem.advise("Run recollect ui again: it opens the page with a new code.")) from None
        response = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        age = int(backend.settings.session_hours * 3600)
        response.set_cookie(cookie, session, max_age=age, path="/", secure=secure, httponly=True, samesite="strict")
        return _named(request, "login", response)

    mcp = _mcp_endpoint(backend, api)
    handlers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics, "/login": login}

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/v1/"):
            await api(scope, receive, send)
            return
        if mcp is not None and (scope["path"] == "/mcp" or scope["path"].startswith("/mcp/")):
            await mcp(scope, receive, send)
            return
        request = Request(scope, receive)
        if request.method not in ("GET", "HEAD"):
            refused = InvalidInput(f"{request.method} is not allowed here; GET is.")
            raise Refusal(405, refused.advise(f"Use GET for the page; {ROUTES}"), allow="GET, HEAD")
        handler = handlers.get(scope["path"])
        if handler is None:
            response = _named(request, "page", page_file(page, scope["path"].removeprefix("/")))
        else:
            response = await handler(request)
        await response(scope, receive, send)

    return Guard(application, backend)


def _mcp_endpoint(backend: Backend, api: Api) -> McpEndpoint | None:
    """MCP over HTTP, if the package mcp is installed."""
    try:
        from recollect.serve.mcp.http import McpEndpoint

        backend.mcp = McpEndpoint(backend, api.limited_access)
    except ImportError:
        return None
    return backend.mcp


def _named(request: Request, operation: str, response: Response) -> Response:
    request.scope["state"]["operation"] = operation
    return response


def page_file(folder: Path, name: str) -> Response:
    """A file of the page. Only files with known endings inside the folder are served."""
    path = folder / (name or "index.html")
    media_type = MEDIA_TYPES.get(path.suffix)
    hidden = any(part.startswith(".") for part in Path(name).parts)
    try:
        found = path.resolve().is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):  # a name that is too long, or with a NUL character
        found = False
    if media_type is None or hidden or not found:
        raise NotFound(f"There is no page {name[:200]!r}.").advise(f"The page is at /; {ROUTES}")
    return Response(path.read_bytes(), headers={"content-type": media_type, "cache-control": "no-cache"})
