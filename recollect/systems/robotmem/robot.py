"""Robot: the robotmem interface over a Mind, with learning, perceptions, recall and episodes (sessions)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import uuid4

from recollect.errors import InvalidInput, NotFound
from recollect.ingest.sessions import (
    SESSION_KIND,
    covers,
    end_session,
    find_near_duplicate,
    find_redundant,
    session_record,
)
from recollect.mind import Mind
from recollect.model import Changes, Filter, Memory, check, make_memory
from recollect.recall.results import Recall
from recollect.text.paraphrases import Paraphrase

Perception = Literal["visual", "tactile", "auditory", "proprioceptive", "procedural"]
PERCEPTIONS: tuple[Perception, ...] = get_args(Perception)
Context = Mapping[str, Any] | str  # an object, the JSON text of one, or free text
NOTE = "note"  # where the context has free text
BATCH_LIMIT = 1_000  # insights that batch_learn compares with one another


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The outcome of ``learn``: a new memory, or the existing duplicate and how it was recognised."""

    memory: Memory
    duplicate: bool = False
    because: str = ""

    @property
    def id(self) -> str:
        return self.memory.id


@dataclass(frozen=True, slots=True)
class EndedSession:
    """The outcome of an episode, the number of its memories, and the duplicates that were merged."""

    session_id: str
    outcome_score: float | None
    memories: int
    merged: dict[str, str]  # id of the superseded memory: id of the one it duplicates


class Session:
    """An open episode: the methods of its robot, with its session id. Set ``outcome_score`` (0–1) before it ends."""

    def __init__(self, robot: Robot, id: str) -> None:
        self.robot = robot
        self.id = id
        self.outcome_score: float | None = None
        self.ended: EndedSession | None = None  # when it has ended

    def learn(self, insight: str, context: Context | None = None, **details: Any) -> LearnResult:
        return self.robot.learn(insight, context, self.id, **details)

    def batch_learn(self, items: Iterable[str | Mapping[str, Any]]) -> list[LearnResult]:
        return self.robot.batch_learn(items, self.id)

    def save_perception(
        self,
        description: str,
        perception_type: Perception = "visual",
        data: Any = None,
        context: Context | None = None,
        **details: Any,
    ) -> Memory:
        return self.robot.save_perception(description, perception_type, data, context, self.id, **details)

    def recall(self, query: str = "*", n: int = 5, **options: Any) -> Recall:
        """Recall inside this episode; ``*`` replays it."""
        return self.robot.recall(query, n, session_id=self.id, **options)


class Robot:
    """A robot's experience in one collection of a mind.

    >>> robot = Robot(mind, collection="kitchen-arm")
    >>> episode = robot.start_session({"task": {"name": "clear the table"}})
    >>> robot.learn("Wet glasses slip below 8 N.", {"params": {"force": {"value": 8}}}, session_id=episode)
    >>> robot.recall("how firmly may I hold a glass?", context_filter={"params.force.value": {"$lt": 12}})
    >>> robot.end_session(episode, outcome_score=0.9)

    A ``context`` is an object, or a text: the JSON text of an object, or free text, which becomes {"note": text}.
    """

    def __init__(self, mind: Mind, collection: str | None = None) -> None:
        if not isinstance(mind, Mind):
            raise InvalidInput(f"mind must be a Mind, as in Robot(Mind('robot.db')), not {check.short_repr(mind)}.")
        if collection is not None and mind.collection not in (None, collection):
            raise InvalidInput(f"This mind is bound to the collection {mind.collection!r}, not to {collection!r}.")
        self.mind = mind
        self.collection = check.string(collection or mind.collection or "main", "collection")

    def learn(
        self, insight: str, context: Context | None = None, session_id: str | None = None, **details: Any
    ) -> LearnResult:
        """Store an insight, unless a memory has the same words or meaning and no new context is given.

        ``details`` are further fields of a memory: confidence, entities, files, tags, …
        """
        memory = self._insight(insight, context, session_id, details)
        duplicate = find_near_duplicate(self.mind.store, memory, self.mind.clock())
        if duplicate is not None:
            return LearnResult(duplicate.memory, True, duplicate.reason)
        return LearnResult(self.mind.remember(memory))

    def batch_learn(self, items: Iterable[str | Mapping[str, Any]], session_id: str | None = None) -> list[LearnResult]:
        """Learn many insights: one result for each, in their order. All are checked before any is stored.

        An item is a text, or an object with ``insight`` and any further arguments of ``learn``. An item that says the
        same as an earlier one is its duplicate. What is new is stored in one operation, which ``undo`` takes back.
        """
        memories = [self._batch_item(number, item, session_id) for number, item in enumerate(_checked_items(items), 1)]
        texts = [Paraphrase(memory.text) for memory in memories]
        new: list[int] = []
        results: dict[int, LearnResult] = {}
        same: dict[int, tuple[int, str]] = {}  # an item: the earlier one that it repeats, and the reason
        for at, memory in enumerate(memories):
            duplicate = find_near_duplicate(self.mind.store, memory, self.mind.clock())
            if duplicate is not None:
                results[at] = LearnResult(duplicate.memory, True, duplicate.reason)
                continue
            for earlier in new:
                reason = texts[at].sameness_reason(texts[earlier])
                if reason and covers(memories[earlier], memory):
                    same[at] = earlier, reason
                    break
            else:
                new.append(at)
        if new:
            ids = self.mind.remember_many([memories[at] for at in new]).ids
            results |= {at: LearnResult(memory) for at, memory in zip(new, self.mind.store.get(ids), strict=True)}
        results |= {at: LearnResult(results[first].memory, True, reason) for at, (first, reason) in same.items()}
        return [results[at] for at in range(len(memories))]

    def save_perception(
        self,
        description: str,
        perception_type: Perception = "visual",
        data: Any = None,
        context: Context | None = None,
        session_id: str | None = None,
        **details: Any,
    ) -> Memory:
        """Store a perception; ``data`` (any JSON) is in ``context["perception"]`` of the memory."""
        self._check_details("save_perception", details)
        if perception_type not in PERCEPTIONS:
            raise InvalidInput(
                f"perception_type must be one of {', '.join(PERCEPTIONS)}, not {check.short_repr(perception_type)}."
            )
        perception = {"type": perception_type, **check.json_object({"data": data}, "data")}
        full_context = {**parse_context(context), "perception": perception}
        fields = {"kind": "perception", **details, **self._place(session_id), "context": full_context}
        return self.mind.remember(make_memory(description, fields, self.mind.zone))

    def forget(self, id: str, reason: str) -> int:
        """Forget a memory; the reason is kept in its history. Forgetting it again is an error."""
        if not check.string(reason, "reason").strip():
            raise InvalidInput("reason is blank; forget needs a reason, such as 'the table was moved'.")
        forgotten = self.mind.forget(id, reason=reason)
        if not forgotten:
            raise InvalidInput(
                f"{id} was forgotten before; there is nothing to forget. update(id, status='active') restores it."
            )
        return forgotten

    def update(self, id: str, insight: str | None = None, context: Context | None = None, **changes: Any) -> Memory:
        """Correct a memory; its former text is no longer found by words or meaning.

        A forgotten memory cannot be corrected, except by ``status="active"``, which restores it.
        """
        self._check_details("update", changes, renamed={"text": "insight"})
        if context is not None:
            changes["context"] = parse_context(context)
        return self.mind.edit(id, text=insight, **changes)

    def recall(
        self,
        query: str,
        n: int = 5,
        min_confidence: float = 0.3,
        collection: str | None = None,
        session_id: str | None = None,
        context_filter: Mapping[str, Any] | None = None,
        spatial_sort: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Recall:
        """Recall with the recipe robotmem in this robot's collection; ``recall("*", session_id=…)`` replays an episode.

        A result's ``memory.context`` has what was stored: params, spatial, robot, task, env. ``options`` are the other
        options of ``Mind.recall`` and settings of the recipe.
        """
        for name in ("k", "recipe"):
            if name in options:
                raise InvalidInput(
                    f"Robot.recall has no argument {name!r}; it uses the recipe robotmem, and n results."
                )
        return self.mind.recall(
            query,
            n,
            recipe="robotmem",
            min_confidence=min_confidence,
            collection=collection or self.collection,
            session_id=session_id,
            context_filter=context_filter,
            spatial_sort=spatial_sort,
            **options,
        )

    @contextmanager
    def session(self, context: Context | None = None) -> Iterator[Session]:
        """An episode as a ``with`` block: it starts and ends with the block.

        >>> with robot.session({"task": {"name": "clear the table"}}) as session:
        ...     session.learn("Wet glasses slip below 8 N.")
        ...     session.outcome_score = 0.9

        An exception ends it, too: the record of the session then has the ``error``, and an outcome only if one was set.
        """
        session = Session(self, self.start_session(context))
        try:
            yield session
        except BaseException as error:
            session.ended = self._end(session.id, session.outcome_score, f"{type(error).__name__}: {error}"[:500])
            raise
        session.ended = self._end(session.id, session.outcome_score)

    def start_session(self, context: Context | None = None) -> str:
        """Begin an episode; its id is the ``session_id`` of what belongs to it."""
        return self._begin(str(uuid4()), parse_context(context)).session

    def end_session(self, session_id: str, outcome_score: float | None = None) -> EndedSession:
        """End an episode: record its outcome (0–1), and supersede duplicates.

        Of memories that say the same, one stays; the others are superseded and linked to it (same_as). This is one
        operation: ``undo`` reverts all of it.
        """
        return self._end(session_id, outcome_score)

    def _end(self, session_id: str, outcome_score: float | None, error: str = "") -> EndedSession:
        score = None if outcome_score is None else check.fraction(outcome_score, "outcome_score")
        in_session = Filter(collection=self.collection, session=check.string(session_id, "session_id"), status="active")
        records = Filter(kind=SESSION_KIND)
        memories = self.mind.list(in_session & ~records)
        existing = [*self.mind.list(in_session & records, limit=1)]
        if not existing and not memories:
            raise NotFound(f"There is no session {session_id!r} in the collection {self.collection!r}.")
        record = existing[0] if existing else self._begin(session_id, {})
        merged = find_redundant(memories)
        end_session(self.mind.store, record.id, self.mind.clock(), score, merged, error)
        duplicates = {id: original.memory.id for id, original in merged.items()}
        return EndedSession(session_id, score, len(memories) - len(duplicates), duplicates)

    def _begin(self, session_id: str, context: Mapping[str, Any]) -> Memory:
        return self.mind.remember(session_record(session_id, self.collection, context, self.mind.clock()))

    def _insight(
        self, insight: str, context: Context | None, session_id: str | None, details: Mapping[str, Any]
    ) -> Memory:
        self._check_details("learn", details)
        fields = {**details, **self._place(session_id), "context": parse_context(context)}
        return make_memory(insight, fields, self.mind.zone)

    def _batch_item(self, number: int, item: str | Mapping[str, Any], session_id: str | None) -> Memory:
        details: dict[str, Any] = dict(item) if isinstance(item, Mapping) else {"insight": item}
        try:
            if "insight" not in details:
                raise InvalidInput(f"there is no insight in {check.short_repr(item)}.")
            given = [details.pop(name, default) for name, default in (("insight", ""), ("context", None))]
            return self._insight(given[0], given[1], details.pop("session_id", session_id), details)
        except InvalidInput as error:
            raise InvalidInput(f"Item {number}: {error}") from None

    def _check_details(self, method: str, details: Mapping[str, Any], renamed: Mapping[str, str] = {}) -> None:
        """Refuse fields that the robot sets itself; others are checked with the memory."""
        own = {"collection": f"a robot writes to its own, {self.collection!r}", "session": "use session_id"}
        for name, instead in {**own, **{name: f"use {other}" for name, other in renamed.items()}}.items():
            if name in details:
                allowed = ", ".join(field for field in sorted(Changes.__annotations__) if field not in {*own, *renamed})
                raise InvalidInput(f"Robot.{method} has no argument {name!r}: {instead}. Allowed: {allowed}.")

    def _place(self, session_id: str | None) -> dict[str, Any]:
        return {"collection": self.collection, "session": session_id or ""}


def _checked_items(items: Iterable[str | Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
    if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
        raise InvalidInput(f"batch_learn takes a list of insights, not {check.short_repr(items)}; use learn for one.")
    listed = list(items)
    if len(listed) > BATCH_LIMIT:
        raise InvalidInput(f"batch_learn takes at most {BATCH_LIMIT:,} insights, not {len(listed):,}; call it again.")
    return listed


def parse_context(context: Context | None) -> dict[str, Any]:
    """A context as a dictionary: from a mapping, from the JSON text of an object, or {"note": …} from free text.

    A text that is JSON must be an object, and one that begins like JSON must be valid, so that a typo is noticed.

    >>> parse_context('{"task": {"success": true}}'), parse_context("in the wet kitchen")
    ({'task': {'success': True}}, {'note': 'in the wet kitchen'})
    """
    if isinstance(context, str):
        try:
            context = json.loads(context) if context.strip() else {}
        except (ValueError, RecursionError) as error:
            if str(context).lstrip().startswith(("{", "[")):
                raise InvalidInput(f"context begins like JSON and is not valid JSON: {error}.") from None
            context = {NOTE: context}
    return check.json_object({} if context is None else context, "context")
