"""What the routes of a server share: the memory, one service for each bound, threads, limits, metrics and events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recollect.errors import StoreError
from recollect.mind import Mind
from recollect.model import JsonObject
from recollect.serve.access import AccessControl
from recollect.serve.events import ChangeFeed
from recollect.serve.idempotency import IdempotencyKeys
from recollect.serve.limits import RateLimit, ThreadPool
from recollect.serve.metrics import Metrics, cpu_seconds, resident_bytes
from recollect.serve.processes import WRITERS, OpenServices, WorkerProcesses
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access, TokenFile
from recollect.serve.work import Answer, Services, run_in_turn
from recollect.service import Operation, Service
from recollect.store.erasing import receipt_from_dict

if TYPE_CHECKING:
    from recollect.serve.mcp.http import McpEndpoint
    from recollect.systems.openclaw.search import SearchSettings


class Backend:
    """One memory behind a server. The mind is not closed here.

    ``open_services`` opens the same memory in another process, for settings with several workers."""

    def __init__(
        self,
        mind: Mind,
        tokens: TokenFile,
        settings: ServerSettings,
        search: SearchSettings | None = None,
        recipe_settings: dict[str, dict[str, Any]] | None = None,
        open_services: OpenServices | None = None,
    ) -> None:
        self.mind, self.settings = mind, settings
        self.services = Services(mind, search, recipe_settings)
        self.processes: WorkerProcesses | None = None
        if settings.workers > 1 and open_services is not None:
            self.processes = WorkerProcesses(open_services, settings.workers, settings.threads, settings.queue)
        self.control = AccessControl(tokens, settings)
        self.pool = ThreadPool(settings.threads, settings.queue)
        self.writers = ThreadPool(WRITERS, settings.queue)  # writes wait for the disk, and no recall waits for them
        self.keys = IdempotencyKeys(
            tokens.path.with_name(tokens.path.name.removesuffix("tokens.json") + "requests.jsonl")
        )
        self.rate = RateLimit(settings.rate, settings.burst)
        self.failures = RateLimit(settings.failed_rate, settings.failed_burst)
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self.feed = ChangeFeed(self)
        self.mcp: McpEndpoint | None = None  # set with the application, if the package mcp is installed
        self.metrics.gauges |= {
            "recollect_work_waiting": ("Requests that wait for a thread.", self._waiting),
            "recollect_worker_processes": ("Worker processes that are ready.", lambda: float(len(self._worker_ids()))),
            "recollect_workers_cpu_seconds_total": (
                "CPU time of the worker processes that are running.",
                lambda: sum(map(cpu_seconds, self._worker_ids())),
            ),
            "recollect_workers_resident_memory_bytes": (
                "Memory of the worker processes; what they share is counted in each.",
                lambda: sum(map(resident_bytes, self._worker_ids())),
            ),
            "recollect_event_streams": ("Open streams of events.", lambda: float(self.feed.slots.taken)),
        }

    def service(self, access: Access, progress: Callable[[int, int], None] | None = None) -> Service:
        """The service of a caller, in this process. Called in a thread."""
        return self.services.of(access, progress)

    async def answer(
        self, request_id: str, access: Access, operation: Operation, arguments: JsonObject, known_tags: str = ""
    ) -> Answer:
        """The answer of an operation, which a worker process gives if there are any, and a thread otherwise."""
        call = self._answer(request_id, access, operation, arguments, known_tags)
        return await (asyncio.shield(call) if operation.name == "erase" else call)  # its caller may leave meanwhile

    async def _answer(
        self, request_id: str, access: Access, operation: Operation, arguments: JsonObject, known_tags: str
    ) -> Answer:
        if self.processes is not None:
            answer = await self.processes.run(request_id, access, operation, arguments, known_tags)
        else:
            pool = self.pool if operation.read_only else self.writers
            answer = await pool.run(run_in_turn, self.services, access, operation, arguments, known_tags)
        if operation.name == "erase":
            self._forget_erased(json.loads(answer.body or b"{}"))
        return answer

    def _forget_erased(self, output: JsonObject) -> None:
        """Drop the remembered answers that name what an erasure has removed."""
        if not output["dry_run"]:
            receipt = output["receipt"]
            self.keys.drop_erased(None if receipt is None else receipt_from_dict(receipt))

    def _waiting(self) -> float:
        work = self.pool if self.processes is None else self.processes
        return float(max(0, work.active - work.capacity))

    def _worker_ids(self) -> list[int]:
        workers = [] if self.processes is None else self.processes.workers
        return [each.process.pid for each in workers if each.ready and each.process.pid is not None]

    def check_ready(self) -> None:
        """Raise StoreError unless the store answers. Called in a thread."""
        if self.processes is not None and not self._worker_ids():
            raise StoreError("No worker process is ready.")
        with self.mind.store.snapshot() as snapshot:
            if not snapshot.version:
                raise StoreError("The store has no version.")

    def close(self) -> None:
        self.pool.close()
        self.writers.close()
        if self.processes is not None:
            self.processes.close(self.settings.shutdown_seconds)
