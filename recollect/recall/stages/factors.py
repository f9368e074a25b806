"""Stages that multiply scores by age or status, stages with a condition, and the recording of use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from recollect.model.validation import micros
from recollect.recall.expressions import Expression, leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.recipe import Stage
from recollect.recall.run import Run, Skip
from recollect.store.base import Flags, Floats, Rows, Store, UseRecord
from recollect.text.question_time import asks_for_next, in_present_tense, question_time

DAY = 86_400e6  # microseconds
TIME_FACTORS = "time factors"  # in the cache of a run: by key, what the stage for the time of the query multiplied by


@dataclass(frozen=True, slots=True)
class RecencyFactor:
    """× (1 − share + share × 2^(−age / half_life)): at most ``share`` of a score depends on age."""

    share: float = 0.05
    half_life: float = 30.0  # days
    name: str = "recency"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        ages = np.fmax(
            0.0, (micros(run.as_of) - run.snapshot.numbers("created", hits.keys)) / DAY
        )  # 0 where it is unknown
        factor = 1 - self.share + self.share * np.exp2(-ages / self.half_life)

        def label(at: int) -> str:
            return f"recency: {ages[at]:.{0 if ages[at] >= 10 else 1}f} days old"

        return [Rescore(product("after recency", hits.score, leaf(factor, label)))]


@dataclass(frozen=True, slots=True)
class OrderFactor:
    """For a query for the first of something or an earlier one: × (1 − share × its place in time), from 0 for the
    oldest of the first ``head`` hits to 1 for the newest. For the last of something the other way round.

    Of several that match the query alike, such as three tools that were bought, it prefers the one that is asked for.
    For the next one: × ``other`` for what tells only of times that are over; for the last one, in the past tense, of
    times to come. That is if a hit of the first page, with at least ``ratio`` of the best score, tells of the others.
    """

    share: float = 0.3
    other: float = 0.5
    ratio: float = 0.3
    head: int = 40
    name: str = "order"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        factors = list(filter(None, (self._by_told_time(run, hits), self._by_creation(run, hits))))
        if not factors:
            raise Skip("the query does not ask for the first, the last or an earlier one, or the first hits are equal")
        return [Rescore(product("after order", hits.score, *factors))]

    def _by_told_time(self, run: Run, hits: Hits) -> Expression | None:
        other = is_of_other_time(run, hits.keys)
        if other is None or not (other & (hits.page == hits.page.min(initial=0))).any():
            return None
        if not self._is_told(hits, ~other & _tells_a_time(run, hits.keys)):
            return None
        reasons = np.where(other, "tells of another time", "asked for")
        return leaf(np.where(other, self.other, 1.0), lambda at: f"order: {reasons[at]}")

    def _by_creation(self, run: Run, hits: Hits) -> Expression | None:
        time = question_time(run.query.repeats or run.trace.query)
        if time not in ("first", "before", "last") or run.query.times:
            return None
        created = run.snapshot.numbers("created", hits.keys)
        head = created[: self.head]
        oldest, newest = np.fmin.reduce(head), np.fmax.reduce(head)
        if not newest > oldest:
            return None
        place = np.nan_to_num(np.clip((created - oldest) / (newest - oldest), 0.0, 1.0))  # 0 where it is unknown
        factor = 1 - self.share * (1 - place if time == "last" else place)
        return leaf(factor, f"asked for: {time}")

    def _is_told(self, hits: Hits, told: Flags) -> bool:
        """Does a hit with a good score tell of the time that is asked for?"""
        first = hits.page == hits.page.min(initial=0)
        scores = hits.score.values
        return bool((first & told & (scores >= self.ratio * scores[first].max(initial=0.0)) & (scores > 0)).any())


def is_of_other_time(run: Run, keys: Rows) -> Flags | None:
    """For a question for the next of something, what tells only of times that are over; for the last one, in the past
    tense, of times to come. None for other questions."""
    question = run.query.repeats or run.trace.query
    coming = asks_for_next(question)
    if run.query.times or not (coming or (question_time(question) == "last" and not in_present_tense(question))):
        return None
    now = micros(run.as_of)
    told = run.snapshot.told_times(keys)
    if coming:
        return np.array([bool(spans) and all(end <= now for _, end in spans) for spans in told], dtype=np.bool_)
    return np.array([bool(spans) and all(start > now for start, _ in spans) for spans in told], dtype=np.bool_)


def _tells_a_time(run: Run, keys: Rows) -> Flags:
    return np.array([bool(spans) for spans in run.snapshot.told_times(keys)], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class StatusFactor:
    """× a factor for memories that are superseded or contradicted at the moment of the query.

    A query about the past (“my old address”) asks for superseded ones: those keep their score.
    """

    factors: Mapping[str, float] = field(default_factory=lambda: {"superseded": 0.5, "contradicted": 0.3})
    name: str = "status"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        statuses = status_at(run, hits.keys)
        if question_time(run.trace.query) in ("before", "first"):
            statuses = ["active" if status == "superseded" else status for status in statuses]
        if self.factors.keys().isdisjoint(statuses):
            raise Skip("all candidates are active")
        factor = np.array([self.factors.get(status, 1.0) for status in statuses])
        stored = run.snapshot.strings("status", hits.keys)

        def label(at: int) -> str:
            ended = ", its validity has ended" if statuses[at] == "superseded" and stored[at] == "active" else ""
            return f"status: {statuses[at]}{ended}"

        return [Rescore(product("after status", hits.score, leaf(factor, label)))]


def status_at(run: Run, keys: Rows) -> list[str]:
    """The status of each memory at the moment of the query: active before its valid_to, superseded from then on.

    A contradicted one is active before it was contradicted: before the first of its edges ``contradicts``.
    """
    stored = _before_contradictions(run, keys, run.snapshot.strings("status", keys))
    ends = run.snapshot.numbers("valid_to", keys)
    if np.isnan(ends).all():
        return stored
    now = micros(run.as_of)
    statuses = []
    for status, end in zip(stored, ends.tolist(), strict=True):
        if status in ("active", "superseded") and end == end:
            status = "superseded" if end <= now else "active"
        statuses.append(status)
    return statuses


def _before_contradictions(run: Run, keys: Rows, statuses: list[str]) -> list[str]:
    if run.as_of >= run.now or "contradicted" not in statuses:
        return statuses
    marked = keys[np.array([status == "contradicted" for status in statuses])]
    links, known = run.snapshot.edges(marked, ("contradicts",)), run.edges(marked, ("contradicts",))
    later = {*links.sources.tolist(), *links.targets.tolist()} - {*known.sources.tolist(), *known.targets.tolist()}
    return [
        "active" if status == "contradicted" and key in later else status
        for key, status in zip(keys.tolist(), statuses, strict=True)
    ]


SkipCondition = Callable[[Run, Hits], str]  # the reason to skip, or an empty string


@dataclass(frozen=True, slots=True)
class ConditionalStage:
    """A stage that is skipped when a condition gives a reason."""

    stage: Stage
    unless: SkipCondition

    @property
    def name(self) -> str:
        return self.stage.name

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        reason = self.unless(run, hits)
        if reason:
            raise Skip(reason)
        return self.stage.apply(run, hits)


@dataclass(frozen=True, slots=True)
class RecordUse:
    """Counts the use of the returned memories."""

    counters: tuple[Literal["access", "return", "recall"], ...] = ("access",)
    name: str = "record use"

    def record(self, run: Run, store: Store, rows: list[int]) -> None:
        store.record_use(UseRecord(rows, run.called_at or run.now, self.counters))


def without_time_factor(run: Run, keys: Rows, scores: Floats) -> Floats:
    """Scores as they would be if the query named no time."""
    factors: dict[int, float] = run.cache.get(TIME_FACTORS, {})
    return np.asarray(scores / np.array([factors.get(key, 1.0) for key in keys.tolist()]))
