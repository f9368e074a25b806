"""How several cues run together."""

from __future__ import annotations

from recollect.recall.hits import Found
from recollect.recall.recipe import Cue
from recollect.recall.run import Run


class Alone:
    """One cue."""

    def __init__(self, cue: Cue) -> None:
        self._cue = cue

    def gather(self, run: Run) -> list[Found]:
        return [run.find(self._cue)]

    def cues(self) -> list[Cue]:
        return [self._cue]


class Parallel:
    """All cues, each on its own: one that fails or has nothing leaves the others their say.

    The question is embedded beside the first cue. Cues may read what those before them found.
    """

    def __init__(self, *cues: Cue) -> None:
        self._cues = cues

    def gather(self, run: Run) -> list[Found]:
        if any(getattr(cue, "embeds", False) for cue in self._cues):
            run.start_vector()
        return [run.find(cue) for cue in self._cues]

    def cues(self) -> list[Cue]:
        return list(self._cues)
