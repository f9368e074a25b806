"""A robot's hands on a mind: learn, perceive, recall, and episodes that begin and end.

It stands above the mind because it needs nothing below it but what a mind offers: its verbs, its embedder, its clock
and its store.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from recollect.embed import embed_texts
from recollect.errors import EmbeddingError, InvalidInput, NotFound
from recollect.ingest.near_duplicates import find_near_duplicate, find_redundant
from recollect.ingest.sessions import SESSION_KIND, end_session, session_record
from recollect.mind import Mind
from recollect.model import Filter, Memory
from recollect.model import validation as check
from recollect.model.memory import make_memory
from recollect.recall.results import Recall
from recollect.store.text_fields import embedding_text

log = logging.getLogger("recollect")
Perception = Literal["visual", "tactile", "auditory", "proprioceptive", "procedural"]
PERCEPTIONS: tuple[Perception, ...] = get_args(Perception)
Context = Mapping[str, Any] | str  # an object, or the JSON text of one


@dataclass(frozen=True, slots=True)
class Learned:
    """What ``learn`` did: a new memory, or the one that said it already, and how that was recognised."""

    memory: Memory
    duplicate: bool = False
    because: str = ""

    @property
    def id(self) -> str:
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Ended:
    """What an episode came to: its outcome, how many memories it has, and which were merged into which."""

    session_id: str
    outcome_score: float | None
    memories: int
    merged: dict[str, str]  # id of the one that rests: id of the one that stays


class Robot:
    """Experience in one collection of a mind.

    >>> robot = Robot(mind, collection="kitchen-arm")
    >>> episode = robot.start_session({"task": {"name": "clear the table"}})
    >>> robot.learn("Wet glasses slip below 8 N.", {"params": {"force": {"value": 8}}}, session_id=episode)
    >>> robot.recall("how firmly may I hold a glass?", context_filter={"params.force.value": {"$lt": 12}})
    >>> robot.end_session(episode, outcome_score=0.9)
    """

    def __init__(self, mind: Mind, collection: str | None = None) -> None:
        if not isinstance(mind, Mind):
            raise InvalidInput(
                f"A robot stands on a mind, as in Robot(Mind('robot.db')), not on {check.short_repr(mind)}."
            )
        if collection is not None and mind.collection not in (None, collection):
            raise InvalidInput(f"This mind is bound to the collection {mind.collection!r}, not to {collection!r}.")
        self.mind = mind
        self.collection = check.string(collection or mind.collection or "main", "collection")

    def learn(
        self, insight: str, context: Context | None = None, session_id: str | None = None, **details: Any
    ) -> Learned:
        """Keep an insight, unless a memory here says it already: the same in words or meaning, and no new context.

        ``details`` are further fields of a memory: confidence, entities, files, tags, …
        """
        memory = make_memory(insight, {**details, **self._place(session_id), "context": parsed(context)})
        twin = find_near_duplicate(self.mind.store, memory, self.mind.clock(), self._vector(memory))
        if twin is not None:
            return Learned(twin.memory, True, twin.reason)
        return Learned(self.mind.remember(memory))

    def save_perception(
        self,
        description: str,
        perception_type: Perception = "visual",
        data: Any = None,
        context: Context | None = None,
        session_id: str | None = None,
        **details: Any,
    ) -> Memory:
        """Keep what was seen, felt, heard or done; ``data`` (any JSON) comes back at ``context["perception"]``."""
        if perception_type not in PERCEPTIONS:
            raise InvalidInput(
                f"perception_type must be one of {', '.join(PERCEPTIONS)}, not {check.short_repr(perception_type)}."
            )
        seen = {"type": perception_type, **check.json_object({"data": data}, "data")}
        whole = {**parsed(context), "perception": seen}
        said = {"kind": "perception", **details, **self._place(session_id), "context": whole}
        return self.mind.remember(make_memory(description, said))

    def forget(self, id: str, reason: str) -> int:
        """Let a memory go, for a reason that the history keeps."""
        if not check.string(reason, "reason").strip():
            raise InvalidInput("Say why: forget needs a reason.")
        return self.mind.forget(id, reason=reason)

    def update(self, id: str, insight: str | None = None, context: Context | None = None, **changes: Any) -> Memory:
        """Correct a memory. What it said before is found no more, neither by its words nor by its meaning."""
        if context is not None:
            changes["context"] = parsed(context)
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
        """The recipe robotmem, in this robot's collection; ``recall("*", session_id=…)`` replays an episode.

        A result's ``memory.context`` holds what was given: params, spatial, robot, task, env.
        """
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

    def start_session(self, context: Context | None = None) -> str:
        """Begin an episode; the id that it returns goes with all that belongs to it."""
        return self._begin(str(uuid4()), parsed(context)).session

    def end_session(self, session_id: str, outcome_score: float | None = None) -> Ended:
        """End an episode: its outcome (0–1) is noted, and of memories that say the same, one stays.

        The others are superseded and linked to it (same_as). It is one change: ``undo`` takes all of it back.
        """
        score = None if outcome_score is None else check.fraction(outcome_score, "outcome_score")
        mine = Filter(collection=self.collection, session=check.string(session_id, "session_id"), status="active")
        records = Filter(kind=SESSION_KIND)
        memories = self.mind.list(mine & ~records)
        known = [*self.mind.list(mine & records, limit=1)]
        if not known and not memories:
            raise NotFound(f"There is no session {session_id!r} in the collection {self.collection!r}.")
        record = known[0] if known else self._begin(session_id, {})
        merged = find_redundant(memories, self._vectors(memories))
        end_session(self.mind.store, record.id, self.mind.clock(), score, merged)
        stays = {gone: twin.memory.id for gone, twin in merged.items()}
        return Ended(session_id, score, len(memories) - len(stays), stays)

    def _begin(self, session_id: str, context: Mapping[str, Any]) -> Memory:
        return self.mind.remember(session_record(session_id, self.collection, context, self.mind.clock()))

    def _place(self, session_id: str | None) -> dict[str, Any]:
        return {"collection": self.collection, "session": session_id or ""}

    def _vector(self, memory: Memory) -> NDArray[np.float32] | None:
        made = self._vectors([memory])
        return None if made is None else made[0]

    def _vectors(self, memories: Sequence[Memory]) -> NDArray[np.float32] | None:
        """Vectors to compare memories by, or None: without a model that answers, words have to do."""
        if self.mind.embedder is None or not memories:
            return None
        try:
            return embed_texts(self.mind.embedder, [embedding_text(memory) for memory in memories])
        except EmbeddingError as problem:
            log.warning("%s Memories are compared by their words.", problem)
            return None


def parsed(context: Context | None) -> dict[str, Any]:
    """A context as an object, also from its JSON text."""
    if isinstance(context, str):
        try:
            context = json.loads(context) if context.strip() else {}
        except ValueError as problem:
            raise InvalidInput(f"context is no JSON: {problem}.") from None
    return check.json_object({} if context is None else context, "context")
