"""The OpenMem recipe: words seed activation, it spreads along edges, and memories compete. No vectors.

query    ─▶ words (text, summary, entities) ─▶ ÷ best ─▶ spread ─▶ compete ─▶ contradict ─▶ pack
            top_k × 4 candidates                activation  2 hops   weighted    weaker      token
                                                            × ½      sum         × 0.3       budget
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import check, micros
from recollect.recall.cues import AllCues, WordsCue
from recollect.recall.expressions import leaf, product, total
from recollect.recall.fusion import Blend, CueWeight
from recollect.recall.hits import Annotate, Drop, HitOperation, Hits, Rescore
from recollect.recall.packing import tokens
from recollect.recall.query_parsing import EveryWord
from recollect.recall.recipe import Recipe, times
from recollect.recall.run import Run, Skip
from recollect.recall.stages import RecordUse, SpreadingActivation
from recollect.recall.stages.factors import DAY, status_at
from recollect.recall.stages.links import contradicting_pairs
from recollect.store.base import Floats, Rows

WEIGHTS = {"activation": 0.5, "recency": 0.2, "strength": 0.2, "confidence": 0.1}  # M5
MAX_HOPS = 100  # an explanation lists every hop


def openmem(
    *,
    max_hops: int = 2,  # M4
    decay_per_hop: float = 0.5,  # M4
    weights: Mapping[str, float] | None = None,  # M5: activation, recency, strength, confidence, one by one
    token_budget: int | None = None,  # M11
) -> Recipe:
    """Deterministic recall by words and graph, as OpenMem describes it."""
    if check.count(max_hops, "max_hops") > MAX_HOPS:
        raise InvalidInput(f"max_hops must be at most {MAX_HOPS}, not {max_hops}.")
    budget = None if token_budget is None else check.count(token_budget, "token_budget")
    return Recipe(
        name="openmem",
        about="Words seed activation, it spreads along edges, memories compete. No embeddings.",
        k=10,
        statuses=("active", "superseded", "contradicted"),  # M9: penalised, not hidden
        read=[EveryWord(match="exact")],  # M1: no input is a syntax error
        cues=AllCues(WordsCue(fields={"text": 1.0, "summary": 1.0, "entities": 1.0}, depth=times(4))),  # M1
        fuse=Blend(CueWeight("words", 1.0, over="best"), fill=False),  # M2: score ÷ best
        stages=[
            SpreadingActivation(hops=max_hops, decay=check.fraction(decay_per_hop, "decay_per_hop")),  # M3, M4
            Competition(
                weights={**WEIGHTS, **_check_weights({} if weights is None else weights)}, rate=0.05
            ),  # M5, M6, M9
            ContradictionPenalty(penalty=0.3),  # M10
            TokenBudgetPacking(budget=budget, characters=4),  # M11
        ],
        after=[RecordUse(("access",))],  # M11
    )


def _check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise InvalidInput(
            f"weights must map names to numbers, such as {{'recency': 0.4}}, not {check.short_repr(weights)}."
        )
    unknown = [name for name in weights if name not in WEIGHTS]
    if unknown:
        raise InvalidInput(f"There is no weight {unknown[0]!r}; there are: {', '.join(WEIGHTS)}.")
    return {name: check.number(weight, f"the weight of {name}", low=0.0) for name, weight in weights.items()}


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
