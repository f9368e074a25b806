"""Stage Sf: full-text search with typo-tolerant look-ups, scored by words and by the memory's own fields (A3, A5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model import micros
from recollect.recall.bm25 import Bm25Query, score, search, statistics
from recollect.recall.cues.words import ALL_FIELDS, explain_matches
from recollect.recall.expressions import ChoiceExpression, Expression, largest, leaf, product, total
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.ordering import best_first
from recollect.recall.recipe import Cue, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term
from recollect.text.words import fold, is_spaceless, stem


@dataclass(frozen=True, slots=True)
class FullTextCue:
    """Runs several look-ups; a memory has the score of the first that found it, combined with its fields (A3, A5).

    The fallback runs only when all others together found fewer than k.
    """

    name: str
    lookups: Sequence[Cue]
    fallback: Cue
    scoring: FullTextScore
    depth: Depth

    def find(self, run: Run) -> Candidates:
        detail: dict[str, object] = {}
        found = [self._look_up(run, each, detail) for each in self.lookups]
        if len({key for each in found for key in each.keys.tolist()}) < run.k:
            found.append(self._look_up(run, self.fallback, detail))
        else:
            detail[self.fallback.name] = f"not needed: {run.k} found"
        first: dict[int, tuple[int, int]] = {}
        for number, each in enumerate(found):
            before = len(first)
            for place, key in enumerate(each.keys.tolist()):
                first.setdefault(key, (number, place))
            if len(each.keys):
                detail[each.cue] = len(first) - before
        if not first and not run.query.terms:
            raise Skip("the query has no words to look up")
        keys = np.array(list(first), dtype=np.int64)
        where = np.array(list(first.values()), dtype=np.int64).reshape(-1, 2)
        by_words = ChoiceExpression(tuple(each.score for each in found), where[:, 0], where[:, 1])
        score = self.scoring.score(run, keys, by_words).tag("component", self.name)
        best = best_first(run.snapshot, keys, score.values, self.depth(run.k))
        return Candidates(
            self.name, keys[best], score.take(best), len(keys), {"how": _describe(found, detail), **detail}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        """As in find: the score of the first look-up that has one; 0 where none has."""
        scored = [expr for cue in (*self.lookups, self.fallback) if (expr := _score(run, cue, rows)) is not None]
        unknown = leaf(np.zeros(len(rows)), f"{self.name}: no word in common")
        if not scored:
            return unknown
        has = np.array([np.broadcast_to(expr.values, (len(rows),)) > 0 for expr in scored])
        places = np.arange(len(rows))
        first, found = np.argmax(has, axis=0), np.asarray(has.any(axis=0), dtype=np.int64)
        by_words = ChoiceExpression(tuple(scored), first, places)
        score = self.scoring.score(run, rows, by_words).tag("component", self.name)
        return ChoiceExpression((unknown, score), found, places)

    def _look_up(self, run: Run, cue: Cue, detail: dict[str, object]) -> Candidates:
        try:
            found = cue.find(run)
        except Skip as skip:
            detail[cue.name] = str(skip)
            return no_candidates(cue.name)
        detail[cue.name] = 0
        detail.update({f"{name} ({cue.name})": value for name, value in found.detail.items() if value})
        return found


def _score(run: Run, cue: Cue, rows: Rows) -> Expression | None:
    try:
        return cue.score(run, rows)
    except Skip:
        return None


def _describe(found: Sequence[Candidates], new: Mapping[str, object]) -> str:
    """The words that found memories: ``full text on “database”, “project”; trigrams on “databases”``."""
    parts = []
    for each in found:
        words = [
            word for word, count in (each.detail.get("terms") or each.detail.get("instead") or {}).items() if count
        ]
        if words and len(each.keys) and new[each.cue]:
            parts.append(f"{each.cue} on " + ", ".join(f"“{word}”" for word in words[:6]) + " …" * (len(words) > 6))
    return "; ".join(parts) or "no word in common with any memory"


DAY = 86_400e6  # microseconds


@dataclass(frozen=True, slots=True)
class FullTextScore:
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

    def score(self, run: Run, rows: Rows, words: Expression) -> Expression:
        """The score of each row, whose words alone have the score ``words``."""
        emotion = np.abs(np.nan_to_num(run.snapshot.numbers("emotion", rows)))
        recalls = np.nan_to_num(run.snapshot.use_numbers("recall_count", rows))
        relevance = run.snapshot.numbers("relevance", rows)
        trust = np.nan_to_num(run.snapshot.numbers("trust", rows))
        credibility = run.snapshot.numbers("credibility", rows)
        tiers = run.snapshot.strings("tier", rows)
        one = leaf(1.0, "1")
        return product(
            "full-text score",
            total(
                "words and emotion",
                words,
                product("emotion", leaf(0.5, "weight"), leaf(np.log(1 + emotion), "ln(1 + |emotion|)")),
            ),
            total(
                "1 + recall boost",
                one,
                product("recall boost", leaf(0.1, "for each recall"), leaf(recalls, "times recalled")),
            ),
            total(
                "1 + relevance boost", one, leaf(np.where(relevance > 0, 0.2, 0.0), "0.2 where relevance is above 0")
            ),
            total(
                "trust factor",
                leaf(0.5, "without trust"),
                product("trust", leaf(0.5, "weight"), leaf(trust / 3, "trust ÷ 3")),
            ),
            leaf(np.where(credibility <= 2, 1.25, 1.0), "credibility factor: 1.25 up to 2"),
            leaf(
                [1.3 if tier == "core" else 1.0 for tier in tiers], lambda at: f"tier boost: {tiers[at] or 'no tier'}"
            ),
            self._recency(run, rows, Expression(emotion, "|emotion|")),
        )

    def _recency(self, run: Run, rows: Rows, emotion: Expression) -> Expression:
        age = np.maximum(0.0, (micros(run.as_of) - run.snapshot.numbers("created", rows)) / DAY)
        decay = leaf(1 - age / self.decay_days, lambda at: f"1 − {age[at]:.1f} days ÷ {self.decay_days:g}")
        boost = product("emotion boost", emotion, leaf(self.emotion_boost, "for each point of emotion"))
        return product(
            "recency factor",
            largest("not below the floor", leaf(self.decay_floor, "floor"), decay),
            total("1 + emotion boost", leaf(1.0, "1"), boost),
        )


@dataclass(frozen=True, slots=True)
class SimilarWords:
    """Looks up known words that contain a word of the query or share 3-grams with it; diacritics are ignored.

    Where a memory has the word itself, similar words must be very similar: one letter of a long word may differ, but a
    query for the house is not one for the horse.
    """

    name: str = "similar words"
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = fixed(100)
    min_similarity: float = 0.3  # of 3-grams
    min_similarity_known: float = 0.85  # where a memory has the word itself
    max_variants: int = 50  # of each word
    max_words: int = 12

    def find(self, run: Run) -> Candidates:
        query = self._query(run)
        matches = search(run.snapshot, run.scope, query, self.depth(run.k))
        tried = {match.term.word: round(match.term.weight, 3) for match in matches.terms if match.occurs}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.total, {"instead": tried}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return explain_matches(self.name, score(run.snapshot, run.scope, self._query(run), rows))

    def _query(self, run: Run) -> Bm25Query:
        query = Bm25Query(run.query.terms, self.fields, 1.2, 0.75)
        known = {match.term.word: match.occurs for match in statistics(run.snapshot, run.scope, query).terms}
        tried = [word for word in known if len(word) > 2 or is_spaceless(word)][
            : self.max_words
        ]  # 3-grams need 3 letters
        similar: dict[str, tuple[float, str]] = {}  # by stem: inflections are one term
        for word in tried:
            for other, similarity in run.snapshot.similar_words(
                word, run.scope, self.min_similarity, self.max_variants
            ):
                if not known[word] or similarity >= self.min_similarity_known or fold(word) in other:
                    similar[stem(other)] = max((similarity, other), similar.get(stem(other), (0.0, "")))
        if not similar:
            raise Skip("no known word is similar to one of the query")
        terms = tuple(Term(word, weight) for weight, word in similar.values())
        return Bm25Query(terms, self.fields, 1.2, 0.75)
