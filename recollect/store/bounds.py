"""How the owners of what an operation changed relate to the bound of a store. For stores in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recollect.model import Memory
from recollect.store.base import Bound

NAMES = ("collection", "user", "agent", "session")
Owner = tuple[str | None, str | None, str | None, str | None]  # the values of NAMES; None: any


def owner_of(memory: Memory) -> Owner:
    return memory.collection, memory.user, memory.agent, memory.session


def contains_folder(bound: Bound, collection: str) -> bool:
    """A folder belongs to a collection as a whole, so a bound by anything else contains none."""
    return bound in (Bound(), Bound(collection=collection))


def is_inside(owner: Sequence[str | None], bound: Bound) -> bool:
    """Does something that belongs to this collection, user, agent and session (None: any) lie inside a bound?"""
    values = bound.values
    return all(value == values[name] for name, value in zip(NAMES, owner, strict=True) if name in values)


def is_named(owner: Sequence[str | None], names: Collection[tuple[str, str]]) -> bool:
    """Has an owner one of these names: (kind, name)?"""
    return any(each in names for each in zip(NAMES, owner, strict=True))


def is_disjoint(owner: Sequence[str | None], bound: Bound) -> bool:
    """Does nothing of it lie inside a bound?"""
    values = bound.values
    named = zip(NAMES, owner, strict=True)
    return any(value is not None and value != values[name] for name, value in named if name in values)
