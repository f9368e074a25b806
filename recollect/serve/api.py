"""The routes under /v1: operations with their arguments, and exports, imports of files, events and one-time codes."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect import errors
from recollect.errors import AccessDenied, InvalidInput, LimitExceeded, NotFound
from recollect.model import JsonObject
from recollect.serve.backend import Backend
from recollect.serve.events import ChangeFeed, sse
from recollect.serve.guard import Refusal
from recollect.serve.idempotency import KEY_HINT
from recollect.serve.openapi import EVENTS, build_openapi, schema_type
from recollect.serve.router import Router, read_json, read_query
from recollect.serve.tokens import Access
from recollect.serve.work import Answer, OutcomeUnknown, to_bytes
from recollect.service import SCOPES, Operation, all_operations
from recollect.service.errors import error_json

SMALL_BODY = 64 << 10  # bytes that are read at once, without waiting for a thread
EXPORT_LINES = 256  # that are made at a time
ROUTES = "GET /v1/openapi.json lists every route."
RETRY = "Wait as many seconds as the header Retry-After says, and call again."
CANCELLED = "The request ended before it was answered; it is not known whether it was stored."
BODY_HINT = "Send the arguments as a JSON object, with the header Content-Type: application/json."
MAX_KEY = 200  # characters of an idempotency key


class Api:
    """An ASGI application for everything under /v1."""

    def __init__(self, backend: Backend, cookie: str) -> None:
        self.backend, self.cookie = backend, cookie
        self.router = Router(all_operations().values())
        self.openapi = json.dumps(build_openapi(), ensure_ascii=False).encode()
        self.further = {
            ("GET", "events"): self._events,
            ("POST", "import/file"): self._import_file,
            ("POST", "login-codes"): self._login_code,
            ("DELETE", "session"): self._logout,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        raw = scope.get("raw_path", b"").split(b"?")[0].decode("ascii", "replace")
        path = raw.removeprefix("/v1").strip("/")
        if path == "openapi.json" and request.method in ("GET", "HEAD"):
            response = Response(self.openapi, media_type="application/json")
        else:
            response = await self._answer(request, path)
        await response(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        access = self.limited_access(request)
        state = request.scope["state"]
        state["caller"] = access.name
        further = self.further.get((request.method, path))
        if further is not None:
            state["operation"] = path.replace("/", "_")
            return await further(request, access)
        operation, values, allowed = self.router.find(request.method, path)
        if operation is None:
            others = {method for method, each in self.further if each == path}
            if allowed or others:
                methods = ", ".join(sorted({*allowed, *others}))
                problem = InvalidInput(f"{request.method} is not allowed here; allowed: {methods}.")
                raise Refusal(405, problem.advise(f"Use one of them: {methods}; {ROUTES}"), allow=methods)
            raise NotFound(f"There is no route /v1/{path[:200]}.").advise(f"Check the path; {ROUTES}")
        state["operation"] = operation.name
        if not _includes(access, operation):
            raise AccessDenied(
                f"{operation.name} needs the scope {operation.scope!r}; this token has {access.scope!r}."
            )
        arguments = await self._arguments(request, operation, values)
        if operation.name == "export":
            return await self._export(access)
        if operation.long and EVENTS in request.headers.get("accept", ""):
            operation.check(arguments)  # an error now is an ordinary response
            return StreamingResponse(self._long_work(request, access, operation, arguments), media_type=EVENTS)
        answer = await self._call(request, access, operation, arguments)
        return Response(answer.body, answer.status, dict(answer.headers), media_type="application/json")

    def limited_access(self, request: Request) -> Access:
        """Who calls, unless that is too often."""
        access = self.access(request)
        wait = self.backend.rate.take(access.id)
        if wait:
            problem = LimitExceeded(f"More than {self.backend.settings.rate:g} requests a second with one token.")
            raise Refusal(429, problem.advise(RETRY), retry_after=str(max(1, round(wait))))
        return access

    def access(self, request: Request) -> Access:
        """Who calls. Wrong tokens are counted by address; secrets are too long to be guessed in any case."""
        address = request.client.host if request.client else "unknown"
        failures = self.backend.failures
        try:
            return self.backend.control.access_of(request.method, request.headers, request.cookies, self.cookie)
        except AccessDenied as problem:
            if failures.is_empty(address):  # valid tokens of the same address still work
                limit = LimitExceeded("Too many calls without a valid token.").advise(RETRY)
                raise Refusal(429, limit, retry_after="5") from None
            failures.take(address)
            hint = problem.hint or (
                "Send a valid token in the header Authorization: Bearer rct_…; recollect token create makes one."
            )
            raise Refusal(401, problem.advise(hint), www_authenticate='Bearer realm="recollect"') from None

    # Arguments.

    async def _arguments(self, request: Request, operation: Operation, values: Mapping[str, str]) -> JsonObject:
        """The arguments of an operation: from the path, and from the query string or the body."""
        parameters = {each.name: each for each in operation.parameters if each.name not in values}
        if operation.method in ("GET", "DELETE"):
            arguments: Any = read_query(request.scope["query_string"], parameters, schema_type)
        else:
            if request.scope["query_string"]:
                raise InvalidInput("The arguments of this route are in its body, not in the query string.")
            body = await read_body(request, self.backend.settings.max_body_bytes, self.backend.settings.body_seconds)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if body and kind != "application/json":
                problem = InvalidInput(f"Content-Type must be application/json, not {kind[:100]!r}.")
                raise Refusal(415, problem.advise(BODY_HINT))
            try:
                if len(body) <= SMALL_BODY:
                    arguments = read_json(body) if body else {}
                else:
                    arguments = await self.backend.pool.run(read_json, body)
            except InvalidInput as error:
                raise error.advise(BODY_HINT) from None
        if not isinstance(arguments, dict):
            raise InvalidInput("The body must be a JSON object of arguments.").advise(BODY_HINT)
        clash = next((name for name in arguments if name in values), None)
        if clash is not None:
            raise InvalidInput(f"{clash} is in the path; leave it out of the arguments.")
        return {**arguments, **values, **self._precondition(request, operation)}

    @staticmethod
    def _precondition(request: Request, operation: Operation) -> JsonObject:
        tag = request.headers.get("if-match")
        if tag is None:
            return {}
        if operation.name != "update":
            problem = InvalidInput("If-Match is for PATCH /v1/memories/{id} only.")
            raise problem.advise("Leave out the header If-Match.")
        return {} if tag.strip() == "*" else {"etag": tag.strip().removeprefix("W/").strip('"')}

    # Answers.

    async def _call(self, request: Request, access: Access, operation: Operation, arguments: JsonObject) -> Answer:
        key = request.headers.get("idempotency-key")
        if key is None or operation.scope == "read":
            return await self._run(request, access, operation, arguments)
        if not 0 < len(key) <= MAX_KEY:
            problem = InvalidInput(f"Idempotency-Key must have between 1 and {MAX_KEY} characters, not {len(key)}.")
            raise problem.advise(KEY_HINT)
        content = json.dumps([operation.name, arguments], sort_keys=True).encode()
        earlier = await self.backend.keys.begin(access.id, key, content)
        if earlier is not None:
            if earlier.body is None:  # a memory
                show = all_operations()["show"]
                shown = await self._run(request, access, show, {"id": earlier.memory})
                earlier = replace(shown, status=earlier.status)
            return replace(earlier, headers=(*earlier.headers, ("idempotency-replayed", "true")))
        answer = None
        try:
            answer = await self._run(request, access, operation, arguments)
            return answer
        except (OutcomeUnknown, asyncio.CancelledError) as problem:  # sent again, it might be stored twice
            known = problem if isinstance(problem, OutcomeUnknown) else OutcomeUnknown(CANCELLED)
            error = error_json(known, request.scope["state"]["request_id"])
            answer = Answer(503, to_bytes({"error": error}), storable=True)
            raise
        finally:
            self.backend.keys.finish(access.id, key, answer)

    async def _run(self, request: Request, access: Access, operation: Operation, arguments: JsonObject) -> Answer:
        known_tags = request.headers.get("if-none-match", "")
        return await self.backend.answer(request.scope["state"]["request_id"], access, operation, arguments, known_tags)

    async def _export(self, access: Access) -> Response:
        pool = self.backend.pool
        records: Iterator[JsonObject] = await pool.run(lambda: self.backend.service(access).call("export"))

        def some_lines() -> bytes:
            lines = []
            for record in records:
                lines.append(to_bytes(record))
                if len(lines) == EXPORT_LINES:
                    break
            return b"".join(line + b"\n" for line in lines)

        async def lines() -> AsyncIterator[bytes]:
            while chunk := await pool.run(some_lines):
                if not self.backend.control.is_valid(access):  # the connection is cut: what arrived is not the whole
                    raise AccessDenied("The token was revoked or has expired during an export.")
                yield chunk

        headers = {"content-disposition": 'attachment; filename="recollect.jsonl"'}
        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)

    async def _long_work(
        self, request: Request, access: Access, operation: Operation, arguments: JsonObject
    ) -> AsyncIterator[bytes]:
        """Progress as events, then the result or the error. When the caller leaves, the work stops."""
        reports: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
        left = False

        def progress(done: int, total: int) -> None:
            if not self.backend.control.is_valid(access):
                raise AccessDenied("The work was stopped: the token was revoked or has expired.")
            if left or self.backend.stopping.is_set():
                problem = errors.ServerUnavailable("The work was stopped: the caller left, or the server is stopping.")
                raise problem.advise("Call again once the server answers.")
            reports.put((done, total))

        def work() -> Any:
            return operation.run(self.backend.service(access, progress), arguments)

        pool = self.backend.pool if operation.scope == "read" else self.backend.writers
        task = asyncio.ensure_future(pool.run(work))
        try:
            while not task.done():
                await asyncio.wait([task], timeout=0.25)
                latest = None
                while not reports.empty():
                    latest = reports.get_nowait()
                if latest is not None:
                    yield sse("progress", {"done": latest[0], "total": latest[1]})
                elif await request.is_disconnected():
                    return
            problem = task.exception()
            if problem is None:
                yield sse("result", task.result())
            else:
                yield sse("error", error_json(problem, request.scope["state"]["request_id"]))
        finally:
            left = True

    # Further routes.

    async def _events(self, request: Request, access: Access) -> Response:
        return EventStream(self.backend.feed, access)

    async def _login_code(self, request: Request, access: Access) -> Response:
        return Response(to_bytes({"code": self.backend.control.make_code(access)}), media_type="application/json")

    async def _logout(self, request: Request, access: Access) -> Response:
        self.backend.control.close_session(request.cookies.get(self.cookie, ""))
        response = Response(b"{}", media_type="application/json")
        response.delete_cookie(self.cookie, path="/", httponly=True, samesite="strict")
        return response

    async def _import_file(self, request: Request, access: Access) -> Response:
        """An uploaded file, which is read from a temporary copy; of its name only the ending is used."""
        if not _includes(access, all_operations()["import"]):
            raise AccessDenied(f"import needs the scope 'write'; this token has {access.scope!r}.")
        query = read_query(request.scope["query_string"], {}, schema_type)
        unknown = [name for name in query if name not in ("kind", "filename")]
        if unknown:
            raise InvalidInput(f"import/file has no argument {unknown[0]!r}; it has: kind, filename.")
        from recollect.ingest.imports import FORMATS

        kind = query.get("kind")
        if kind is not None and kind not in FORMATS:
            raise InvalidInput(f"kind must be one of {', '.join(FORMATS)}, not {kind[:100]!r}.")
        suffix = "".join(each for each in os.path.splitext(query.get("filename", ""))[1] if each.isalnum())[:10]
        settings = self.backend.settings
        with tempfile.TemporaryDirectory(prefix="recollect-import-") as folder:
            path = os.path.join(folder, f"upload.{suffix}" if suffix else "upload")
            with open(path, "wb") as file:
                async for chunk in read_chunks(request, settings.max_upload_bytes, 10 * settings.body_seconds):
                    await self.backend.pool.run(file.write, chunk)

            def work() -> Any:
                return self.backend.service(access).mind.import_from(path, kind)

            try:
                summary = asdict(await self.backend.writers.run(work))
            except errors.RecollectError as problem:
                problem.args = (str(problem).replace(path, "The upload"),)
                raise
        del summary["ids"]
        summary["problems"] = [str(each).replace(path, "The upload") for each in summary["problems"]]
        return Response(to_bytes(summary), media_type="application/json")


class EventStream(StreamingResponse):
    """A stream of events, which has its place among those of its token from its beginning to its end."""

    def __init__(self, feed: ChangeFeed, access: Access) -> None:
        super().__init__(feed.stream(access), media_type=EVENTS)
        self._slot = feed.slots.take(access.id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            await super().__call__(scope, receive, send)


def _includes(access: Access, operation: Operation) -> bool:
    return SCOPES.index(operation.scope) <= SCOPES.index(access.scope)


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    return b"".join([chunk async for chunk in read_chunks(request, most, seconds)])


async def read_chunks(request: Request, most: int, seconds: float) -> AsyncIterator[bytes]:
    """The body in pieces: at most so many bytes, within so many seconds."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    size, end = 0, asyncio.get_running_loop().time() + seconds
    more = True
    while more:
        try:
            async with asyncio.timeout_at(end):
                message = await request.receive()
        except TimeoutError:
            slow = LimitExceeded(f"The request took longer than {seconds:g} seconds to arrive.")
            hint = "Send it again on a new connection, in smaller parts if the line is slow."
            raise Refusal(408, slow.advise(hint), connection="close") from None
        if message["type"] == "http.disconnect":
            raise Refusal(400, InvalidInput("The connection was closed before the body had arrived."))
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        if chunk:
            yield chunk


def _too_large(most: int) -> Refusal:
    problem = LimitExceeded(f"The body is larger than {most:,} bytes.").advise("Send it in several smaller requests.")
    return Refusal(413, problem, connection="close")
