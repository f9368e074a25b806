"""Robot sessions: the memory that records a session, and how a session ends in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.ingest.near_duplicates import NearDuplicate
from recollect.model import Edge, Memory
from recollect.store.base import Store

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
