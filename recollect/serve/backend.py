"""What the routes of a server share: the memory, one service for each bound, threads, limits, metrics and events."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.errors import StoreError
from recollect.mind import Mind
from recollect.serve.access import AccessControl
from recollect.serve.events import ChangeFeed
from recollect.serve.limits import IdempotencyKeys, RateLimit, WorkerPool
from recollect.serve.metrics import Metrics
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access, TokenFile
from recollect.service import Service

if TYPE_CHECKING:
    from recollect.serve.mcp.http import McpEndpoint
    from recollect.systems.openclaw.search import SearchSettings

WRITERS = 2  # threads that write; one of them waits while the other one commits
MAX_SERVICES = 256  # bounds whose minds are kept open


class Backend:
    """One memory behind a server. The mind is not closed here."""

    def __init__(
        self,
        mind: Mind,
        tokens: TokenFile,
        settings: ServerSettings,
        search: SearchSettings | None = None,
        recipe_settings: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.mind, self.settings = mind, settings
        self.search, self.recipe_settings = search, recipe_settings
        self.control = AccessControl(tokens, settings)
        self.pool = WorkerPool(settings.workers, settings.queue)
        self.writers = WorkerPool(WRITERS, settings.queue)  # writes wait for the disk, and no recall waits for them
        self.keys = IdempotencyKeys()
        self.rate = RateLimit(settings.rate, settings.burst)
        self.failures = RateLimit(settings.failed_rate, settings.failed_burst)
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self.feed = ChangeFeed(self)
        self.mcp: McpEndpoint | None = None  # set with the application, if the package mcp is installed
        self._services: OrderedDict[Access, Service] = OrderedDict()
        self._lock = Lock()
        self.metrics.gauges |= {
            "recollect_work_waiting": (
                "Requests that wait for a thread.",
                lambda: float(max(0, self.pool.active - self.pool.workers)),
            ),
            "recollect_event_streams": ("Open streams of events.", lambda: float(self.feed.subscribers)),
        }

    def service(self, access: Access, progress: Callable[[int, int], None] | None = None) -> Service:
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
            embedding_cache=False,  # the embedder of the server's mind has its cache already
            recipe_settings=self.recipe_settings,
            secrets=self.mind.secrets_policy,
            **bound,
        )

    def check_ready(self) -> None:
        """Raise StoreError unless the store answers. Called in a thread."""
        with self.mind.store.snapshot() as snapshot:
            if not snapshot.version:
                raise StoreError("The store has no version.")

    def close(self) -> None:
        self.pool.close()
        self.writers.close()
