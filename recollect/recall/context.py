"""A recall as one text for a prompt: within a budget of tokens, in the order of events, with what stands around."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.model import Memory
from recollect.recall.packing import Purse, tokens
from recollect.recall.pipeline import Request, answered, given, mark, scope_of
from recollect.recall.results import Recall
from recollect.store.base import Snapshot, Store


@dataclass(frozen=True, slots=True)
class Context:
    """What is remembered about a question, ready for a prompt."""

    text: str
    memories: Sequence[Memory]  # in the order of the text
    tokens: int
    recall: Recall

    @property
    def best_needs(self) -> int:
        """The tokens that the best result takes by itself; 0 when nothing was found."""
        return tokens(_line(self.recall[0].memory) + "\n") if self.recall else 0

    def __str__(self) -> str:
        return self.text


def context(store: Store, request: Request, budget: int) -> Context:
    """The results that the budget is best spent on and, as far as it goes, the memories just before and after them.

    Only what made it into the text counts as used.
    """
    start = time.perf_counter()
    answer = answered(store, request, start)
    found = given(store, replace(request, track=False), answer, start)
    best = [result.memory for result in found.packed(budget, _line)]
    purse = Purse(budget)
    with store.snapshot() as snapshot:
        told = [memory for memory in [*best, *_around(snapshot, request, best)] if purse.spend(_line(memory))]
        rows = {memory.id: snapshot.row(memory.id) or 0 for memory in told}
    told.sort(key=lambda memory: (*_moment(memory), rows[memory.id]))
    if request.track:
        mark(store, answer.run, [row for row in rows.values() if row])
    return Context("\n".join(map(_line, told)), told, budget - purse.left, found)


def _around(snapshot: Snapshot, request: Request, memories: Sequence[Memory]) -> Sequence[Memory]:
    """What came right before and after each, as far as this recall may see it."""
    rows = np.array([row for memory in memories if (row := snapshot.row(memory.id)) is not None], dtype=np.int64)
    beside = snapshot.around(rows, 1).ravel()
    beside = beside[(beside >= 0) & ~np.isin(beside, rows)]
    return snapshot.memories(beside[scope_of(request, snapshot).has(beside)])


def _moment(memory: Memory) -> tuple[object, ...]:
    """What is of one moment stands by session and place in it, and then as it was written."""
    return (memory.created is not None and memory.created.timestamp(), memory.session, memory.position or 0)


def _line(memory: Memory) -> str:
    """``2023-05-08 Ann: I am back.``; what no longer holds says so."""
    day = f"{memory.created:%Y-%m-%d} " if memory.created else ""
    standing = "" if memory.status == "active" else f"[{memory.status}] "
    who = memory.speaker or memory.role
    told = memory.text.startswith(f"{who}:")  # some texts say it themselves
    said = f"{who}: {memory.text}" if who and not told else memory.text
    return f"{day}{standing}{said}"
