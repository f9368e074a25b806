"""Stage Sf: full-text search with typo-tolerant look-ups, scored by words and by the memory's own fields (A3, A5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model.validation import micros
from recollect.recall.cues.words import ALL_FIELDS, explain_matches
from recollect.recall.expressions import ChoiceExpression, Expression, largest, leaf, product, total
from recollect.recall.hits import Candidates, no_candidates
from recollect.recall.recipe import Cue, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.store.base import Rows, Term, WordQuery
from recollect.text.words import fold, is_spaceless, stem


@dataclass(frozen=True, slots=True)
class FullTextCue:
    """One look-up after the other; a memory counts once, as the first found it, and is scored by its worth (A3, A5).

    The last resort is asked only when all others together found fewer than k.
    """

    name: str
    lookups: Sequence[Cue]
    last_resort: Cue
    worth: FullTextScore
    depth: Depth

    def find(self, run: Run) -> Candidates:
        detail: dict[str, object] = {}
        found = [self._looked_up(run, each, detail) for each in self.lookups]
        if len({key for each in found for key in each.keys.tolist()}) < run.k:
            found.append(self._looked_up(run, self.last_resort, detail))
        else:
            detail[self.last_resort.name] = f"not needed: {run.k} are found"
        first: dict[int, tuple[int, int]] = {}
        for number, each in enumerate(found):
            fresh = len(first)
            for place, key in enumerate(each.keys.tolist()):
                first.setdefault(key, (number, place))
            if len(each.keys):
                detail[each.cue] = len(first) - fresh
        if not first and not run.query.terms:
            raise Skip("the question has no words to look up")
        keys = np.array(list(first), dtype=np.int64)
        where = np.array(list(first.values()), dtype=np.int64).reshape(-1, 2)
        score = self.worth.of(
            run, keys, ChoiceExpression(tuple(each.score for each in found), where[:, 0], where[:, 1])
        )
        best = np.lexsort((keys, -score.values))[: self.depth(run.k)]
        return Candidates(self.name, keys[best], score.take(best), len(keys), {"how": _told(found, detail), **detail})

    def score(self, run: Run, rows: Rows) -> Expression:
        """As find scores them: by the first look-up that knows them; 0 where none does."""
        scored = [expr for cue in (*self.lookups, self.last_resort) if (expr := _scored(run, cue, rows)) is not None]
        unknown = leaf(np.zeros(len(rows)), f"{self.name}: no word in common")
        if not scored:
            return unknown
        has = np.array([np.broadcast_to(expr.values, (len(rows),)) > 0 for expr in scored])
        here = np.arange(len(rows))
        first, found = np.argmax(has, axis=0), np.asarray(has.any(axis=0), dtype=np.int64)
        worth = self.worth.of(run, rows, ChoiceExpression(tuple(scored), first, here))
        return ChoiceExpression((unknown, worth), found, here)

    def _looked_up(self, run: Run, cue: Cue, detail: dict[str, object]) -> Candidates:
        try:
            found = cue.find(run)
        except Skip as skip:
            detail[cue.name] = str(skip)
            return no_candidates(cue.name)
        detail[cue.name] = 0
        detail.update({f"{name} ({cue.name})": value for name, value in found.detail.items() if value})
        return found


def _scored(run: Run, cue: Cue, rows: Rows) -> Expression | None:
    try:
        return cue.score(run, rows)
    except Skip:
        return None


def _told(found: Sequence[Candidates], fresh: Mapping[str, object]) -> str:
    """Which words brought memories: ``full text on “database”, “project”; trigrams on “databases”``."""
    told = []
    for each in found:
        words = [
            word for word, count in (each.detail.get("terms") or each.detail.get("instead") or {}).items() if count
        ]
        if words and len(each.keys) and fresh[each.cue]:
            told.append(f"{each.cue} on " + ", ".join(f"“{word}”" for word in words[:6]) + " …" * (len(words) > 6))
    return "; ".join(told) or "no word in common with any memory"


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

    def of(self, run: Run, rows: Rows, words: Expression) -> Expression:
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
            self._recency(run, rows, Expression(feeling, "|emotion|")),
        )

    def _recency(self, run: Run, rows: Rows, feeling: Expression) -> Expression:
        age = np.maximum(0.0, (micros(run.as_of) - run.snapshot.numbers("created", rows)) / DAY)
        fresh = leaf(1 - age / self.decay_days, lambda at: f"1 − {age[at]:.1f} days ÷ {self.decay_days:g}")
        moved = product("emotion boost", feeling, leaf(self.emotion_boost, "for each point of emotion"))
        return product(
            "recency factor",
            largest("not below the floor", leaf(self.decay_floor, "floor"), fresh),
            total("1 + emotion boost", leaf(1.0, "one"), moved),
        )


@dataclass(frozen=True, slots=True)
class SimilarWords:
    """Words that hold a word of the question, or that look like it; diacritics do not count.

    Where the word itself is known, what only looks like it must do so closely: a letter of a long word may be wrong,
    but a question for the house is not one for the horse.
    """

    name: str = "alike"
    fields: Mapping[str, float] = field(default_factory=lambda: ALL_FIELDS)
    depth: Depth = fixed(100)
    least: float = 0.3  # similarity of 3-grams
    least_known: float = 0.85  # the same, for a word that memories here have
    variants: int = 50  # for each word
    most: int = 12  # words that are tried

    def find(self, run: Run) -> Candidates:
        query = self._query(run)
        matches = run.snapshot.lexicon.search(query, run.scope, self.depth(run.k))
        tried = {match.term.word: round(match.term.weight, 3) for match in matches.terms if match.here}
        return Candidates(
            self.name, matches.rows, explain_matches(self.name, matches), matches.found, {"instead": tried}
        )

    def score(self, run: Run, rows: Rows) -> Expression:
        return explain_matches(self.name, run.snapshot.lexicon.score(self._query(run), run.scope, rows))

    def _query(self, run: Run) -> WordQuery:
        asked = WordQuery(run.query.terms, self.fields, 1.2, 0.75)
        none: Rows = np.empty(0, dtype=np.int64)
        known = {match.term.word: match.here > 0 for match in run.snapshot.lexicon.score(asked, run.scope, none).terms}
        tried = [word for word in known if len(word) > 2 or is_spaceless(word)][: self.most]  # 3-grams need 3 letters
        alike: dict[str, tuple[float, str]] = {}  # by stem: relatives are looked up together
        for word in tried:
            for other, similarity in run.snapshot.lexicon.alike(word, run.scope, self.least, self.variants):
                if not known[word] or similarity >= self.least_known or fold(word) in other:
                    alike[stem(other)] = max((similarity, other), alike.get(stem(other), (0.0, "")))
        if not alike:
            raise Skip("no known word is like one of the question's")
        terms = tuple(Term(word, weight) for weight, word in alike.values())
        return WordQuery(terms, self.fields, 1.2, 0.75)
