"""The work behind a request: the service of its caller, and an operation whose answer is bytes."""

from __future__ import annotations

import gc
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.errors import ServerUnavailable
from recollect.mind import Mind
from recollect.model import JsonObject
from recollect.serve.log_messages import logged_messages
from recollect.serve.tokens import Access
from recollect.service import Operation, Service
from recollect.service.records import content_tag, ref

if TYPE_CHECKING:
    from recollect.systems.openclaw.search import SearchSettings

MAX_SERVICES = 256  # bounds whose minds are kept open
TURN_SECONDS = 0.03  # that a read waits for the one before it
LogMessages = tuple[tuple[int, str], ...]  # (level, text)


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished response: what is sent, and what is sent again for the same idempotency key."""

    status: int
    body: bytes | None  # None: it is the memory, as it is now
    headers: tuple[tuple[str, str], ...] = ()
    memory: str = ""  # the id of the memory that is the answer
    storable: bool = False  # does the body contain no text that somebody stored?
    messages: LogMessages = ()  # that were logged meanwhile


class OutcomeUnknown(ServerUnavailable):
    """A write was begun, and nobody knows whether it was stored."""

    hint = "Look for it; if it was not stored, send it again with a new Idempotency-Key."


def keep_loaded() -> None:
    """Take what is loaded out of the search for garbage, which would stop all threads for up to 50 ms.

    New objects are looked at more often than in a short command (``recollect.cli``), so that memory stays flat.
    """
    gc.freeze()
    gc.set_threshold(50_000)


_turn = Lock()


@contextmanager
def turn_of(operation: Operation) -> Iterator[None]:
    """Around an operation and the sending of its answer: threads of one interpreter that compute at once only interrupt
    each other, so reads take turns.

    A read that takes longer than a moment, or waits for another server, does not keep the next one waiting.
    """
    if operation.long or not operation.read_only:
        yield
        return
    has_turn = _turn.acquire(timeout=TURN_SECONDS)
    try:
        yield
    finally:
        if has_turn:
            _turn.release()


class Services:
    """The services of all callers: one for each bound, on one store. The mind is not closed here."""

    def __init__(
        self,
        mind: Mind,
        search: SearchSettings | None = None,
        recipe_settings: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.mind, self.search, self.recipe_settings = mind, search, recipe_settings
        self._services: OrderedDict[Access, Service] = OrderedDict()
        self._lock = Lock()

    def of(self, access: Access, progress: Callable[[int, int], None] | None = None) -> Service:
        """The service of a caller: a mind with the caller's bound on the same store (B18). Called in a thread."""
        key = replace(access, id="", name="")
        with self._lock:
            service = self._services.pop(key, None)
            if service is None:
                service = Service(self._bounded_mind(access), access.scope, self.search)
            self._services[key] = service
            if len(self._services) > MAX_SERVICES:
                self._services.popitem(last=False)
        return service if progress is None else replace(service, progress=progress)

    def _bounded_mind(self, access: Access) -> Mind:
        bound: dict[str, Any] = dict(access.bound)
        return Mind(
            store=self.mind.store,
            embedder=self.mind.embedder,
            clock=self.mind.clock,
            tz=self.mind.zone,
            embedding_cache=False,  # the embedder of the server's mind has its cache already
            recipe_settings=self.recipe_settings,
            secrets=self.mind.secrets_policy,
            **bound,
        )


def run_operation(
    services: Services, access: Access, operation: Operation, arguments: JsonObject, known_tags: str = ""
) -> Answer:
    """Call an operation, in a thread or in another process. ``known_tags`` is the header If-None-Match."""
    service = services.of(access)
    service.require(operation)
    with logged_messages() as messages:
        output = operation.run(service, arguments)
    headers: list[tuple[str, str]] = []
    is_memory = operation.returns == ref("Memory")
    if is_memory:
        tag = f'"{content_tag(output)}"'
        headers.append(("etag", tag))
        if operation.name == "show" and tag in known_tags:
            return Answer(304, b"", tuple(headers))
    memory = output["id"] if is_memory else ""
    status = 201 if operation.creates else 200
    return Answer(status, to_bytes(output), tuple(headers), memory, operation.is_storable, tuple(messages))


def run_in_turn(
    services: Services, access: Access, operation: Operation, arguments: JsonObject, known_tags: str
) -> Answer:
    """Call an operation in a thread of the server."""
    with turn_of(operation):
        return run_operation(services, access, operation, arguments, known_tags)


_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_bytes(value: Any) -> bytes:
    return _encode_json(value).encode("utf-8", "replace")
