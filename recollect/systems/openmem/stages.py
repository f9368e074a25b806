"""The stages of OpenMem: memories compete by activation, recency, strength and confidence; contradicted ones lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from recollect.model import micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Annotate, Drop, HitOperation, Hits, Rescore
from recollect.recall.packing import tokens
from recollect.recall.run import Run, Skip
from recollect.recall.stages.factors import DAY, status_at
from recollect.recall.stages.links import contradicting_pairs
from recollect.store.base import Floats, Rows


@dataclass(frozen=True, slots=True)
class Competition:
    """(Σ weight × part) × status penalty, the parts being activation, recency, strength and confidence.

    recency = exp(−rate × days since the last access, or since creation).
    """

    weights: Mapping[str, float]
    rate: float = 0.05
    penalties: Mapping[str, float] = field(
        default_factory=lambda: {"active": 1.0, "superseded": 0.5, "contradicted": 0.3}
    )
    name: str = "compete"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        days = days_unused(run, hits.keys)
        statuses = status_at(run, hits.keys)
        recency = np.exp(-self.rate * days)
        parts = {
            "activation": hits.score,
            "recency": leaf(recency, lambda at: f"recency: {days[at]:.1f} days unused"),
            "strength": leaf(_numbers(run, "strength", hits.keys), "strength"),
            "confidence": leaf(_numbers(run, "confidence", hits.keys), "confidence"),
        }
        terms = [product(name, leaf(self.weights[name], f"weight of {name}"), part) for name, part in parts.items()]
        for term, name in zip(terms[1:], list(parts)[1:], strict=True):
            term.tag("component", name)
        penalty = np.array([self.penalties.get(status, 1.0) for status in statuses])
        score = product("competition", total("parts", *terms), leaf(penalty, lambda at: f"status: {statuses[at]}"))
        return [Rescore(score)]


def days_unused(run: Run, keys: Rows) -> Floats:
    """Days since the last access, or since creation when there was none; never negative."""
    last_used = run.snapshot.numbers("created", keys)
    accessed = run.snapshot.use_numbers("last_accessed", keys)
    last_used = np.where(np.isnan(accessed), last_used, accessed)
    return np.maximum(0.0, (micros(run.as_of) - last_used) / DAY)


def effective_strength(run: Run, keys: Rows, rate: float) -> list[float]:
    """strength × confidence × recency."""
    recency = np.exp(-rate * days_unused(run, keys))
    strength = _numbers(run, "strength", keys) * _numbers(run, "confidence", keys) * recency
    return [float(each) for each in strength]


def _numbers(run: Run, name: str, keys: Rows) -> Floats:
    """A number of each memory, 0 where it has none."""
    return np.nan_to_num(run.snapshot.numbers(name, keys))


@dataclass(frozen=True, slots=True)
class TokenBudgetPacking:
    """Keeps results in their order until k or the token budget is reached; the first that does not fit ends it.

    It runs even when the deadline has passed: the budget is never exceeded.
    """

    ignores_deadline: ClassVar[bool] = True

    budget: int | None = None
    characters: int = 4  # per token, rounded up
    name: str = "pack"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if self.budget is None:
            raise Skip("there is no token budget")
        sizes = [tokens(memory.text, self.characters) for memory in run.memories(hits.keys[: run.k])]
        totals = np.cumsum(sizes)
        fitting = int(np.count_nonzero(totals <= self.budget))  # texts are not empty: totals grow
        run.log("tokens", int(totals[fitting - 1]) if fitting else 0)
        if fitting == len(sizes):
            return []
        keep = np.arange(len(hits)) < fitting
        # Beyond the first k nothing is counted: it is at least the total up to there.
        values = totals[np.minimum(np.arange(len(hits)), len(sizes) - 1)].astype(np.float64)
        return [Drop(keep, values, float(self.budget), "the tokens up to here are over the budget")]


@dataclass(frozen=True, slots=True)
class ContradictionPenalty:
    """× penalty, once, for the weaker of two hits that contradict each other.

    Weaker is the one with less strength × confidence × recency; on a tie the lower score, then the later memory.
    """

    penalty: float = 0.3
    recency: float = 0.05  # decay rate per day
    name: str = "contradict"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        pairs = contradicting_pairs(run, hits)
        if not pairs:
            raise Skip("no two hits contradict each other")
        strength = effective_strength(run, hits.keys, self.recency)
        standings = [(strength[at], float(hits.score.values[at]), -int(hits.keys[at])) for at in range(len(hits))]
        losers: dict[int, int] = {}  # by loser: the strongest it loses to
        for pair in pairs:
            weaker, stronger = sorted(pair, key=standings.__getitem__)
            losers[weaker] = max(losers.get(weaker, stronger), stronger, key=standings.__getitem__)
        factor = np.array([self.penalty if at in losers else 1.0 for at in range(len(hits))])
        winners = dict(zip(losers, run.snapshot.ids(hits.keys[list(losers.values())]), strict=True))
        run.log("contradicted", len(losers))

        def label(at: int) -> str:
            return f"contradicted by {winners[at]}" if at in winners else "no stronger memory contradicts it"

        def note(weaker: int, stronger: int) -> str:
            here, there = strength[weaker], strength[stronger]
            return f"{label(weaker)}: strength × confidence × recency is {here:.3g}, and {there:.3g} there"

        notes = {int(hits.keys[weaker]): [note(weaker, stronger)] for weaker, stronger in losers.items()}
        return [Rescore(product("after conflict", hits.score, leaf(factor, label))), Annotate(notes)]
