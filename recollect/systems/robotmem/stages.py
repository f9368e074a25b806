"""robotmem's stages: the weight of real-world memories, sorting by distance, and normalised scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import Near, check
from recollect.model.filter import check_context_conditions
from recollect.model.matching import distance, match_context
from recollect.recall.expressions import leaf, product, ratio
from recollect.recall.hits import Annotate, HitOperation, Hits, Reorder, Rescore
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class SourceWeight:
    """× a factor for memories whose context meets conditions, by default those of the real world."""

    factor: float = 1.5
    where: Mapping[str, Any] = field(default_factory=lambda: {"env.sim_or_real": "real"})
    name: str = "source weight"

    def __post_init__(self) -> None:
        check.number(self.factor, "the source weight", low=0.0)
        check_context_conditions(self.where)

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        condition = " and ".join(f"{path} is {wanted!r}" for path, wanted in self.where.items())
        meets = np.array([match_context(context, self.where) is True for context in run.snapshot.contexts(hits.keys)])
        if not meets.any():
            raise Skip(f"there is no candidate where {condition}")
        factor = leaf(np.where(meets, self.factor, 1.0), lambda at: f"source: {'' if meets[at] else 'not '}{condition}")
        return [Rescore(product("after source weight", hits.score, factor))]


SHAPE = '{"field": "spatial.position", "target": [1.3, 0.7, 0.42], "max_distance": 0.1}, the last of them optional'


@dataclass(frozen=True, slots=True)
class SpatialSort:
    """Sorts by the distance √Σ(aᵢ − tᵢ)² to a target; memories without usable coordinates come last. Scores stay.

    ``cutoff`` is the filter for ``max_distance``; it belongs into ``Recipe.filter``, to apply before the search.
    """

    field: str  # a dot path in the context
    target: Sequence[float]
    max_distance: float | None = None
    name: str = "spatial sort"

    @classmethod
    def from_mapping(cls, value: object) -> SpatialSort:
        """Build it from a mapping, or raise an InvalidInput that says what is wrong."""
        if not isinstance(value, Mapping):
            raise InvalidInput(f"spatial_sort must be an object such as {SHAPE}; not {check.short_repr(value)}.")
        unknown = [key for key in value if key not in ("field", "target", "max_distance")]
        missing = [key for key in ("field", "target") if key not in value]
        if unknown or missing:
            problem = f"has no {missing[0]!r}" if missing else f"has no field {unknown[0]!r}"
            raise InvalidInput(f"spatial_sort {problem}; it looks like {SHAPE}.")
        field, limit = check.string(value["field"], "spatial_sort.field"), value.get("max_distance")
        if not field.strip():
            raise InvalidInput("spatial_sort.field is blank; it must name coordinates, such as 'spatial.position'.")
        return cls(
            field=field,
            target=check_point(value["target"], "spatial_sort.target"),
            max_distance=None if limit is None else check.number(limit, "spatial_sort.max_distance", low=0.0),
        )

    @property
    def cutoff(self) -> Near | None:
        return None if self.max_distance is None else Near(self.field, self.target, self.max_distance)

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        condition = Near(self.field, self.target, math.inf)
        distances = [distance(context, condition) for context in run.snapshot.contexts(hits.keys)]
        sort_keys = np.array([math.inf if each is None else each for each in distances])
        notes = {
            key: [f"no usable coordinates at {self.field}" if each is None else f"{each:.4g} away from the target"]
            for key, each in zip(hits.keys.tolist(), distances, strict=True)
        }
        order = np.argsort(sort_keys, kind="stable")  # ties keep their order
        return [Reorder(order, f"nearest to {list(self.target)} at {self.field}"), Annotate(notes)]


def check_point(value: Any, name: str) -> tuple[float, ...]:
    """Check coordinates: a list, tuple or array of at least one finite number."""
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else []
    numbers = [float(each) for each in listed if isinstance(each, Real) and not isinstance(each, bool)]
    if not numbers or len(numbers) < len(listed) or not all(map(math.isfinite, numbers)):
        raise InvalidInput(
            f"{name} must be a list of numbers, such as [1.3, 0.7, 0.42], not {check.short_repr(value)}."
        )
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class NormaliseScores:
    """score ÷ the best score of the first k, so that the best result has 1.0."""

    name: str = "normalise"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        best = float(hits.score.values[: run.k].max())
        if best <= 0:
            raise Skip("no score is above 0")
        return [Rescore(ratio("÷ best returned", hits.score, leaf(best, "best score returned")))]
