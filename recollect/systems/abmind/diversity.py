"""The rerank for diversity: maximal marginal relevance (MMR) with the Jaccard similarity of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.hits import Annotate, HitOperation, Hits, Reorder
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class DiversityRerank:
    """Maximal marginal relevance: each next result has the highest λ × relevance − (1 − λ) × similarity (A14).

    ``relevance`` is score ÷ best score, ``similarity`` the highest to any earlier result: Jaccard, the words that two
    texts share ÷ the words of both. The best comes first; scores stay, and a result that is moved has a note with the
    numbers that moved it (B2).
    """

    relevance_weight: float = 0.7  # λ
    name: str = "MMR rerank"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        best = float(hits.score.values.max())
        if best <= 0:
            raise Skip("no score is above 0")
        relevance = hits.score.values / best
        order, similarity = mmr(relevance, JaccardSimilarity(run.texts(hits.keys)), self.relevance_weight)
        notes = {}
        for rank, place in enumerate(order.tolist()):
            if rank != place:
                value = self.relevance_weight * relevance[place] - (1 - self.relevance_weight) * similarity[rank]
                note = (
                    f"moved from {place + 1} to {rank + 1} by MMR {value:.4f}: "
                    f"{self.relevance_weight:g} × relevance {relevance[place]:.4f} − {1 - self.relevance_weight:g} × "
                    f"similarity {similarity[rank]:.4f} to an earlier result"
                )
                notes[int(hits.keys[place])] = [note]
        run.log("moved", len(notes))
        return [Reorder(order, "relevance minus similarity to earlier results"), Annotate(notes)]


def mmr(relevance: Floats, texts: JaccardSimilarity, relevance_weight: float) -> tuple[Rows, Floats]:
    """All places by marginal relevance (ties in their order), and the highest similarity of each to an earlier one."""
    order = [int(np.argmax(relevance))]
    similarities = [0.0]
    weighted, nearest = relevance_weight * relevance, np.zeros(len(relevance))
    while len(order) < len(relevance):
        weighted[order[-1]] = -np.inf
        nearest = np.maximum(nearest, texts.to(order[-1]))
        order.append(int(np.argmax(weighted - (1 - relevance_weight) * nearest)))
        similarities.append(float(nearest[order[-1]]))
    return np.array(order, dtype=np.int64), np.array(similarities)


class JaccardSimilarity:
    """The Jaccard similarity between texts, by their lower-cased words."""

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        sets = [{numbers.setdefault(word, len(numbers)) for word in words(text)} for text in texts]
        self._sizes = np.array([len(each) for each in sets], dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        self._words = np.array([word for each in sets for word in each], dtype=np.int64)
        self._owners: NDArray[np.int64] = np.repeat(np.arange(len(sets)), self._sizes)
        self._vocabulary_size = len(numbers)

    def to(self, place: int) -> Floats:
        """|A ∩ B| ÷ |A ∪ B| of every text and the text at this place."""
        size, end = self._sizes[place], self._ends[place]
        present = np.zeros(self._vocabulary_size, dtype=np.bool_)
        present[self._words[end - size : end]] = True
        shared = np.bincount(self._owners, present[self._words], len(self._sizes))
        return np.asarray(shared / np.maximum(1, self._sizes + size - shared))
