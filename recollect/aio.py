"""AsyncMind and AsyncClient: the verbs of Mind and Client for asyncio programs.

Every call runs in a worker thread; nothing is implemented twice.

    async with AsyncMind("memory.db") as mind:
        await mind.remember("The cup is on the shelf.")
        results = await mind.recall("where is the cup?")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from os import PathLike
from types import TracebackType
from typing import Any

from recollect.errors import StoreError
from recollect.mind import Mind
from recollect.model import JsonObject
from recollect.threads import in_thread


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

    remember = in_thread(Mind.remember)
    remember_many = in_thread(Mind.remember_many)
    remember_turns = in_thread(Mind.remember_turns)
    recall = in_thread(Mind.recall)
    context = in_thread(Mind.context)
    compare = in_thread(Mind.compare)
    why = in_thread(Mind.why)
    why_not = in_thread(Mind.why_not)
    tools = in_thread(Mind.tools)
    edit = in_thread(Mind.edit)
    forget = in_thread(Mind.forget)
    erase = in_thread(Mind.erase)
    erase_expired = in_thread(Mind.erase_expired)
    finish_erasures = in_thread(Mind.finish_erasures)
    receipts = in_thread(Mind.receipts)
    verify_erasure = in_thread(Mind.verify_erasure)
    link = in_thread(Mind.link)
    unlink = in_thread(Mind.unlink)
    relate = in_thread(Mind.relate)
    supersede = in_thread(Mind.supersede)
    contradict = in_thread(Mind.contradict)
    reinforce = in_thread(Mind.reinforce)
    decay = in_thread(Mind.decay)
    undo = in_thread(Mind.undo)
    show = in_thread(Mind.show)
    list = in_thread(Mind.list)
    usage = in_thread(Mind.usage)
    edges = in_thread(Mind.edges)
    entity_edges = in_thread(Mind.entity_edges)
    conflicts = in_thread(Mind.conflicts)
    backup = in_thread(Mind.backup)
    audit = in_thread(Mind.audit)
    history = in_thread(Mind.history)
    consolidate = in_thread(Mind.consolidate)
    extract = in_thread(Mind.extract)
    consolidate_session = in_thread(Mind.consolidate_session)
    names_in = in_thread(Mind.names_in)
    status = in_thread(Mind.status)
    probe = in_thread(Mind.probe)
    import_ = in_thread(Mind.import_)
    import_from = in_thread(Mind.import_from)
    export_markdown = in_thread(Mind.export_markdown)
    embed_missing = in_thread(Mind.embed_missing)

    async def export(self) -> AsyncIterator[JsonObject]:
        records = self.sync.export()
        while (record := await asyncio.to_thread(next, records, None)) is not None:
            yield record

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
