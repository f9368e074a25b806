"""Folders and files in the reference store."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from recollect.errors import InvalidInput
from recollect.model import JsonObject
from recollect.store.base import FileState, Space, StoredChunk
from recollect.store.bounds import contains_folder
from recollect.store.reference.state import State

if TYPE_CHECKING:
    from recollect.store.reference.transaction import ReferenceTransaction


class ReferenceFileTransaction:
    """Folders and files inside one transaction."""

    def __init__(self, transaction: ReferenceTransaction) -> None:
        self._transaction = transaction

    @property
    def _state(self) -> State:
        return self._transaction.state

    def folder(self, collection: str) -> JsonObject | None:
        return copy.deepcopy(self._state.folders.get(collection)) if self._visible(collection) else None

    def set_folder(self, collection: str, record: JsonObject) -> None:
        self._check(collection)
        self._state.folders[collection] = copy.deepcopy(record)

    def state(self, collection: str, path: str) -> FileState | None:
        number = self._number(collection, path)
        return None if number is None else self._state.files[number][1]

    def chunks(self, collection: str, path: str) -> list[StoredChunk]:
        number = self._number(collection, path)
        return [
            StoredChunk(row, self._state.memories[row].id, digest)
            for row, (file, digest) in sorted(self._state.chunks.items())
            if file == number
        ]

    def save(self, collection: str, state: FileState, previous_path: str = "") -> int:
        self._check(collection)
        number = self._number(collection, previous_path) if previous_path else None
        if number is None:
            number = self._number(collection, state.path)
        if number is None:
            number = self._state.last_file = self._state.last_file + 1
        self._state.files[number] = (collection, state)
        return number

    def add_chunks(self, file: int, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        for row, digest in zip(rows, digests, strict=True):
            self._transaction.require(row)
            self._state.chunks[row] = (file, digest)

    def copy_vectors(self, row: int, digest: bytes) -> bool:
        self._transaction.require(row)
        copied = False
        for other, (_, found) in sorted(self._state.chunks.items()):
            if found == digest and other != row:
                for table in (self._state.vectors, self._state.sketches):
                    for space, value in [(key[0], value) for key, value in table.items() if key[1] == other]:
                        cast(dict[tuple[Space, int], Any], table)[space, row] = value
                        copied = True
        return copied

    def delete(self, collection: str, paths: Sequence[str]) -> int:
        self._check(collection)
        numbers = {number for path in paths if (number := self._number(collection, path)) is not None}
        rows = [row for row, (file, _) in self._state.chunks.items() if file in numbers]
        self._transaction.delete(rows)
        for number in numbers:
            del self._state.files[number]
        return len(rows)

    def delete_folder(self, collection: str) -> int:
        paths = [state.path for owner, state in self._state.files.values() if owner == collection]
        count = self.delete(collection, paths)
        self._state.folders.pop(collection, None)
        return count

    def replace_folder(self, staged: str, collection: str) -> None:
        self._check(staged)
        self.delete_folder(collection)
        for number, (owner, state) in list(self._state.files.items()):
            if owner == staged:
                self._state.files[number] = (collection, state)
                for row in [row for row, (file, _) in self._state.chunks.items() if file == number]:
                    memory = replace(self._state.memories[row], collection=collection, status="active")
                    self._transaction.move(row, memory)
        if staged in self._state.folders:
            self._state.folders[collection] = self._state.folders.pop(staged)

    def _number(self, collection: str, path: str) -> int | None:
        if self._visible(collection):
            for number, (owner, state) in self._state.files.items():
                if (owner, state.path) == (collection, path):
                    return number
        return None

    def _visible(self, collection: str) -> bool:
        return contains_folder(self._transaction.bound, collection)

    def _check(self, collection: str) -> None:
        if not self._visible(collection):
            bound = self._transaction.bound.describe()
            raise InvalidInput(f"This store is limited to {bound}, and the folder lies outside of it.")
