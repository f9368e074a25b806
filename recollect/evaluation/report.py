"""The report of an evaluation: recipes side by side with their differences, as data and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, RecollectError
from recollect.evaluation.dataset import LabelledQuestion, LabelledSet
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


WORST = 20  # questions listed as answered worst


@dataclass(frozen=True, slots=True)
class QualityGate:
    """The minimum that a measure must reach, for every recipe."""

    measure: str
    minimum: float

    @classmethod
    def parse(cls, text: str) -> QualityGate:
        """From ``ndcg@10=0.6``, in upper or lower case."""
        name, _, minimum = text.partition("=")
        measure = next((each for each in MEASURES if each.lower() == name.strip().lower()), None)
        if measure is not None and re.fullmatch(r"\s*(0|1|0?\.\d+|1\.0+)\s*", minimum):
            return cls(measure, float(minimum))
        raise InvalidInput(
            f"A quality gate is a measure and a number from 0 to 1, such as ndcg@10=0.6, not {text!r}; "
            f"the measures are {', '.join(MEASURES)}."
        )


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The scores of each recipe on the same questions, in the order in which the recipes were named."""

    name: str
    scores: tuple[RecipeScores, ...]
    worst: tuple[tuple[LabelledQuestion, RecallAnswer], ...]  # of the first recipe
    abstention: dict[str, float]  # by recipe: ROC AUC of its confidence for questions with and without an answer
    unanswerable: int

    def failed(self, gates: Sequence[QualityGate]) -> list[str]:
        return [
            f"{scores.name}: {gate.measure} is {scores.mean(gate.measure):.4f}, below {gate.minimum:g}"
            for gate in gates
            for scores in self.scores
            if scores.mean(gate.measure) < gate.minimum
        ]

    def as_dict(self) -> dict[str, Any]:
        first, *others = self.scores
        return {
            "name": self.name,
            "questions": len(first.categories),
            "unanswerable": self.unanswerable,
            "recipes": {each.name: each.as_dict() for each in self.scores},
            "differences": {
                each.name: {
                    measure: [round(value, 4) for value in (gain.mean, gain.low, gain.high)]
                    for measure in MEASURES
                    for gain in [paired_difference(each, first, measure)]
                }
                for each in others
            },
            "silence": self.abstention,
            "worst": [
                {"query": question.text, "relevant": list(question.relevant), "found": list(answer.ids)}
                for question, answer in self.worst
            ],
        }

    def markdown(self) -> str:
        data = self.as_dict()
        introduction = (
            f"{data['questions']} questions with an answer, {self.unanswerable} without. In brackets: 95% confidence "
            "intervals (bootstrap). After them: the difference to the first recipe, with a star when it is "
            "statistically significant."
        )
        sections = [
            f"# Recall quality of {self.name}",
            introduction,
            table(("measure", *data["recipes"]), self.rows(data)),
        ]
        if categories := data["recipes"][self.scores[0].name]["categories"]:
            head = ("category", "questions", *(f"{each.name} R@10 / NDCG@10" for each in self.scores))
            sections += ["## By category", table(head, [self._category(data, each) for each in categories])]
        if self.worst:
            missed = [f"- {question.text} (expected {', '.join(question.relevant)})" for question, _ in self.worst]
            sections += [f"## Where {self.scores[0].name} does worst", "\n".join(missed)]
        return "\n\n".join(sections) + "\n"

    def rows(self, data: dict[str, Any]) -> list[tuple[str, ...]]:
        """One row per measure, one column per recipe: the mean, its interval and the difference to the first recipe."""
        rows = [(measure, *(self._cell(data, each.name, measure) for each in self.scores)) for measure in MEASURES]
        if self.abstention:
            rows.append(("AUC of silence", *(f"{self.abstention[each.name]:.3f}" for each in self.scores)))
        rows.append(("CPU ms a question", *(f"{data['recipes'][each.name]['cpu_ms']:.1f}" for each in self.scores)))
        return rows

    def _cell(self, data: dict[str, Any], name: str, measure: str) -> str:
        values = data["recipes"][name]
        low, high = values["intervals"][measure]
        cell = f"{values[measure]:.3f} [{low:.3f}–{high:.3f}]"
        if name in data["differences"]:
            gain, least, most = data["differences"][name][measure]
            cell += f" {gain:+.3f}{'' if least <= 0 <= most else '*'}"  # a star: significant
        return cell

    def _category(self, data: dict[str, Any], category: str) -> tuple[str, ...]:
        parts = [data["recipes"][each.name]["categories"][category] for each in self.scores]
        return category, str(parts[0]["questions"]), *(f"{each['R@10']:.3f} / {each['NDCG@10']:.3f}" for each in parts)


def build_report(labelled: LabelledSet, answers: dict[str, Sequence[RecallAnswer]]) -> EvaluationReport:
    """Score every recipe's answers to all of the questions."""
    scores = [score_answers(name, labelled.questions, each) for name, each in answers.items()]
    abstention = {
        name: roc_auc(
            [each.confidence for each, question in zip(recipe, labelled.questions, strict=True) if question.relevant],
            [
                each.confidence
                for each, question in zip(recipe, labelled.questions, strict=True)
                if not question.relevant
            ],
        )
        for name, recipe in answers.items()
        if labelled.unanswerable
    }
    first = next(iter(answers.values()))
    pairs = [pair for pair in zip(labelled.questions, first, strict=True) if pair[0].relevant]
    order = np.argsort(scores[0].values["NDCG@10"], kind="stable")[:WORST].tolist()
    worst = tuple(pairs[at] for at in order if scores[0].values["R@10"][at] < 1)
    return EvaluationReport(labelled.name, tuple(scores), worst, abstention, len(labelled.unanswerable))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
