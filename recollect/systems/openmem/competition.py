"""What a memory is worth by itself: how recent, how strong, how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model.validation import micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run
from recollect.recall.stages.factors import DAY, standing
from recollect.store.base import Floats, Rows


@dataclass(frozen=True, slots=True)
class Compete:
    """(Σ weight × part) × status penalty, the parts being activation, recency, strength and confidence.

    recency = exp(−rate × days since the last access, or since creation).
    """

    weights: Mapping[str, float]
    rate: float = 0.05
    penalties: Mapping[str, float] = field(
        default_factory=lambda: {"active": 1.0, "superseded": 0.5, "contradicted": 0.3}
    )
    name: str = "compete"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        days = days_unused(run, hits.keys)
        statuses = standing(run, hits.keys)
        recency = np.exp(-self.rate * days)
        parts = {
            "activation": hits.score,
            "recency": leaf(recency, lambda at: f"recency: {days[at]:.1f} days unused"),
            "strength": leaf(_known(run, "strength", hits.keys), "strength"),
            "confidence": leaf(_known(run, "confidence", hits.keys), "confidence"),
        }
        terms = [product(name, leaf(self.weights[name], f"weight of {name}"), part) for name, part in parts.items()]
        penalty = np.array([self.penalties.get(status, 1.0) for status in statuses])
        score = product("competition", total("parts", *terms), leaf(penalty, lambda at: f"status: {statuses[at]}"))
        return [Rescore(score)]


def days_unused(run: Run, keys: Rows) -> Floats:
    """Days since the last access, or since creation when there was none; never negative."""
    seen = run.snapshot.numbers("created", keys)
    accessed = run.snapshot.use_numbers("last_accessed", keys)
    seen = np.where(np.isnan(accessed), seen, accessed)
    return np.maximum(0.0, (micros(run.now) - seen) / DAY)


def effective_strength(run: Run, keys: Rows, rate: float) -> list[float]:
    """strength × confidence × recency."""
    recency = np.exp(-rate * days_unused(run, keys))
    strength = _known(run, "strength", keys) * _known(run, "confidence", keys) * recency
    return [float(each) for each in strength]


def _known(run: Run, name: str, keys: Rows) -> Floats:
    """A number of each memory; none counts 0."""
    return np.nan_to_num(run.snapshot.numbers(name, keys))
