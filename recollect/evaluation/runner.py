"""Runs labelled questions against a Mind through its public API, without recording use."""

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
from recollect.evaluation.dataset import LabelledQuestion
from recollect.ingest.writer import Progress
from recollect.mind import Mind
from recollect.model import Memory
from recollect.recall.recipe import Recipe
from recollect.recall.results import Recall

DEPTH = 10  # results per question that are scored


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """The ids (or external ids) of the results, best first, the confidence, and the processor time."""

    ids: tuple[str, ...]
    confidence: float
    cpu_seconds: float


class SettableClock:
    """A clock that shows the time that was set, or else the current time."""

    now: datetime | None = None

    def __call__(self) -> datetime:
        return self.now or datetime.now(UTC)


class RecallRunner:
    """Recalls for labelled questions. With a clock to set, an evaluation gives the same results on any day."""

    def __init__(self, mind: Mind, clock: SettableClock | None = None) -> None:
        self.mind = mind
        self._clock = clock

    def recall(
        self, question: LabelledQuestion, recipe: str | Recipe = "default", k: int = DEPTH, **options: Any
    ) -> Recall:
        if self._clock is not None:
            self._clock.now = question.asked_at
        elif question.asked_at is not None:
            raise InvalidInput(f"“{question.text}” has an asked_at of its own; open the memory with open_runner(path).")
        arguments = {"filter": question.filter, "as_of": question.as_of, "history": question.history, **options}
        return self.mind.recall(question.text, k, recipe=recipe, track=False, **arguments)

    def answer(
        self, question: LabelledQuestion, recipe: str | Recipe = "default", k: int = DEPTH, **options: Any
    ) -> RecallAnswer:
        start = time.process_time()
        recall = self.recall(question, recipe, k, **options)
        cpu_seconds = time.process_time() - start
        return RecallAnswer(tuple(_label(each.memory, question) for each in recall), confidence(recall), cpu_seconds)

    def answers(
        self,
        questions: Sequence[LabelledQuestion],
        recipe: str | Recipe = "default",
        k: int = DEPTH,
        progress: Progress | None = None,
        **options: Any,
    ) -> list[RecallAnswer]:
        """All answers. The processor time is that of the whole process, so nothing else should run in it."""
        answers = []
        for question in questions[:1]:
            self.recall(question, recipe, k, **options)  # loads models and caches, which is no question's cost
        for number, question in enumerate(questions, 1):
            answers.append(self.answer(question, recipe, k, **options))
            if progress is not None:
                progress(number, len(questions))
        return answers


@contextmanager
def open_runner(path: str | PathLike[str], embedder: Embedder | str | None = "local") -> Iterator[RecallRunner]:
    """Open a memory whose clock shows each question's ``asked_at``."""
    clock = SettableClock()
    with Mind(path, embedder=embedder, clock=clock) as mind:
        yield RecallRunner(mind, clock)


def confidence(recall: Recall) -> float:
    """The confidence of a recall, or its best score when the recipe has no confidence."""
    if recall.confidence is not None:
        return recall.confidence
    return max((each.score for each in recall), default=0.0)


def _label(memory: Memory, question: LabelledQuestion) -> str:
    """The id by which the question may list the memory."""
    return memory.id if memory.id in question.relevant else memory.external_id or memory.id
