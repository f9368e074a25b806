"""Fusions: several ranked lists into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recollect.recall.arithmetic import Chosen, Expr, Taken, difference, leaf, product, ratio, total
from recollect.recall.hits import Found, Hits
from recollect.recall.recipe import Cue
from recollect.recall.run import Run
from recollect.store.base import Rows


@dataclass(frozen=True, slots=True)
class Share:
    """A cue's share of the score: its weight, and what its own score is measured against."""

    cue: str
    weight: float
    over: Literal["best", "range"]  # score ÷ best, or (score − worst) ÷ (best − worst), among the first page


class Blend:
    """Σ weight × normalised score, over every candidate that any cue found.

    Each cue scores all candidates, its own and the others', and scores are normalised over the first page of them.
    So a score does not depend on how many results are asked for.
    """

    name = "blend"

    def __init__(self, *shares: Share, page: int = 100) -> None:
        self.shares = shares
        self.page = page

    def fuse(self, run: Run, found: list[Found]) -> Hits:
        active = [each for each in found if len(each.keys)]
        run.note("mode", " + ".join(each.cue for each in active) or "nothing found")
        keys = np.unique(np.concatenate([each.keys for each in active])) if active else np.empty(0, np.int64)
        pages = np.full(len(keys), np.iinfo(np.int64).max)
        for each in active:
            places = each.places(keys)
            pages = np.where(places >= 0, np.minimum(pages, places // self.page), pages)
        cues = {cue.name: cue for cue in run.recipe.cues.cues()}
        by_cue = {each.cue: each for each in active}
        parts = [
            self._part(run, share, cues[share.cue], by_cue[share.cue], keys, pages == 0)
            for share in self.shares
            if share.cue in by_cue
        ]
        score = total("blend", *parts) if parts else leaf(np.zeros(len(keys)), "blend")
        return Hits(keys, score, pages).sorted()

    def _part(
        self,
        run: Run,
        share: Share,
        cue: Cue,
        found: Found,
        keys: Rows,
        first: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> Expr:
        raw = _scored(run, cue, found, keys)
        best = float(raw.values[first].max())
        worst = float(raw.values[first].min()) if share.over == "range" else 0.0
        weight = leaf(share.weight, f"weight of {share.cue}")
        if best <= worst:  # nothing to tell them apart by
            return product(share.cue, weight, leaf(np.where(raw.values > 0, 1.0, 0.0), "all the same"))
        if share.over == "best":
            return product(share.cue, weight, ratio("÷ best", raw, leaf(best, "best score")))
        above = difference("above the worst", raw, leaf(worst, "worst score"))
        return product(share.cue, weight, ratio("÷ range", above, leaf(best - worst, "best − worst")))


def _scored(run: Run, cue: Cue, found: Found, keys: Rows) -> Expr:
    """The cue's score of every candidate: as it found them, and asked for the others."""
    places = found.places(keys)
    others = places < 0
    if not others.any():
        return Taken(found.score, places)
    asked = cue.score(run, keys[others])
    return Chosen((found.score, asked), others.astype(np.int64), np.where(others, np.cumsum(others) - 1, places))
