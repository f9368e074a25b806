"""Scores answers: measures by ir-measures, means by category, paired bootstrap intervals and ROC AUC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import RecollectError
from recollect.evaluation.dataset import LabelledQuestion
from recollect.evaluation.runner import RecallAnswer

Values = NDArray[np.float64]  # one per question

# Our name: the name in ir-measures. "all@5" is the share of questions with all of their evidence in the first five.
MEASURES = {
    "R@5": "R@5",
    "R@10": "R@10",
    "all@5": "R@5",
    "any@5": "Success@5",
    "NDCG@10": "nDCG@10",
    "MRR": "RR",
    "Hit@1": "Success@1",
}
RESAMPLINGS = 2000  # of a bootstrap
FEW_VALUES = 20  # fewer than this, and a plain bootstrap is overconfident
PERCENTILES = (2.5, 97.5)  # a 95% interval


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecipeScores:
    """The scores of one recipe (or another system): each measure's value for each question."""

    name: str
    values: dict[str, Values]
    categories: tuple[str, ...]  # one per question
    cpu_seconds: Values  # one per question

    def mean(self, measure: str, category: str | None = None) -> float:
        chosen = np.array([category in (None, each) for each in self.categories])
        return float(self.values[measure][chosen].mean())

    def as_dict(self) -> dict[str, Any]:
        spread = {name: bootstrap_interval(values) for name, values in self.values.items()}
        return {
            "questions": len(self.categories),
            **{name: round(each.mean, 4) for name, each in spread.items()},
            "intervals": {name: [round(each.low, 4), round(each.high, 4)] for name, each in spread.items()},
            "cpu_ms": round(float(np.median(self.cpu_seconds)) * 1e3, 3),
            "categories": {
                category: {
                    "questions": self.categories.count(category),
                    **{name: round(self.mean(name, category), 4) for name in self.values},
                }
                for category in sorted({*self.categories} - {""})
            },
        }


def score_answers(name: str, questions: Sequence[LabelledQuestion], answers: Sequence[RecallAnswer]) -> RecipeScores:
    """Score the answers to the questions that have one."""
    try:
        import ir_measures
    except ImportError:
        raise RecollectError("Evaluating needs ir-measures: pip install '.[eval]'.") from None
    answered = [(str(at), *pair) for at, pair in enumerate(zip(questions, answers, strict=True)) if pair[0].relevant]
    if not answered:
        raise RecollectError(f"No question of {name!r} names a relevant memory: there is nothing to measure.")
    qrels = {at: dict(question.relevant) for at, question, _ in answered}
    run = {at: {id: 1 / rank for rank, id in enumerate(answer.ids, 1)} for at, _, answer in answered}
    parsed = {each: ir_measures.parse_measure(each) for each in set(MEASURES.values())}
    scores: dict[str, dict[str, float]] = {each: {} for each in parsed}
    names = {str(measure): each for each, measure in parsed.items()}
    for metric in ir_measures.iter_calc(list(parsed.values()), qrels, run):
        scores[names[str(metric.measure)]][metric.query_id] = metric.value
    values = {name: np.array([scores[each].get(at, 0.0) for at, _, _ in answered]) for name, each in MEASURES.items()}
    values["all@5"] = (values["R@5"] >= 1.0).astype(np.float64)
    cpu_seconds = np.array([answer.cpu_seconds for _, _, answer in answered])
    return RecipeScores(name, values, tuple(question.category for _, question, _ in answered), cpu_seconds)


def bootstrap_interval(values: Values, minimum: float = 0.0, seed: int = 0) -> Interval:
    """The mean and its bootstrap interval; given paired differences (``minimum`` −1), a paired bootstrap.

    Resampling three perfect answers would give an interval of no width. So when the values are few, or all equal, the
    two ends of the scale are added as two more values.
    """
    few = len(values) < FEW_VALUES or np.ptp(values) == 0
    sample = np.append(values, [minimum, 1.0]) if few else values
    chosen = np.random.default_rng(seed).integers(0, len(sample), (RESAMPLINGS, len(sample)))
    low, high = np.percentile(sample[chosen].mean(axis=1), PERCENTILES)
    mean = float(values.mean())
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def paired_difference(a: RecipeScores, b: RecipeScores, measure: str) -> Interval:
    """How much better a is than b on the same questions."""
    return bootstrap_interval(a.values[measure] - b.values[measure], minimum=-1.0)


def roc_auc(answerable: Sequence[float] | Values, unanswerable: Sequence[float] | Values) -> float:
    """The area under the ROC curve: how often a question with an answer has a higher confidence than one without."""
    order = np.sort(unanswerable)
    below, up_to = np.searchsorted(order, answerable, "left"), np.searchsorted(order, answerable, "right")
    return round(float((below + up_to).sum() / (2 * len(answerable) * len(unanswerable))), 4)
