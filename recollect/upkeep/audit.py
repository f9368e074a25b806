"""Audit: finds memories that may be hostile, each with the reason. Nothing is changed (B25)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from recollect.model import FilterExpression, Memory
from recollect.store.base import Store
from recollect.store.retrying import retried
from recollect.text.hostile import find_suspicions
from recollect.text.words import words

BATCH = 512  # memories that are read at a time
FLOOD = 5  # memories that say the same in nearly the same words
DERIVED = ("mentions", "depends_on", "derived_from")  # edges from a memory to what it was made of
STATUSES = ("active", "superseded", "contradicted")


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A memory that may be hostile: by which rule, why, and the words that show it."""

    id: str
    rule: str
    reason: str
    excerpt: str


def audit(
    store: Store, now: datetime, filter: FilterExpression | None = None, limit: int | None = None
) -> list[AuditFinding]:
    """All findings, in the order in which the memories were stored; floods and forged trust come last."""
    found: list[AuditFinding] = []
    alike: dict[bytes, list[str]] = defaultdict(list)
    trust: dict[str, int | None] = {}
    for memories in _batches(store, now, filter):
        for memory in memories:
            trust[memory.id] = memory.trust
            found += [
                AuditFinding(memory.id, each.rule, each.reason, each.excerpt)
                for each in find_suspicions("\n".join(_texts_of(memory)))
            ]
            alike[_sense(memory.text)].append(memory.id)
    found += [each for ids in alike.values() if len(ids) >= FLOOD for each in _flood(ids)]
    found += _forged_trust(store, trust)
    return found[:limit]


def _texts_of(memory: Memory) -> list[str]:
    return [text for text in (memory.title, memory.text, memory.summary, memory.original) if text]


@retried
def _batches(store: Store, now: datetime, filter: FilterExpression | None) -> Sequence[Sequence[Memory]]:
    with store.snapshot() as snapshot:
        scope = snapshot.scope(filter, STATUSES, now, hidden=True)
        rows = snapshot.page(scope, "stored", scope.count)
        return [snapshot.memories(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH)]


def _sense(text: str) -> bytes:
    """Equal for texts with the same words, whatever their order, numbers and punctuation."""
    found = sorted({word for word in words(text) if not any(map(str.isdigit, word))})
    return blake2b(" ".join(found or [text]).encode(), digest_size=16).digest()


def _flood(ids: Sequence[str]) -> list[AuditFinding]:
    reason = f"{len(ids):,} memories have the same words, and may crowd out others"
    return [AuditFinding(id, "flood", reason, ids[0]) for id in ids[1:]]


def _forged_trust(store: Store, trust: dict[str, int | None]) -> list[AuditFinding]:
    """A memory that was made of others is trusted as the least trusted of them, not more."""
    least: dict[str, int] = {}
    for edge in store.edges():
        source = trust.get(edge.target)
        if edge.kind in DERIVED and edge.source in trust and source is not None:
            least[edge.source] = min(source, least.get(edge.source, source))
    return [
        AuditFinding(id, "forged source", f"it has a trust of {own}, and was made of memories with {low}", "")
        for id, low in least.items()
        if (own := trust[id]) is not None and own > low
    ]
