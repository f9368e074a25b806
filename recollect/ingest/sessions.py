"""Episodes: what is noted of a session as a whole, and how it ends, in one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.ingest.near_duplicates import Twin
from recollect.model import Edge, Memory
from recollect.store.base import Store

KIND = "session"  # the record of an episode; recalls of the robotmem recipe leave it out


def record(session: str, collection: str, context: Mapping[str, Any], started: datetime) -> Memory:
    """The beginning of an episode, as a memory of its own."""
    return Memory(
        text=f"Session {session}",
        kind=KIND,
        collection=collection,
        session=session,
        external_id=f"session/{session}",
        context={**context, "session": {"started": started.isoformat()}},
    )


def end(store: Store, id: str, ended: datetime, outcome_score: float | None, merged: Mapping[str, Twin]) -> None:
    """Write the outcome into an episode's record and let near-equal memories rest, all in one change.

    What is merged stays readable: superseded, and linked to the one that stays.
    """
    outcome = {"ended": ended.isoformat(), "outcome_score": outcome_score}
    with store.transaction("end session") as transaction:
        transaction.revise(id, lambda memory: _told(memory, outcome))
        for gone, twin in merged.items():
            transaction.link(Edge(gone, twin.memory.id, "same_as"))
            transaction.revise(gone, _superseded)


def _told(memory: Memory, outcome: Mapping[str, Any]) -> Memory:
    session = memory.context.get("session", {})
    return replace(memory, context={**memory.context, "session": {**session, **outcome}})


def _superseded(memory: Memory) -> Memory:
    return replace(memory, status="superseded") if memory.status == "active" else memory
