"""Expansion: the same cues once more, for other ways to say the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from recollect.recall.hits import Candidates
from recollect.recall.recipe import Cue
from recollect.recall.run import Run, Skip

ExpandQuery = Callable[[str], Sequence[str]]


class QueryExpansion:
    """The cues for the question itself; then, unless that already gave a strong signal, for each of its expansions."""

    def __init__(self, *cues: Cue, expand: ExpandQuery | None, strong: Callable[[Run], str]) -> None:
        self._cues = cues
        self._expand = expand
        self._strong = strong

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
            raise Skip("no way to expand the question is given")
        reason = self._strong(run)
        if reason:
            raise Skip(reason)
        return [text for text in self._expand(run.query.text) if text.strip()]

    def cues(self) -> list[Cue]:
        return list(self._cues)


def strong_signal(cue: str, top: float, gap: float) -> Callable[[Run], str]:
    """Is the best of a cue's list clearly ahead? Its scores count as r ÷ (1 + r)."""

    def judged(run: Run) -> str:
        scores = run.found[cue].score.values[:2]
        first, second = [*(scores / (1 + scores)).tolist(), 0.0, 0.0][:2]
        run.log("top", round(first, 4))
        if first >= top and first - second >= gap:
            return f"strong signal: {cue} has {first:.2f} at the top, {first - second:.2f} ahead"
        return ""

    return judged


def _renamed(cue: Any, name: str) -> Cue:
    renamed: Cue = replace(cue, name=name)
    return renamed
