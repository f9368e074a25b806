"""Models behind HTTP: one request out, one answer back, in bounded time and without a word about the key.

A ``Service`` tries once. ``Persistence`` tries again where that may help, and leaves a service that failed alone for a
while. Requests run in an event loop of our own, where one can be cut off at its deadline whatever the server does. A
socket's timeout counts from byte to byte, and a server that trickles outlasts it.
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
from recollect.model import validation as check

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from httpx2 import AsyncClient, Response

LONGEST = 4 << 20  # bytes of an answer
SHOWN = 200  # letters of an answer in an error
KNOWN_BY = 8  # letters of a secret by which a part of it is recognised
ABOUT_THE_INPUT = (400, 413, 422)  # refusals of what was sent: the service itself is well
LONGEST_REST = 600.0  # seconds, whatever a service asks for
T = TypeVar("T")


class Failure(Exception):
    """A call that failed: what was wrong, its status, and whether (and after how many seconds) another may help."""

    def __init__(
        self, message: str, status: int | None = None, again: bool = False, after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.again, self.after = status, again, after


class Service:
    """An address, and what is sent there with every request. A key is looked up when it is needed."""

    def __init__(
        self,
        url: str,
        path: str = "",
        *,
        key: str | None = None,
        variables: tuple[str, ...] = (),
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        longest: int = LONGEST,
    ) -> None:
        """``path`` is where questions go below ``url``, which may end with it already."""
        try:
            parts = urlsplit(check.string(url, "url"))
            port = f":{parts.port}" if parts.port else ""
        except ValueError as problem:
            raise InvalidInput(f"url is no address: {problem}.") from None
        if parts.username or parts.password:
            raise InvalidInput("The address holds a name or a password; give the key by key=… or the environment.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"url must be an address such as 'http://localhost:8080/v1', not {url!r}.")
        self._parts = parts._replace(path=parts.path.rstrip("/").removesuffix(path), fragment="")
        self._root = f"{parts.scheme}://{parts.hostname}{port}"
        self.path = path
        self.shown = self.shown_at(path)
        self.variables = variables
        self._key = None if key is None else check.string(key, "key")
        self._key_header = key_header
        self._headers = {
            check.string(name, "a header"): _carried(value, name) for name, value in (headers or {}).items()
        }
        self._longest = longest
        self._client: AsyncClient | None = None
        self._loop: AbstractEventLoop | None = None  # that of the client's connections: after a fork there is another

    def shown_at(self, path: str) -> str:
        """The address without its query, which may hold a token."""
        return f"{self._root}{self._parts.path}{path}"

    @property
    def has_key(self) -> bool:
        return bool(self._usable_key())

    def ask(self, body: Mapping[str, Any], seconds: float) -> Any:
        """POST this as JSON and read the JSON that comes back."""
        return self.json("POST", self.path, seconds, body)

    def json(self, method: str, path: str, seconds: float, body: Any = None, **sent: Any) -> Any:
        if body is not None:
            sent = {"content": json.dumps(body).encode(), "content_type": "application/json"}
        answer = self.call(method, path, seconds, **sent)
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            said = self._excerpt(answer)
            raise Failure(f"{self.shown_at(path)} answered with something that is no JSON: {said}.") from None

    def call(self, method: str, path: str, seconds: float, content_type: str | None = None, **sent: Any) -> bytes:
        """One request and its whole answer, within so many seconds; otherwise a Failure."""
        import asyncio

        import httpx2

        shown = self.shown_at(path)
        headers = {**self._sent_headers(), **({"Content-Type": content_type} if content_type else {})}
        url = self._parts._replace(path=self._parts.path + path).geturl()
        asking = asyncio.run_coroutine_threadsafe(self._exchange(method, url, headers, sent), _loop())
        try:
            response, answer = asking.result(min(seconds, TIMEOUT_MAX))
        except TimeoutError:
            raise Failure(f"{shown} did not answer within {seconds:.3g} s.", again=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            said = self._hidden(_reason(problem)).rstrip(".") or problem.__class__.__name__
            again = isinstance(problem, httpx2.TransportError)
            raise Failure(f"{shown} could not be asked: {said}.", again=again) from None
        finally:
            asking.cancel()  # whatever is still under way
        status = response.status_code
        if status in (401, 403):
            where = f" or in the environment variable {self.variables[0]}" if self.variables else ""
            said = self._excerpt(answer)
            raise Failure(f"{shown} refused the key ({status}); give it by key=…{where}. It said: {said}.", status)
        if not response.is_success:
            raise Failure(
                f"{shown} answered {status} {response.reason_phrase}: {self._excerpt(answer)}.",
                status,
                again=(status in (408, 429) or status >= 500) and b"insufficient_quota" not in answer,
                after=_retry_after(response.headers),
            )
        return answer

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], sent: Mapping[str, Any]
    ) -> tuple[Response, bytes]:
        """One request and its whole answer, however long that takes."""
        parts, length = [], 0
        async with self._open().stream(method, url, headers=headers, **sent) as response:
            async for part in response.aiter_bytes():
                parts.append(part)
                length += len(part)
                if length > self._longest:
                    raise Failure(f"{url.partition('?')[0]} answered with more than {self._longest >> 20} MB.")
        return response, b"".join(parts)

    def _sent_headers(self) -> dict[str, str]:
        key = self._usable_key()
        bearer = "Bearer " if self._key_header == "Authorization" else ""
        return {**({self._key_header: bearer + key} if key else {}), **self._headers}

    def _usable_key(self) -> str:
        held = (self._key, *map(os.environ.get, self.variables))
        key = next((each.strip() for each in held if each and each.strip()), "")
        if not _fits_a_header(key):  # the HTTP library's own error would show it
            raise Failure("The API key has characters that no HTTP header can carry.")
        return key

    def _open(self) -> AsyncClient:
        """The connections of the loop that this is called in."""
        import httpx2

        if self._client is None or self._loop is not _loop():
            self._client, self._loop = httpx2.AsyncClient(timeout=None), _loop()
            if self._parts.query:  # the library logs whole addresses
                logging.getLogger("httpx2").addFilter(self._may_be_logged)
        return self._client

    def _may_be_logged(self, record: logging.LogRecord) -> bool:
        return self._parts.query not in record.getMessage()

    def _excerpt(self, answer: bytes) -> str:
        text = self._hidden(answer.decode("utf-8", "replace"))
        return repr(text[:SHOWN] + "…" if len(text) > SHOWN else text)

    def _hidden(self, text: str) -> str:
        """The text without keys, nor a part of one that a service has cut short."""
        words = [word for value in self._headers.values() for word in value.split() if len(word) >= KNOWN_BY]
        for secret in filter(None, (self._usable_key(), *words)):
            text = re.sub(re.escape(secret) + "|" + re.escape(secret[:KNOWN_BY]) + r"[\w\-*]*", "…", text)
        return text


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, how often it is tried, and how long a service that failed is left alone."""

    timeout: float = 60.0  # seconds, for all tries of one request
    question: float = 10.0  # the same for a question: somebody waits for the answer
    tries: int = 4
    pause: float = 0.5  # seconds before the second try; each further one waits twice as long, less a random part
    rest: float = 30.0  # seconds after a failure in which nothing is asked, so that others can answer at once

    def __post_init__(self) -> None:
        for name in ("timeout", "question"):
            check.number(getattr(self, name), name, low=1e-3)
        for name in ("pause", "rest"):
            check.number(getattr(self, name), name, low=0.0)
        if check.whole(self.tries, "tries") < 1:
            raise InvalidInput(f"tries must be at least 1, not {self.tries}.")


class Persistence:
    """Tries again after 429, 5xx and broken connections, as the service asks for it; then lets it rest."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._rested = 0.0  # on the clock of time.monotonic
        self._why = ""

    def call(self, attempt: Callable[[float], T], seconds: float) -> T:
        """What the attempt returns, which is told how many seconds are left; otherwise its last Failure."""
        left = self._rested - time.monotonic()
        if left > 0:
            raise Failure(f"Nothing is asked for another {left:.0f} s, because {self._why}")
        until = time.monotonic() + seconds
        for number in count(1):
            try:
                return attempt(max(1e-3, until - time.monotonic()))
            except Failure as failure:
                pause = self.patience.pause * 2 ** (number - 1) * (0.5 + random.random() / 2)
                pause = max(pause, failure.after or 0.0)
                if not failure.again or number == self.patience.tries or time.monotonic() + pause >= until:
                    self._rest(failure)
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    def _rest(self, failure: Failure) -> None:
        if failure.status not in ABOUT_THE_INPUT and self.patience.rest:
            asked = min(failure.after or 0.0, LONGEST_REST)
            self._rested = time.monotonic() + max(self.patience.rest, asked)
            self._why = str(failure)


_loops: dict[int, AbstractEventLoop] = {}  # by process


def _loop() -> AbstractEventLoop:
    """The event loop of this process, in a thread of its own; a fork has the object and not the thread.

    Without a lock, which a fork could leave locked for ever.
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
    """What lies beneath an error: that of the library says no more than that all attempts failed."""
    import ssl

    while beneath := problem.__cause__ or problem.__context__:
        problem = beneath
    if isinstance(problem, ExceptionGroup):  # one for each address of a name
        problem = problem.exceptions[0]
    number = problem.errno if isinstance(problem, OSError) else None
    told = number in errno.errorcode and not isinstance(problem, ssl.SSLError)  # which counts in its own way
    return os.strerror(number) if told and number else str(problem)


def _carried(value: object, name: str) -> str:
    if not isinstance(value, str) or not _fits_a_header(value):
        raise InvalidInput(f"The value of the header {name!r} is nothing that a header can carry.")
    return value


def _fits_a_header(value: str) -> bool:
    return value.isascii() and (not value or value.isprintable())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a header that gives milliseconds, seconds or a date."""
    from email.utils import parsedate_to_datetime

    said = headers.get("retry-after", "").strip()
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif re.fullmatch(r"[\d.]+", said):
            seconds = float(said)
        else:
            seconds = (parsedate_to_datetime(said).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
