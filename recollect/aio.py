"""AsyncMind and AsyncClient: the verbs of Mind and Client for asyncio programs.

Every call runs in a worker thread; nothing is implemented twice.

    async with AsyncMind("memory.db") as mind:
        await mind.remember("The cup is on the shelf.")
        results = await mind.recall("where is the cup?")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from recollect.errors import StoreError
from recollect.mind import Mind
from recollect.model import JsonObject

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def _in_thread(
    verb: Callable[Concatenate[Mind, Arguments], Answer],
) -> Callable[Concatenate[AsyncMind, Arguments], Coroutine[Any, Any, Answer]]:
    """A verb of Mind, with its arguments and its description, to be awaited."""

    @wraps(verb)
    async def call(self: AsyncMind, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        method: Callable[..., Answer] = getattr(self.sync, verb.__name__)  # of a Client, it is that one's
        return await asyncio.to_thread(method, *arguments, **named)

    return call


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

    remember = _in_thread(Mind.remember)
    remember_many = _in_thread(Mind.remember_many)
    remember_turns = _in_thread(Mind.remember_turns)
    recall = _in_thread(Mind.recall)
    context = _in_thread(Mind.context)
    compare = _in_thread(Mind.compare)
    why = _in_thread(Mind.why)
    why_not = _in_thread(Mind.why_not)
    tools = _in_thread(Mind.tools)
    edit = _in_thread(Mind.edit)
    forget = _in_thread(Mind.forget)
    erase = _in_thread(Mind.erase)
    erase_expired = _in_thread(Mind.erase_expired)
    finish_erasures = _in_thread(Mind.finish_erasures)
    receipts = _in_thread(Mind.receipts)
    verify_erasure = _in_thread(Mind.verify_erasure)
    link = _in_thread(Mind.link)
    unlink = _in_thread(Mind.unlink)
    relate = _in_thread(Mind.relate)
    supersede = _in_thread(Mind.supersede)
    contradict = _in_thread(Mind.contradict)
    reinforce = _in_thread(Mind.reinforce)
    decay = _in_thread(Mind.decay)
    undo = _in_thread(Mind.undo)
    show = _in_thread(Mind.show)
    list = _in_thread(Mind.list)
    usage = _in_thread(Mind.usage)
    edges = _in_thread(Mind.edges)
    entity_edges = _in_thread(Mind.entity_edges)
    conflicts = _in_thread(Mind.conflicts)
    backup = _in_thread(Mind.backup)
    audit = _in_thread(Mind.audit)
    history = _in_thread(Mind.history)
    consolidate = _in_thread(Mind.consolidate)
    extract = _in_thread(Mind.extract)
    consolidate_session = _in_thread(Mind.consolidate_session)
    names_in = _in_thread(Mind.names_in)
    status = _in_thread(Mind.status)
    probe = _in_thread(Mind.probe)
    import_ = _in_thread(Mind.import_)
    import_from = _in_thread(Mind.import_from)
    export_markdown = _in_thread(Mind.export_markdown)
    embed_missing = _in_thread(Mind.embed_missing)

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
