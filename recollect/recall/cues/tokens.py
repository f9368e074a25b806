"""Tokens: question and memory compared word by word in meaning (late interaction), with what stands around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.recall.cues.words import EVERYWHERE
from recollect.recall.expressions import Expr, leaf, product, ratio, total
from recollect.recall.hits import Found
from recollect.recall.recipe import Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Space, WordQuery
from recollect.text.words import stem

COMMON = 0.2  # what a stop word counts


@dataclass(frozen=True, slots=True)
class Tokens:
    """Σ rarity(w) × likeness(w)² ÷ Σ rarity(w), for the words w of the question.

    The likeness of a word is the highest that any token of the memory has to it. What was said around a memory belongs
    to it, too, by a share, the nearest first: who answers need not repeat what was said ``before``, and what came
    ``after`` may only echo it. Of what an assistant said ``concluded`` is left for what follows: it ends an exchange,
    and its user moves on. A memory without a sketch (an older version wrote it) has no score, NaN, rather than a bad
    one.

    Up to ``scan`` memories all are compared; of more, what other cues have found, and what stands around that;
    what their first pages brought comes first, so that asking for more never changes the first.
    """

    embeds: ClassVar[bool] = True
    name: str = "tokens"
    depth: Depth = fixed(100)
    scan: int = 1000
    before: tuple[float, ...] = (0.98, 0.85)
    after: tuple[float, ...] = (0.8, 0.6)
    concluded: float = 0.7

    def __post_init__(self) -> None:
        if len(self.before) != len(self.after):
            raise InvalidInput("before and after must reach equally far.")

    def find(self, run: Run) -> Found:
        self._check(run)
        everything = run.scope.count <= self.scan
        rows, pages = self._all(run) if everything else self._found(run)
        if not len(rows):
            raise Skip("there is nothing to compare with")
        score = self.score(run, rows)
        known = score.values > 0
        if not known.any():
            raise Skip("no memory here has vectors for its tokens")
        best = np.lexsort((rows, -score.values, pages))
        if everything:  # otherwise what is not known keeps its place, or later pages would move up
            best = best[known[best]]
        best = best[: self.depth(run.k)]
        return Found(self.name, rows[best], score.take(best), len(rows))

    def score(self, run: Run, rows: Rows) -> Expr:
        self._check(run)
        words, tokens = _words(run.tokens().tokens)
        rarity = self._rarity(run, words)
        likeness = self._kept(run, rows) ** 2
        parts = []
        for at, word in enumerate(words):
            if rarity[at]:
                own = np.compress(tokens == at, likeness, axis=1)  # in rows: each is summed alike in any company
                met = leaf(own.mean(axis=1), "likeness of the nearest word, squared")
                parts.append(product(f"“{word}”", leaf(rarity[at], "rarity"), met))
        if not parts:
            raise Skip("the question has no words to compare")
        return ratio(f"{self.name}: late interaction", total("words", *parts), leaf(rarity.sum(), "Σ rarity"))

    def _check(self, run: Run) -> None:
        if not run.understood():
            raise Skip("the embedder was not taught the letters of the question")
        run.tokens()  # a Skip where there are none, before anything is looked for
        if run.embedder is not None:
            run.snapshot.check_space(Space(run.embedder.name, run.embedder.dim))

    def _rarity(self, run: Run, words: list[str]) -> NDArray[np.float64]:
        """What each word counts: its idf if the question is about it, little if it is a stop word."""
        matches = run.snapshot.lexicon.score(WordQuery(run.question.terms, EVERYWHERE, 1.2, 0.75), run.scope, NOTHING)
        idf = {stem(match.term.word): match.idf for match in matches.terms}
        return np.array([idf.get(stem(word), COMMON) if any(map(str.isalnum, word)) else 0.0 for word in words])

    def _kept(self, run: Run, rows: Rows) -> NDArray[np.float64]:
        """The likenesses of rows: what was found is asked for again, when it is blended."""
        key = f"likeness of {self.name} to {run.question.text}"
        known, met = run.memo.get(key, (NOTHING, None))
        if met is None or not np.isin(rows, known).all():
            known, met = rows, self._likeness(run, rows)
            order = np.argsort(known)
            run.memo[key] = known[order], met[order]
            return met
        return np.asarray(met[np.searchsorted(known, rows)])

    def _likeness(self, run: Run, rows: Rows) -> NDArray[np.float64]:
        """By row and token of the question: the nearest in the memory, or, for less, in what stands around it."""
        around = run.snapshot.around(rows, len(self.before))
        every = np.unique(np.append(rows, around[around >= 0]))
        met = np.maximum(run.snapshot.token_likeness(run.tokens().vectors, every), 0.0)
        best = met[np.searchsorted(every, rows)]
        lent = np.where(run.scope.has(every)[:, None], np.nan_to_num(met), np.float32(0.0))
        ends = np.array([role == "assistant" for role in run.snapshot.strings("role", every)], dtype=np.bool_)
        onward = np.where(ends[:, None], lent * np.float32(self.concluded), lent)
        shares = [*((onward, share) for share in self.before), *((lent, share) for share in self.after)]
        for neighbour, (theirs, share) in zip(around.T, shares, strict=True):
            there = np.flatnonzero(neighbour >= 0)
            beside = theirs[np.searchsorted(every, neighbour[there])] * np.float32(share)
            best[there] = np.maximum(best[there], beside)
        return best.astype(np.float64)

    def _all(self, run: Run) -> tuple[Rows, NDArray[np.int64]]:
        """All that may come back, as one page."""
        rows = run.snapshot.all_rows(run.scope)
        return rows, np.zeros(len(rows), dtype=np.int64)

    def _found(self, run: Run) -> tuple[Rows, NDArray[np.int64]]:
        """What others have found and what stands around it, and the first page of theirs that led to it."""
        keys = np.concatenate([NOTHING, *(found.keys for found in run.found.values())])
        ranks = np.concatenate([NOTHING, *(np.arange(len(found.keys)) for found in run.found.values())])
        every = np.column_stack([keys, run.snapshot.around(keys, len(self.before))])
        pages = np.repeat(ranks // self.depth(1), every.shape[1])
        order = np.argsort(pages, kind="stable")
        rows, first = np.unique(every.ravel()[order], return_index=True)
        allowed = run.scope.has(rows)
        return rows[allowed], pages[order][first][allowed]


NOTHING: Rows = np.empty(0, dtype=np.int64)


def _words(tokens: tuple[str, ...]) -> tuple[list[str], NDArray[np.int64]]:
    """The words that the tokens are pieces of, and which word each belongs to."""
    words: list[str] = []
    owner = []
    for token in tokens:
        if token.startswith("##") and words:
            words[-1] += token[2:]
        else:
            words.append(token)
        owner.append(len(words) - 1)
    return words, np.array(owner, dtype=np.int64)
