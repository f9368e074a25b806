"""Plans that run several cues (all, until k are found, until one finds something, once), and wrappers of one cue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn, cast

import numpy as np

from recollect.protocols import supports
from recollect.recall.expressions import Expression
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Cue, CuePlan, EmbeddingCue
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows


class AllCues:
    """Runs all cues; one that fails or finds nothing does not affect the others.

    Cues may read what earlier ones found. With a deadline, or with ``embed_in_thread``, the query is embedded in a
    thread while other cues run.
    """

    def __init__(self, *parts: Cue | CuePlan, embed_in_thread: bool = False) -> None:
        self._parts = parts
        self._embed_in_thread = embed_in_thread

    def gather(self, run: Run) -> list[Candidates]:
        if (self._embed_in_thread or run.deadline is not None) and _needs_vector(self.cues()):
            run.start_vector()
        return [found for part in self._parts for found in run_part(part, run)]

    def cues(self) -> list[Cue]:
        return [cue for part in self._parts for cue in cues_in(part)]


class UntilFilled:
    """Runs the first cue, and the rest only while fewer than k memories are found; the trace names those skipped.

    The query is embedded in a thread while the first cue runs, and the vector is not awaited when that suffices.
    """

    def __init__(self, first: Cue | CuePlan, *rest: Cue | CuePlan) -> None:
        self._parts = (first, *rest)

    def gather(self, run: Run) -> list[Candidates]:
        if _needs_vector(self.cues()):
            run.start_vector()
        found = run_part(self._parts[0], run)
        names = ", ".join(each.cue for each in found)
        keys = {key for each in found for key in each.keys.tolist()}
        for part in self._parts[1:]:
            if len(keys) >= run.k:
                for cue in cues_in(part):
                    run.skip(cue, f"{names} found {run.k} already")
                    found.append(no_candidates(cue.name))
            else:
                added = run_part(part, run)
                found += added
                keys |= {key for each in added for key in each.keys.tolist()}
        return found

    def cues(self) -> list[Cue]:
        return [cue for part in self._parts for cue in cues_in(part)]


class RetryLadder:
    """Runs one cue after the other until one finds something; the candidates have the name of the first cue.

    A cue that fails ends it: retries are for empty answers, not for errors.
    """

    def __init__(self, *cues: Cue) -> None:
        self._cues = cues

    def gather(self, run: Run) -> list[Candidates]:
        name = self._cues[0].name
        found = no_candidates(name)
        for cue in self._cues:
            tried = run.find(cue)
            if len(tried.keys):
                found = replace(tried, cue=name)
                break
            if run.trace.steps[-1].outcome == "failed":
                break
        run.found[name] = found
        return [found]

    def cues(self) -> list[Cue]:
        return list(self._cues)


class CachedPlan:
    """Runs the cues once for a query that is repeated with other settings of fusion and stages, as tuning does.

    The candidates are valid for one version of the store.
    """

    def __init__(self, plan: CuePlan) -> None:
        self._plan = plan
        self._first: tuple[Run, list[Candidates]] | None = None
        self._cues: list[Cue] = []

    def gather(self, run: Run) -> list[Candidates]:
        if self._first is None or self._first[0].trace.version != run.trace.version:
            self._first = run, self._plan.gather(run)
            self._cues = [_CachedScores(cue) for cue in self._plan.cues()]
        first, found = self._first
        run.reuse(first)
        return found

    def cues(self) -> list[Cue]:
        return self._cues or self._plan.cues()


class _CachedScores:
    """A cue that reuses its last scores while the rows are the same."""

    def __init__(self, cue: Cue) -> None:
        self.name = cue.name
        self.find = cue.find
        self._cue = cue
        self._last: tuple[Rows, Expression] | None = None

    def score(self, run: Run, rows: Rows) -> Expression:
        if self._last is None or not np.array_equal(self._last[0], rows):
            self._last = rows, self._cue.score(run, rows)
        return self._last[1]


def run_part(part: Cue | CuePlan, run: Run) -> list[Candidates]:
    return [run.find(cast(Cue, part))] if hasattr(part, "find") else part.gather(run)


def cues_in(part: Cue | CuePlan) -> list[Cue]:
    return [cast(Cue, part)] if hasattr(part, "find") else part.cues()


def _needs_vector(cues: list[Cue]) -> bool:
    return any(supports(cue, EmbeddingCue) and cue.needs_vector for cue in cues)


@dataclass(frozen=True, slots=True)
class MinimumScoreCue:
    """The candidates of another cue that reach a score."""

    cue: Cue
    minimum: float
    how: str = ""  # for the report of stages

    @property
    def name(self) -> str:
        return self.cue.name

    @property
    def needs_vector(self) -> bool:
        return _needs_vector([self.cue])

    def find(self, run: Run) -> Candidates:
        found = self.cue.find(run)
        enough = np.flatnonzero(found.score.values >= self.minimum)
        detail = {"how": self.how or f"at least {self.minimum:g}", **found.detail, "least": self.minimum}
        return replace(found, keys=found.keys[enough], score=found.score.take(enough), detail=detail)

    def score(self, run: Run, rows: Rows) -> Expression:
        return self.cue.score(run, rows)


@dataclass(frozen=True, slots=True)
class DisabledCue:
    """A cue that does not run; the trace gives the reason."""

    name: str
    reason: str

    def find(self, run: Run) -> NoReturn:
        raise Skip(self.reason)

    def score(self, run: Run, rows: Rows) -> NoReturn:
        raise Skip(self.reason)
