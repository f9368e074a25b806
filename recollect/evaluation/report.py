"""The outcome of an evaluation: recipes side by side, with what separates them, as data and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import Labelled, Question
from recollect.evaluation.measures import MEASURES, Scores, difference, score, separation
from recollect.evaluation.runner import Answer

WORST = 20  # questions to look at first


@dataclass(frozen=True, slots=True)
class Gate:
    """The least that a measure must reach, for every recipe."""

    measure: str
    least: float

    @classmethod
    def of(cls, text: str) -> Gate:
        """From ``ndcg@10=0.6``; capitals do not matter."""
        name, _, least = text.partition("=")
        measure = next((each for each in MEASURES if each.lower() == name.strip().lower()), None)
        if measure is not None and re.fullmatch(r"\s*(0|1|0?\.\d+|1\.0+)\s*", least):
            return cls(measure, float(least))
        raise InvalidInput(
            f"A gate is a measure and a number from 0 to 1, such as ndcg@10=0.6, not {text!r}; "
            f"the measures are {', '.join(MEASURES)}."
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How each recipe did on the same questions, in the order in which they were named."""

    name: str
    scores: tuple[Scores, ...]
    worst: tuple[tuple[Question, Answer], ...]  # of the first recipe
    silence: dict[str, float]  # recipe: how well its confidence tells questions without an answer apart
    unanswerable: int

    def failed(self, gates: Sequence[Gate]) -> list[str]:
        return [
            f"{scores.name}: {gate.measure} is {scores.mean(gate.measure):.4f}, below {gate.least:g}"
            for gate in gates
            for scores in self.scores
            if scores.mean(gate.measure) < gate.least
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
                    for gain in [difference(each, first, measure)]
                }
                for each in others
            },
            "silence": self.silence,
            "worst": [
                {"query": asked.text, "relevant": list(asked.relevant), "found": list(answer.found)}
                for asked, answer in self.worst
            ],
        }

    def markdown(self) -> str:
        told = self.as_dict()
        about = (
            f"{told['questions']} questions with an answer, {self.unanswerable} without. In brackets: where the mean "
            "would lie with other questions of the same kind, 95 times in 100 (bootstrap). After it: what is gained "
            "over the first recipe, with a star when that is no accident of these questions."
        )
        sections = [
            f"# How well {self.name} is recalled",
            about,
            table(("measure", *told["recipes"]), self.rows(told)),
        ]
        if categories := told["recipes"][self.scores[0].name]["categories"]:
            head = ("category", "questions", *(f"{each.name} R@10 / NDCG@10" for each in self.scores))
            sections += ["## By category", table(head, [self._category(told, each) for each in categories])]
        if self.worst:
            missed = [f"- {asked.text} (expected {', '.join(asked.relevant)})" for asked, _ in self.worst]
            sections += [f"## Where {self.scores[0].name} does worst", "\n".join(missed)]
        return "\n\n".join(sections) + "\n"

    def rows(self, told: dict[str, Any]) -> list[tuple[str, ...]]:
        """A row a measure, a column a recipe: the mean with its interval, and what it gains over the first."""
        rows = [(measure, *(self._cell(told, each.name, measure) for each in self.scores)) for measure in MEASURES]
        if self.silence:
            rows.append(("AUC of silence", *(f"{self.silence[each.name]:.3f}" for each in self.scores)))
        rows.append(("CPU ms a question", *(f"{told['recipes'][each.name]['cpu_ms']:.1f}" for each in self.scores)))
        return rows

    def _cell(self, told: dict[str, Any], name: str, measure: str) -> str:
        values = told["recipes"][name]
        low, high = values["intervals"][measure]
        cell = f"{values[measure]:.3f} [{low:.3f}–{high:.3f}]"
        if name in told["differences"]:
            gain, least, most = told["differences"][name][measure]
            cell += f" {gain:+.3f}{'' if least <= 0 <= most else '*'}"  # a star: surely more or less than the first
        return cell

    def _category(self, told: dict[str, Any], category: str) -> tuple[str, ...]:
        parts = [told["recipes"][each.name]["categories"][category] for each in self.scores]
        return category, str(parts[0]["questions"]), *(f"{each['R@10']:.3f} / {each['NDCG@10']:.3f}" for each in parts)


def judge(labelled: Labelled, answers: dict[str, Sequence[Answer]]) -> Outcome:
    """The outcome of every recipe's answers to all of the questions."""
    scores = [score(name, labelled.questions, given) for name, given in answers.items()]
    silence = {
        name: separation(
            [each.confidence for each, asked in zip(given, labelled.questions, strict=True) if asked.relevant],
            [each.confidence for each, asked in zip(given, labelled.questions, strict=True) if not asked.relevant],
        )
        for name, given in answers.items()
        if labelled.unanswerable
    }
    first = next(iter(answers.values()))
    pairs = [pair for pair in zip(labelled.questions, first, strict=True) if pair[0].relevant]
    order = np.argsort(scores[0].values["NDCG@10"], kind="stable")[:WORST].tolist()
    worst = tuple(pairs[at] for at in order if scores[0].values["R@10"][at] < 1)
    return Outcome(labelled.name, tuple(scores), worst, silence, len(labelled.unanswerable))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
