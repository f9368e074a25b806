"""Sessions of a robot: their records, how they end, and memories in them that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from recollect.model import Edge, Filter, Memory
from recollect.model.matching import equal
from recollect.recall.bm25 import Bm25Query, search
from recollect.store.base import Rows, Scope, Snapshot, Store, Term
from recollect.store.retrying import retried
from recollect.text.paraphrases import Paraphrase
from recollect.text.words import words

SESSION_KIND = "session"  # the kind of a session's record; the robotmem recipe never returns it


def session_record(session: str, collection: str, context: Mapping[str, Any], started: datetime) -> Memory:
    """The memory that records when a session started."""
    return Memory(
        text=f"Session {session}",
        kind=SESSION_KIND,
        collection=collection,
        session=session,
        external_id=f"session/{session}",
        context={**context, "session": {"started": started.isoformat()}},
    )


def end_session(
    store: Store,
    id: str,
    ended: datetime,
    outcome_score: float | None,
    redundant: Mapping[str, NearDuplicate],
    error: str = "",
) -> None:
    """Write the outcome into a session's record and supersede redundant memories, in one transaction.

    A superseded memory stays readable and is linked to the one that replaces it. ``error``: what ended it early.
    """
    outcome = {"ended": ended.isoformat(), "outcome_score": outcome_score, **({"error": error} if error else {})}
    with store.transaction("end session") as transaction:
        transaction.revise(id, lambda memory: _with_outcome(memory, outcome))
        for redundant_id, duplicate in redundant.items():
            transaction.link(Edge(redundant_id, duplicate.memory.id, "same_as"))
            transaction.revise(redundant_id, _superseded)


def _with_outcome(memory: Memory, outcome: Mapping[str, Any]) -> Memory:
    session = memory.context.get("session", {})
    return replace(memory, context={**memory.context, "session": {**session, **outcome}})


def _superseded(memory: Memory) -> Memory:
    return replace(memory, status="superseded") if memory.status == "active" else memory


FETCH_LIMIT, COMPARE_LIMIT = 500, 100  # candidates by words; those whose texts are compared


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A stored memory that says the same, and how it was recognised."""

    memory: Memory
    reason: str


def is_subset(context: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Does the other context contain everything that this one says?"""
    return all(name in other and equal(other[name], value) for name, value in context.items())


@retried
def find_near_duplicate(store: Store, memory: Memory, now: datetime) -> NearDuplicate | None:
    """The active memory of the same collection, user, agent and kind that already says all of this."""
    with store.snapshot() as snapshot:
        same = Filter(collection=memory.collection, user=memory.user, agent=memory.agent, kind=memory.kind)
        others = snapshot.memories(_candidates(snapshot, snapshot.scope(same, ("active",), now), memory))
    text = Paraphrase(memory.text)
    found = [
        NearDuplicate(other, reason) for other in others if (reason := text.sameness_reason(Paraphrase(other.text)))
    ]
    return min(found, key=lambda each: each.memory.text != memory.text, default=None)


def find_redundant(memories: Sequence[Memory]) -> dict[str, NearDuplicate]:
    """The memories that another one of these makes redundant, by id. Those that stay say more, or are more certain."""
    texts = {memory.id: Paraphrase(memory.text) for memory in memories}
    distinct: list[Memory] = []
    redundant: dict[str, NearDuplicate] = {}
    for memory in sorted(memories, key=_precedence, reverse=True):
        for other in distinct:
            reason = texts[memory.id].sameness_reason(texts[other.id])
            if reason and covers(other, memory):
                redundant[memory.id] = NearDuplicate(other, reason)
                break
        else:
            distinct.append(memory)
    return redundant


def covers(memory: Memory, other: Memory) -> bool:
    """Does a memory whose text says the same make the other one superfluous?"""
    alike = all(getattr(memory, name) == getattr(other, name) for name in ("user", "agent", "kind"))
    return alike and is_subset(other.context, memory.context)


def _precedence(memory: Memory) -> tuple[int, float, float]:
    """Which of two near-duplicates stays: the one with the richer context, then the more certain, then the older."""
    created = memory.created.timestamp() if memory.created else 0.0
    return len(repr(memory.context)), memory.confidence or 0.0, -created


def _candidates(snapshot: Snapshot, scope: Scope, memory: Memory) -> Rows:
    """Memories with the same words that have all of the context, those with most words in common first."""
    terms = tuple(Term(word) for word in dict.fromkeys(words(memory.text)))
    rows = search(snapshot, scope, Bm25Query(terms, {"text": 1.0}), FETCH_LIMIT).rows
    matches = [is_subset(memory.context, context) for context in snapshot.contexts(rows)]
    return rows[np.array(matches, dtype=np.bool_)][:COMPARE_LIMIT]
