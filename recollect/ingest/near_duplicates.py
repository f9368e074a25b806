"""Near-duplicates: memories that say the same, so that one of them is enough.

A wrong match loses knowledge, a missed one costs a line, so doubtful pairs stay separate: texts say the same by the
rules of ``text/paraphrases.py``, never by a model's word alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from recollect.model import Filter, Memory
from recollect.model.matching import equal
from recollect.recall.bm25 import Bm25Query, search
from recollect.store.base import Rows, Scope, Snapshot, Store, Term
from recollect.store.retrying import retried
from recollect.text.paraphrases import Paraphrase
from recollect.text.words import words

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
