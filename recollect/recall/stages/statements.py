"""The stage that puts the statement of the right time first, where several memories state the same thing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recollect.recall.cues.words import ALL_FIELDS
from recollect.recall.expressions import leaf, product, total
from recollect.recall.hits import Annotate, HitOperation, Hits, Rescore
from recollect.recall.run import Run, Skip
from recollect.recall.stages.factors import is_of_other_time, without_time_factor
from recollect.recall.statements import Difference, Statements, TextsOnDemand
from recollect.store.base import Floats, Rows, Term
from recollect.store.told_times import as_intervals
from recollect.text.asked_value import asked_value
from recollect.text.classify import asks_about_assistant, asks_when, is_message, mentions_time
from recollect.text.entity_names import MAX_NAME_CHARACTERS, find_names
from recollect.text.polarity import asks_for_negative, is_negative
from recollect.text.question_kinds import OPINION_WORDS, asks_for_name, asks_for_opinion, asks_for_place
from recollect.text.question_time import (
    QuestionTime,
    asks_for_past_state,
    asks_for_past_value,
    question_time,
)
from recollect.text.relatives import asked_relation, find_named
from recollect.text.residence import ResidenceQuestion, residence_question
from recollect.text.statements import find_places, is_opinion, number_formats, tells_where
from recollect.text.words import words


@dataclass(frozen=True, slots=True)
class StatementTime:
    """Among the best hits that state the same thing, gives the one of the time that the query asks for the best score.

    The best hit that can be an answer (it has an amount where one is asked for) and those that state the same thing
    as it (``recall/statements.py``) are a group. A query about the present gets the newest of them, one about the past
    (“before”, “old”) the one before the newest, “first” the oldest. The others keep their scores. A statement that was
    corrected is never chosen, its correction is. Queries that name a date, and those about an event (in the past
    tense), are not about the newest statement: nothing is moved. A question for an opinion has as its group what
    matches the same words of it; a question for where somebody lives all statements of that, however they are worded
    (``text/residence.py``).
    """

    head: int = 40
    # The share of the best score that a hit must have, by what differs: a number is a safer sign than a name, and that
    # something named is over (“I quit Acme”) a safer one than both.
    ratios: Mapping[Difference, float] = field(
        default_factory=lambda: {"value": 0.3, "name": 0.5, "end": 0.15, "word": 0.5}
    )
    opinion: float = 0.5  # the same, for what may be another opinion
    matched: float = 0.5  # of the words that the best hit matches; only where the embedder cannot read the query
    leading: float = 0.9  # the share of the best score of a statement that is tried as the best one
    leaders: int = 2
    name: str = "statements"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        question = run.query.repeats or run.trace.query
        if asks_about_assistant(question):
            raise Skip("the query is about what an assistant said")
        if is_message(question, run.query.language):
            raise Skip("the query is a message that continues a conversation")
        if run.query.asks_for_all:
            raise Skip("the query asks for all statements")
        time = question_time(question)
        during = as_intervals(run.query.times) if run.query.times and time != "first" else ()
        if during:
            time = "during" if len(during) == 1 else ""
        first = np.flatnonzero((hits.page == hits.page.min(initial=0)) & (hits.keys > 0))[: self.head]
        rows = hits.keys[first]
        texts = run.texts(rows) if time else TextsOnDemand(run.texts, rows)  # else only corrections are looked for
        statements = Statements.of(run.snapshot, rows, texts=texts)
        scores = hits.score.values[first]
        residence = None
        lasts = bool(during) and asks_for_past_state(question)
        if time and (time != "during" or run.query.repeats or lasts):
            residence = residence_question(question, [term.word for term in run.query.subject])
        members = [] if residence is None else self._residences(statements, scores, residence, time)
        if members:
            best = float(scores.max())
        else:
            if during and asks_for_past_value(question):  # what it was then may have been stated long before
                scores, lasts = without_time_factor(run, rows, scores), True
            members = self._same_statements(run, rows, scores, statements, time)
            best = float(scores[members].max())
            (top,) = statements.best(scores)
            if time and best >= self.leading * scores[top] and not _form_of_answer(run)(statements.texts[top]):
                best = float(scores[top])  # what cannot be the answer does not stay before it
        sides = is_of_other_time(run, rows)
        if sides is not None and not sides[members].all():  # the next one has not been, the last one has
            members = [at for at in members if not sides[at]]
        if during:
            members = _until(statements, members, *during[0], lasts)
        return self._lift(run, hits, first, statements, members, time or "now", best)

    def _same_statements(
        self, run: Run, keys: Rows, scores: Floats, statements: Statements, time: QuestionTime
    ) -> list[int]:
        """The best statement, those that state the same thing, and corrections of any of them."""
        can_answer = _form_of_answer(run) if time else None
        leaders = statements.best(scores, self.leading, self.leaders, can_answer)
        if not leaders and can_answer is not None and not any(map(can_answer, statements.texts)):
            leaders = statements.best(scores, self.leading, self.leaders)
        if not leaders:
            raise Skip("no candidate is a statement")
        for leader in leaders:
            members = self._group(run, keys, scores, statements, leader, time)
            if len(members) > 1:
                return members
        raise Skip("no other candidate states the same as the best one" if time else "no candidate corrects another")

    def _group(
        self, run: Run, keys: Rows, scores: Floats, statements: Statements, leader: int, time: QuestionTime
    ) -> list[int]:
        members = [leader]
        if time:
            members += self._same_as(run, keys, scores, statements, leader, time)
        return members + [at for at in statements.corrections(members) if at not in members]

    def _same_as(
        self, run: Run, keys: Rows, scores: Floats, statements: Statements, leader: int, time: QuestionTime
    ) -> Iterator[int]:
        others = [at for at in range(len(scores)) if at != leader and statements.may_differ(at, leader)]
        if not others:
            return
        opinion = time == "now" and asks_for_opinion(run.query.repeats or run.trace.query)
        answers = _form_of_answer(run)
        asks_where = time in ("now", "before") and asks_for_place(run.query.repeats or run.trace.query)
        subject = [term.word for term in _whole_words(run)]
        tells_place = asks_where and tells_where(statements.texts[leader], subject)
        relation = asked_relation(run.query.repeats or run.trace.query)
        person = find_named(statements.texts[leader], relation) if relation else ""
        names = statements.name_words(leader).union(words(person)).difference(run.query.words)
        formats, ratios = number_formats(statements.texts[leader]), self._ratios(run)
        lowest = min(ratios.values())
        shares = (scores / scores[leader]).tolist()
        for at in others:
            share = shares[at]
            difference = statements.difference(at, leader) if share >= lowest else None
            same = difference is not None and share >= ratios[difference]
            same = same and (difference == "end" or self._matches(run, keys[[leader, at]]))
            same = same and (difference == "end" or _about_the_same(run, statements, keys, at, leader))
            # What is over need not have any word of the query, if it names what the best statement names.
            same = same or bool(names and statements.tells_end(at, leader, names))
            same = same or (
                bool(formats)
                and share >= self.ratios["end"]
                and not formats.isdisjoint(number_formats(statements.texts[at]))
            )
            # “Who is my boss?”: another one is named by the same word
            same = same or bool(
                person
                and share >= self.ratios["end"]
                and find_named(statements.texts[at], relation) not in ("", person)
            )
            if asks_where and difference != "end":  # a photo of the passport is not the passport
                if tells_where(statements.texts[at], subject) != tells_place:
                    same = False
                elif tells_place:
                    same = share >= self.ratios["value"] and _in_other_places(statements, at, leader)
            other = opinion and share >= self.opinion
            other = other and not statements.other_subject(at, leader)
            other = other and (is_opinion(statements.texts[at]) or not is_opinion(statements.texts[leader]))
            same = same and (difference == "end" or answers(statements.texts[at]))
            if same or (other and _same_terms(run, keys[[leader, at]])):
                yield at

    def _ratios(self, run: Run) -> Mapping[Difference, float]:
        """The shares for what this query asks: another name is no other answer unless it asks for one, and where it
        does, another number is no safer a sign."""
        if asks_for_name(run.query.repeats or run.trace.query, run.query.language):
            return {**self.ratios, "value": self.ratios["name"]}
        return {**self.ratios, "name": math.inf}

    def _residences(
        self, statements: Statements, scores: Floats, residence: ResidenceQuestion, time: QuestionTime
    ) -> list[int]:
        """The statements of where somebody lives; for a question about the past the newest and those elsewhere.

        Empty if no candidate states it, and the question may be for a thing: “Where is the office?”
        """
        homes = statements.residences(scores, residence)
        if not homes and residence.names_room:
            return []
        if not homes:
            raise Skip("no candidate states where that is")
        newest = max(homes, key=lambda at: (statements.moments[at], -at))
        if time not in ("before", "first"):
            return list(homes)
        others = [at for at, place in homes.items() if place != homes[newest]]
        if not others:
            raise Skip("all candidates that state it name the same place")
        return [newest, *others]

    def _matches(self, run: Run, rows: Rows) -> bool:
        """Does the second match most of the words that the first does? Asked where the vectors mean little."""
        if (run.embedder_reads_query() and run.embedder_knows_language()) or not run.query.terms:
            return True
        has = run.snapshot.term_frequencies(run.query.terms, ALL_FIELDS, rows) > 0
        return bool(has[:, 0].sum() * self.matched <= (has[:, 0] & has[:, 1]).sum())

    def _lift(
        self,
        run: Run,
        hits: Hits,
        first: NDArray[np.int64],
        statements: Statements,
        members: list[int],
        time: QuestionTime,
        best: float,
    ) -> list[HitOperation]:
        newest = sorted(members, key=lambda at: (-statements.moments[at], at))
        valid = [at for at in newest if at not in statements.corrections(members).values()]
        chosen = {"first": valid[-1], "before": valid[:2][-1]}.get(time, valid[0])
        run.log("statements", f"{len(members)} of the same thing, asked for: {time}")
        scores = hits.score.values[first]
        lifted, own = first[chosen], scores[chosen]
        reason = {"first": "the first", "before": "an earlier", "last": "the last"}.get(time, "the newest")
        label = f"{reason} of {len(members)} statements of the same thing" if len(members) > 1 else "what states it"
        if time == "during":
            label = "what was stated last before the end of that time"
        target = best * (1 + 1e-9) if own < best else own  # before the best one, not beside it

        def describe(at: int) -> str:
            return label if at == lifted else "not moved among statements of the same thing"

        if own > 0:
            raised = leaf(_only(hits, lifted, target / own, 1.0), describe).tag("reason", "it is")
            score = product("after statements", hits.score, raised)
        else:  # nothing in common with the query but what the statement is about
            score = total("after statements", hits.score, leaf(_only(hits, lifted, target - own, 0.0), describe))
        keys = hits.keys[first]
        others = {int(keys[at]): int(keys[chosen]) for at in members if at != chosen}
        outdated = frozenset(int(keys[at]) for at in newest[1:])
        return [Rescore(score), Annotate(_notes(run, keys, newest), others, outdated)]


def _until(statements: Statements, members: list[int], start: float, end: float, lasts: bool) -> list[int]:
    """The statements that were made before the end of a time, if the best one was made later: one of them held then.

    Of all that was before a moment, the last is meant; so it is of something that lasts.
    """
    if not lasts and statements.moments[members[0]] < end and start > -np.inf:
        raise Skip("the best statement is of that time, or from before it")
    earlier = [at for at in members if statements.moments[at] < end]
    if not earlier:
        raise Skip("all statements of the same thing are from after that time")
    return earlier


def _about_the_same(run: Run, statements: Statements, keys: Rows, at: int, leader: int) -> bool:
    """Have the two more in common than names, and has the other all names of the query that the leader has?

    Marta's cat is no newer statement of where Marta works, and the desks in Ghent are none of the desks in Porto.
    """
    names = frozenset(word for name in find_names(run.trace.query[:MAX_NAME_CHARACTERS]) for word in words(name))
    if not names & frozenset(words(statements.texts[leader])) <= frozenset(words(statements.texts[at])):
        return False
    return statements.share_a_topic(at, leader, names) or (
        statements.nearness[at, leader] >= statements.very_near
        and _has_words_of(run, keys[[leader, at]], run.query.terms)
    )


def _in_other_places(statements: Statements, at: int, other: int) -> bool:
    """Does each of the two tell of another place?"""
    texts = statements.texts[at], statements.texts[other]
    places, others = ({word for word in find_places(each) if len(word) > 1} for each in texts)
    return bool(places - others and others - places)


def _whole_words(run: Run) -> list[Term]:
    """The terms of the query without those that cross the border of two Chinese words."""
    whole = set(words(run.query.text, whole=True))
    return [term for term in run.query.terms if term.word in whole]


def _form_of_answer(run: Run) -> Callable[[str], bool]:
    """Whether a text has what the query asks for: an amount, an age, a place, a time, what is not so; any text where
    that is not known.

    “Four loads came today” is no newer statement of what a load costs.
    """
    question = run.query.repeats or run.trace.query
    asked = asked_value(question, run.query.language)
    if asked is not None and asked.is_figure:
        return asked.may_be_in
    if asks_for_negative(question):
        return is_negative
    if asks_for_place(question):
        return lambda text: bool(find_places(text))
    return mentions_time if asks_when(question) else lambda text: True


def _has_words_of(run: Run, rows: Rows, terms: Sequence[Term]) -> bool:
    """Does the second match every one of these words that the first does?"""
    if not terms:
        return True
    has = run.snapshot.term_frequencies(terms, ALL_FIELDS, rows) > 0
    return bool((has[:, 1] >= has[:, 0]).all())


def _same_terms(run: Run, rows: Rows) -> bool:
    """Does the second match all words of a question for an opinion that the first does, which matches most of them?"""
    terms = tuple(term for term in run.query.terms if term.word not in OPINION_WORDS)
    if not terms:
        return False
    has = run.snapshot.term_frequencies(terms, ALL_FIELDS, rows[:1]) > 0
    return bool(has.any() and 2 * has.sum() > has.size) and _has_words_of(run, rows, terms)


def _only(hits: Hits, at: int, value: float, others: float) -> NDArray[np.float64]:
    values = np.full(len(hits), others)
    values[at] = value
    return values


def _notes(run: Run, keys: Rows, newest: list[int]) -> dict[int, list[str]]:
    """For each statement but the newest, which one is the newest; for that one, which came before it."""
    if len(newest) == 1:
        return {}
    last, before = run.quotes(keys[newest[:2]])
    notes = {int(keys[at]): [f"a newer statement about this: {last}"] for at in newest[1:]}
    return {int(keys[newest[0]]): [f"an earlier statement about this: {before}"], **notes}
