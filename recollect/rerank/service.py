"""A model behind HTTP: one question out, one JSON answer back, in bounded time and without a word about the key."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from recollect.errors import InvalidInput
from recollect.model import check
from recollect.rerank.base import RerankError

VARIABLE = "RECOLLECT_RERANK_KEY"  # a name of our own: a key for one service is never sent to another unasked
LONGEST = 4 << 20  # bytes of an answer
SHOWN = 200  # letters of an answer in an error


class Service:
    """An address that takes JSON and answers with JSON. Nothing is tried twice: the recall has a deadline to keep."""

    def __init__(self, url: str, path: str, *, key: str | None, variable: str, timeout: float) -> None:
        try:
            parts = urlsplit(check.string(url, "url"))
            port = f":{parts.port}" if parts.port else ""
        except ValueError as problem:
            raise InvalidInput(f"url is no address: {problem}.") from None
        if parts.username or parts.password:
            raise InvalidInput("The address holds a name or a password; give the key by key=… or the environment.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"url must be an address such as 'http://localhost:8080/v1', not {url!r}.")
        whole = parts.path.rstrip("/")
        whole = whole if whole.endswith(path) else whole + path
        self.url = parts._replace(path=whole, fragment="").geturl()
        self.shown = f"{parts.scheme}://{parts.hostname}{port}{whole}"  # without a query, which may hold a token
        self.timeout = check.number(timeout, "timeout", low=1e-3)  # seconds
        self.variable = variable
        self._key = None if key is None else check.string(key, "key")
        self._opening = Lock()
        self._client: Any = None

    def ask(self, body: Mapping[str, Any]) -> Any:
        """POST this and read the answer, both within the timeout."""
        import httpx2

        key = self._usable_key()
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        content = json.dumps(body).encode()
        until = time.monotonic() + self.timeout
        try:
            with self._open().stream("POST", self.url, content=content, headers=headers) as response:
                answer = self._read(response, until)
        except httpx2.TimeoutException:
            raise RerankError(f"{self.shown} did not answer within {self.timeout:g} s.") from None
        except httpx2.HTTPError as problem:
            raise RerankError(f"{self.shown} could not be asked: {str(problem) or type(problem).__name__}") from None
        said = self._excerpt(answer, key)
        if response.status_code in (401, 403):
            raise RerankError(
                f"{self.shown} refused the key ({response.status_code}); give it by key=… or in the environment "
                f"variable {self.variable}. It said: {said}"
            )
        if not response.is_success:
            raise RerankError(f"{self.shown} answered {response.status_code} {response.reason_phrase}: {said}")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise RerankError(f"{self.shown} answered with something that is no JSON: {said}") from None

    def _read(self, response: Any, until: float) -> bytes:
        """The whole answer. HTTP timeouts count from byte to byte, so a trickle needs a clock of its own."""
        parts, length = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            length += len(part)
            if time.monotonic() > until:
                raise RerankError(f"{self.shown} did not finish its answer within {self.timeout:g} s.")
            if length > LONGEST:
                raise RerankError(f"{self.shown} answered with more than {LONGEST >> 20} MB.")
        return b"".join(parts)

    def _usable_key(self) -> str:
        key = (self._key or os.environ.get(self.variable, "")).strip()
        if not (key.isascii() and key.isprintable()):  # the HTTP library's own error would show it
            raise RerankError("The API key has characters that no HTTP header can carry.")
        return key

    def _open(self) -> Any:
        import httpx2

        with self._opening:
            if self._client is None:
                self._client = httpx2.Client(timeout=self.timeout)
            return self._client

    @staticmethod
    def _excerpt(answer: bytes, key: str) -> str:
        text = answer.decode("utf-8", "replace")
        text = text.replace(key, "…") if key else text
        return repr(text[:SHOWN] + "…" if len(text) > SHOWN else text)
