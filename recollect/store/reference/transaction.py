"""Writing to the reference store: a transaction, and what it records for undo and history."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import numpy as np

from recollect.errors import NotFound, StoreError
from recollect.model import Edge, EntityEdge, Memory, Use, micros
from recollect.model.ids import new_id
from recollect.store.base import Bound, EncodedText, Space, UndoResult, Version, WriteResult, check_space
from recollect.store.erasing import Receipt
from recollect.store.reference.files import ReferenceFileTransaction
from recollect.store.reference.state import (
    Change,
    Key,
    State,
    StoredOperation,
    created_of,
    ends_of,
    place_of,
    subject_of,
)
from recollect.store.text_fields import embedding_text
from recollect.store.undo import undone_memories
from recollect.store.writing import (
    SYNC,
    check_edge,
    check_relation,
    check_same_memory,
    external_id_taken,
    no_memory,
    outside_bound,
)

DAY = 86_400e6  # microseconds


class ReferenceTransaction:
    """Works on a copy of the state, which takes the place of the state if nothing fails."""

    def __init__(self, state: State, bound: Bound, path: str, verb: str, now: datetime, operation: int | None) -> None:
        self.state = state
        self.bound = bound
        self._path = path
        self._verb = verb
        self.now = now
        self._operation = operation
        self._transaction = state.version + 1
        self.files = ReferenceFileTransaction(self)

    @property
    def operation(self) -> int:
        return self._touch()

    @property
    def changed(self) -> bool:
        return self.state.version == self._transaction

    def find(self, memory: Memory) -> Memory | None:
        row = self._stored_row(memory)
        return self.state.memories[row] if row is not None and self._known(row) else None

    def find_equal(self, memory: Memory) -> list[Memory]:
        wanted = (memory.text, memory.kind, memory.collection, memory.user, memory.agent, "active", "", "", None)
        found = []
        for _, stored in sorted(self.state.memories.items()):
            owner = (stored.collection, stored.user, stored.agent)
            distinction = (stored.external_id, stored.session, stored.position)
            if (stored.text, stored.kind, *owner, stored.status, *distinction) == wanted and self.bound.contains(
                stored
            ):
                found.append(stored)
        return found

    def last_position(self, memory: Memory, since: Version) -> int:
        owner = (memory.collection, memory.user, memory.agent, memory.session)
        stored = [
            each.position or 0
            for each in self.state.memories.values()
            if (each.collection, each.user, each.agent, each.session) == owner
        ]
        return max(stored, default=0)

    def remember(self, memory: Memory) -> WriteResult:
        row = self._stored_row(memory)
        if row is None:
            return self._add(memory)
        current = self.state.memories[row]
        check_same_memory(memory, current, self.bound)
        return self._rewrite(row, replace(memory, id=current.id, created=memory.created or current.created))

    def revise(self, id: str, revision: Callable[[Memory], Memory]) -> WriteResult:
        row = self.row(id)
        return self._rewrite(row, revision(copy.deepcopy(self.state.memories[row])))

    def decay(self, rate: float) -> int:
        places = []
        for row, memory in sorted(self.state.memories.items()):
            if not self.bound.contains(memory):
                continue
            seen = [at for _, at, bound in self.state.decays if bound.contains(memory)]
            days = max(0.0, float(micros(self.now) - micros(max([created_of(memory), *seen])))) / DAY
            strength = float(memory.strength * np.exp(-rate * days))
            if strength != memory.strength:
                self._save(("strength", row), memory)
                self.state.memories[row] = replace(memory, strength=strength)
                places.append(place_of(memory))
        if places:
            self.state.decays.append((self._touch(*places), self.now, self.bound))
        return len(places)

    def delete(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._touch(place_of(self.require(row)))
            self._remove(row)
            self._drop_changes({change.key for change in self.state.changes if _concerns(change.key, row)})

    def row(self, id: str) -> int:
        row = self.state.rows.get(id)
        if row is None or not self._known(row):
            raise no_memory(id)
        return row

    def row_with(self, id: str, text: str) -> int | None:
        row = self.state.rows.get(id)
        is_same = row is not None and self._known(row) and embedding_text(self.state.memories[row]) == text
        return row if is_same else None

    def set_use(self, row: int, use: Use, by_day: Mapping[int, int] | None = None) -> None:
        self.require(row)
        self.state.uses[row] = use
        if by_day is not None:
            self.state.uses_by_day[row] = dict(by_day)

    def add_receipt(self, receipt: Receipt) -> None:
        self.state.receipts.append((receipt, frozenset(), self.state.version))

    def add_history(self, row: int, memory: Memory, until: datetime) -> None:
        self.require(row)
        self._record(("memory", row), replace(memory, use=Use()), until)

    def embed(self, rows: Sequence[int], texts: Sequence[EncodedText], space: Space) -> None:
        if not rows:
            return
        if self._verb != "reembed":
            check_space(self.state.active, space, self._path)
        self.add_space(space)
        for row, (vector, sketch) in zip(rows, texts, strict=True):
            self._touch(place_of(self.require(row)))
            self.state.vectors[space, row] = vector.astype(np.float16).astype(np.float32)
            self.state.sketches.pop((space, row), None)
            if sketch:
                self.state.sketches[space, row] = sketch

    def link(self, edge: Edge) -> None:
        source, target = self.row(edge.source), self.row(edge.target)
        check_edge(edge, self.state.memories[source], self.state.memories[target])
        key = ("edge", source, edge.kind, target)
        stored = self.state.edges.get(key)
        if stored is None or stored.weight != edge.weight:
            self._record(key, stored)
            created = (edge.created or self.now) if stored is None else stored.created
            self.state.edges[key] = replace(edge, created=created)

    def unlink(self, source: str, target: str, kind: str | None) -> int:
        ends = self.row(source), self.row(target)
        chosen = [key for key in self.state.edges if (key[1], key[3]) == ends and kind in (None, key[2])]
        for key in chosen:
            self._unlink(key)
        return len(chosen)

    def relate(self, edge: EntityEdge) -> None:
        check_relation(edge, self.bound)
        key = ("relation", edge.collection, edge.user, edge.subject, edge.relation, edge.object)
        stored = self.state.relations.get(key)
        edge = replace(edge, created=edge.created or self.now)
        if stored is None or replace(stored, created=edge.created) != edge:
            self._touch(Bound(edge.collection, edge.user, "", ""))
            self._save(key, stored)
            self.state.relations[key] = edge

    def undo(self, operation: int | None = None) -> UndoResult | None:
        state = self.state
        number = state.last_undoable(self.bound) if operation is None else operation
        if number not in state.operations:
            return None
        if reason := state.refusal_to_undo(number, self.bound):
            raise StoreError(reason)
        undone, replaced = state.operations.pop(number), state.values_before(number)
        gone = [state.memories[key[1]] for key, old in replaced.items() if key[0] == "memory" and old is None]
        ids = []
        for key, before in reversed(replaced.items()):
            self._restore(key, before)
            if key[0] == "memory" and before is not None:
                ids.append(before.id)
        state.changes = [change for change in state.changes if change.operation != number]
        state.decays = [decay for decay in state.decays if decay[0] != number]
        self._touch(*undone.touched)
        existed = sum(before is not None for before in replaced.values())
        added = sum(key[0] == "memory" for key, before in replaced.items() if before is None)
        last = max(undone.touched.values(), default=0)
        erasure = state.last_erasure(self.bound, last) if operation is None else None
        memories = undone_memories(gone, (state.memories[state.rows[id]] for id in ids))
        return UndoResult(undone.verb, undone.at, added, existed, tuple(ids), undone.erased, erasure, memories)

    def undo_texts(self, operation: int | None = None) -> dict[str, str]:
        return self.state.undo_texts(self.bound, operation)

    def _restore(self, key: Key, before: Any) -> None:
        state = self.state
        match key:
            case ("memory", row):
                if before is None:
                    self._remove(row)
                else:
                    self._write(row, before)
            case ("strength", row):
                state.memories[row] = replace(state.memories[row], strength=before.strength)
            case _:
                table = cast(dict[Key, Any], state.edges if key[0] == "edge" else state.relations)
                table.pop(key, None)
                if before is not None and ends_of(key) <= state.memories.keys():
                    table[key] = before

    # How a memory is written.

    def _stored_row(self, memory: Memory) -> int | None:
        """The row with its id or, if it has none, with its external id."""
        if memory.id or not memory.external_id:
            return self.state.rows.get(memory.id)
        return next((row for row, each in self.state.memories.items() if _same_external_id(each, memory)), None)

    def _add(self, memory: Memory) -> WriteResult:
        now = self.now
        memory = replace(
            memory, id=memory.id or new_id(), created=memory.created or now, updated=memory.updated or now, use=Use()
        )
        self._check(memory, row=0)
        self.state.last_row = row = self.state.last_row + 1
        self.state.memories[row] = copy.deepcopy(memory)
        self.state.rows[memory.id] = row
        self._record(("memory", row), None)
        return WriteResult(row, memory.id, "added", now)

    def _rewrite(self, row: int, memory: Memory) -> WriteResult:
        current = self.state.memories[row]
        if _equal(replace(memory, updated=memory.updated or current.updated), current):
            return WriteResult(row, current.id, "same", self.now)
        self._check(memory, row)
        if self._verb == SYNC:  # what an undo would restore is no longer what the file says
            self._touch(place_of(current))
            self._drop_changes({("memory", row)}, keep_added=True)
        else:
            self._record(("memory", row), current)
        if memory.updated is None or (memory.updated == current.updated and self._verb != SYNC):
            memory = replace(memory, updated=self.now)
        if memory.collection != current.collection:  # edges stay inside one collection
            for key in [key for key in self.state.edges if row in ends_of(key)]:
                self._unlink(key)
        self._write(row, memory)
        self._touch(place_of(memory))
        return WriteResult(row, memory.id, "changed", self.now)

    def _check(self, memory: Memory, row: int) -> None:
        if not self.bound.contains(memory):
            raise outside_bound(self.bound)
        others = (stored for other, stored in self.state.memories.items() if other != row)
        if memory.external_id and any(_same_external_id(other, memory) for other in others):
            raise external_id_taken(memory)

    def _write(self, row: int, memory: Memory) -> None:
        current = self.state.memories[row]
        self.state.memories[row] = copy.deepcopy(replace(memory, use=Use()))
        if (memory.text, memory.title) != (current.text, current.title):
            self._drop_vectors(row)

    def _unlink(self, key: Key) -> None:
        self._record(key, self.state.edges[key])
        del self.state.edges[key]

    def _remove(self, row: int) -> None:
        self._drop_vectors(row)
        if row in self.state.memories:
            del self.state.rows[self.state.memories[row].id]
        for table in (
            self.state.memories,
            self.state.words,
            self.state.uses,
            self.state.uses_by_day,
            self.state.chunks,
        ):
            cast(dict[int, Any], table).pop(row, None)
        for key in [key for key in self.state.edges if row in ends_of(key)]:
            del self.state.edges[key]

    def _drop_vectors(self, row: int) -> None:
        for space in self.state.spaces:
            self.state.vectors.pop((space, row), None)
            self.state.sketches.pop((space, row), None)

    # What is recorded of an operation.

    def _record(self, key: Key, before: Any, until: datetime | None = None) -> None:
        """Record what is replaced, and where it lies."""
        for row in ends_of(key) or {key[1]}:
            self._touch(place_of(self.state.memories[row]))
        self._save(key, before, until)

    def _save(self, key: Key, before: Any, until: datetime | None = None) -> None:
        self.state.changes.append(Change(self._touch(), self._transaction, key, before, until or self.now))

    def _drop_changes(self, keys: Collection[Key], keep_added: bool = False) -> None:
        def stays(change: Change) -> bool:
            return change.key not in keys or (keep_added and change.before is None)

        self.state.changes = [change for change in self.state.changes if stays(change)]

    def _touch(self, *places: Bound) -> int:
        """Record the operation, and where it changes something; its number."""
        state = self.state
        if self._operation is None:
            self._operation = state.last_operation = state.last_operation + 1
        operation = state.operations.get(self._operation) or StoredOperation(self._verb, self.now)
        touched = {**operation.touched, **dict.fromkeys(places, self._transaction)}
        state.operations[self._operation] = replace(operation, touched=touched)
        state.version = self._transaction
        return self._operation

    # For files and spaces.

    def require(self, row: int) -> Memory:
        if not self._known(row):
            raise NotFound(f"There is no row {row}.")
        return self.state.memories[row]

    def _known(self, row: int) -> bool:
        return row in self.state.memories and self.bound.contains(self.state.memories[row])

    def add_space(self, space: Space) -> None:
        if space not in self.state.spaces:
            self.state.spaces.append(space)
        self.state.active = self.state.active or space

    def move(self, row: int, memory: Memory) -> None:
        """Write a memory without a history."""
        self._touch(place_of(self.require(row)), place_of(memory))
        self._write(row, memory)

    def switch_space(self, space: Space) -> None:
        self.add_space(space)
        self._touch()
        for table in (self.state.vectors, self.state.sketches):
            for key in [key for key in table if key[0] != space]:
                cast(dict[tuple[Space, int], Any], table).pop(key)
        self.state.active, self.state.spaces = space, [space]


def _same_external_id(a: Memory, b: Memory) -> bool:
    """External ids are unique for a user and an agent of a collection."""
    keys = [(each.collection, each.user, each.agent, each.external_id) for each in (a, b)]
    return a.external_id != "" and keys[0] == keys[1]


def _concerns(key: Key, row: int) -> bool:
    return subject_of(key) == ("memory", row) or row in ends_of(key)


def _equal(a: Memory, b: Memory) -> bool:
    """The same content? The order of keys in a context is none; true is not 1."""
    contexts = [json.dumps(each.context, sort_keys=True) for each in (a, b)]
    return contexts[0] == contexts[1] and replace(a, context={}) == replace(b, context={})
