"""Stages that run only when something holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollect.recall.hits import Hits, Operation
from recollect.recall.recipe import Stage
from recollect.recall.run import Run, Skip

Condition = Callable[[Run, Hits], str]  # the reason not to run, or an empty string


@dataclass(frozen=True, slots=True)
class When:
    """A stage, unless a condition gives a reason against it."""

    stage: Stage
    unless: Condition

    @property
    def name(self) -> str:
        return self.stage.name

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        reason = self.unless(run, hits)
        if reason:
            raise Skip(reason)
        return self.stage.apply(run, hits)
