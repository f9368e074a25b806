"""The stages of abmind: penalty, boosts for context, emotion and spacing, diversity, enrichment (A10–A15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

import numpy as np
from numpy.typing import NDArray

from recollect.model import Memory, from_micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Annotate, HitOperation, Hits, Reorder, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.statements import CONFLICT_REASONS, DECIDED_EDGES, SAMPLE, Statements, usual_cosine
from recollect.store.base import Floats, Rows
from recollect.text.words import words

DAY = 86_400.0  # seconds


def stored_numbers(run: Run, name: str, keys: Rows) -> Floats:
    """A number of each hit; NaN for external results."""
    values = np.full(len(keys), np.nan)
    values[keys > 0] = run.snapshot.numbers(name, keys[keys > 0])
    return values


def time_of_day(hour: int) -> str:
    """morning 6–11, afternoon 12–17, evening 18–22, night 23–5."""
    return (
        "morning" if 6 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening" if 18 <= hour < 23 else "night"
    )


@dataclass(frozen=True, slots=True)
class CurrentContext:
    """The caller's current hour, weekday (Sunday is 0) and topic; None where it is not given."""

    hour: int | None = None
    day: int | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class ContextBoost:
    """+ hour for the same time of day, + day for the same weekday (half for the same kind of day), + topic (A11).

    A memory's hour and day are those of its creation, in the caller's time zone.
    """

    current: CurrentContext | None = None
    zone: tzinfo | None = None  # None is that of the machine
    hour: float = 0.02
    day: float = 0.015
    topic: float = 0.03
    name: str = "context boost"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if self.current is None:
            raise Skip("no current context was given")
        created = [
            None if at != at else from_micros(int(at)).astimezone(self.zone)
            for at in stored_numbers(run, "created", hits.keys)
        ]
        topics = iter(run.snapshot.strings("topic", hits.keys[hits.keys > 0]))
        same_topic = [next(topics) == self.current.topic if key > 0 else False for key in hits.keys.tolist()]
        boosts = (
            leaf([self._hour(at) for at in created], "same time of day"),
            leaf([self._day(at) for at in created], "same weekday, or half for the same kind of day"),
            leaf(np.where(same_topic, self.topic, 0.0) * bool(self.current.topic), "same topic"),
        )
        if not any(boost.values.any() for boost in boosts):
            raise Skip("no candidate has the same hour, weekday or topic")
        return [Rescore(total("after context", hits.score, *boosts))]

    def _hour(self, created: datetime | None) -> float:
        current = self.current.hour if self.current else None
        if created is None or current is None:
            return 0.0
        return self.hour if time_of_day(created.hour) == time_of_day(current) else 0.0

    def _day(self, created: datetime | None) -> float:
        current = self.current.day if self.current else None
        if created is None or current is None:
            return 0.0
        day = created.isoweekday() % 7
        if day == current:
            return self.day
        return self.day / 2 if (day in (0, 6)) == (current in (0, 6)) else 0.0


@dataclass(frozen=True, slots=True)
class EmotionBoost:
    """+ min(limit, per_point × |emotion|): enough to break a tie (A12)."""

    per_point: float = 0.02
    limit: float = 0.10
    name: str = "emotion boost"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        emotion = np.abs(np.nan_to_num(stored_numbers(run, "emotion", hits.keys)))
        if not emotion.any():
            raise Skip("no candidate has an emotion")
        boost = np.minimum(self.limit, self.per_point * emotion)
        label = f"emotion: {self.per_point:g} × |emotion|, at most {self.limit:g}"
        return [Rescore(total("after emotion", hits.score, leaf(boost, label)))]


@dataclass(frozen=True, slots=True)
class SpacingBoost:
    """× a factor by the mean interval between a memory's recalls: spaced recalls count more (A13)."""

    factors: Sequence[tuple[float, float]] = ((7.0, 1.3), (1.0, 1.15))  # minimum days and factor, longest first
    last: int = 20  # recalls considered
    name: str = "spacing boost"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        uses = iter(run.snapshot.uses(hits.keys[hits.keys > 0]))
        means = [
            _mean_interval(next(uses).recall_times[-self.last :]) if key > 0 else None for key in hits.keys.tolist()
        ]
        factor = np.array([self._factor(mean) for mean in means])
        if (factor == 1).all():
            raise Skip("no candidate was recalled at intervals")

        def label(at: int) -> str:
            mean = means[at]
            return "spacing: recalled less than twice" if mean is None else f"spacing: recalled every {mean:.1f} days"

        return [Rescore(product("after spacing", hits.score, leaf(factor, label)))]

    def _factor(self, mean: float | None) -> float:
        return next((factor for days, factor in self.factors if mean is not None and mean >= days), 1.0)


def _mean_interval(times: Sequence[datetime]) -> float | None:
    """The mean number of days between recalls; None for fewer than two."""
    if len(times) < 2:
        return None
    return (max(times) - min(times)).total_seconds() / DAY / (len(times) - 1)


@dataclass(frozen=True, slots=True)
class ConfirmationPenalty:
    """× factor for memories that one cue found and another cue, which also ran, did not (A10).

    It depends on what each cue found, not on which cue gave the score in the fusion.
    """

    found_by: str
    confirmed_by: str
    factor: float = 0.5
    name: str = "cross-stage penalty"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        ran = any(
            step.kind == "cue" and step.name == self.confirmed_by and step.outcome == "ran" for step in run.trace.steps
        )
        if not ran:
            raise Skip(f"{self.confirmed_by} did not run")
        unconfirmed = np.isin(hits.keys, run.found[self.found_by].keys) & ~np.isin(
            hits.keys, run.found[self.confirmed_by].keys
        )
        if not unconfirmed.any():
            raise Skip(f"{self.confirmed_by} confirmed all that {self.found_by} found")
        run.log("penalised", int(unconfirmed.sum()))

        def label(at: int) -> str:
            return f"{self.name}: {self.confirmed_by} did not find it" if unconfirmed[at] else f"{self.name}: none"

        return [Rescore(product("after the penalty", hits.score, leaf(np.where(unconfirmed, self.factor, 1.0), label)))]


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


CONFLICT = "⚠️ Conflicts with another result"
QUOTE_CHARACTERS = 48  # of a text in a note
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Enrichment:
    """Adds notes (A15): a timeline to results that share a topic, a warning to those that conflict.

    Results conflict if a ``contradicts`` edge connects them, or by the rules of ``recall/statements.py`` (B17) unless
    somebody has decided about the two (``supersedes``, ``same_as``).
    """

    zone: tzinfo | None = None  # of the dates shown; None is that of the machine
    conflict: str = CONFLICT
    name: str = "enrichment"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        keys = hits.keys[: run.k]
        rows = keys[keys > 0]
        notes: dict[int, list[str]] = {}
        memories = dict(zip(rows.tolist(), run.memories(rows), strict=True))
        by_topic: dict[str, list[int]] = {}
        for row, memory in memories.items():
            by_topic.setdefault(memory.topic, []).append(row)
        for topic, sharing in by_topic.items():
            if topic and len(sharing) > 1:
                sharing.sort(key=lambda row: memories[row].created or EARLIEST)
                for row in sharing:
                    notes.setdefault(row, []).append(
                        self._timeline(topic, [memories[each] for each in sharing], memories[row])
                    )
        for row, reasons in self._conflicts(run, rows, memories).items():
            notes.setdefault(row, []).extend([self.conflict, *reasons])
        if not notes:
            raise Skip("no results share a topic or contradict each other")
        return [Annotate(notes)]

    def _conflicts(self, run: Run, rows: Rows, memories: Mapping[int, Memory]) -> dict[int, list[str]]:
        """The results that conflict with another, each with the reasons of the conflicts that rules found."""
        links = run.edges(rows, DECIDED_EDGES)
        linked = list(zip(links.sources.tolist(), links.targets.tolist(), links.kinds, strict=True))
        decided = {frozenset(pair) for *pair, _ in linked}
        found: dict[int, list[str]] = {}
        for source, target, kind in linked:
            if kind == "contradicts" and memories.keys() >= {source, target}:
                found.setdefault(source, []), found.setdefault(target, [])
        usual = usual_cosine(run.snapshot, run.snapshot.page(run.scope, "stored", SAMPLE))
        statements = Statements.of(run.snapshot, rows, usual)
        for older, newer, rule in statements.conflicts():
            pair = int(rows[older]), int(rows[newer])
            if frozenset(pair) in decided:
                continue
            for row, other in (pair, pair[::-1]):
                found.setdefault(row, []).append(f"{CONFLICT_REASONS[rule]}: “{_short(memories[other].text)}”")
        return found

    def _timeline(self, topic: str, memories: list[Memory], this: Memory) -> str:
        """``Timeline of “db”: 2025-01-05 “We chose MySQL.” → 2025-03-01 this``."""
        entries = []
        for memory in memories:
            day = memory.created.astimezone(self.zone).date().isoformat() if memory.created else "undated"
            entries.append(f"{day} this" if memory is this else f"{day} “{_short(memory.text)}”")
        return f"Timeline of “{topic}”: " + " → ".join(entries)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTE_CHARACTERS else line[: QUOTE_CHARACTERS - 1].rstrip() + "…"
