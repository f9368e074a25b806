"""A stage for questions about what was not liked, taken or done: texts that say so come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.recall.expressions import leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.text.polarity import asks_for_negative, is_negative


@dataclass(frozen=True, slots=True)
class NegativeQuestionFactor:
    """× factor for texts that deny, refuse or dislike nothing, when the query asks for what was not liked or done."""

    factor: float = 0.7
    name: str = "polarity"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not asks_for_negative(run.query.text):
            raise Skip("the query does not ask for what is not so")
        negative = np.array([is_negative(text) for text in run.texts(hits.keys)], dtype=np.bool_)
        factor = leaf(
            np.where(negative, 1.0, self.factor),
            lambda at: "polarity: says what is not so" if negative[at] else "polarity: nothing negative in it",
        )
        return [Rescore(product("after polarity", hits.score, factor))]
