"""The report of an evaluation: recipes side by side with their differences, as data and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import LabelledQuestion, LabelledSet
from recollect.evaluation.measures import MEASURES, RecipeScores, paired_difference, roc_auc, score_answers
from recollect.evaluation.runner import RecallAnswer

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
