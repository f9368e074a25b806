"""What undo means in every store: what it restores, when it refuses, and what it has to embed. For stores in SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, islice
from typing import Any

from recollect.errors import StoreError
from recollect.model import Memory
from recollect.store.base import Bound, UndoneMemory
from recollect.store.bounds import is_disjoint, is_inside
from recollect.store.rows import as_values, from_row
from recollect.store.text_fields import embedding_text

# In a record of the history: what identifies an edge (source, target, kind) or a relation (subject, relation, object,
# collection, user). The last value is the transaction that wrote it.
KEYS = {"edge": (0, 1, 2), "entity_edge": (0, 1, 2, 4, 5)}
NAMED, NAMED_CHARACTERS = 5, 200  # memories that an undo names, and how much of the text of each
Key = tuple[Any, ...]  # of something that is restored: what it is, and its row or the values of KEYS


def key_of(what: str, values: Sequence[Any]) -> Key:
    """The key of an edge or a relation in the history."""
    return (what, *(values[at] for at in KEYS[what]))


def undone_memories(removed: Iterable[Memory], restored: Iterable[Memory]) -> tuple[UndoneMemory, ...]:
    """The first memories that an undo removes and restores, to name what was undone."""
    gone = (UndoneMemory(each.id, each.text[:NAMED_CHARACTERS], "removed") for each in removed)
    again = (UndoneMemory(each.id, each.text[:NAMED_CHARACTERS], "restored") for each in restored)
    return tuple(islice(chain(gone, again), NAMED))


def touched_later() -> StoreError:
    return StoreError(
        "The last change here cannot be undone: a later change, made elsewhere, touched the same memory. "
        "Nothing was changed."
    )


def concerns(owners: str, bound: Bound) -> bool:
    """Did a transaction that touched these owners touch anything inside the bound?"""
    return not all(is_disjoint(owner, bound) for owner in json.loads(owners))


def check_inside(owners: Iterable[str], bound: Bound, elsewhere: bool = False) -> None:
    """Refuse to undo transactions that touched these owners, if one of them is outside the bound."""
    if elsewhere or not all(is_inside(tuple(owner), bound) for listed in owners for owner in json.loads(listed)):
        raise StoreError(
            f"The last change here also changed something outside the bound ({bound.describe()}). "
            "It can be undone without that bound only; nothing was changed."
        )


def check_owners(owners: Iterable[Sequence[str | None]], bound: Bound) -> None:
    """Refuse to undo what belongs to others now. An erasure may have removed the version that tells of the move."""
    if not all(is_inside(owner, bound) for owner in owners):
        raise touched_later()


def texts_to_embed(
    records: Iterable[tuple[int, str]], added: Collection[int], stored: Callable[[int], Memory]
) -> dict[str, str]:
    """By id: what an undo would have to embed, as it changes the text or title of that memory. Of several records of a
    row the last one counts."""
    earliest = {row: from_row(as_values(json.loads(record))) for row, record in records}
    return {
        memory.id: embedding_text(memory)
        for row, memory in earliest.items()
        if row not in added and embedding_text(stored(row)) != embedding_text(memory)
    }


def is_edge_touched_later(
    history: Iterable[tuple[int, str, str]],
    versions: Collection[int],
    ends_exist: Callable[[str, Sequence[Any]], bool],
    born: Callable[[str, Sequence[Any]], int | None],
) -> bool:
    """Has another operation changed an edge or a relation of this one since? ``history`` has what was replaced since
    the first of its ``versions``, and ``born`` finds the transaction that wrote what there is now."""
    own: dict[Key, int] = {}  # the first transaction of the operation that replaced it
    for version, what, record in history:
        values = json.loads(record)
        key = key_of(what, values)
        if version in versions:
            own.setdefault(key, version)
        elif (key in own or values[-1] in versions) and ends_exist(what, values):
            return True
    written = ((born(what, key), version) for (what, *key), version in own.items())
    return any(at is not None and at > version and at not in versions for at, version in written)
