"""What adapters share: memories by a framework's own keys, searches with a test in Python, and logs of messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from recollect.errors import InvalidInput, NotFound
from recollect.mind import Mind
from recollect.model import Filter, FilterExpression, Memory, check, to_json
from recollect.model.limits import limit as size_limit
from recollect.recall.results import Result

Test = Callable[[Memory], bool]


def checked_collection(mind: object, collection: str | None, default: str) -> str:
    """The collection that an adapter writes to: the one that is named, or that the mind is bound to, or its own."""
    if not isinstance(mind, Mind):
        raise InvalidInput(f"mind must be a Mind, as in Mind('memory.db'), not {check.short_repr(mind)}.")
    if collection is not None and mind.collection not in (None, collection):
        raise InvalidInput(f"This mind is bound to the collection {mind.collection!r}, not to {collection!r}.")
    return check.string(collection or mind.collection or default, "collection")


@dataclass(frozen=True, slots=True)
class KeyedMemories:
    """The memories of one kind in a collection, by keys of a framework.

    The id of a memory is a hash of its key and of the mind's bound, so that equal keys of two collections or users do
    not collide, and putting a key again replaces its memory.
    """

    mind: Mind
    collection: str
    kind: str

    def id(self, *key: str) -> str:
        parts = [self.collection, self.kind, sorted(self.mind.bound.values.items()), key]
        return sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def get(self, id: str) -> Memory | None:
        """The memory with exactly this id, if it is one of these and neither forgotten nor expired."""
        memory = exact(self.mind, id)
        return memory if memory is not None and self._contains(memory) and self.is_live(memory) else None

    def put(self, memories: Sequence[Memory]) -> list[str]:
        """Store memories, in place of those with the same ids; all of them are one operation."""
        own = [replace(memory, collection=self.collection, kind=self.kind) for memory in memories]
        return self.mind.remember_many(own).ids if own else []

    def delete(self, ids: Sequence[str]) -> int:
        """Forget those of these ids that exist; how many there were."""
        found = [id for id in dict.fromkeys(ids) if self.get(id) is not None]
        return self.mind.forget(*found) if found else 0

    def all(self, filter: FilterExpression | None = None, test: Test | None = None) -> list[Memory]:
        """The memories that pass, oldest first."""
        found = self.mind.list(self._scope(filter), sort="oldest")
        return [memory for memory in found if self.is_live(memory) and (test is None or test(memory))]

    def search(
        self, query: str, limit: int, filter: FilterExpression | None = None, test: Test | None = None, **options: Any
    ) -> list[tuple[Memory, float]]:
        """The best memories that pass, with their scores."""
        return search(self.mind, query, limit, self._scope(filter), test, **options)

    def is_live(self, memory: Memory) -> bool:
        return memory.status == "active" and (memory.expires is None or memory.expires > self.mind.clock())

    def _contains(self, memory: Memory) -> bool:
        return (memory.collection, memory.kind) == (self.collection, self.kind)

    def _scope(self, filter: FilterExpression | None) -> FilterExpression:
        own = Filter(collection=self.collection, kind=self.kind, status="active")
        return own if filter is None else own & filter


def exact(mind: Mind, id: str) -> Memory | None:
    """The memory with exactly this id: frameworks know no prefixes."""
    try:
        memory = mind.show(id)
    except (NotFound, InvalidInput):
        return None
    return memory if memory.id == id else None


def search(
    mind: Mind, query: str, limit: int, filter: FilterExpression | None, test: Test | None = None, **options: Any
) -> list[tuple[Memory, float]]:
    """The best memories that pass a filter and a test, with their scores.

    The test is for what a Filter cannot say. It runs on results, so more of them are recalled until enough pass: the
    first results do not depend on how many are recalled.
    """
    if limit <= 0:
        return []
    if test is None:
        return [(result.memory, result.score) for result in mind.recall(query, limit, filter=filter, **options)]
    most = max(limit, size_limit("results"))
    k = min(4 * limit, most)
    while True:
        found = mind.recall(query, k, filter=filter, track=False, **options)
        passed = [(result.memory, result.score) for result in found if test(result.memory)]
        if len(passed) >= limit or len(found) < k or k == most:
            return passed[:limit]
        k = min(4 * k, most)


def result_metadata(result: Result) -> dict[str, Any]:
    """The metadata of a retrieved document: the memory's context, and its other fields, score and reason as one key."""
    fields = {name: value for name, value in to_json(result.memory).items() if name not in ("text", "context", "use")}
    return {**result.memory.context, "recollect": {**fields, "score": result.score, "why": result.why.summary()}}


class MessageLog:
    """The messages of one session, oldest first, stored as turns with the framework's own form in the context."""

    def __init__(self, mind: Mind, session: str, *, collection: str | None = None, user: str | None = None) -> None:
        self.mind = mind
        self.collection = checked_collection(mind, collection, "main")
        session = check.string(session, "session_id")
        if not session.strip():
            raise InvalidInput("session_id is blank; give every conversation a name of its own.")
        self._owner: dict[str, Any] = {"collection": self.collection, "session": session}
        if user is not None or mind.bound.user is None:  # a session of the same name is another one for another user
            self._owner["user"] = user or ""

    def append(self, messages: Sequence[Memory]) -> None:
        self.mind.remember_turns(messages, **self._owner)

    def read(self, limit: int | None = None) -> list[Memory]:
        """All messages, or the last ones."""
        found = self.mind.list(Filter(**self._owner, kind="turn", status="active"))
        ordered = sorted(found, key=lambda turn: (turn.position or 0, turn.created, turn.id))
        return ordered if limit is None else ordered[max(0, len(ordered) - limit) :]

    def pop(self) -> Memory | None:
        """Forget the last message and return it."""
        last = self.read(1)
        if last:
            self.mind.forget(last[0].id)
        return last[0] if last else None

    def clear(self) -> None:
        ids = [turn.id for turn in self.read()]
        if ids:
            self.mind.forget(*ids)
