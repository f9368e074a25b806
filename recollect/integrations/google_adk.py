"""Google ADK: a memory service that stores sessions and explicit memories, and searches them by words and meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput, NotFound
from recollect.integrations import missing_package
from recollect.integrations.common import KeyedMemories, checked_collection
from recollect.mind import Mind
from recollect.model import Filter, Memory, check

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part
except ImportError as error:
    raise missing_package("google-adk", error) from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session


class RecollectMemoryService(BaseMemoryService):
    """The memory of an ADK ``Runner``; apps and users do not see each other's memories.

    >>> Runner(app_name="app", agent=agent, session_service=sessions, memory_service=RecollectMemoryService(mind))

    The app is the memory's agent and the user its user. An event that is added again replaces itself.
    """

    def __init__(self, mind: Mind, *, collection: str | None = None, k: int = 10) -> None:
        self.mind = mind
        self.k = k
        self._events = KeyedMemories(mind, checked_collection(mind, collection, "adk"), "event")

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        memories = []
        for event in events:
            text = _text(event.content)
            if text:  # not tool calls
                memory = Memory(
                    text=text,
                    id=self._events.id(app_name, user_id, session_id or "", event.id),
                    created=datetime.fromtimestamp(event.timestamp, UTC),
                    role="user" if event.author == "user" else "assistant",
                    speaker=event.author,
                    context=_metadata(custom_metadata),
                    session=session_id or "",
                    user=user_id,
                    agent=app_name,
                )
                memories.append(memory)
        await asyncio.to_thread(self._events.put, memories)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        entries = [
            Memory(
                text=_text(entry.content),
                id=self._events.id(app_name, user_id, "", entry.id) if entry.id else "",
                created=check.moment(entry.timestamp, "timestamp") if entry.timestamp else None,
                speaker=entry.author or "",
                context=_metadata({**(custom_metadata or {}), **entry.custom_metadata}),
                user=user_id,
                agent=app_name,
            )
            for entry in memories
        ]
        await asyncio.to_thread(self._events.put, entries)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        if not query.strip():
            return SearchMemoryResponse()
        owner = Filter(user=user_id, agent=app_name)
        found = await asyncio.to_thread(self._events.search, query, self.k, owner)
        return SearchMemoryResponse(memories=[_entry(memory) for memory, _ in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id is None:
            raise InvalidInput("memory_id is missing; give the id of an entry that search_memory returned.")
        memory = await asyncio.to_thread(self._events.get, memory_id)
        if memory is None or (memory.agent, memory.user) != (app_name, user_id):
            raise NotFound(f"There is no memory with the id {memory_id!r} of the user {user_id!r} in {app_name!r}.")
        await asyncio.to_thread(self.mind.forget, memory_id)


def _text(content: Content | None) -> str:
    parts = content.parts if content is not None and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _metadata(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return check.json_object(values or {}, "custom_metadata")


def _entry(memory: Memory) -> MemoryEntry:
    role = "user" if memory.role in ("", "user") else "model"
    return MemoryEntry(
        content=Content(role=role, parts=[Part(text=memory.text)]),
        custom_metadata=memory.context,
        id=memory.id,
        author=memory.speaker or None,
        timestamp=memory.created.isoformat() if memory.created else None,
    )
