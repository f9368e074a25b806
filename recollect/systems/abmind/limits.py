"""Cues within limits: those that must reach a score, and those that are switched off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from recollect.recall.expressions import Expr
from recollect.recall.hits import Found
from recollect.recall.recipe import Cue
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class AtLeast:
    """What a cue finds with no less than a score."""

    cue: Cue
    least: float
    how: str = ""  # in the words of a stage report

    @property
    def name(self) -> str:
        return self.cue.name

    @property
    def embeds(self) -> bool:
        return bool(getattr(self.cue, "embeds", False))

    def find(self, run: Run) -> Found:
        found = self.cue.find(run)
        enough = np.flatnonzero(found.score.values >= self.least)
        detail = {"how": self.how or f"at least {self.least:g}", **found.detail, "least": self.least}
        return replace(found, keys=found.keys[enough], score=found.score.take(enough), detail=detail)

    def score(self, run: Run, rows: Rows) -> Expr:
        return self.cue.score(run, rows)


@dataclass(frozen=True, slots=True)
class Off:
    """A cue that does not run here; the trace says why."""

    name: str
    reason: str

    def find(self, run: Run) -> NoReturn:
        raise Skip(self.reason)

    def score(self, run: Run, rows: Rows) -> NoReturn:
        raise Skip(self.reason)
