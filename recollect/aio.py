"""AsyncMind and AsyncClient: the verbs of Mind and Client for asyncio programs.

Every call runs in a worker thread; nothing is implemented twice.

    async with AsyncMind("memory.db") as mind:
        await mind.remember("The cup is on the shelf.")
        results = await mind.recall("where is the cup?")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from recollect.errors import StoreError
from recollect.ingest.writer import WriteSummary
from recollect.mind import Mind, Status
from recollect.model import Changes, Details, Edge, EntityEdge, JsonObject, Memory
from recollect.recall.comparison import Comparison
from recollect.recall.context import Context
from recollect.recall.expressions import Explanation
from recollect.recall.recipe import Recipe
from recollect.recall.results import Recall, Verdict
from recollect.store.base import UndoResult
from recollect.store.erasing import Erasure, Receipt
from recollect.tools import Tools
from recollect.upkeep.audit import AuditFinding
from recollect.upkeep.backup import BackupResult
from recollect.upkeep.conflicts import Conflict
from recollect.upkeep.consolidate import Period
from recollect.upkeep.erasing import Verification
from recollect.upkeep.extraction import ExtractSummary
from recollect.upkeep.probes import Probes
from recollect.upkeep.usage import Usage

if TYPE_CHECKING:
    from recollect.ingest.imports import ImportSummary
    from recollect.ingest.turns import Messages, RememberedTurns
    from recollect.upkeep.export import ExportResult


class AsyncMind:
    """``recollect.Mind`` with awaitable verbs; see there for what each does. Opened by ``async with`` or ``open``."""

    def __init__(self, path: str | PathLike[str] = "memory.db", **options: Any) -> None:
        self._open = lambda: Mind(path, **options)
        self._mind: Mind | None = None

    async def open(self) -> AsyncMind:
        self._mind = await asyncio.to_thread(self._open)
        return self

    @property
    def sync(self) -> Mind:
        """The mind behind this one."""
        if self._mind is None:
            raise StoreError("This mind is not open yet: use 'async with AsyncMind(…) as mind', or await mind.open().")
        return self._mind

    async def remember(self, text: str | Memory, **details: Unpack[Details]) -> Memory:
        return await asyncio.to_thread(self.sync.remember, text, **details)

    async def remember_many(self, items: Iterable[str | Memory | Mapping[str, Any]], **options: Any) -> WriteSummary:
        return await asyncio.to_thread(self.sync.remember_many, items, **options)

    async def remember_turns(self, messages: Messages, **options: Any) -> RememberedTurns:
        return await asyncio.to_thread(self.sync.remember_turns, messages, **options)

    async def recall(self, query: str, k: int | None = None, **options: Any) -> Recall:
        return await asyncio.to_thread(self.sync.recall, query, k, **options)

    async def context(self, query: str, budget: int = 1000, **options: Any) -> Context:
        return await asyncio.to_thread(self.sync.context, query, budget, **options)

    async def compare(
        self, query: str, recipes: str | Recipe | Sequence[str | Recipe], k: int = 10, **options: Any
    ) -> Comparison:
        return await asyncio.to_thread(self.sync.compare, query, recipes, k, **options)

    async def why(self, query: str, id: str, k: int | None = None, **options: Any) -> Explanation:
        return await asyncio.to_thread(self.sync.why, query, id, k, **options)

    async def why_not(self, query: str, id: str, k: int | None = None, **options: Any) -> Verdict:
        return await asyncio.to_thread(self.sync.why_not, query, id, k, **options)

    async def tools(self, *sets: str) -> Tools:
        return self.sync.tools(*sets)

    async def edit(
        self, id: str, /, *, text: str | None = None, expected: Memory | None = None, **changes: Unpack[Changes]
    ) -> Memory:
        return await asyncio.to_thread(self.sync.edit, id, text=text, expected=expected, **changes)

    async def forget(self, *ids: str, reason: str = "") -> int:
        return await asyncio.to_thread(self.sync.forget, *ids, reason=reason)

    async def erase(self, *ids: str, **options: Any) -> Erasure:
        return await asyncio.to_thread(self.sync.erase, *ids, **options)

    async def erase_expired(self, **options: Any) -> Erasure:
        return await asyncio.to_thread(self.sync.erase_expired, **options)

    async def finish_erasures(self) -> tuple[str, ...]:
        return await asyncio.to_thread(self.sync.finish_erasures)

    async def receipts(self) -> Sequence[Receipt]:
        return await asyncio.to_thread(self.sync.receipts)

    async def verify_erasure(self, receipt: Receipt | Mapping[str, Any]) -> Verification:
        return await asyncio.to_thread(self.sync.verify_erasure, receipt)

    async def link(self, source: str, target: str, kind: str = "supports", weight: float = 1.0) -> Edge:
        return await asyncio.to_thread(self.sync.link, source, target, kind, weight)

    async def unlink(self, source: str, target: str, kind: str | None = None) -> int:
        return await asyncio.to_thread(self.sync.unlink, source, target, kind)

    async def relate(self, subject: str, relation: str, object: str, weight: float = 1.0, **owner: Any) -> EntityEdge:
        return await asyncio.to_thread(self.sync.relate, subject, relation, object, weight, **owner)

    async def supersede(self, old: str, new: str | Memory, /, **details: Unpack[Details]) -> Memory:
        return await asyncio.to_thread(self.sync.supersede, old, new, **details)

    async def contradict(self, a: str, b: str, weight: float = 1.0, *, loser: str | None = None) -> Edge:
        return await asyncio.to_thread(self.sync.contradict, a, b, weight, loser=loser)

    async def reinforce(self, id: str, amount: float = 0.1) -> Memory:
        return await asyncio.to_thread(self.sync.reinforce, id, amount)

    async def decay(self, rate: float = 0.01) -> int:
        return await asyncio.to_thread(self.sync.decay, rate)

    async def undo(self, *, past_erasure: bool = False) -> UndoResult | None:
        return await asyncio.to_thread(self.sync.undo, past_erasure=past_erasure)

    async def show(self, id: str) -> Memory:
        return await asyncio.to_thread(self.sync.show, id)

    async def list(self, filter: Any = None, **options: Any) -> Sequence[Memory]:
        return await asyncio.to_thread(self.sync.list, filter, **options)

    async def usage(self, filter: Any = None, **options: Any) -> Usage:
        return await asyncio.to_thread(self.sync.usage, filter, **options)

    async def edges(self, *ids: str) -> Sequence[Edge]:
        return await asyncio.to_thread(self.sync.edges, *ids)

    async def entity_edges(self) -> Sequence[EntityEdge]:
        return await asyncio.to_thread(self.sync.entity_edges)

    async def conflicts(self, filter: Any = None, **options: Any) -> Sequence[Conflict]:
        return await asyncio.to_thread(self.sync.conflicts, filter, **options)

    async def backup(self, folder: str | PathLike[str], **options: Any) -> BackupResult:
        return await asyncio.to_thread(self.sync.backup, folder, **options)

    async def audit(self, filter: Any = None, **options: Any) -> Sequence[AuditFinding]:
        return await asyncio.to_thread(self.sync.audit, filter, **options)

    async def history(self, id: str) -> Sequence[tuple[datetime, Memory]]:
        return await asyncio.to_thread(self.sync.history, id)

    async def consolidate(
        self, folder: str | PathLike[str], period: Period = "daily", **options: Any
    ) -> Sequence[Path]:
        return await asyncio.to_thread(self.sync.consolidate, folder, period, **options)

    async def extract(self, filter: Any = None, **options: Any) -> ExtractSummary:
        return await asyncio.to_thread(self.sync.extract, filter, **options)

    async def consolidate_session(self, session: str, **options: Any) -> Memory:
        return await asyncio.to_thread(self.sync.consolidate_session, session, **options)

    async def names_in(self, text: str) -> Sequence[str]:
        return await asyncio.to_thread(self.sync.names_in, text)

    async def status(self) -> Status:
        return await asyncio.to_thread(self.sync.status)

    async def probe(self) -> Probes:
        return await asyncio.to_thread(self.sync.probe)

    async def export(self) -> AsyncIterator[JsonObject]:
        records = self.sync.export()
        while (record := await asyncio.to_thread(next, records, None)) is not None:
            yield record

    async def import_(self, records: Iterable[Mapping[str, Any]], **options: Any) -> WriteSummary:
        return await asyncio.to_thread(self.sync.import_, records, **options)

    async def import_from(self, source: str | PathLike[str], kind: str | None = None, **options: Any) -> ImportSummary:
        return await asyncio.to_thread(self.sync.import_from, source, kind, **options)

    async def export_markdown(self, folder: str | PathLike[str], **options: Any) -> ExportResult:
        return await asyncio.to_thread(self.sync.export_markdown, folder, **options)

    async def embed_missing(self, **options: Any) -> int:
        return await asyncio.to_thread(self.sync.embed_missing, **options)

    @staticmethod
    async def reembed(path: str | PathLike[str], **options: Any) -> int:
        return await asyncio.to_thread(Mind.reembed, path, **options)

    async def close(self) -> None:
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> AsyncMind:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncClient(AsyncMind):
    """``recollect.Client`` with awaitable methods: ``async with AsyncClient("http://127.0.0.1:8765") as memory``.

    What a Client does not have, such as ``consolidate`` and ``reembed``, is not there either.
    """

    def __init__(self, url: str | None = None, token: str | None = None, **options: Any) -> None:
        from recollect.client import Client

        def connect() -> Any:  # it has the methods of a Mind
            return Client(url, token, **options)

        self._open = connect
        self._mind = None
