"""Fuzzy: several look-ups in turn as one cue, each match weighed by what is known of the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import Chosen, Expr, leaf
from recollect.recall.hits import Found, nothing
from recollect.recall.recipe import Cue, Depth
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows
from recollect.systems.abmind.full_text_score import Worth


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """One look-up after the other; a memory counts once, as the first found it, and is scored by its worth (A3, A5).

    The last resort is asked only when all others together found fewer than k.
    """

    name: str
    lookups: Sequence[Cue]
    last_resort: Cue
    worth: Worth
    depth: Depth

    def find(self, run: Run) -> Found:
        detail: dict[str, object] = {}
        found = [self._looked_up(run, each, detail) for each in self.lookups]
        if len({key for each in found for key in each.keys.tolist()}) < run.k:
            found.append(self._looked_up(run, self.last_resort, detail))
        else:
            detail[self.last_resort.name] = f"not needed: {run.k} are found"
        first: dict[int, tuple[int, int]] = {}
        for number, each in enumerate(found):
            fresh = len(first)
            for place, key in enumerate(each.keys.tolist()):
                first.setdefault(key, (number, place))
            if len(each.keys):
                detail[each.cue] = len(first) - fresh
        if not first and not run.question.terms:
            raise Skip("the question has no words to look up")
        keys = np.array(list(first), dtype=np.int64)
        where = np.array(list(first.values()), dtype=np.int64).reshape(-1, 2)
        score = self.worth.of(run, keys, Chosen(tuple(each.score for each in found), where[:, 0], where[:, 1]))
        best = np.lexsort((keys, -score.values))[: self.depth(run.k)]
        return Found(self.name, keys[best], score.take(best), len(keys), {"how": _told(found, detail), **detail})

    def score(self, run: Run, rows: Rows) -> Expr:
        """As find scores them: by the first look-up that knows them; 0 where none does."""
        scored = [expr for cue in (*self.lookups, self.last_resort) if (expr := _scored(run, cue, rows)) is not None]
        unknown = leaf(np.zeros(len(rows)), f"{self.name}: no word in common")
        if not scored:
            return unknown
        has = np.array([np.broadcast_to(expr.values, (len(rows),)) > 0 for expr in scored])
        here = np.arange(len(rows))
        first, found = np.argmax(has, axis=0), np.asarray(has.any(axis=0), dtype=np.int64)
        worth = self.worth.of(run, rows, Chosen(tuple(scored), first, here))
        return Chosen((unknown, worth), found, here)

    def _looked_up(self, run: Run, cue: Cue, detail: dict[str, object]) -> Found:
        try:
            found = cue.find(run)
        except Skip as skip:
            detail[cue.name] = str(skip)
            return nothing(cue.name)
        detail[cue.name] = 0
        detail.update({f"{name} ({cue.name})": value for name, value in found.detail.items() if value})
        return found


def _scored(run: Run, cue: Cue, rows: Rows) -> Expr | None:
    try:
        return cue.score(run, rows)
    except Skip:
        return None


def _told(found: Sequence[Found], fresh: Mapping[str, object]) -> str:
    """Which words brought memories: ``full text on “database”, “project”; trigrams on “databases”``."""
    told = []
    for each in found:
        words = [
            word for word, count in (each.detail.get("terms") or each.detail.get("instead") or {}).items() if count
        ]
        if words and len(each.keys) and fresh[each.cue]:
            told.append(f"{each.cue} on " + ", ".join(f"“{word}”" for word in words[:6]) + " …" * (len(words) > 6))
    return "; ".join(told) or "no word in common with any memory"
