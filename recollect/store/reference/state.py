"""Everything that the reference store contains, and what its operations replaced."""

from __future__ import annotations

import copy
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import Edge, EntityEdge, JsonObject, Memory, Use
from recollect.store.base import Bound, FileState, Space
from recollect.store.erasing import Receipt
from recollect.store.text_fields import TEXT_FIELDS, embedding_text, field_words
from recollect.store.writing import NOT_UNDOABLE

WordCounts = Mapping[str, Counter[str]]
Key = tuple[Any, ...]  # ("memory", row), ("strength", row), ("edge", source row, kind, target row) or ("relation", …)


@dataclass(frozen=True, slots=True)
class StoredOperation:
    """One undoable call. It may span several transactions."""

    verb: str
    at: datetime
    touched: Mapping[Bound, int] = field(default_factory=dict)  # where it changed something: the last transaction there
    erased: int = 0  # memories of it that were erased since


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction replaced; None if there was nothing. Undo puts it back."""

    operation: int
    transaction: int
    key: Key
    before: Any  # Memory | Edge | EntityEdge | None
    until: datetime  # when it ended


@dataclass(slots=True)
class State:
    """Everything in the store. A transaction works on a copy; the values inside are never modified."""

    version: int = 0  # how many transactions have changed something
    last_row: int = 0
    last_file: int = 0
    last_operation: int = 0
    active: Space | None = None
    memories: dict[int, Memory] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # by id
    words: dict[int, tuple[Memory, WordCounts]] = field(default_factory=dict)  # that were counted, and of what
    uses: dict[int, Use] = field(default_factory=dict)
    uses_by_day: dict[int, dict[int, int]] = field(default_factory=dict)  # by row and day
    edges: dict[Key, Edge] = field(default_factory=dict)  # by ("edge", source row, kind, target row)
    relations: dict[Key, EntityEdge] = field(default_factory=dict)
    spaces: list[Space] = field(default_factory=list)
    vectors: dict[tuple[Space, int], NDArray[np.float32]] = field(default_factory=dict)
    sketches: dict[tuple[Space, int], bytes] = field(default_factory=dict)
    operations: dict[int, StoredOperation] = field(default_factory=dict)  # without those that were undone
    changes: list[Change] = field(default_factory=list)
    decays: list[tuple[int, datetime, Bound]] = field(default_factory=list)  # operation, moment, which memories
    folders: dict[str, JsonObject] = field(default_factory=dict)
    files: dict[int, tuple[str, FileState]] = field(default_factory=dict)
    chunks: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # by row: file and digest
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))  # of the receipts
    # Receipt, whose memories were erased, and by which transaction.
    receipts: list[tuple[Receipt, frozenset[Bound], int]] = field(default_factory=list)

    def copy(self) -> State:
        return State(**{each.name: copy.copy(getattr(self, each.name)) for each in fields(self)})

    def within(self, bound: Bound) -> dict[int, Memory]:
        """The memories inside a bound by row, each with its use."""
        inside = [row for row, memory in sorted(self.memories.items()) if bound.contains(memory)]
        return {row: self.with_use(row) for row in inside}

    def with_use(self, row: int) -> Memory:
        memory = self.memories[row]
        return replace(memory, use=self.uses.get(row, Use()), context=copy.deepcopy(memory.context))

    def words_of(self, row: int) -> WordCounts:
        """By text field: how often each word of a memory occurs."""
        memory = self.memories[row]
        if row not in self.words or self.words[row][0] is not memory:
            self.words[row] = memory, {TEXT_FIELDS[number]: counts for number, counts in field_words(memory)}
        return self.words[row][1]

    def edges_within(self, bound: Bound) -> list[tuple[Key, Edge]]:
        """The edges with both ends inside a bound, by source row, kind and target row."""
        inside = {row for row, memory in self.memories.items() if bound.contains(memory)}
        return [(key, edge) for key, edge in sorted(self.edges.items()) if inside.issuperset((key[1], key[3]))]

    def relations_within(self, bound: Bound) -> list[EntityEdge]:
        return [edge for _, edge in sorted(self.relations.items()) if bound.contains_relation(edge)]

    def last_undoable(self, bound: Bound) -> int | None:
        """The operation with the latest transaction that changed something inside a bound."""
        last = [
            (transaction, number)
            for number, operation in self.operations.items()
            if operation.verb not in NOT_UNDOABLE
            for place, transaction in operation.touched.items()
            if overlaps(place, bound)
        ]
        return max(last)[1] if last else None

    def last_erasure(self, bound: Bound, after: int) -> datetime | None:
        """When something inside a bound was last erased after a transaction; None if nothing was."""
        later = [
            receipt.at
            for receipt, places, transaction in self.receipts
            if transaction > after and any(overlaps(place, bound) for place in places)
        ]
        return later[-1] if later else None

    def values_before(self, operation: int) -> dict[Key, Any]:
        """What an operation replaced: by key, what there was before its first change."""
        first: dict[Key, Any] = {}
        for change in self.changes:
            if change.operation == operation:
                first.setdefault(change.key, change.before)
        return first

    def undo_texts(self, bound: Bound, operation: int | None) -> dict[str, str]:
        """By id: the texts to embed of the memories whose text an undo of this operation, or the last, would change."""
        number = self.last_undoable(bound) if operation is None else operation
        if number not in self.operations or self.refusal_to_undo(number, bound):
            return {}
        return {
            before.id: embedding_text(before)
            for key, before in self.values_before(number).items()
            if key[0] == "memory" and before is not None
            if (before.text, before.title) != (self.memories[key[1]].text, self.memories[key[1]].title)
        }

    def refusal_to_undo(self, operation: int, bound: Bound) -> str:
        """Why an operation cannot be undone inside a bound; empty if it can."""
        verb = self.operations[operation].verb
        if not all(is_inside(place, bound) for place in self.operations[operation].touched):
            return (
                f"The last operation ({verb}) also changed memories outside of {bound.describe()}; it can only be "
                "undone where all of them are visible."
            )
        replaced = self.values_before(operation)
        memories = [self.memories[key[1]] for key in replaced if key[0] == "memory" and key[1] in self.memories]
        if not all(map(bound.contains, memories)):  # an erasure removed the version that tells of the move
            return f"The last operation ({verb}) cannot be undone: what it changed belongs to others now."
        added = {key[1] for key, before in replaced.items() if key[0] == "memory" and before is None}
        for undone in (each for each in self.changes if each.operation == operation):
            for since in self.changes:
                later = since.operation != operation and since.transaction > undone.transaction
                if later and (subject_of(since.key) == subject_of(undone.key) or added & ends_of(since.key)):
                    return f"The last operation ({verb}) cannot be undone: a later change touched the same memory."
        return ""


def place_of(memory: Memory) -> Bound:
    """Where a memory lies."""
    return Bound(memory.collection, memory.user, memory.agent, memory.session)


def is_inside(place: Bound, bound: Bound) -> bool:
    """Does all of a place lie inside a bound?"""
    return all(getattr(place, name) == value for name, value in bound.values.items())


def overlaps(place: Bound, bound: Bound) -> bool:
    """Does any of a place lie inside a bound?"""
    return all(getattr(place, name) in (None, value) for name, value in bound.values.items())


def subject_of(key: Key) -> Key:
    """What a key is about: a decay is about the memory."""
    return ("memory", key[1]) if key[0] == "strength" else key


def ends_of(key: Key) -> set[int]:
    """The rows at the ends of an edge."""
    return {key[1], key[3]} if key[0] == "edge" else set()


def created_of(memory: Memory) -> datetime:
    assert memory.created is not None  # stores fill it in
    return memory.created
