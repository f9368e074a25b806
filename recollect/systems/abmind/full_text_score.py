"""What a match is worth: its words, and what is known of the memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.model.validation import micros
from recollect.recall.expressions import Expr, largest, leaf, product, total
from recollect.recall.run import Run
from recollect.store.base import Rows

DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class Worth:
    """(bm25 + emotion) × (1 + recall) × (1 + relevance) × trust × credibility × tier × recency (A5), where

    - emotion = 0.5 × ln(1 + |emotion|)
    - recall = 0.1 × recall count
    - relevance = 0.2 where relevance > 0
    - trust = 0.5 + 0.5 × trust ÷ 3; none counts 0
    - credibility = 1.25 up to 2, else 1.0; none counts 1.0
    - tier = 1.3 for "core", else 1.0
    - recency = max(floor, 1 − age ÷ decay_days) × (1 + |emotion| × emotion_boost), age in days since creation
    """

    decay_days: float = 365.0
    decay_floor: float = 0.3
    emotion_boost: float = 0.1

    def of(self, run: Run, rows: Rows, words: Expr) -> Expr:
        """The worth of each row, whose words alone score ``words``."""
        feeling = np.abs(np.nan_to_num(run.snapshot.numbers("emotion", rows)))
        recalls = np.nan_to_num(run.snapshot.use_numbers("recall_count", rows))
        relevance = run.snapshot.numbers("relevance", rows)
        trust = np.nan_to_num(run.snapshot.numbers("trust", rows))
        credibility = run.snapshot.numbers("credibility", rows)
        tiers = run.snapshot.strings("tier", rows)
        one = leaf(1.0, "one")
        return product(
            "worth",
            total(
                "words and emotion",
                words,
                product("emotion", leaf(0.5, "weight"), leaf(np.log(1 + feeling), "ln(1 + |emotion|)")),
            ),
            total(
                "1 + recall boost",
                one,
                product("recall boost", leaf(0.1, "a recall"), leaf(recalls, "times recalled")),
            ),
            total(
                "1 + relevance boost", one, leaf(np.where(relevance > 0, 0.2, 0.0), "0.2 where relevance is above 0")
            ),
            total(
                "trust factor",
                leaf(0.5, "without any trust"),
                product("trust", leaf(0.5, "weight"), leaf(trust / 3, "trust ÷ 3")),
            ),
            leaf(np.where(credibility <= 2, 1.25, 1.0), "credibility factor: 1.25 up to 2"),
            leaf(
                [1.3 if tier == "core" else 1.0 for tier in tiers], lambda at: f"tier boost: {tiers[at] or 'no tier'}"
            ),
            self._recency(run, rows, Expr(feeling, "|emotion|")),
        )

    def _recency(self, run: Run, rows: Rows, feeling: Expr) -> Expr:
        age = np.maximum(0.0, (micros(run.now) - run.snapshot.numbers("created", rows)) / DAY)
        fresh = leaf(1 - age / self.decay_days, lambda at: f"1 − {age[at]:.1f} days ÷ {self.decay_days:g}")
        moved = product("emotion boost", feeling, leaf(self.emotion_boost, "for each point of emotion"))
        return product(
            "recency factor",
            largest("not below the floor", leaf(self.decay_floor, "floor"), fresh),
            total("1 + emotion boost", leaf(1.0, "one"), moved),
        )
