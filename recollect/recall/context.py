"""A recall as one text for a prompt: within a budget of tokens, in the order of events, with neighbouring memories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

import numpy as np

from recollect.model import Memory
from recollect.model.zones import to_zone
from recollect.recall.fencing import EARLIER, differing_owners, render_fenced
from recollect.recall.packing import TokenBudget, tokens
from recollect.recall.pipeline import Request, build_recall, record_use, scope_of, search
from recollect.recall.results import Recall
from recollect.store.base import Snapshot, Store
from recollect.store.retrying import retried
from recollect.text.words import words

MIN_DISTINCT = 0.25  # of the results; with fewer that differ, more are looked at
FLOOD_FACTOR = 10  # how many more
COMPARED_LENGTH = 2000  # characters of each text that tell whether it differs


@dataclass(frozen=True, slots=True)
class Context:
    """What is remembered about a query, ready for a prompt."""

    text: str
    memories: Sequence[Memory]  # in the order of the text
    tokens: int
    recall: Recall
    best_needs: int = 0  # the tokens that the best result takes by itself; 0 when nothing was found
    outdated: frozenset[str] = frozenset()  # the ids of memories in it that a newer statement replaces

    def __str__(self) -> str:
        return self.text

    def fenced(self) -> str:
        """The memories as data for a model: each in an element that names its source and trust (see fencing.py). It is
        longer than the budget of the text."""
        return render_fenced(self.memories, self.outdated)


@retried
def context(store: Store, request: Request, budget: int) -> Context:
    """The results with the most value for the budget and, as far as it goes, the memories just before and after them.

    Only memories that are in the text count as used.
    """

    def line(memory: Memory) -> str:
        return _line(memory, request.as_of, request.now.tzinfo, memory.id in outdated, owners)

    start = time.perf_counter()
    outcome = search(store, request, start)
    recall = build_recall(store, replace(request, track=False), outcome, start)
    if len(recall) == request.k and len({_sense(result.text) for result in recall}) < request.k * MIN_DISTINCT:
        # Most results say the same: a flood. Others come after it.
        more = replace(request, k=request.k * FLOOD_FACTOR)
        outcome = search(store, more, start)
        recall = build_recall(store, replace(more, track=False), outcome, start)
    outdated = {result.id for result in recall if result.outdated}
    owners = differing_owners(result.memory for result in recall)
    best = [result.memory for result in recall.packed(budget, line)]
    room = TokenBudget(budget)
    with store.snapshot() as snapshot:
        chosen = [memory for memory in [*best, *_neighbours(snapshot, request, best)] if room.add(line(memory))]
        rows = {memory.id: snapshot.row(memory.id) or 0 for memory in chosen}
    chosen.sort(key=lambda memory: (*_order(memory), rows[memory.id]))
    if request.track:
        record_use(store, outcome.run, [row for row in rows.values() if row])
    best_needs = tokens(line(recall[0].memory) + "\n") if recall else 0
    text, shown = "\n".join(map(line, chosen)), outdated.intersection(memory.id for memory in chosen)
    return Context(text, chosen, budget - room.left, recall, best_needs, frozenset(shown))


def _sense(text: str) -> frozenset[str]:
    """Equal for texts that begin with the same words, whatever their order and numbers."""
    return frozenset(word for word in words(text[:COMPARED_LENGTH]) if not any(map(str.isdigit, word)))


def _neighbours(snapshot: Snapshot, request: Request, memories: Sequence[Memory]) -> Sequence[Memory]:
    """What came right before and after each memory, if it is in the scope of the recall."""
    rows = np.array([row for memory in memories if (row := snapshot.row(memory.id)) is not None], dtype=np.int64)
    neighbours = snapshot.neighbours(rows, 1).ravel()
    neighbours = neighbours[(neighbours >= 0) & ~np.isin(neighbours, rows)]
    return snapshot.memories(neighbours[scope_of(request, snapshot).contains(neighbours)])


def _order(memory: Memory) -> tuple[object, ...]:
    """By time; within one moment by session and position."""
    return (memory.created is not None and memory.created.timestamp(), memory.session, memory.position or 0)


def _line(memory: Memory, as_of: datetime | None, zone: tzinfo | None, outdated: bool, owners: Sequence[str]) -> str:
    """``2023-05-08 Ann: I am back.``, with the status unless the memory is active, a mark if a newer statement
    replaces it, and whose it is where the results are of several; the day is one of the zone."""
    day = f"{to_zone(memory.created, zone):%Y-%m-%d} " if memory.created else ""
    status = memory.status
    if as_of is not None and memory.valid_to is not None and status in ("active", "superseded"):
        status = "active" if memory.valid_to > as_of else "superseded"
    shown = ("" if status == "active" else f"[{status}] ") + (f"({EARLIER}) " if outdated else "")
    shown += "".join(f"[{name} {value}] " for name in owners if (value := getattr(memory, name)))
    speaker = memory.speaker or memory.role
    named = not speaker or memory.text.startswith(f"{speaker}:")  # some texts begin with the speaker
    return f"{day}{shown}{memory.text if named else f'{speaker}: {memory.text}'}"
