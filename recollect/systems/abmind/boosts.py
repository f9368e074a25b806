"""Stages that adjust scores: the cross-stage penalty and boosts for context, emotion and spaced recalls (A10–A13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from recollect.model.validation import from_micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.store.base import Floats, Rows

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
