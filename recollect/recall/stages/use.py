"""After: the mark that a recall leaves on what it returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recollect.recall.run import Run
from recollect.store.base import Store, Touch


@dataclass(frozen=True, slots=True)
class Touching:
    """Count the use of what was returned."""

    counters: tuple[Literal["access", "return", "recall"], ...] = ("access",)
    name: str = "touch"

    def record(self, run: Run, store: Store, rows: list[int]) -> None:
        store.touch(Touch(rows, run.asked, self.counters))
