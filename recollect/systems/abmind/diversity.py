"""Diversity: an order in which what says the same does not follow itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.hits import HitOperation, Hits, Reorder
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class DiversityRerank:
    """Maximal marginal relevance: each next one has the highest λ × relevance − (1 − λ) × likeness (A14).

    ``relevance`` is score ÷ best score, ``likeness`` the highest to any that stands before it: Jaccard, the words
    that two texts share ÷ the words of both. The best comes first; scores stay as they are.
    """

    share: float = 0.7  # λ
    name: str = "MMR rerank"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        best = float(hits.score.values.max())
        if best <= 0:
            raise Skip("no score is above 0")
        texts = run.texts(hits.keys)
        order = mmr(hits.score.values / best, JaccardSimilarity(texts), self.share)
        return [Reorder(order, "relevance against likeness to those before")]


def mmr(relevance: Floats, likeness: JaccardSimilarity, share: float) -> Rows:
    """All places in the order of their marginal relevance; of equals, the one that stood first."""
    order = [int(np.argmax(relevance))]
    weighed, nearest = share * relevance, np.zeros(len(relevance))
    while len(order) < len(relevance):
        weighed[order[-1]] = -np.inf
        nearest = np.maximum(nearest, likeness.to(order[-1]))
        order.append(int(np.argmax(weighed - (1 - share) * nearest)))
    return np.array(order, dtype=np.int64)


class JaccardSimilarity:
    """Jaccard similarity between texts, by their lower-cased words."""

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        sets = [{numbers.setdefault(word, len(numbers)) for word in words(text)} for text in texts]
        self._sizes = np.array([len(each) for each in sets], dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        self._words = np.array([word for each in sets for word in each], dtype=np.int64)
        self._owner: NDArray[np.int64] = np.repeat(np.arange(len(sets)), self._sizes)
        self._count = len(numbers)

    def to(self, place: int) -> Floats:
        """|A ∩ B| ÷ |A ∪ B| of every text and this one."""
        size, end = self._sizes[place], self._ends[place]
        mine = np.zeros(self._count, dtype=np.bool_)
        mine[self._words[end - size : end]] = True
        shared = np.bincount(self._owner, mine[self._words], len(self._sizes))
        return np.asarray(shared / np.maximum(1, self._sizes + size - shared))
