"""The tokens cue: query and memory compared token by token (late interaction), including neighbouring memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.recall.bm25 import Bm25Query, statistics
from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import Expression, leaf, product, ratio, total
from recollect.recall.hits import Candidates
from recollect.recall.ordering import ordered
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import token_similarity
from recollect.store.base import Rows, Space, check_space
from recollect.text.words import stems

STOP_WORD_WEIGHT = 0.2


@dataclass(frozen=True, slots=True)
class TokensCue:
    """Σ idf(w) × similarity(w)² ÷ Σ idf(w), for the words w of the query.

    The similarity of a word is the highest that any token of the memory has to it. Neighbouring memories of the session
    count with a share, the nearest first: an answer need not repeat what was said ``before``, and what came ``after``
    may only echo it. What an assistant said counts ``concluded`` as much for what follows: it ends an exchange. A
    memory without a token sketch (an older version wrote it) has no score, NaN, rather than a low one.

    What other cues have found and its neighbours are compared, ordered by the page of those cues, so that requesting
    more results never changes the first ones. Comparing all memories finds no more (``bench/large.py``).
    """

    needs_vector: ClassVar[bool] = True
    name: str = "tokens"
    depth: Depth = fixed(100)
    before: tuple[float, ...] = (0.98, 0.85)
    after: tuple[float, ...] = (0.8, 0.6)
    concluded: float = 0.7

    def __post_init__(self) -> None:
        if len(self.before) != len(self.after):
            raise InvalidInput("before and after must have the same length.")

    def find(self, run: Run) -> Candidates:
        self._check(run)
        rows, pages = self.compared_rows(run)
        if not len(rows):
            raise Skip("there are no memories to compare")
        score = self.score(run, rows)
        if not (score.values > 0).any():
            raise Skip("no memory here has token vectors")
        # Those without a score keep their place, or later pages would move up.
        best = ordered(run.snapshot, rows, pages, -score.values)[: self.depth(run.k)]
        return Candidates(self.name, rows[best], score.take(best), len(rows))

    def score(self, run: Run, rows: Rows) -> Expression:
        similarities = self.word_similarity(run, rows)
        weights = self._weights(run, [word for word, _ in similarities])
        parts = []
        for (word, similarity), weight in zip(similarities, weights.tolist(), strict=True):
            if weight:
                squared = similarity**2
                mean = squared[:, 0] if squared.shape[1] == 1 else squared.mean(axis=1)  # of the pieces of the word
                nearest = leaf(mean, "similarity of the nearest word, squared")
                parts.append(product(f"“{word}”", leaf(weight, "idf"), nearest))
        if not parts:
            raise Skip("the query has no words to compare")
        score = ratio(f"{self.name}: late interaction", total("words", *parts), leaf(weights.sum(), "Σ idf"))
        return score.tag("token similarity", self.name)

    def word_similarity(self, run: Run, rows: Rows) -> list[tuple[str, NDArray[np.float64]]]:
        """Each word of the query with the similarity of its pieces (across) to the nearest of each row (down)."""
        self._check(run)
        similarity = self._cached_similarity(run, rows)
        return [(word, similarity[:, pieces]) for word, pieces in run.tokens().word_tokens()]

    def _check(self, run: Run) -> None:
        if not run.embedder_reads_query():
            raise Skip("the embedder was not trained on the script of the query")
        run.tokens()  # a Skip where there are none
        if run.embedder is not None:
            check_space(run.snapshot.space, Space(run.embedder.name, run.embedder.dim), "this memory")

    def _weights(self, run: Run, words: list[str]) -> NDArray[np.float64]:
        """The weight of each word: its idf, or that of a stop word where it is not a term of the query."""
        key = f"weights of {self.name} for {run.query.text}"
        if key not in run.cache:
            run.cache[key] = self._idf_of_words(run, words)
        weights: NDArray[np.float64] = run.cache[key]
        return weights

    def _idf_of_words(self, run: Run, words: list[str]) -> NDArray[np.float64]:
        matches = statistics(run.snapshot, run.scope, Bm25Query(run.query.terms, ALL_FIELDS, 1.2, 0.75))
        language = run.query.language
        own = [match for match in matches.terms if match.term.match == "stem" and not match.term.part_of]
        idf = {form: match.idf for match in own for form in stems(match.term.word, language)}
        weights = ((idf[form] for form in stems(word, language) if form in idf) for word in words)
        return np.array(
            [
                next(weight, STOP_WORD_WEIGHT) if _has_letters(word) else 0.0
                for word, weight in zip(words, weights, strict=True)
            ]
        )

    def _cached_similarity(self, run: Run, rows: Rows) -> NDArray[np.float64]:
        """The similarities of rows; those of the candidates are needed again by the fusion."""
        key = f"similarity of {self.name} to {run.query.text}"
        known, cached = run.cache.get(key, (NO_ROWS, None))
        if len(known):
            places = np.minimum(known.searchsorted(rows), len(known) - 1)
            if (known[places] == rows).all():
                return np.asarray(cached[places])
        similarity = self._similarity(run, rows)
        order = np.argsort(rows)
        run.cache[key] = rows[order], similarity[order]
        return similarity

    def _similarity(self, run: Run, rows: Rows) -> NDArray[np.float64]:
        """By row and query token: the highest in the memory or, times a share, in its neighbours."""
        around = run.snapshot.neighbours(rows, len(self.before))
        all_rows = np.sort(np.append(rows, around[around >= 0]))
        all_rows = all_rows[np.diff(all_rows, prepend=-1) > 0]
        tokens = run.tokens()
        compared = [
            at for word, pieces in tokens.word_tokens() if _has_letters(word) for at in range(pieces.start, pieces.stop)
        ]
        own = np.maximum(token_similarity(tokens.vectors[compared], run.snapshot.token_sketches(all_rows)), 0.0)
        best = own[np.searchsorted(all_rows, rows)]
        lent = np.where(run.scope.contains(all_rows)[:, None] & ~np.isnan(own), own, np.float32(0.0))
        lent_onward, roles = lent, run.snapshot.strings("role", all_rows)
        if "assistant" in roles:
            assistant = np.array([role == "assistant" for role in roles])
            lent_onward = np.where(assistant[:, None], lent * np.float32(self.concluded), lent)
        shares = [*((lent_onward, share) for share in self.before), *((lent, share) for share in self.after)]
        for neighbour, (similarity, share) in zip(around.T, shares, strict=True):
            present = np.flatnonzero(neighbour >= 0)
            shared = similarity[np.searchsorted(all_rows, neighbour[present])] * np.float32(share)
            best[present] = np.maximum(best[present], shared)
        similarity = np.zeros((len(rows), len(tokens.tokens)))  # 0 for punctuation, which has no weight
        similarity[:, compared] = best
        return similarity

    def compared_rows(self, run: Run) -> tuple[Rows, NDArray[np.int64]]:
        """What other cues found and its neighbours, each with the first page that led to it."""
        keys = np.concatenate([NO_ROWS, *(found.keys for found in run.found.values())])
        ranks = np.concatenate([NO_ROWS, *(np.arange(len(found.keys)) for found in run.found.values())])
        every = np.column_stack([keys, run.snapshot.neighbours(keys, len(self.before))])
        rows, pages = every.ravel(), np.repeat(ranks // self.depth(1), every.shape[1])
        order = np.lexsort((pages, rows))
        rows, pages = rows[order], pages[order]
        first = np.diff(rows, prepend=-2) > 0  # as np.unique, which loads masked arrays (8 ms)
        rows, pages = rows[first], pages[first]
        allowed = run.scope.contains(rows)
        return rows[allowed], pages[allowed]


NO_ROWS: Rows = np.empty(0, dtype=np.int64)


def _has_letters(word: str) -> bool:
    return any(map(str.isalnum, word))
