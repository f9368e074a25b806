"""What a process keeps of what it has read, for further recalls.

Entries are found by a version that a snapshot reads inside its own transaction, so that none is ever outdated: that of
the collections for what is computed from all memories, and the last change of a memory for what is its own.
After an erasure all entries are dropped, and what a snapshot from before it reads is not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
MAX_ENTRIES = 512
OUTDATED = -1  # the generation of what nobody keeps
MAX_SIGNATURES = 200_000
MAX_ROWS = 20_000  # memories whose short columns, texts, vectors and token sketches are kept: about 4 KB each


class LatestUsed:
    """A mapping that drops what was not used for the longest time."""

    def __init__(self, size: int) -> None:
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._size = size
        self._generation = 0
        self._lock = Lock()

    def get_all(self, keys: Sequence[Key]) -> dict[Key, Any]:
        """What is known of these."""
        with self._lock:
            found = {key: self._entries[key] for key in keys if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
            return found

    def put_all(self, entries: Mapping[Any, Any], generation: int) -> None:
        """Keep these, unless they were read before the last clear."""
        with self._lock:
            if generation != self._generation:
                return
            self._entries.update(entries)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def get(self, key: Hashable) -> Any:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def clear(self, generation: int) -> None:
        """Drop all; from now on only what is of this generation is kept."""
        with self._lock:
            self._generation = generation
            self._entries.clear()


class Derived:
    """Values by version, bound and what they are; and values of memories by row, last change and what they are."""

    def __init__(self) -> None:
        self._values = LatestUsed(MAX_ENTRIES)
        self.signatures = LatestUsed(MAX_SIGNATURES)
        self.columns = LatestUsed(MAX_ROWS)
        self.texts = LatestUsed(MAX_ROWS)
        self.vectors = LatestUsed(MAX_ROWS)
        self.sketches = LatestUsed(MAX_ROWS)
        self.tenants = LatestUsed(MAX_ROWS)  # of memories that were returned, for their use
        self._last_erasure = 0
        self._generation = 0
        self._lock = Lock()

    def forget_erased(self, last_erasure: int) -> int:
        """Keep nothing from before the last erasure that a snapshot sees, also by another process. Returns the
        generation of what the snapshot reads; of one that began before an erasure, nothing is kept."""
        with self._lock:
            if last_erasure < self._last_erasure:
                return OUTDATED
            if last_erasure > self._last_erasure:
                self._last_erasure = last_erasure
                self._clear()
            return self._generation

    def get(self, key: Hashable, compute: Callable[[], T], generation: int) -> T:
        known: tuple[T] | None = self._values.get(key)
        if known is None:
            known = (compute(),)
            self._values.put_all({key: known}, generation)
        return known[0]

    def clear(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self._generation += 1
        for cache in (
            self._values,
            self.signatures,
            self.columns,
            self.texts,
            self.vectors,
            self.sketches,
            self.tenants,
        ):
            cache.clear(self._generation)
