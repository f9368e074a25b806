"""What every store checks, refuses and records alike when it writes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from recollect.errors import InvalidInput, NotFound
from recollect.model import Edge, EntityEdge, Memory
from recollect.store.base import Bound
from recollect.store.bounds import Owner
from recollect.store.rows import CONTEXT

SYNC = "sync"  # the verb of transactions that follow files: what they replace is in the files, so no history is kept
NOT_UNDOABLE = ("undo", "embed", "reembed", "erase", "migrate", SYNC)
MAX_OWNERS = 2000  # of an operation over more owners, only what they have in common is recorded
_json = json.JSONEncoder(ensure_ascii=False).encode


class DryRun(Exception):
    """Rolls back the transaction of an erasure that was only tried."""


def no_memory(id: str) -> NotFound:
    return NotFound(f"There is no memory with the id {id!r}.")


def complete_id(prefix: str, ids: Sequence[str]) -> str:
    """The id that a prefix stands for, of those that begin with it."""
    if not ids:
        raise no_memory(prefix)
    if len(ids) > 1:
        some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
        raise InvalidInput(f"Several ids begin with {prefix!r}: {some}. Give more of it.")
    return ids[0]


def outside_bound(bound: Bound, reason: str = "") -> InvalidInput:
    return InvalidInput(f"This would write outside the bound ({bound.describe()}){reason}.")


def check_same_memory(memory: Memory, stored: Memory, bound: Bound) -> None:
    """Refuse to write over a memory with the same id that is outside the bound or in another collection."""
    if not bound.contains(stored):
        id = memory.id or memory.external_id
        raise InvalidInput(f"The id {id!r} cannot be used here; give another, or none.")
    if stored.collection != memory.collection:
        raise InvalidInput(
            f"The id {stored.id!r} belongs to a memory of the collection {stored.collection!r}; "
            "give another id, or none, to store it here, too."
        )


def external_id_taken(memory: Memory) -> InvalidInput:
    return InvalidInput(f"Another memory of that collection has the external id {memory.external_id!r} already.")


def check_edge(edge: Edge, source: Memory, target: Memory) -> None:
    if source.collection != target.collection:
        raise InvalidInput(
            f"Edges stay inside one collection: {edge.source} is in {source.collection!r}, "
            f"{edge.target} in {target.collection!r}."
        )


def check_relation(edge: EntityEdge, bound: Bound) -> None:
    if not bound.contains_relation(edge):
        raise outside_bound(bound, ": a relation belongs to a collection and a user, to no agent or session")


def has_same_content(before: list[Any], after: list[Any]) -> bool:
    """Are two rows of a memory equal? The order of keys in a context is no content."""
    return after == before or _canonical(after) == _canonical(before)


def _canonical(values: list[Any]) -> list[Any]:
    context = json.dumps(json.loads(values[CONTEXT]), sort_keys=True)
    return [*values[:CONTEXT], context, *values[CONTEXT + 1 :]]


def owners_record(owners: Collection[Owner]) -> str:
    """JSON for the history: whose memories a transaction touched. Of too many owners, None where they differ."""
    listed: list[Any] = sorted(owners, key=str)
    if len(listed) > MAX_OWNERS:
        listed = [[values[0] if len(set(values)) == 1 else None for values in zip(*listed, strict=True)]]
    return _json(listed)
