"""Token budgets: how often a context contains the evidence, in order of score and as Recall.packed chooses."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from recollect.evaluation import LabelledSet, RecallRunner
from recollect.model import Memory
from recollect.recall.packing import tokens
from recollect.recall.results import Recall

BUDGETS = (256, 512, 1024, 2048, 4096)
DEPTH = 100  # results to spend a budget on
MOST = 300  # questions


def budgets(asker: RecallRunner, labelled: LabelledSet, recipe: str) -> dict[str, Any]:
    """The share of questions with all, and with any, of their evidence in the context, for every budget."""
    questions = labelled.answerable
    if len(questions) > MOST:
        questions = random.Random(5).sample(questions, MOST)
    ways = {"plain": plain, **({"packed": packed} if hasattr(Recall, "packed") else {})}
    held: dict[str, list[list[int]]] = {way: [[0, 0] for _ in BUDGETS] for way in ways}
    for question in questions:
        recall = asker.recall(question, recipe, DEPTH)
        for way, fit in ways.items():
            for counts, budget in zip(held[way], BUDGETS, strict=True):
                inside = {memory.id for memory in fit(recall, budget)} & question.relevant.keys()
                counts[0] += len(inside) == len(question.relevant)
                counts[1] += bool(inside)
    shares = {way: [[round(n / len(questions), 4) for n in each] for each in all_] for way, all_ in held.items()}
    return {"questions": len(questions), "budgets": BUDGETS, **shares}


def plain(recall: Recall, budget: int) -> Iterable[Memory]:
    """In order of score; the first that does not fit ends it."""
    memories = [result.memory for result in recall]
    spent = accumulate(tokens(memory.text) for memory in memories)
    return [memory for memory, total in zip(memories, spent, strict=True) if total <= budget]


def packed(recall: Recall, budget: int) -> Iterable[Memory]:
    """What the product makes of the same recall."""
    return [result.memory for result in recall.packed(budget)]
