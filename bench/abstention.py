"""Abstention: how well the confidence separates questions with an answer in the haystack from those without."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.evaluation import LabelledQuestion, LabelledSet, RecallAnswer, RecallRunner, roc_auc
from recollect.model import Filter
from recollect.recall.registry import get_recipe

MOST = 300  # questions of a kind: enough for two digits
LEVELS = np.round(np.arange(0.0, 1.0001, 0.05), 2)


def silence(asker: RecallRunner, labelled: LabelledSet, recipe: str) -> dict[str, Any]:
    """Questions with an answer against those without, and against questions put to somebody else's haystack."""
    kinds = {"no answer": labelled.unanswerable, "other haystack": crossed(labelled)}
    able = sample(labelled.answerable)
    sure = _confidences(asker.answers(able, recipe))
    measure = get_recipe(recipe).confidence
    told: dict[str, Any] = {"by": "best score" if measure is None else "confidence", "kinds": {}}
    for kind, unable in kinds.items():
        if unable:
            unsure = _confidences(asker.answers(unable, recipe))
            kept = {f"{level:g}": [_share(sure >= level), _share(unsure >= level)] for level in LEVELS}
            told["kinds"][kind] = {"questions": [len(sure), len(unsure)], "auc": roc_auc(sure, unsure), "kept": kept}
            if measure is not None:
                told["kinds"][kind] |= _at_threshold(
                    _share(sure < measure.threshold), _share(unsure < measure.threshold)
                )
    return told


def _at_threshold(wrong: float, right: float) -> dict[str, Any]:
    """How the recipe's own threshold does: of its silences, how many were right; of all due, how many came.

    As if there were as many questions of one kind as of the other.
    """
    precision = round(right / (wrong + right), 4) if wrong + right else None
    return {"precision": precision, "recall": right, "answers kept": round(1 - wrong, 4)}


def crossed(labelled: LabelledSet) -> list[LabelledQuestion]:
    """The same questions, each put to the haystack of another."""
    chance = random.Random(3)
    haystacks = sorted({memory.collection for memory in labelled.memories})
    if len(haystacks) < 2:
        return []
    homes = {memory.id: memory.collection for memory in labelled.memories}
    crossed = []
    for question in sample(labelled.answerable):
        home = homes[next(iter(question.relevant))]
        other = chance.choice([each for each in haystacks if each != home])
        crossed.append(replace(question, relevant={}, filter=Filter(collection=other)))
    return crossed


def sample(questions: Sequence[LabelledQuestion]) -> Sequence[LabelledQuestion]:
    return questions if len(questions) <= MOST else random.Random(5).sample(questions, MOST)


def _confidences(answers: Sequence[RecallAnswer]) -> NDArray[np.float64]:
    return np.array([answer.confidence for answer in answers])


def _share(kept: NDArray[np.bool_]) -> float:
    return round(float(kept.mean()), 4)
