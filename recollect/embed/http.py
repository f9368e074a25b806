"""HTTP requests to model services: JSON in and out, deadlines that hold, retries, and errors that never show the key.

``HttpService`` sends one request. ``Retrier`` retries where that may help, and pauses requests to a service that
failed. Requests run in a separate event loop, where they can be cancelled at their deadline: a socket's timeout counts
from byte to byte, so a server that sends slowly would outlast it.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from threading import TIMEOUT_MAX, Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from recollect.errors import InvalidInput
from recollect.model import check

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from httpx2 import AsyncClient, Response

MAX_RESPONSE_BYTES = 4 << 20
EXCERPT_CHARACTERS = 200  # of a response in an error message
SECRET_PREFIX = 8  # characters by which a truncated secret is recognised
INPUT_REJECTED = (400, 413, 422)  # the request was wrong; the service itself works
MAX_COOLDOWN_SECONDS = 600.0  # whatever a service asks for
T = TypeVar("T")


class ServiceError(Exception):
    """A request that failed: its status, and whether (and after how many seconds) a retry may help."""

    def __init__(
        self, message: str, status: int | None = None, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.retryable, self.retry_after = status, retryable, retry_after


class HttpService:
    """An address and the headers of every request to it. The key is looked up when it is needed."""

    def __init__(
        self,
        url: str,
        path: str = "",
        *,
        key: str | None = None,
        variables: tuple[str, ...] = (),
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        """``path`` is added to ``url``, unless the url already ends with it."""
        try:
            parts = urlsplit(check.string(url, "url"))
            port = f":{parts.port}" if parts.port else ""
        except ValueError as problem:
            raise InvalidInput(f"url is not a valid address: {problem}.") from None
        if parts.username or parts.password:
            raise InvalidInput("url contains a user name or password; pass the key as key=… or in the environment.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"url must be an http or https address such as 'http://localhost:8080/v1', not {url!r}.")
        self._parts = parts._replace(path=parts.path.rstrip("/").removesuffix(path), fragment="")
        self._root = f"{parts.scheme}://{parts.hostname}{port}"
        self.path = path
        self.address = self.address_of(path)
        self.variables = variables
        self._key = None if key is None else check.string(key, "key")
        self._key_header = key_header
        self._headers = {
            check.string(name, "a header"): _header_value(value, name) for name, value in (headers or {}).items()
        }
        self._max_response_bytes = max_response_bytes
        self._client: AsyncClient | None = None
        self._loop: AbstractEventLoop | None = None  # of the client's connections; a forked process has another

    def address_of(self, path: str) -> str:
        """The address without its query string, which may contain a token."""
        return f"{self._root}{self._parts.path}{path}"

    def post(self, body: Mapping[str, Any], timeout_seconds: float, max_bytes: int | None = None) -> Any:
        """POST a JSON body and parse the JSON response, which has at most so many bytes."""
        return self.request_json("POST", self.path, timeout_seconds, body, max_bytes=max_bytes)

    def request_json(self, method: str, path: str, timeout_seconds: float, body: Any = None, **sent: Any) -> Any:
        if body is not None:
            sent = {**sent, "content": json.dumps(body).encode(), "content_type": "application/json"}
        content = self.request(method, path, timeout_seconds, **sent)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            excerpt = self._excerpt(content)
            raise ServiceError(f"{self.address_of(path)} did not return JSON: {excerpt}.") from None

    def request(
        self,
        method: str,
        path: str,
        timeout_seconds: float,
        content_type: str | None = None,
        max_bytes: int | None = None,
        **sent: Any,
    ) -> bytes:
        """Send one request and return the body of its response within the timeout; otherwise a ServiceError."""
        import asyncio

        import httpx2

        address = self.address_of(path)
        headers = {**self._request_headers(), **({"Content-Type": content_type} if content_type else {})}
        url = self._parts._replace(path=self._parts.path + path).geturl()
        pending = asyncio.run_coroutine_threadsafe(self._exchange(method, url, headers, sent, max_bytes), _loop())
        try:
            response, content = pending.result(min(timeout_seconds, TIMEOUT_MAX))
        except TimeoutError:
            raise ServiceError(f"{address} did not answer within {timeout_seconds:.3g} s.", retryable=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            reason = self._redact(_reason(problem)).rstrip(".") or problem.__class__.__name__
            retryable = isinstance(problem, httpx2.TransportError)
            raise ServiceError(f"Request to {address} failed: {reason}.", retryable=retryable) from None
        finally:
            pending.cancel()  # what is still running
        status = response.status_code
        if status in (401, 403):
            where = f" or in the environment variable {self.variables[0]}" if self.variables else ""
            excerpt = self._excerpt(content)
            raise ServiceError(
                f"{address} rejected the key ({status}); pass it as key=…{where}. Response: {excerpt}.", status
            )
        if not response.is_success:
            raise ServiceError(
                f"{address} answered {status} {response.reason_phrase}: {self._excerpt(content)}.",
                status,
                retryable=(status in (408, 429) or status >= 500) and b"insufficient_quota" not in content,
                retry_after=_retry_after(response.headers),
            )
        return content

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], sent: Mapping[str, Any], max_bytes: int | None
    ) -> tuple[Response, bytes]:
        """One request and the body of its response, without a time limit."""
        parts, length = [], 0
        allowed = min(max_bytes or self._max_response_bytes, self._max_response_bytes)
        async with self._connect().stream(method, url, headers=headers, **sent) as response:
            async for part in response.aiter_bytes():
                parts.append(part)
                length += len(part)
                if length > allowed:
                    raise ServiceError(f"{url.partition('?')[0]} answered with more than {allowed:,} bytes.")
        return response, b"".join(parts)

    def _request_headers(self) -> dict[str, str]:
        key = self._usable_key()
        bearer = "Bearer " if self._key_header == "Authorization" else ""
        return {**({self._key_header: bearer + key} if key else {}), **self._headers}

    def _usable_key(self) -> str:
        candidates = (self._key, *map(os.environ.get, self.variables))
        key = next((each.strip() for each in candidates if each and each.strip()), "")
        if not _is_header_text(key):  # the HTTP library's own error would show it
            raise ServiceError("The API key has characters that are not allowed in an HTTP header.")
        return key

    def _connect(self) -> AsyncClient:
        """The HTTP client of the current event loop."""
        import httpx2

        if self._client is None or self._loop is not _loop():
            self._client, self._loop = httpx2.AsyncClient(timeout=None), _loop()
            if self._parts.query:  # the library logs complete addresses
                logging.getLogger("httpx2").addFilter(self._is_loggable)
        return self._client

    def _is_loggable(self, record: logging.LogRecord) -> bool:
        return self._parts.query not in record.getMessage()

    def _excerpt(self, content: bytes) -> str:
        text = self._redact(content.decode("utf-8", "replace"))
        return repr(text[:EXCERPT_CHARACTERS] + "…" if len(text) > EXCERPT_CHARACTERS else text)

    def _redact(self, text: str) -> str:
        """The text without keys and without truncated keys."""
        words = [word for value in self._headers.values() for word in value.split() if len(word) >= SECRET_PREFIX]
        for secret in filter(None, (self._usable_key(), *words)):
            text = re.sub(re.escape(secret) + "|" + re.escape(secret[:SECRET_PREFIX]) + r"[\w\-*]*", "…", text)
        return text


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts of a request, its retries, and the pause after a failure."""

    timeout_seconds: float = 60.0  # for all attempts of one request
    query_timeout_seconds: float = 10.0  # the same for a query, whose user is waiting
    attempts: int = 4
    backoff_seconds: float = 0.5  # before the second attempt; doubles with each further one, less a random part
    cooldown_seconds: float = 30.0  # after a failure, in which requests fail at once instead of waiting

    def __post_init__(self) -> None:
        for name in ("timeout_seconds", "query_timeout_seconds"):
            check.number(getattr(self, name), name, low=1e-3)
        for name in ("backoff_seconds", "cooldown_seconds"):
            check.number(getattr(self, name), name, low=0.0)
        check.integer(self.attempts, "attempts", low=1)


class Retrier:
    """Retries after 429, 5xx and broken connections, with the delay that the service asks for; then a cooldown."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        self._cooldown_until = 0.0  # by time.monotonic
        self._last_error = ""

    def call(self, attempt: Callable[[float], T], timeout_seconds: float) -> T:
        """What ``attempt(seconds_left)`` returns, or its last ServiceError."""
        left = self._cooldown_until - time.monotonic()
        if left > 0:
            raise ServiceError(f"No requests for another {left:.0f} s after this error: {self._last_error}")
        until = time.monotonic() + timeout_seconds
        for number in count(1):
            try:
                return attempt(max(1e-3, until - time.monotonic()))
            except ServiceError as error:
                delay = self.policy.backoff_seconds * 2 ** (number - 1) * (0.5 + random.random() / 2)
                delay = max(delay, error.retry_after or 0.0)
                if not error.retryable or number == self.policy.attempts or time.monotonic() + delay >= until:
                    self._start_cooldown(error)
                    raise
            time.sleep(delay)
        raise AssertionError("unreachable")

    def _start_cooldown(self, error: ServiceError) -> None:
        if error.status not in INPUT_REJECTED and self.policy.cooldown_seconds:
            requested = min(error.retry_after or 0.0, MAX_COOLDOWN_SECONDS)
            self._cooldown_until = time.monotonic() + max(self.policy.cooldown_seconds, requested)
            self._last_error = str(error)


_loops: dict[int, AbstractEventLoop] = {}  # by process id


def _loop() -> AbstractEventLoop:
    """The event loop of this process, in its own thread. A forked process inherits the object but not the thread.

    There is no lock, because a fork could leave it locked forever.
    """
    import asyncio

    loop = _loops.get(os.getpid())
    if loop is None:
        new = asyncio.new_event_loop()
        loop = _loops.setdefault(os.getpid(), new)
        if loop is new:
            Thread(target=new.run_forever, name="recollect-http", daemon=True).start()
        else:  # another thread was first
            new.close()
    return loop


def _reason(problem: BaseException) -> str:
    """The cause of an error: the library's own message only says that all attempts failed."""
    import ssl

    while cause := problem.__cause__ or problem.__context__:
        problem = cause
    if isinstance(problem, ExceptionGroup):  # one for each address of a host name
        problem = problem.exceptions[0]
    number = problem.errno if isinstance(problem, OSError) else None
    is_system = number in errno.errorcode and not isinstance(problem, ssl.SSLError)  # whose numbers differ
    return os.strerror(number) if is_system and number else str(problem)


def _header_value(value: object, name: str) -> str:
    if not isinstance(value, str) or not _is_header_text(value):
        raise InvalidInput(f"The value of the header {name!r} has characters that are not allowed in an HTTP header.")
    return value


def _is_header_text(value: str) -> bool:
    return value.isascii() and (not value or value.isprintable())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from headers that give milliseconds, seconds or a date."""
    from email.utils import parsedate_to_datetime

    value = headers.get("retry-after", "").strip()
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif re.fullmatch(r"[\d.]+", value):
            seconds = float(value)
        else:
            seconds = (parsedate_to_datetime(value).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
