"""A recall as one text for a prompt: within a budget of tokens, in the order of events, with what stands around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.model import Memory
from recollect.recall.packing import tokens
from recollect.recall.pipeline import Request, mask_of
from recollect.recall.results import Recall
from recollect.store.base import Store


@dataclass(frozen=True, slots=True)
class Context:
    """What is remembered about a question, ready for a prompt."""

    text: str
    memories: Sequence[Memory]  # in the order of the text
    tokens: int
    recall: Recall

    def __str__(self) -> str:
        return self.text


def context(store: Store, request: Request, found: Recall, budget: int) -> Context:
    """The results that the budget is best spent on and, as far as it goes, the memories just before and after them."""
    chosen = {result.memory.id: result.memory for result in found.packed(budget, _line)}
    spent = sum(_size(memory) for memory in chosen.values())
    for memory in _around(store, request, list(chosen.values())):
        if memory.id not in chosen and spent + _size(memory) <= budget:
            chosen[memory.id] = memory
            spent += _size(memory)
    told = sorted(chosen.values(), key=_in_order)
    return Context("\n".join(map(_line, told)), told, spent, found)


def _around(store: Store, request: Request, memories: Sequence[Memory]) -> Sequence[Memory]:
    """What came right before and after each, as far as this recall may see it."""
    with store.view() as view:
        rows = np.array([row for memory in memories if (row := view.row(memory.id)) is not None], dtype=np.int64)
        beside = view.around(rows, 1).ravel()
        beside = beside[beside >= 0]
        return view.memories(beside[mask_of(request, view).has(beside)])


def _in_order(memory: Memory) -> tuple[object, ...]:
    return (memory.created is not None and memory.created.timestamp(), memory.session, memory.position or 0)


def _line(memory: Memory) -> str:
    """``2023-05-08 Ann: I am back.``"""
    day = f"{memory.created:%Y-%m-%d} " if memory.created else ""
    who = memory.speaker or memory.role
    told = memory.text.startswith(f"{who}:")  # some texts say it themselves
    return f"{day}{who}: {memory.text}" if who and not told else f"{day}{memory.text}"


def _size(memory: Memory) -> int:
    return tokens(_line(memory) + "\n")
