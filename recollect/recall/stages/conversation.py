"""Stages for what was said in talks: its session, who said it, in which role and when, and whether it could answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from recollect.model.validation import micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.stages.factors import DAY
from recollect.text.dates import spans
from recollect.text.questions import asks_assistant, asks_what_was, asks_when, says_when, share_of_questions, statements
from recollect.text.words import fold, words

WITH_SESSION = "with its session"


@dataclass(frozen=True, slots=True)
class Session:
    """(1 − s) × score + s × the best score of its session: where one memory answers, others there may help.

    How much they do depends on the sessions: s = share × (loose + sharpness × coherence), at most share. Coherence is
    by how much the candidates of one session are nearer in meaning than those of different ones: where a session is
    about one thing it is large, where people talk of this and that it is next to nothing.

    A memory without a session counts as one by itself, so that it stands as before among others. What a later page
    brings lends nothing to an earlier one: asking for more never changes the first.
    """

    share: float = 0.5
    loose: float = 0.2
    sharpness: float = 3.0
    name: str = "session"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        sessions = run.snapshot.strings("session", hits.keys)
        if not any(sessions):
            raise Skip("no candidate has a session")
        whose = (run.snapshot.strings(name, hits.keys) for name in ("collection", "user"))
        names = list(zip(*whose, sessions, strict=True))
        best: dict[tuple[str, ...], float] = {}
        lent = hits.score.values.copy()
        for at in np.lexsort((-lent, hits.page)).tolist():
            if sessions[at]:
                lent[at] = best[names[at]] = max(best.get(names[at], lent[at]), lent[at])
        first = _first_page(hits)
        coherence = _coherence(run.snapshot.vectors(hits.keys[first]), [names[at] for at in first.tolist()])
        run.note("coherence", round(coherence, 3))
        share = self.share * min(1.0, max(0.0, self.loose + self.sharpness * coherence))
        own = product("its own", leaf(1 - share, "share"), hits.score)
        shared = product(
            lambda at: f"session {sessions[at]!r}" if sessions[at] else "no session: itself",
            leaf(share, "share"),
            leaf(lent, "best score in the session"),
        )
        return [Rescore(total(WITH_SESSION, own, shared))]


@dataclass(frozen=True, slots=True)
class Speaker:
    """× factor for what others said, when the question names somebody who speaks here."""

    factor: float = 0.8
    name: str = "speaker"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        speakers = run.snapshot.strings("speaker", hits.keys)
        named = _named(set(speakers) - {""}, run.question.text)
        if named.isdisjoint(speakers[at] for at in _first_page(hits).tolist()):
            raise Skip("the question names nobody who speaks here")
        others = np.array([speaker != "" and speaker not in named for speaker in speakers])
        factor = np.where(others, self.factor, 1.0)
        return [Rescore(product("after speaker", hits.score, leaf(factor, lambda at: f"said by {speakers[at]!r}")))]


@dataclass(frozen=True, slots=True)
class Role:
    """× a factor by role: what an assistant answered is worth less than what it was told, unless that is asked for."""

    factors: Mapping[str, float] = field(default_factory=lambda: {"assistant": 0.7, "system": 0.7, "tool": 0.7})
    name: str = "role"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        roles = run.snapshot.strings("role", hits.keys)
        if self.factors.keys().isdisjoint(roles):
            raise Skip("no candidate was said by an assistant")
        if asks_assistant(run.question.text):
            raise Skip("the question is for what an assistant said")
        factor = np.array([self.factors.get(role, 1.0) for role in roles])
        return [Rescore(product("after role", hits.score, leaf(factor, lambda at: f"role {roles[at]!r}")))]


@dataclass(frozen=True, slots=True)
class Answering:
    """× less for what could not be the answer, among the first ``head`` hits, whose texts are read for it.

    Between people, who asks does not answer: × (1 − asking × the share of the text that is questions); requests to an
    assistant are left alone. To a question for a time, a text that names none: × (1 − timeless).
    """

    asking: float = 0.4
    timeless: float = 0.1
    head: int = 40
    name: str = "answering"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        people = [bool(speaker) for speaker in run.snapshot.strings("speaker", hits.keys)[: self.head]]
        when = asks_when(run.question.text)
        if not when and not any(people):
            raise Skip("nobody speaks here, and no time is asked for")
        factor, said = np.ones(len(hits)), {}
        for at, (text, person) in enumerate(zip(run.texts(hits.keys[: self.head]), people, strict=True)):
            asked = share_of_questions(text) if person else 0.0
            timeless = when and not says_when(text)
            factor[at] = (1 - self.asking * asked) * (1 - self.timeless * timeless)
            said[at] = f"{asked:.0%} of it are questions" + (", and it names no time" if timeless else "")
        label = lambda at: said.get(at, "not among the first")  # noqa: E731
        return [Rescore(product("after answering", hits.score, leaf(factor, label)))]


@dataclass(frozen=True, slots=True)
class Dates:
    """× factor for what was made at another time than the question names: “in June”, “last Tuesday”.

    People tell of a thing when it happens or soon after: ``after`` days count as its time, too.
    """

    factor: float = 0.75
    before: float = 1.0  # days
    after: float = 7.0
    name: str = "dates"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        named = spans(run.question.text, run.now)
        if not named:
            raise Skip("the question names no date")
        created = run.snapshot.numbers("created", hits.keys)
        inside = np.zeros(len(hits), dtype=np.bool_)
        for start, end in named:
            inside |= (created >= micros(start) - self.before * DAY) & (created < micros(end) + self.after * DAY)
        run.note("dates", ", ".join(f"{start:%Y-%m-%d} to {end:%Y-%m-%d}" for start, end in named))
        first = inside[_first_page(hits)]
        if first.all() or not first.any():
            raise Skip("all candidates are of one time, as far as the question goes")
        other = ~inside & ~np.isnan(created)  # of a guest it is not known
        said = np.where(inside, "made at the time in question", np.where(other, "made at another time", "undated"))
        factor = leaf(np.where(other, self.factor, 1.0), lambda at: str(said[at]))
        return [Rescore(product("after dates", hits.score, factor))]


@dataclass(frozen=True, slots=True)
class Resuming:
    """A message goes on where a talk was left: × less for talks that are far in time, and for what was not their end.

    Who writes so many ``statements`` tells and asks, and goes on with something; a single question, or one that asks
    what was, may be about any time. In sessions, × (1 − share + share × 2^(−distance ÷ half_life)), and × (1 − share ×
    how many of the next ``reach`` are there, too).
    """

    share: float = 0.25
    statements: int = 3
    half_life: float = 30.0  # days, before the message or after it
    reach: int = 2
    name: str = "resuming"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        told = statements(run.question.text)
        if told < self.statements or asks_what_was(run.question.text):
            raise Skip("the question is no message that goes on with a talk")
        talks = np.array([session != "" for session in run.snapshot.strings("session", hits.keys)], dtype=np.bool_)
        if not talks[_first_page(hits)].any():
            raise Skip("no candidate has a session")
        run.note("goes on with a talk", f"{told} statements")
        away = np.abs((micros(run.now) - run.snapshot.numbers("created", hits.keys)) / DAY)
        after = run.snapshot.around(hits.keys, self.reach)[:, self.reach :]
        follow = run.scope.has(after.ravel()).reshape(after.shape).sum(axis=1)
        near = np.where(talks, 1 - self.share + self.share * np.exp2(-np.nan_to_num(away) / self.half_life), 1.0)
        end = np.where(talks, 1 - self.share * follow / self.reach, 1.0)

        def time(at: int) -> str:
            return f"{away[at]:.1f} days from the message" if talks[at] else "no session"

        def place(at: int) -> str:
            return f"{follow[at]} of the next {self.reach} follow in its session" if talks[at] else "no session"

        return [Rescore(product("after resuming", hits.score, leaf(near, time), leaf(end, place)))]


def _first_page(hits: Hits) -> NDArray[np.int64]:
    """The places of what is there however little is asked for: it alone decides whether a stage has anything to do."""
    return np.flatnonzero(hits.page == hits.page.min(initial=0))


def _coherence(vectors: NDArray[np.float32], names: list[tuple[str, ...]]) -> float:
    """The mean cosine of two of one session, less that of two of different ones; 0 where there are no such two."""
    has_one = ~np.isnan(vectors).any(axis=1) if vectors.shape[1] else np.zeros(len(vectors), dtype=np.bool_)
    known = sorted(np.flatnonzero(has_one).tolist(), key=names.__getitem__)
    inside = pairs = 0.0
    for name, group in groupby(known, key=names.__getitem__):
        members = list(group)
        if name[-1] and len(members) > 1:
            inside += _cosines_between(vectors[members])
            pairs += len(members) * (len(members) - 1)
    others = len(known) * (len(known) - 1) - pairs
    if not pairs or not others:
        return 0.0
    return inside / pairs - (_cosines_between(vectors[known]) - inside) / others


def _cosines_between(vectors: NDArray[np.float32]) -> float:
    """Σ of the cosines of all unit vectors with all others."""
    whole = vectors.sum(axis=0, dtype=np.float64)
    return float(whole @ whole) - len(vectors)


def _named(speakers: set[str], question: str) -> set[str]:
    """Those whom the question names, by the whole name or the first part of it."""
    asked = {fold(word) for word in words(question)} if speakers else set()
    return {speaker for speaker in speakers if (name := words(speaker)) and fold(name[0]) in asked}
