"""The outermost part of the server: request ids, Host and Origin, headers of responses, logs, and errors as JSON."""

from __future__ import annotations

import json
import logging
import re
import time
from secrets import token_hex
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect import errors
from recollect.model import JsonObject
from recollect.serve.backend import Backend
from recollect.service.errors import error_json

log = logging.getLogger("recollect.serve")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
STATUS: dict[type[errors.RecollectError], int] = {
    errors.InvalidInput: 400,
    errors.NotFound: 404,
    errors.EditConflict: 412,
    errors.LimitExceeded: 429,
    errors.AccessDenied: 403,
    errors.ServerUnavailable: 503,
    errors.EmbeddingError: 503,
    errors.StoreError: 503,
}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PROBES = ("/healthz", "/readyz")  # called by address, in the clear, by whatever watches the server
HEADERS = (  # of each response, unless it has its own
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)


class Refusal(Exception):
    """An error with another status than the one of its kind, and with headers."""

    def __init__(self, status: int, error: errors.RecollectError, **headers: str) -> None:
        super().__init__(str(error))
        self.status, self.error = status, error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error_response(problem: Exception, request_id: str) -> Response:
    """The one shape of an error as a response: ``{"error": {type, message, hint, request_id}}``."""
    error: Exception = problem.error if isinstance(problem, Refusal) else problem
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    headers: dict[str, str] = {}
    if isinstance(problem, Refusal):
        status, headers = problem.status, problem.headers
    body: JsonObject = {"error": error_json(error, request_id)}
    return Response(json.dumps(body, ensure_ascii=False), status, headers, media_type="application/json")


class Guard:
    """Wraps the application. What it refuses does not reach a route."""

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self.app, self.backend = app, backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, metrics = time.perf_counter(), self.backend.metrics
        headers = Headers(scope=scope)
        header = headers.get("x-request-id", "")
        request_id = header if REQUEST_ID.fullmatch(header) else token_hex(8)
        state: dict[str, Any] = scope.setdefault("state", {})
        state |= {"request_id": request_id, "operation": "other", "caller": "-"}
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = [each for each in message.get("headers", ()) if each[0].lower() != b"x-request-id"]
                names = {name.lower() for name, _ in given}
                more = [each for each in HEADERS if each[0] not in names]
                message["headers"] = [*given, *more, (b"x-request-id", request_id.encode())]
            await send(message)

        metrics.in_flight += 1
        try:
            self._check_origin(scope, headers)
            await self.app(scope, receive, answer)
        except Exception as problem:
            if status:  # the response has begun: it can only end
                log.error("request %s ended early: %s", request_id, problem)
                raise
            await error_response(problem, request_id)(scope, receive, answer)
        finally:
            seconds = time.perf_counter() - start
            metrics.in_flight -= 1
            metrics.record(state["operation"], status, seconds)
            log.info(
                "%s %s %s %d %.1f ms %s",  # never the query string: it may contain what was asked
                request_id,
                scope["method"],
                scope.get("raw_path", b"").partition(b"?")[0].decode("ascii", "replace"),  # encoded: no line breaks
                status,
                seconds * 1e3,
                state["caller"],
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        if scope["path"] in PROBES:
            return
        settings = self.backend.settings
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not settings.accepts_host(hosts[0]):
            named = hosts[0] if hosts else ""
            problem = errors.AccessDenied(f"This server is not {named[:200]!r}.")
            hint = "Call it by its own name and port, or start it with --allowed-host and this name and port."
            raise Refusal(421, problem.advise(hint))
        origin = headers.get("origin")
        if origin is not None and not settings.accepts_origin(origin, hosts[0]):
            problem = errors.AccessDenied(f"Pages of {origin[:200]!r} may not call this server.")
            hint = "Open the page at the server's own address; other programs send no Origin."
            raise Refusal(403, problem.advise(hint))
        if settings.trusted_proxy is not None and not settings.is_loopback and scope["scheme"] != "https":
            problem = errors.AccessDenied("This server is reached by its proxy only, with TLS.")
            raise Refusal(403, problem.advise("Call the address of the proxy, with https."))
