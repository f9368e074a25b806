"""Fusions: several ranked lists into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.recall.expressions import Chosen, Expr, Taken, difference, largest, leaf, product, ratio, total
from recollect.recall.hits import Found, Hits
from recollect.recall.recipe import Cue
from recollect.recall.run import Run
from recollect.store.base import Rows
from recollect.text.kinds import is_code, is_lookup

Over = Literal["best", "range", "itself", "saturated"]
NARROW = 0.1


@dataclass(frozen=True, slots=True)
class Share:
    """A cue's share of the score: its weight, and how its own score is brought to a common scale.

    Cues whose scores are of one kind may share: ``plus`` names those that are added to the first before scaling.

    ``best``: score ÷ best; ``range``: (score − worst) ÷ (best − worst), both among the first page, and the worst at
    least ``NARROW`` below the best, or little would be made much of; ``itself``: max(0, score);
    ``saturated``: score ÷ (1 + score).
    """

    cue: str
    weight: float
    over: Over
    plus: tuple[str, ...] = ()


class Blend:
    """Σ weight × normalised score, over every candidate that any cue found.

    With ``fill``, each cue scores all candidates, its own and the others', and scores are normalised over the first
    page of them; so a score does not depend on how many results are asked for. Without it, what a cue did not find
    counts 0.

    Of a memory that a cue cannot judge (its score is NaN) the others decide: × Σ weight ÷ Σ weight of those that can.
    """

    name = "blend"

    def __init__(self, *shares: Share, page: int | None = None, fill: bool = True) -> None:
        self.shares = shares
        self.page = page
        self.fill = fill

    def fuse(self, run: Run, found: list[Found]) -> Hits:
        active = [each for each in found if len(each.keys)]
        run.note("mode", " + ".join(each.cue for each in active) or "nothing found")
        keys, places = _union(active)
        pages = _best(places) // self.page if self.page and active else np.zeros(len(keys), dtype=np.int64)
        cues = {cue.name: cue for cue in run.recipe.cues.cues()}
        by_cue = {each.cue: (each, at) for each, at in zip(active, places, strict=True)}
        parts: list[Expr] = []
        whole, judging = 0.0, np.zeros(len(keys))
        for share in self.shares:
            mine = [by_cue[name] for name in (share.cue, *share.plus) if name in by_cue]
            raw = [_scored(run, cues[each.cue], each, keys, at) if self.fill else _own(each, at) for each, at in mine]
            if raw:
                together = raw[0] if len(raw) == 1 else total(" + ".join(each.cue for each, _ in mine), *raw)
                silent = np.isnan(together.values)
                parts.append(_unless(silent, _share(share, together, (pages == 0) & ~silent), share.cue))
                whole, judging = whole + share.weight, judging + share.weight * ~silent
        score = total("blend", *parts) if parts else leaf(np.zeros(len(keys)), "blend")
        if (judging < whole).any():
            factor = np.divide(whole, judging, out=np.ones(len(keys)), where=judging > 0)
            score = product("for what cannot be judged", score, leaf(factor, "all weights ÷ those that judge"))
        return Hits(keys, score, pages).sorted()


class ByMaterial:
    """One blend or another, by what is asked and what was found: short texts or long ones, code, the look-up of a name,
    or a question in letters that the embedder was not taught, where vectors mean little.
    """

    name = "blend"
    SAMPLE = 4  # of the best of each cue that are looked at
    LONG = 50  # words

    def __init__(self, *, short: Blend, long: Blend, code: Blend, lookup: Blend, unread: Blend) -> None:
        self.blends = {"short": short, "long": long, "code": code, "lookup": lookup, "unread": unread}

    def fuse(self, run: Run, found: list[Found]) -> Hits:
        material = self._material(run, found)
        run.note("material", material)
        return self.blends[material].fuse(run, found)

    def _material(self, run: Run, found: list[Found]) -> str:
        if not run.understood():
            return "unread"
        if is_lookup(run.question.text):
            return "lookup"
        best = {key for each in found for key in each.keys[: self.SAMPLE].tolist()}
        texts = run.texts(np.array(list(best), dtype=np.int64))
        if sum(map(is_code, texts)) * 2 > len(texts):
            return "code"
        return "long" if sum(len(text.split()) > self.LONG for text in texts) * 2 > len(texts) else "short"


class ReciprocalRank:
    """Σ weight ÷ (k + rank + 1), ranks counted from 0. Lists commute: they are summed in the order of their names.

    Equal scores are ordered by age, the older first, or by path where a recipe asks for it.
    """

    name = "reciprocal rank"

    def __init__(
        self,
        k: float = 60,
        weights: Mapping[str, float] | None = None,
        bonus: Sequence[float] = (),  # added to what stands at these ranks of any list
        modes: Mapping[str, str] | None = None,  # a recipe's own names: {"vectors + words": "hybrid", …}
        by_path: bool = False,  # equal scores, by path (without one: the slug of the title, else the id), then id
    ) -> None:
        self.k = k if k > 0 else 60
        self.by_path = by_path
        self.weights = weights or {}
        self.bonus = bonus
        self.modes = modes or {}

    def fuse(self, run: Run, found: list[Found]) -> Hits:
        active = sorted((each for each in found if len(each.keys)), key=lambda each: each.cue)
        mode = " + ".join(each.cue for each in active) or "nothing found"
        run.note("mode", self.modes.get(mode, mode))
        keys, places = _union(active)
        absent = leaf(0.0, "not in this list")
        parts: list[Expr] = [Taken(self._terms(each), at, absent) for each, at in zip(active, places, strict=True)]
        if self.bonus and active:
            top = _best(places).tolist()
            extra = np.array([self.bonus[rank] if rank < len(self.bonus) else 0.0 for rank in top])
            parts.append(leaf(extra, "bonus for its best rank"))
        score = total("reciprocal rank", *parts) if parts else leaf(np.zeros(0), "reciprocal rank")
        hits = Hits(keys, score, np.zeros(len(keys), dtype=np.int64))
        return ties_by_path(run, hits) if self.by_path else hits.sorted()

    def _terms(self, found: Found) -> Expr:
        weight = self.weights.get(found.cue, 1.0)
        ranks = np.arange(len(found.keys), dtype=np.float64)
        below = leaf(self.k + ranks + 1, lambda at: f"{self.k:g} + rank {at} + 1")
        return ratio(found.cue, leaf(weight, f"weight of {found.cue}"), below)


class FirstCome:
    """Every candidate once, with the score of the first cue that found it."""

    name = "first come"

    def fuse(self, run: Run, found: list[Found]) -> Hits:
        run.note("candidates", sum(len(each.keys) for each in found))
        which: dict[int, tuple[int, int]] = {}
        for number, each in enumerate(found):
            before = len(which)
            for place, key in enumerate(each.keys.tolist()):
                which.setdefault(key, (number, place))
            run.trace.tell("cue", each.cue, "hits", len(which) - before)  # that no cue before it had found
        chosen = np.array(list(which.values()), dtype=np.int64).reshape(-1, 2)
        score = Chosen(tuple(each.score for each in found), chosen[:, 0], chosen[:, 1])
        return Hits(np.array(list(which), dtype=np.int64), score, np.zeros(len(which), dtype=np.int64)).sorted()


def ties_by_path(run: Run, hits: Hits) -> Hits:
    """By score, and equal scores in the order of their paths (or slugs of titles, or ids), then of their ids."""
    scores = hits.score.values
    order = np.argsort(-scores)
    same = scores[order[1:]] == scores[order[:-1]]
    tied = order[np.append(same, False) | np.append(False, same)] if len(order) else order
    names = run.paths(hits.keys[tied])
    if len(set(names)) < len(names):
        names = [f"{name}\0{id}" for name, id in zip(names, run.ids(hits.keys[tied]), strict=True)]
    place = np.zeros(len(hits), dtype=np.int64)
    place[tied[sorted(range(len(tied)), key=names.__getitem__)]] = np.arange(len(tied))
    return hits.take(np.lexsort((place, -scores)))


def _union(found: list[Found]) -> tuple[Rows, list[Rows]]:
    """Every key once, and for each list where the keys stand in it, −1 where they do not."""
    if not found:
        return np.empty(0, np.int64), []
    keys = np.sort(np.concatenate([each.keys for each in found]))
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    places = [np.full(len(keys), -1) for _ in found]
    for each, at in zip(found, places, strict=True):
        at[np.searchsorted(keys, each.keys)] = np.arange(len(each.keys))
    return keys, places


def _best(places: list[Rows]) -> Rows:
    """The best place of each key in any list."""
    return reduce(np.minimum, [at.view(np.uint64) for at in places]).view(np.int64)  # unsigned, −1 is behind all


def _share(share: Share, raw: Expr, first: NDArray[np.bool_]) -> Expr:
    """weight × the score on a common scale."""
    weight = leaf(share.weight, f"weight of {share.cue}")
    if share.over == "itself":
        return product(share.cue, weight, largest("at least 0", leaf(0.0, "least"), raw))
    if share.over == "saturated":
        r = raw if (raw.values >= 0).all() else largest("at least 0", leaf(0.0, "least"), raw)
        return product(share.cue, weight, ratio("r ÷ (1 + r)", r, total("1 + r", leaf(1.0, "one"), r)))
    among = raw.values[first]
    best = float(among.max(initial=0.0))
    if best <= 0:
        return product(share.cue, weight, leaf(0.0, "none is above 0"), raw)
    if share.over == "best":
        return product(share.cue, weight, ratio("÷ best", raw, leaf(best, "best score")))
    lowest, least = float(among.min()), best - NARROW
    worst = leaf(lowest, "worst score") if lowest <= least else leaf(least, f"{NARROW:g} below the best")
    above = difference("above the worst", raw, worst)
    return product(share.cue, weight, ratio("÷ range", above, leaf(best - min(lowest, least), "best − worst")))


def _unless(silent: NDArray[np.bool_], part: Expr, cue: str) -> Expr:
    """The part, and 0 where the cue is silent."""
    if not silent.any():
        return part
    return Chosen((part, leaf(0.0, f"{cue}: cannot judge it")), silent.astype(np.int64), np.arange(len(silent)))


def _own(found: Found, places: Rows) -> Expr:
    return Taken(found.score, places, leaf(0.0, f"{found.cue}: not found"))


def _scored(run: Run, cue: Cue, found: Found, keys: Rows, places: Rows) -> Expr:
    """The cue's score of every candidate: as it found them, and asked for the others."""
    others = places < 0
    if not others.any():
        return Taken(found.score, places)
    try:
        asked = cue.score(run, keys[others])
    except InvalidInput:
        raise
    except Exception as problem:  # it has found some: the others count nothing for it
        run.note(f"{cue.name} could not score the others", f"{type(problem).__name__}: {problem}")
        return _own(found, places)
    return Chosen((found.score, asked), others.astype(np.int64), np.where(others, np.cumsum(others) - 1, places))
