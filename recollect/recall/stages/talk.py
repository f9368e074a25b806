"""Stages for what was said in talks: its session, who said it, and in which role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.recall.arithmetic import leaf, product, total
from recollect.recall.hits import Hits, Operation, Rescore
from recollect.recall.run import Run, Skip
from recollect.text.words import fold, words


@dataclass(frozen=True, slots=True)
class Session:
    """(1 − share) × score + share × the best score of its session: where one memory answers, others there may help.

    A memory without a session counts as one by itself, so that it stands as before among others.
    """

    share: float = 0.3
    name: str = "session"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        sessions = run.view.strings("session", hits.keys)
        if not any(sessions):
            raise Skip("no candidate has a session")
        best: dict[str, float] = {}
        scores = hits.score.values.tolist()
        for session, score in zip(sessions, scores, strict=True):
            best[session] = max(best.get(session, 0.0), score)
        lent = [best[session] if session else score for session, score in zip(sessions, scores, strict=True)]
        own = product("its own", leaf(1 - self.share, "share"), hits.score)
        shared = product(
            lambda at: f"session {sessions[at]!r}" if sessions[at] else "no session: itself",
            leaf(self.share, "share"),
            leaf(np.array(lent), "best score in the session"),
        )
        return [Rescore(total("with its session", own, shared))]


@dataclass(frozen=True, slots=True)
class Speaker:
    """× factor for what others said, when the question names somebody who speaks here."""

    factor: float = 0.8
    name: str = "speaker"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        speakers = run.view.strings("speaker", hits.keys)
        asked = {fold(word) for word in words(run.question.text)}
        named = {speaker for speaker in set(speakers) if speaker and _is_named(speaker, asked)}
        if not named:
            raise Skip("the question names nobody who speaks here")
        others = np.array([speaker != "" and speaker not in named for speaker in speakers])
        factor = np.where(others, self.factor, 1.0)
        return [Rescore(product("after speaker", hits.score, leaf(factor, lambda at: f"said by {speakers[at]!r}")))]


@dataclass(frozen=True, slots=True)
class Role:
    """× a factor by role: what an assistant answered is worth less than what it was told."""

    factors: Mapping[str, float] = field(default_factory=lambda: {"assistant": 0.7, "system": 0.7, "tool": 0.7})
    name: str = "role"

    def apply(self, run: Run, hits: Hits) -> Sequence[Operation]:
        roles = run.view.strings("role", hits.keys)
        if self.factors.keys().isdisjoint(roles):
            raise Skip("no candidate was said by an assistant")
        factor = np.array([self.factors.get(role, 1.0) for role in roles])
        return [Rescore(product("after role", hits.score, leaf(factor, lambda at: f"role {roles[at]!r}")))]


def _is_named(speaker: str, asked: set[str]) -> bool:
    """By the whole name or the first part of it."""
    return fold(words(speaker)[0]) in asked if words(speaker) else False
