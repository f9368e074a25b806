"""Query expansion: the cues run again for other wordings of the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from recollect.recall.hits import Candidates
from recollect.recall.recipe import Cue
from recollect.recall.run import Run, Skip

ExpandQuery = Callable[[str], Sequence[str]]


class QueryExpansion:
    """Runs the cues for the query and, unless that gave a strong signal, for each of its expansions."""

    def __init__(self, *cues: Cue, expand: ExpandQuery | None, skip_reason: Callable[[Run], str]) -> None:
        self._cues = cues
        self._expand = expand
        self._skip_reason = skip_reason

    def gather(self, run: Run) -> list[Candidates]:
        found = [run.find(cue) for cue in self._cues]
        variants: Sequence[str] = ()
        with run.step("cue", "expansion"):
            variants = self._variants(run)
            run.log("variants", list(variants))
        for number, text in enumerate(variants, 1):
            with run.with_query(text):
                found += [run.find(_renamed(cue, f"{cue.name} {number}")) for cue in self._cues]
        return found

    def _variants(self, run: Run) -> Sequence[str]:
        if self._expand is None:
            raise Skip("no query expansion is configured")
        reason = self._skip_reason(run)
        if reason:
            raise Skip(reason)
        return [text for text in self._expand(run.query.text) if text.strip()]

    def cues(self) -> list[Cue]:
        return list(self._cues)


def strong_signal(cue: str, top: float, gap: float) -> Callable[[Run], str]:
    """Gives a reason to skip when the best of a cue is clearly ahead; its scores count as r ÷ (1 + r)."""

    def reason(run: Run) -> str:
        scores = run.found[cue].score.values[:2]
        first, second = [*(scores / (1 + scores)).tolist(), 0.0, 0.0][:2]
        run.log("top", round(first, 4))
        if first >= top and first - second >= gap:
            return f"strong signal: {cue} has {first:.2f} at the top, {first - second:.2f} ahead"
        return ""

    return reason


def _renamed(cue: Any, name: str) -> Cue:
    renamed: Cue = replace(cue, name=name)
    return renamed
