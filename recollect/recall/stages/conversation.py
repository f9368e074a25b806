"""Stages for conversations: by session, speaker, role and date, by whether a text can be an answer, and by recency
of the conversation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from recollect.model.validation import micros
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Add, HitOperation, Hits, Rescore
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.run import Run, Skip
from recollect.recall.stages.factors import DAY
from recollect.store.base import Rows
from recollect.text.asked_value import asked_value
from recollect.text.classify import (
    asks_about_assistant,
    asks_how_much,
    asks_what_was_noted,
    asks_when,
    is_message,
    mentions_number,
    mentions_person,
    mentions_time,
    question_share,
)
from recollect.text.entity_names import NAMES_AND_WORDS, is_written_as_name
from recollect.text.framing import asks_for_words_of, frames_only
from recollect.text.polarity import asks_who
from recollect.text.statements import confirms
from recollect.text.stopwords import stop_words
from recollect.text.words import fold, words

WITH_SESSION = "with its session"


@dataclass(frozen=True, slots=True)
class SessionScore:
    """(1 − s) × score + s × the best score of the session: where one memory answers, others of its session may help.

    s = share × (loose + sharpness × coherence), at most share. Coherence is how much nearer in meaning the candidates
    of one session are than those of different ones: large where a session is about one thing, near 0 where it is not.

    A memory without a session is a session of its own. A message that continues a conversation is about the next turn,
    and a list of all of something about many sessions: nothing is shared. Candidates of a later page do not affect an
    earlier one, so that requesting more results never changes the first ones.
    """

    share: float = 0.5
    loose: float = 0.2
    sharpness: float = 3.0
    name: str = "session"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        sessions = run.snapshot.strings("session", hits.keys)
        if not any(sessions):
            raise Skip("no candidate has a session")
        if is_message(run.trace.query, run.query.language):
            raise Skip("the query is a message that continues a conversation")
        if run.query.asks_for_all:
            raise Skip("the query asks for all of something, of many sessions")
        owners = (run.snapshot.strings(name, hits.keys) for name in ("collection", "user"))
        names = list(zip(*owners, sessions, strict=True))
        best: dict[tuple[str, ...], float] = {}
        lent = hits.score.values.tolist()
        for at in np.lexsort((-hits.score.values, hits.page)).tolist():
            if sessions[at] and best.setdefault(names[at], lent[at]) >= lent[at]:
                lent[at] = best[names[at]]
            elif sessions[at]:
                best[names[at]] = lent[at]
        first = _first_page(hits)
        coherence = _coherence(run.snapshot.vectors(hits.keys[first]), [names[at] for at in first.tolist()])
        run.log("coherence", round(coherence, 3))
        share = self.share * min(1.0, max(0.0, self.loose + self.sharpness * coherence))
        own = product("own score", leaf(1 - share, "share"), hits.score)
        shared = product(
            lambda at: f"session {sessions[at]!r}" if sessions[at] else "no session: itself",
            leaf(share, "share"),
            leaf(lent, "best score in the session"),
        ).tag("component", lambda at: "session" if sessions[at] else "")
        return [Rescore(total(WITH_SESSION, own, shared))]


@dataclass(frozen=True, slots=True)
class SpeakerFactor:
    """× factor for what other speakers said, when the query names a speaker; × said where it asks for what that speaker
    said (“what did Ann say about it?”), and × alone if it asks for nothing more than that. If it names a user, whose
    memories have no speaker: × other_user for those of other users that do not name that user."""

    factor: float = 0.8
    said: float = 0.4
    alone: float = 0.01
    other_user: float = 0.5
    name: str = "speaker"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        speakers = run.snapshot.strings("speaker", hits.keys)
        named = _named_speakers(set(speakers) - {""}, run.query)
        if not named or named.isdisjoint(speakers[at] for at in _first_page(hits).tolist()):
            return self._by_user(run, hits, speakers)
        others = np.array([speaker != "" and speaker not in named for speaker in speakers])
        factor = np.where(others, min(self.factor, self._of_others(run, named)), 1.0)
        said = leaf(factor, lambda at: f"said by {speakers[at]!r}").tag("reason", "it was")
        return [Rescore(product("after speaker", hits.score, said))]

    def _by_user(self, run: Run, hits: Hits, speakers: Sequence[str]) -> Sequence[HitOperation]:
        users = run.snapshot.strings("user", hits.keys)
        known = {users[at] for at in _first_page(hits).tolist() if not speakers[at]} - {""}
        named = _named_speakers(known, run.query) if len(known) > 1 else set()
        if not named:
            raise Skip("the query names no speaker")
        names = {word for user in named for word in words(user)[:1]}
        others = [
            user != "" and user not in named and not speaker and names.isdisjoint(words(text))
            for user, speaker, text in zip(users, speakers, run.texts(hits.keys), strict=True)
        ]
        factor = np.where(others, self.other_user, 1.0)
        of_user = leaf(factor, lambda at: f"of user {users[at]!r}").tag("reason", "it is")
        return [Rescore(product("after speaker", hits.score, of_user))]

    def _of_others(self, run: Run, named: set[str]) -> float:
        names, query = {words(speaker)[0] for speaker in named}, run.trace.query
        if not all(asks_for_words_of(name, query) for name in names):
            return self.factor
        rest = " ".join(word for word in words(query) if word not in names)
        return self.alone if frames_only(rest, run.query.language) else self.said


@dataclass(frozen=True, slots=True)
class RoleFactor:
    """× a factor by role: what an assistant said counts less; where the query is about that, what others said does."""

    factors: Mapping[str, float] = field(default_factory=lambda: {"assistant": 0.7, "system": 0.7, "tool": 0.7})
    others: float = 0.5  # for the other roles, where the query is about what an assistant said
    name: str = "role"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        roles = run.snapshot.strings("role", hits.keys)
        less = self.factors.keys()
        if less.isdisjoint(roles) or less.isdisjoint(roles[at] for at in _first_page(hits).tolist()):
            raise Skip("no candidate was said by an assistant")
        about_assistant = asks_about_assistant(run.trace.query)
        run.log("about what an assistant said", about_assistant)
        if about_assistant:
            factor = np.array([self.others if role and role not in self.factors else 1.0 for role in roles])
        else:
            factor = np.array([self.factors.get(role, 1.0) for role in roles])
        return [Rescore(product("after role", hits.score, leaf(factor, lambda at: f"role {roles[at]!r}")))]


@dataclass(frozen=True, slots=True)
class AssistantReplies:
    """Where the query is about what an assistant said: the reply to a hit gets at least a share of that hit's score.

    “What did you advise about the plug?”: the user's turn names the plug, the reply need not.
    """

    share: float = 0.95
    name: str = "replies"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not asks_about_assistant(run.trace.query):
            raise Skip("the query is not about what an assistant said")
        turns = _turns_of(run, hits, assistant=False)
        replies = run.snapshot.neighbours(hits.keys[turns], 1)[:, 1]
        answers = _are_assistants(run, replies)
        return _lend(run, hits, turns[answers], replies[answers], self.share, "reply to")


def _turns_of(run: Run, hits: Hits, assistant: bool, head: int = 10) -> NDArray[np.int64]:
    """The places of an assistant's turns, or of the others, among the first hits."""
    first = _first_page(hits)
    first = first[hits.keys[first] > 0][:head]
    return np.asarray(first[_are_assistants(run, hits.keys[first]) == assistant])


def _are_assistants(run: Run, rows: Rows) -> NDArray[np.bool_]:
    return np.array([role == "assistant" for role in run.snapshot.strings("role", rows)], dtype=np.bool_)


def _lend(
    run: Run, hits: Hits, sources: NDArray[np.int64], targets: Rows, share: float, relation: str
) -> list[HitOperation]:
    """Give memories at least a share of the score of the hit that each belongs to; they may be hits already."""
    first = _first_page(hits)
    scores, own = (
        hits.score.values,
        dict(zip(hits.keys[first].tolist(), hits.score.values[first].tolist(), strict=True)),
    )
    better = np.array([own.get(key, 0.0) for key in targets.tolist()]) < share * scores[sources]
    better &= run.scope.contains(targets)
    if not better.any():
        raise Skip("no candidate has such a neighbour that it would raise")
    sources, targets = sources[better], targets[better]
    ids = run.ids(hits.keys[sources])
    lent = product(lambda at: f"{relation} {ids[at]}", hits.score.take(sources), leaf(share, "share"))
    return [Add(targets, lent)]


@dataclass(frozen=True, slots=True)
class AnswerLikelihood:
    """Lowers the score of texts that are unlikely to be an answer, among the first ``head`` hits.

    Between people: × (1 − asking × the share of the text that is questions); requests to an assistant stay as they
    are. Where the query asks for a time, × (1 − timeless) for a text that names none; where it asks for an amount,
    × (1 − numberless) for a text without a number, or without one of money or an age, if that is asked for; where it
    asks who, × (1 − nobody) for a text without a name, a pronoun or a relative (in English, where names have capital
    letters and nouns have not). Where it asks what an assistant advised, a turn of fewer than ``full`` words is more
    likely a confirmation: × (1 − brief × the missing share of these words), and × (1 − echo) for one of fewer than
    ``echo_words`` that repeats a value or a name of the turn before it, unless it asks what was noted.
    """

    asking: float = 0.4
    timeless: float = 0.2
    numberless: float = 0.2
    nobody: float = 0.2
    brief: float = 0.5
    full: int = 20  # words
    echo: float = 0.5
    echo_words: int = 20
    head: int = 40
    name: str = "answering"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        head = hits.keys[: self.head]
        people = [bool(speaker) for speaker in run.snapshot.strings("speaker", head)]
        when, has_amount = asks_when(run.query.text), _form_of_amount(run.query)
        advice = asks_about_assistant(run.trace.query)
        who = run.query.language == "en" and asks_who(run.trace.query)
        if not when and has_amount is None and not advice and not who and not any(people):
            raise Skip("no candidate has a speaker, and the query asks for no time, amount or person")
        replies = _are_assistants(run, head) & advice
        before = {} if asks_what_was_noted(run.trace.query) else _turns_before(run, head, replies)
        factor, reasons = np.ones(len(hits)), {}
        for at, (text, person, reply) in enumerate(zip(run.texts(head), people, replies.tolist(), strict=True)):
            parts = []
            if (person or reply) and (questions := question_share(text)):
                parts.append((1 - self.asking * questions, f"{questions:.0%} of the text are questions"))
            if when and not mentions_time(text):
                parts.append((1 - self.timeless, "the text names no time"))
            if has_amount is not None and not has_amount(text):
                parts.append((1 - self.numberless, "the text has no such number"))
            if who and not mentions_person(text):
                parts.append((1 - self.nobody, "the text names nobody"))
            if reply and (length := len(words(text, whole=True))) < self.echo_words:
                if length < self.full:
                    parts.append((1 - self.brief * (1 - length / self.full), f"it is a reply of {length} words"))
                if at in before and confirms(text, before[at]):
                    parts.append((1 - self.echo, "it repeats what it replies to"))
            if parts:
                factor[at] = math.prod(share for share, _ in parts)
                reasons[at] = ", ".join(reason for _, reason in parts)

        def label(at: int) -> str:
            can_be = "the text can be an answer" if at < self.head else f"not among the first {self.head}"
            return reasons.get(at, can_be)

        return [Rescore(product("after answering", hits.score, leaf(factor, label).tag("reason", "")))]


def _form_of_amount(query: ParsedQuery) -> Callable[[str], bool] | None:
    """Whether a text has an amount of the kind that a query asks for; None if it asks for none."""
    if not asks_how_much(query.text):
        return None
    asked = asked_value(query.text, query.language)
    return asked.may_be_in if asked is not None and asked.is_figure else mentions_number


def _turns_before(run: Run, rows: Rows, replies: NDArray[np.bool_]) -> dict[int, str]:
    """By place of a reply: the text of the turn that it replies to."""
    places = np.flatnonzero(replies)
    before = run.snapshot.neighbours(rows[places], 1)[:, 0] if len(places) else np.empty(0, dtype=np.int64)
    known = before >= 0
    return dict(zip(places[known].tolist(), run.texts(before[known]), strict=True))


@dataclass(frozen=True, slots=True)
class ContinuedConversation:
    """For a message that continues a conversation: lowers memories that are far in time or not at the end of a session.

    A query of at least ``statements`` sentences that are no questions is such a message; one that asks about the past
    is not. In sessions, × (1 − share + share × 2^(−distance ÷ half_life)), and × (1 − share × the part of the next
    ``reach`` memories of the session that are in scope).
    """

    share: float = 0.25
    statements: int = 3
    half_life: float = 30.0  # days, before the message or after it
    reach: int = 2
    name: str = "resuming"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not is_message(run.trace.query, run.query.language, self.statements):
            raise Skip("the query is not a message that continues a conversation")
        in_session = np.array([session != "" for session in run.snapshot.strings("session", hits.keys)], dtype=np.bool_)
        if not in_session[_first_page(hits)].any():
            raise Skip("no candidate has a session")
        distance = np.abs((micros(run.as_of) - run.snapshot.numbers("created", hits.keys)) / DAY)
        after = run.snapshot.neighbours(hits.keys, self.reach)[:, self.reach :]
        follow = run.scope.contains(after.ravel()).reshape(after.shape).sum(axis=1)
        near = np.where(
            in_session, 1 - self.share + self.share * np.exp2(-np.nan_to_num(distance) / self.half_life), 1.0
        )
        end = np.where(in_session, 1 - self.share * follow / self.reach, 1.0)

        def time(at: int) -> str:
            return f"{distance[at]:.1f} days from the message" if in_session[at] else "no session"

        def place(at: int) -> str:
            return f"{follow[at]} of the next {self.reach} follow in its session" if in_session[at] else "no session"

        near_, end_ = leaf(near, time).tag("reason", "it is"), leaf(end, place).tag("reason", "")
        return [Rescore(product("after resuming", hits.score, near_, end_))]


def _first_page(hits: Hits) -> NDArray[np.int64]:
    """The places of the first page, which does not depend on k: it alone decides whether a stage is skipped."""
    return np.flatnonzero(hits.page == hits.page.min(initial=0))


def _coherence(vectors: NDArray[np.float32], names: list[tuple[str, ...]]) -> float:
    """The mean cosine within sessions minus that between sessions; 0 where there are no such pairs."""
    has_one = ~np.isnan(vectors[:, 0]) if vectors.shape[1] else np.zeros(len(vectors), dtype=np.bool_)
    known = sorted(np.flatnonzero(has_one).tolist(), key=names.__getitem__)
    by_session = [names[at] for at in known]
    ordered = vectors[known].astype(np.float64)
    inside, pairs, end = 0.0, 0, 0
    for name, group in groupby(by_session):
        start, end = end, end + len(list(group))
        if name[-1] and end - start > 1:
            inside += _cosines_between(ordered[start:end])
            pairs += (end - start) * (end - start - 1)
    others = len(known) * (len(known) - 1) - pairs
    if not pairs or not others:
        return 0.0
    return inside / pairs - (_cosines_between(ordered) - inside) / others


def _cosines_between(vectors: NDArray[np.float64]) -> float:
    """The sum of the cosines of all ordered pairs of unit vectors."""
    summed = vectors.sum(axis=0)
    return float(summed @ summed) - len(vectors)


def _named_speakers(speakers: set[str], query: ParsedQuery) -> set[str]:
    """The speakers whom the query names, by the whole name or its first part; one that is also an ordinary word (Will,
    Mark) by its capital letter."""
    mentioned = {fold(word) for word in words(query.text)} if speakers else set()
    names = "\n".join(speakers)
    if names.isascii() and mentioned.isdisjoint(words(names)):  # several times as fast as one by one
        return set()
    ordinary = NAMES_AND_WORDS | stop_words(query.language)
    return {
        speaker
        for speaker in speakers
        if (name := words(speaker))
        and fold(name[0]) in mentioned
        and (name[0] not in ordinary or is_written_as_name(name[0], query.text))
    }
