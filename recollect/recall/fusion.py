"""Fusion: merging the candidates of several cues into one ranked list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recollect.errors import DamagedFile, InvalidInput
from recollect.recall.expressions import (
    ChoiceExpression,
    Expression,
    IndexedExpression,
    difference,
    largest,
    leaf,
    product,
    ratio,
    total,
)
from recollect.recall.hits import Candidates, Hits
from recollect.recall.ordering import ordered
from recollect.recall.recipe import Cue
from recollect.recall.run import Run
from recollect.store.base import Rows
from recollect.text.classify import is_code, is_lookup
from recollect.text.words import count_words

Normalisation = Literal["best", "range", "itself", "saturated"]
MIN_RANGE = 0.1  # of scores that are normalised by their range


@dataclass(frozen=True, slots=True)
class CueWeight:
    """The weight of a cue in a blend, and how its scores are normalised.

    ``plus`` names cues whose scores are added to the first one's before normalising.

    ``best``: score ÷ best; ``range``: (score − worst) ÷ (best − worst), both among the first page, with the worst at
    least ``MIN_RANGE`` below the best, so that small differences stay small; ``itself``: max(0, score);
    ``saturated``: score ÷ (1 + score).
    """

    cue: str
    weight: float
    over: Normalisation
    plus: tuple[str, ...] = ()


class Blend:
    """Σ weight × normalised score, over every candidate that any cue found.

    With ``fill``, each cue scores all candidates, its own and the others', and scores are normalised over the first
    page, so that a score does not depend on how many results are requested. Without it, a cue scores 0 what it did not
    find.

    Where a cue cannot score a memory (NaN), the other cues decide: × Σ weight ÷ Σ weight of those that can.
    """

    name = "blend"

    def __init__(self, *weights: CueWeight, page: int | None = None, fill: bool = True) -> None:
        self.cue_weights = weights
        self.page = page
        self.fill = fill

    def fuse(self, run: Run, found: list[Candidates]) -> Hits:
        active = [each for each in found if len(each.keys)]
        run.log("mode", " + ".join(each.cue for each in active) or "nothing found")
        keys, places = _union(active)
        pages = _best_place(places) // self.page if self.page and active else np.zeros(len(keys), dtype=np.int64)
        cues = {cue.name: cue for cue in run.recipe.cues.cues()}
        by_cue = {each.cue: (each, at) for each, at in zip(active, places, strict=True)}
        parts: list[Expression] = []
        all_weights, scoring_weights = 0.0, np.zeros(len(keys))
        for weight in self.cue_weights:
            sources = [by_cue[name] for name in (weight.cue, *weight.plus) if name in by_cue]
            raw = [
                _score_all(run, cues[each.cue], each, keys, at) if self.fill else _score_found(each, at)
                for each, at in sources
            ]
            if raw:
                summed = raw[0] if len(raw) == 1 else total(" + ".join(each.cue for each, _ in sources), *raw)
                unknown = np.isnan(summed.values)
                part = _weighted(weight, summed, (pages == 0) & ~unknown)
                parts.append(_zero_where(unknown, part, weight.cue))
                all_weights += weight.weight
                scoring_weights = scoring_weights + weight.weight * ~unknown
        score = total("blend", *parts) if parts else leaf(np.zeros(len(keys)), "blend")
        if (scoring_weights < all_weights).any():
            factor = np.divide(all_weights, scoring_weights, out=np.ones(len(keys)), where=scoring_weights > 0)
            score = product(
                "without the cues that cannot score it", score, leaf(factor, "all weights ÷ those that can")
            )
        return _best_first(run, Hits(keys, score, pages))


class BlendByTextKind:
    """Chooses the weights by the query and the kind of text found: short texts, long texts, code, the look-up of a
    name, or a query in a script that the embedder was not trained on, where vectors mean little.

    Brief texts without a speaker, or said to an assistant, are what one person states: each is about one thing, so that
    its meaning as a whole says more than in a talk between people, where an answer depends on what was said before.

    A query in a language that the embedder was not trained on, in a script that it reads, counts as a look-up: words
    say more there than vectors. They do even more if the texts are long, as passages have the words of a question. If
    the embedder translates the words of that language, the vectors of short texts count more again.
    """

    name = "blend"
    SAMPLE = 4  # candidates of each cue that are looked at
    LONG_TEXT_WORDS = 50
    BRIEF_TEXT_WORDS = 25

    def __init__(
        self,
        *,
        short: Blend,
        stated: Blend,
        long: Blend,
        code: Blend,
        lookup: Blend,
        translated: Blend,
        long_untrained: Blend,
        unread: Blend,
        only_time: Blend,
    ) -> None:
        self.blends = {"short": short, "long": long, "code": code, "lookup": lookup, "unread": unread}
        self.blends |= {
            "stated": stated,
            "translated": translated,
            "long, in another language": long_untrained,
            "only time": only_time,
        }

    def fuse(self, run: Run, found: list[Candidates]) -> Hits:
        kind = self._text_kind(run, found)
        run.log("material", kind)
        return self.blends[kind].fuse(run, found)

    def _text_kind(self, run: Run, found: list[Candidates]) -> str:
        if run.query.only_time:
            return "only time"
        if not run.embedder_reads_query():
            return "unread"
        if is_lookup(run.query.text, run.query.language):
            return "lookup"
        best = {key for each in found for key in each.keys[: self.SAMPLE].tolist()}
        rows = np.array(list(best), dtype=np.int64)
        texts = run.texts(rows)
        lengths = [count_words(text) for text in texts]
        are_long = sum(length > self.LONG_TEXT_WORDS for length in lengths) * 2 > len(texts)
        if not run.embedder_knows_language():
            if are_long:
                return "long, in another language"
            return "translated" if run.embedder_translates() else "lookup"
        if sum(map(is_code, texts)) * 2 > len(texts):
            return "code"
        if are_long:
            return "long"
        are_brief = sum(length <= self.BRIEF_TEXT_WORDS for length in lengths) * 2 > len(texts)
        return "short" if not are_brief or self._between_people(run, rows) else "stated"

    def _between_people(self, run: Run, rows: Rows) -> bool:
        """Has any of them a speaker, but no role by which it was said to an assistant, or by one?"""
        speakers, roles = (run.snapshot.strings(name, rows) for name in ("speaker", "role"))
        return any(speaker and not role for speaker, role in zip(speakers, roles, strict=True))


class ReciprocalRank:
    """Σ weight ÷ (k + rank + 1), ranks counted from 0. Lists are summed in the order of their names.

    Ties are ordered by age, the older first, or with ``by_path`` by path.
    """

    name = "reciprocal rank"

    def __init__(
        self,
        k: float = 60,
        weights: Mapping[str, float] | None = None,
        bonus: Sequence[float] = (),  # added for the best rank in any list
        modes: Mapping[str, str] | None = None,  # names of combinations: {"vectors + words": "hybrid", …}
        by_path: bool = False,  # order ties by path (else the slug of the title, else the id), then id
    ) -> None:
        self.k = k if k > 0 else 60
        self.by_path = by_path
        self.weights = weights or {}
        self.bonus = bonus
        self.modes = modes or {}

    def fuse(self, run: Run, found: list[Candidates]) -> Hits:
        active = sorted((each for each in found if len(each.keys)), key=lambda each: each.cue)
        mode = " + ".join(each.cue for each in active) or "nothing found"
        run.log("mode", self.modes.get(mode, mode))
        keys, places = _union(active)
        absent = leaf(0.0, "not in this list")
        parts: list[Expression] = [
            IndexedExpression(self._terms(each), at, absent) for each, at in zip(active, places, strict=True)
        ]
        if self.bonus and active:
            top = _best_place(places).tolist()
            extra = np.array([self.bonus[rank] if rank < len(self.bonus) else 0.0 for rank in top])
            parts.append(leaf(extra, "bonus for its best rank").tag("component", "rank bonus"))
        score = total("reciprocal rank", *parts) if parts else leaf(np.zeros(0), "reciprocal rank")
        hits = Hits(keys, score, np.zeros(len(keys), dtype=np.int64))
        return ties_by_path(run, hits) if self.by_path else _best_first(run, hits)

    def _terms(self, found: Candidates) -> Expression:
        weight = self.weights.get(found.cue, 1.0)
        ranks = np.arange(len(found.keys), dtype=np.float64)
        below = leaf(self.k + ranks + 1, lambda at: f"{self.k:g} + rank {at} + 1")
        return ratio(found.cue, leaf(weight, f"weight of {found.cue}"), below).tag("component", found.cue)


class FirstCueWins:
    """Each candidate once, with the score of the first cue that found it."""

    name = "first come"

    def fuse(self, run: Run, found: list[Candidates]) -> Hits:
        run.log("candidates", sum(len(each.keys) for each in found))
        which: dict[int, tuple[int, int]] = {}
        for number, each in enumerate(found):
            before = len(which)
            for place, key in enumerate(each.keys.tolist()):
                which.setdefault(key, (number, place))
            run.trace.add_detail("cue", each.cue, "hits", len(which) - before)  # not found by an earlier cue
        chosen = np.array(list(which.values()), dtype=np.int64).reshape(-1, 2)
        score = ChoiceExpression(tuple(each.score for each in found), chosen[:, 0], chosen[:, 1])
        return Hits(np.array(list(which), dtype=np.int64), score, np.zeros(len(which), dtype=np.int64)).sorted()


def _best_first(run: Run, hits: Hits) -> Hits:
    """By page, then score; ties by creation, the older first, then by id."""
    return hits.take(ordered(run.snapshot, hits.keys, hits.page, -hits.score.values))


def ties_by_path(run: Run, hits: Hits) -> Hits:
    """Sort by score, and ties by path (or slug of the title, or id), then by id."""
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


def _union(found: list[Candidates]) -> tuple[Rows, list[Rows]]:
    """Every key once, and for each list the places of the keys in it, −1 where they are not."""
    if not found:
        return np.empty(0, np.int64), []
    keys = np.sort(np.concatenate([each.keys for each in found]))
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    places = [np.full(len(keys), -1) for _ in found]
    for each, at in zip(found, places, strict=True):
        at[np.searchsorted(keys, each.keys)] = np.arange(len(each.keys))
    return keys, places


def _best_place(places: list[Rows]) -> Rows:
    """The best place of each key in any list."""
    return reduce(np.minimum, [at.view(np.uint64) for at in places]).view(np.int64)  # unsigned, −1 is the largest


def _weighted(cue: CueWeight, raw: Expression, first_page: NDArray[np.bool_]) -> Expression:
    """weight × the normalised score."""
    weight = leaf(cue.weight, f"weight of {cue.cue}")
    return product(cue.cue, weight, *_normalised(cue.over, raw, first_page)).tag("component", cue.cue)


def _normalised(over: Normalisation, raw: Expression, first_page: NDArray[np.bool_]) -> tuple[Expression, ...]:
    if over == "itself":
        return (largest("at least 0", leaf(0.0, "minimum"), raw),)
    if over == "saturated":
        r = raw if (raw.values >= 0).all() else largest("at least 0", leaf(0.0, "minimum"), raw)
        return (ratio("r ÷ (1 + r)", r, total("1 + r", leaf(1.0, "1"), r)),)
    scores = raw.values[first_page]
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return leaf(0.0, "no score is above 0"), raw
    if over == "best":
        return (ratio("÷ best", raw, leaf(best, "best score")),)
    lowest, limit = float(scores.min()), best - MIN_RANGE
    worst = leaf(lowest, "worst score") if lowest <= limit else leaf(limit, f"{MIN_RANGE:g} below the best")
    above = difference("above the worst", raw, worst)
    return (ratio("÷ range", above, leaf(best - min(lowest, limit), "best − worst")),)


def _zero_where(unknown: NDArray[np.bool_], part: Expression, cue: str) -> Expression:
    """The part, and 0 where the cue has no score."""
    if not unknown.any():
        return part
    zero = leaf(0.0, f"{cue}: cannot score it")
    return ChoiceExpression((part, zero), unknown.astype(np.int64), np.arange(len(unknown)))


def _score_found(found: Candidates, places: Rows) -> Expression:
    return IndexedExpression(found.score, places, leaf(0.0, f"{found.cue}: not found"))


def _score_all(run: Run, cue: Cue, found: Candidates, keys: Rows, places: Rows) -> Expression:
    """The cue's score of every candidate: those it found, and the others computed now."""
    others = places < 0
    if not others.any():
        return IndexedExpression(found.score, places)
    try:
        scored = cue.score(run, keys[others])
    except (InvalidInput, DamagedFile):
        raise
    except Exception as error:  # its own candidates still count
        run.log(f"{cue.name} could not score the others", f"{type(error).__name__}: {error}")
        return _score_found(found, places)
    return ChoiceExpression(
        (found.score, scored), others.astype(np.int64), np.where(others, np.cumsum(others) - 1, places)
    )
