"""How good the answers are: measures by ir-measures, means by category, and paired bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import RecollectError
from recollect.evaluation.dataset import Question
from recollect.evaluation.runner import Answer

Values = NDArray[np.float64]  # one a question

# Ours: theirs. "all@5" is the share of questions whose evidence is complete among the first five.
MEASURES = {
    "R@5": "R@5",
    "R@10": "R@10",
    "all@5": "R@5",
    "any@5": "Success@5",
    "NDCG@10": "nDCG@10",
    "MRR": "RR",
    "Hit@1": "Success@1",
}
ROUNDS = 2000  # resamplings of a bootstrap
FEW = 20  # values, of which a bootstrap alone is too sure
WITHIN = (2.5, 97.5)  # percent: a 95% interval


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and where it would lie with other questions of the same kind, 95 times in 100."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scores:
    """How one recipe (or another system) did: each measure's value for each question."""

    name: str
    values: dict[str, Values]
    categories: tuple[str, ...]  # one a question
    cpu: Values  # seconds a question

    def mean(self, measure: str, category: str | None = None) -> float:
        chosen = np.array([category in (None, each) for each in self.categories])
        return float(self.values[measure][chosen].mean())

    def as_dict(self) -> dict[str, Any]:
        spread = {name: interval(values) for name, values in self.values.items()}
        return {
            "questions": len(self.categories),
            **{name: round(each.mean, 4) for name, each in spread.items()},
            "intervals": {name: [round(each.low, 4), round(each.high, 4)] for name, each in spread.items()},
            "cpu_ms": round(float(np.median(self.cpu)) * 1e3, 3),
            "categories": {
                category: {
                    "questions": self.categories.count(category),
                    **{name: round(self.mean(name, category), 4) for name in self.values},
                }
                for category in sorted({*self.categories} - {""})
            },
        }


def score(name: str, questions: Sequence[Question], answers: Sequence[Answer]) -> Scores:
    """Judge the answers to questions that have one."""
    try:
        import ir_measures
    except ImportError:
        raise RecollectError("Evaluating needs ir-measures: pip install '.[eval]'.") from None
    asked = [(str(at), *pair) for at, pair in enumerate(zip(questions, answers, strict=True)) if pair[0].relevant]
    if not asked:
        raise RecollectError(f"No question of {name!r} names a relevant memory: there is nothing to measure.")
    qrels = {at: dict(question.relevant) for at, question, _ in asked}
    ranks = {at: {id: 1 / rank for rank, id in enumerate(answer.found, 1)} for at, _, answer in asked}
    theirs = {each: ir_measures.parse_measure(each) for each in set(MEASURES.values())}
    found: dict[str, dict[str, float]] = {each: {} for each in theirs}
    names = {str(measure): each for each, measure in theirs.items()}
    for metric in ir_measures.iter_calc(list(theirs.values()), qrels, ranks):
        found[names[str(metric.measure)]][metric.query_id] = metric.value
    values = {ours: np.array([found[each].get(at, 0.0) for at, _, _ in asked]) for ours, each in MEASURES.items()}
    values["all@5"] = (values["R@5"] >= 1.0).astype(np.float64)
    cpu = np.array([answer.cpu for _, _, answer in asked])
    return Scores(name, values, tuple(question.category for _, question, _ in asked), cpu)


def interval(values: Values, least: float = 0.0, seed: int = 0) -> Interval:
    """The mean and its bootstrap interval. Of paired differences, which are at least −1, it is the paired bootstrap.

    Resampling knows only what it has seen: three perfect answers would promise that all others are. So where values are
    few, or all the same, the two ends of the scale count as two questions more.
    """
    unsure = len(values) < FEW or np.ptp(values) == 0
    seen = np.append(values, [least, 1.0]) if unsure else values
    chosen = np.random.default_rng(seed).integers(0, len(seen), (ROUNDS, len(seen)))
    low, high = np.percentile(seen[chosen].mean(axis=1), WITHIN)
    mean = float(values.mean())
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def difference(a: Scores, b: Scores, measure: str) -> Interval:
    """How much better a is than b on the same questions."""
    return interval(a.values[measure] - b.values[measure], least=-1.0)


def separation(able: Sequence[float] | Values, unable: Sequence[float] | Values) -> float:
    """The area under the ROC curve: how often a question with an answer gets more confidence than one without."""
    order = np.sort(unable)
    below, up_to = np.searchsorted(order, able, "left"), np.searchsorted(order, able, "right")
    return round(float((below + up_to).sum() / (2 * len(able) * len(unable))), 4)
