"""How several cues run together: all of them, until there are enough, one after the other, or only once."""

from __future__ import annotations

from typing import cast

import numpy as np

from recollect.recall.expressions import Expr
from recollect.recall.hits import Found, nothing
from recollect.recall.recipe import Cue, Plan
from recollect.recall.run import Run
from recollect.store.base import Rows


class Parallel:
    """All of them, each on its own: one that fails or has nothing leaves the others their say.

    Cues may read what those before them found. With a deadline, or with ``beside``, the question is embedded in a
    thread while other cues look.
    """

    def __init__(self, *parts: Cue | Plan, beside: bool = False) -> None:
        self._parts = parts
        self._beside = beside

    def gather(self, run: Run) -> list[Found]:
        if (self._beside or run.deadline is not None) and any(getattr(cue, "embeds", False) for cue in self.cues()):
            run.start_vector()
        return [found for part in self._parts for found in gathered(part, run)]

    def cues(self) -> list[Cue]:
        return [cue for part in self._parts for cue in cues_of(part)]


class Until:
    """The first; and the rest only while fewer than k memories are found. What is skipped says so in the trace.

    The question is embedded beside the first, and dropped unawaited when that fills the places.
    """

    def __init__(self, first: Cue | Plan, *rest: Cue | Plan) -> None:
        self._parts = (first, *rest)

    def gather(self, run: Run) -> list[Found]:
        if any(getattr(cue, "embeds", False) for cue in self.cues()):
            run.start_vector()
        found = gathered(self._parts[0], run)
        names = ", ".join(each.cue for each in found)
        keys = {key for each in found for key in each.keys.tolist()}
        for part in self._parts[1:]:
            if len(keys) >= run.k:
                for cue in cues_of(part):
                    run.skip(cue, f"{names} filled the {run.k} places")
                    found.append(nothing(cue.name))
            else:
                more = gathered(part, run)
                found += more
                keys |= {key for each in more for key in each.keys.tolist()}
        return found

    def cues(self) -> list[Cue]:
        return [cue for part in self._parts for cue in cues_of(part)]


class Ladder:
    """One rung after the other until one finds something; all rungs give their find the name of the first.

    A rung that fails ends the ladder: it is for empty answers, not for broken ones.
    """

    def __init__(self, *rungs: Cue) -> None:
        self._rungs = rungs

    def gather(self, run: Run) -> list[Found]:
        name = self._rungs[0].name
        found = nothing(name)
        for rung in self._rungs:
            tried = run.find(rung)
            if len(tried.keys):
                found = Found(name, tried.keys, tried.score, tried.total, tried.detail)
                break
            if run.trace.steps[-1].outcome == "failed":
                break
        run.found[name] = found
        return [found]

    def cues(self) -> list[Cue]:
        return list(self._rungs)


class Once:
    """For one question that is asked again and again with other numbers after the cues: they look only the first time.

    What was found is good for one version of the file.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._first: tuple[Run, list[Found]] | None = None
        self._cues: list[Cue] = []

    def gather(self, run: Run) -> list[Found]:
        if self._first is None or self._first[0].trace.version != run.trace.version:
            self._first = run, self._plan.gather(run)
            self._cues = [_Scored(cue) for cue in self._plan.cues()]
        first, found = self._first
        run.take_over(first)
        return found

    def cues(self) -> list[Cue]:
        return self._cues or self._plan.cues()


class _Scored:
    """A cue that keeps its last scores, for as long as the same rows are asked for."""

    def __init__(self, cue: Cue) -> None:
        self.name = cue.name
        self.find = cue.find
        self._cue = cue
        self._kept: tuple[Rows, Expr] | None = None

    def score(self, run: Run, rows: Rows) -> Expr:
        if self._kept is None or not np.array_equal(self._kept[0], rows):
            self._kept = rows, self._cue.score(run, rows)
        return self._kept[1]


def gathered(part: Cue | Plan, run: Run) -> list[Found]:
    return [run.find(cast(Cue, part))] if hasattr(part, "find") else part.gather(run)


def cues_of(part: Cue | Plan) -> list[Cue]:
    return [cast(Cue, part)] if hasattr(part, "find") else part.cues()
