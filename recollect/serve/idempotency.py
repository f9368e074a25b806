"""Idempotency keys: a write that is sent again returns its first answer, also after the server was restarted.

Finished writes are in a file beside the tokens, one JSON line each, for a day. No text of a memory is in it: an answer
that is a memory is remembered by its id and made again, and a request by a hash with its key, which only the caller
knows. When memories are erased, what names them goes: of the key it stays known only that it was used.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput, LimitExceeded, NotFound
from recollect.serve.work import Answer
from recollect.store.disk import is_foreign, replace_private
from recollect.store.erasing import Receipt

log = logging.getLogger("recollect.serve")
KEY_SECONDS = 24 * 3600.0
KEY_HINT = "Send the header Idempotency-Key with a new value of your own, such as a UUID."
MAX_KEYS = 10_000
MAX_KEY_BYTES = 64 << 20  # of remembered answers


@dataclass(slots=True)
class _Entry:
    at: float  # seconds since 1970
    request: bytes  # its hash; empty after what it stored was erased
    answer: Answer | None = None
    waiting: asyncio.Future[Answer] | None = None  # until there is an answer

    @property
    def size(self) -> int:
        return len(self.answer.body or b"") if self.answer else 0


class IdempotencyKeys:
    """Answers by caller and key, for a day. A key belongs to one request."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._bytes = 0
        self._lines = 0  # of the file
        if path is not None and is_foreign(path, beside=str(path).removesuffix("-requests.jsonl")):
            log.warning("%s belongs to another user and is not used: keys are forgotten when the server ends.", path)
            self.path = path = None
        if path is not None and path.exists():
            self._read(path)

    async def begin(self, caller: str, key: str, content: bytes) -> Answer | None:
        """The earlier answer to this request, awaited if it is not finished; None if this is the first one."""
        self._expire()
        request = hmac.digest(key.encode("utf-8", "surrogatepass"), content, "sha256")
        entry = self._entries.get((caller, _hash(key)))
        if entry is None:
            waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._entries[caller, _hash(key)] = _Entry(time.time(), request, None, waiting)
            return None
        if not entry.request:
            erased = NotFound("The request with this Idempotency-Key was done; memories that it named were erased.")
            raise erased.advise("Use a new key to store something again.")
        if entry.request != request:
            problem = InvalidInput("Idempotency-Key was used for another request; use a new one for each request.")
            raise problem.advise(KEY_HINT)
        return entry.answer if entry.waiting is None else await asyncio.shield(entry.waiting)

    def finish(self, caller: str, key: str, answer: Answer | None) -> None:
        """Remember the answer; None after an error, when nothing was done and the request may be sent again."""
        place = (caller, _hash(key))
        entry = self._entries.get(place)
        if entry is None or entry.waiting is None:
            return
        waiting, entry.waiting = entry.waiting, None
        if answer is None:
            del self._entries[place]
            waiting.set_exception(LimitExceeded("The request with this Idempotency-Key failed; send it again."))
            waiting.exception()  # nobody has to wait for it
            return
        entry.answer = replace(answer, body=None) if answer.memory else answer
        self._bytes += entry.size
        waiting.set_result(entry.answer)
        self._append(place, entry)

    def drop_erased(self, receipt: Receipt | None) -> None:
        """After an erasure: what names erased memories goes, also from the file, and every answer with texts."""
        for entry in self._entries.values():
            answer = entry.answer
            if answer is None:
                continue
            has_texts = not (answer.memory or answer.storable)
            if has_texts or (receipt is not None and receipt.matching(_ids_in(answer))):
                self._bytes -= entry.size
                entry.request, entry.answer = b"", Answer(404, b"", storable=True)
        if self.path is not None and self.path.exists():
            self._rewrite()

    def _expire(self) -> None:
        oldest = time.time() - KEY_SECONDS
        while self._entries:
            place, entry = next(iter(self._entries.items()))
            fits = entry.at > oldest and len(self._entries) < MAX_KEYS and self._bytes < MAX_KEY_BYTES
            if fits or entry.waiting is not None:
                return
            self._remove(place)

    def _remove(self, place: tuple[str, str]) -> None:
        entry = self._entries.pop(place, None)
        self._bytes -= entry.size if entry else 0

    # The file.

    def _read(self, path: Path) -> None:
        oldest = time.time() - KEY_SECONDS
        try:
            lines = path.read_bytes().splitlines()[-MAX_KEYS:]
        except OSError as error:
            log.warning("Idempotency keys of earlier requests are not known: %s", error)
            return
        for line in lines:
            try:
                stored: dict[str, Any] = json.loads(line)
                body = None if stored["body"] is None else str(stored["body"]).encode()
                headers = tuple((str(name), str(value)) for name, value in stored["headers"])
                answer = Answer(int(stored["status"]), body, headers, str(stored["memory"]), body is not None)
                entry = _Entry(float(stored["at"]), bytes.fromhex(stored["request"]), answer)
                place = (str(stored["caller"]), str(stored["key"]))
            except (ValueError, TypeError, KeyError):
                continue  # the last line of a server that was killed
            if entry.at > oldest:
                self._entries[place] = entry
                self._bytes += entry.size
        self._rewrite()

    def _append(self, place: tuple[str, str], entry: _Entry) -> None:
        if self.path is None or not (line := _line(place, entry)):
            return
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line)
        except OSError as error:
            log.warning("An idempotency key will not be known after a restart: %s", error)
            return
        self._lines += 1
        if self._lines > 2 * MAX_KEYS:
            self._rewrite()

    def _rewrite(self) -> None:
        """Write the file again, without what has expired."""
        assert self.path is not None
        lines = [_line(place, entry) for place, entry in list(self._entries.items())]
        try:
            replace_private(self.path, b"".join(lines))
        except OSError as error:
            log.warning("Old idempotency keys stay in %s: %s", self.path, error)
        self._lines = len(lines)


def _line(place: tuple[str, str], entry: _Entry) -> bytes:
    """An entry as a line of the file; empty if its answer cannot be stored."""
    answer = entry.answer
    if answer is None or not (answer.memory or answer.storable):
        return b""
    stored = {
        "caller": place[0],
        "key": place[1],
        "request": entry.request.hex(),
        "at": entry.at,
        "status": answer.status,
        "headers": [] if answer.memory else answer.headers,
        "memory": answer.memory,
        "body": (answer.body or b"").decode() if answer.storable else None,
    }
    return json.dumps(stored).encode() + b"\n"


def _ids_in(answer: Answer) -> list[str]:
    """The ids of memories that an answer names."""
    if answer.memory:
        return [answer.memory]
    output = json.loads(answer.body or b"null") if answer.storable else None
    ids = output.get("ids", ()) if isinstance(output, dict) else ()
    return [id for id in ids if isinstance(id, str)]


def _hash(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
