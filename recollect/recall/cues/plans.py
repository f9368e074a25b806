"""How several cues run together: all of them, until there are enough, or one after the other until one finds."""

from __future__ import annotations

from typing import cast

from recollect.recall.hits import Found, nothing
from recollect.recall.recipe import Cue, Plan
from recollect.recall.run import Run


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


def gathered(part: Cue | Plan, run: Run) -> list[Found]:
    return [run.find(cast(Cue, part))] if hasattr(part, "find") else part.gather(run)


def cues_of(part: Cue | Plan) -> list[Cue]:
    return [cast(Cue, part)] if hasattr(part, "find") else part.cues()
