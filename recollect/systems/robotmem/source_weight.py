"""Where a memory was made: the real world counts for more than a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recollect.model import validation as check
from recollect.model.conditions import check_conditions, judge
from recollect.recall.expressions import leaf, product
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip


@dataclass(frozen=True, slots=True)
class SourceWeight:
    """× a factor for the memories whose context meets the conditions."""

    factor: float = 1.5
    where: Mapping[str, Any] = field(default_factory=lambda: {"env.sim_or_real": "real"})
    name: str = "source weight"

    def __post_init__(self) -> None:
        check.number(self.factor, "the source weight", low=0.0)
        check_conditions(self.where)

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        said = " and ".join(f"{path} is {wanted!r}" for path, wanted in self.where.items())
        meets = np.array([judge(context, self.where) is True for context in run.snapshot.contexts(hits.keys)])
        if not meets.any():
            raise Skip(f"there is no candidate where {said}")
        factor = leaf(np.where(meets, self.factor, 1.0), lambda at: f"source: {'' if meets[at] else 'not '}{said}")
        return [Rescore(product("after source weight", hits.score, factor))]
