"""Putting labelled questions to a mind: through its public verbs, and without leaving a mark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from recollect.embed import Embedder
from recollect.errors import InvalidInput
from recollect.evaluation.dataset import Question
from recollect.ingest.writer import Progress
from recollect.mind import Mind
from recollect.model import Memory
from recollect.recall.recipe import Recipe
from recollect.recall.results import Recall

DEPTH = 10  # results that a question is judged by


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: external ids (or ids), best first; how sure the mind was; and seconds of processor time."""

    found: tuple[str, ...]
    confidence: float
    cpu: float


class Moment:
    """A clock that shows what it is told to, or else the time."""

    now: datetime | None = None

    def __call__(self) -> datetime:
        return self.now or datetime.now(UTC)


class Asker:
    """A mind to put questions to. With its clock in hand, an evaluation gives the same on any day."""

    def __init__(self, mind: Mind, clock: Moment | None = None) -> None:
        self.mind = mind
        self._clock = clock

    def recall(self, question: Question, recipe: str | Recipe = "default", k: int = DEPTH, **options: Any) -> Recall:
        if self._clock is not None:
            self._clock.now = question.asked
        elif question.asked is not None:
            raise InvalidInput(f"“{question.text}” has a moment of its own; open the mind with asking(path).")
        said = {"filter": question.filter, "as_of": question.as_of, **options}
        return self.mind.recall(question.text, k, recipe=recipe, track=False, **said)

    def answer(self, question: Question, recipe: str | Recipe = "default", k: int = DEPTH, **options: Any) -> Answer:
        start = time.process_time()
        recall = self.recall(question, recipe, k, **options)
        taken = time.process_time() - start
        return Answer(tuple(_name(each.memory, question) for each in recall), confidence(recall), taken)

    def answers(
        self,
        questions: Sequence[Question],
        recipe: str | Recipe = "default",
        k: int = DEPTH,
        progress: Progress | None = None,
        **options: Any,
    ) -> list[Answer]:
        """All questions, one after the other. Processor time is this process's, so nothing else should run in it."""
        answers = []
        for question in questions[:1]:
            self.recall(question, recipe, k, **options)  # what is loaded once is no question's cost
        for number, question in enumerate(questions, 1):
            answers.append(self.answer(question, recipe, k, **options))
            if progress is not None:
                progress(number, len(questions))
        return answers


@contextmanager
def asking(path: str | PathLike[str], embedder: Embedder | str | None = "local") -> Iterator[Asker]:
    """A mind whose clock shows the moment of each question, for as long as the block lasts."""
    clock = Moment()
    with Mind(path, embedder=embedder, clock=clock) as mind:
        yield Asker(mind, clock)


def confidence(recall: Recall) -> float:
    """How sure the mind is that it found something: its own word, or the best score where it has none."""
    if recall.confidence is not None:
        return recall.confidence
    return max((each.score for each in recall), default=0.0)


def _name(memory: Memory, question: Question) -> str:
    """The name under which the question may list it."""
    return memory.id if memory.id in question.relevant else memory.external_id or memory.id
