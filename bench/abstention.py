"""Abstention: how well the confidence separates questions with an answer in the haystack from those without."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.evaluation import LabelledQuestion, LabelledSet, RecallAnswer, RecallRunner, roc_auc
from recollect.model import Filter

MOST = 300  # questions of a kind: enough for two digits
LEVELS = np.round(np.arange(0.0, 1.0001, 0.05), 2)


def silence(asker: RecallRunner, labelled: LabelledSet, recipe: str) -> dict[str, Any]:
    """Questions with an answer against those without, and against questions put to somebody else's haystack."""
    kinds = {"no answer": labelled.unanswerable, "other haystack": _crossed(labelled)}
    able = _sample(labelled.answerable)
    sure = _confidences(asker.answers(able, recipe))
    by = "confidence" if hasattr(asker.recall(able[0], recipe), "confidence") else "best score"
    told: dict[str, Any] = {"by": by, "kinds": {}}
    for kind, unable in kinds.items():
        if unable:
            unsure = _confidences(asker.answers(unable, recipe))
            kept = {f"{level:g}": [_share(sure >= level), _share(unsure >= level)] for level in LEVELS}
            told["kinds"][kind] = {"questions": [len(sure), len(unsure)], "auc": roc_auc(sure, unsure), "kept": kept}
            if "abstain" in signature(asker.mind.recall).parameters:
                told["kinds"][kind] |= _at_threshold(asker, able, unable, recipe)
    return told


def _at_threshold(
    asker: RecallRunner, able: Sequence[LabelledQuestion], unable: Sequence[LabelledQuestion], recipe: str
) -> dict[str, Any]:
    """How the product's own threshold does: of its silences, how many were right; of all due, how many came."""
    wrong, right = (
        sum(not answer.ids for answer in asker.answers(asked, recipe, abstain=True)) for asked in (able, unable)
    )
    # As if there were as many questions of one kind as of the other.
    shares = wrong / len(able), right / len(unable)
    return {
        "precision": round(shares[1] / sum(shares), 4) if sum(shares) else None,
        "recall": round(shares[1], 4),
        "answers kept": round(1 - shares[0], 4),
    }


def _crossed(labelled: LabelledSet) -> list[LabelledQuestion]:
    """The same questions, each put to the haystack of another."""
    chance = random.Random(3)
    haystacks = sorted({memory.collection for memory in labelled.memories})
    if len(haystacks) < 2:
        return []
    homes = {memory.id: memory.collection for memory in labelled.memories}
    crossed = []
    for question in _sample(labelled.answerable):
        home = homes[next(iter(question.relevant))]
        other = chance.choice([each for each in haystacks if each != home])
        crossed.append(replace(question, relevant={}, filter=Filter(collection=other)))
    return crossed


def _sample(questions: Sequence[LabelledQuestion]) -> Sequence[LabelledQuestion]:
    return questions if len(questions) <= MOST else random.Random(5).sample(questions, MOST)


def _confidences(answers: Sequence[RecallAnswer]) -> NDArray[np.float64]:
    return np.array([answer.confidence for answer in answers])


def _share(kept: NDArray[np.bool_]) -> float:
    return round(float(kept.mean()), 4)
