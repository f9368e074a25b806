"""Questions that name a time: reading it, finding memories by it, and ranking those of another time lower."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from recollect.model.validation import from_micros, micros
from recollect.recall.bm25 import Bm25Query, search
from recollect.recall.cues.words import ALL_FIELDS, WordsCue
from recollect.recall.expressions import Expression, leaf, product
from recollect.recall.hits import Candidates, HitOperation, Hits, Reorder, Rescore
from recollect.recall.ordering import ordered
from recollect.recall.query_parsing import ParsedQuery
from recollect.recall.recipe import Cue, CuePlan, Depth, fixed
from recollect.recall.run import Run, Skip
from recollect.recall.similarity import nearest
from recollect.recall.stages.factors import DAY, TIME_FACTORS
from recollect.store.base import Flags, Floats, Rows, Scope, Term
from recollect.store.told_times import TOLD_SHARE, Interval, as_intervals, tells_of
from recollect.text.classify import SENTENCE, asks_about_assistant
from recollect.text.framing import asks_what_was_said, frames_only
from recollect.text.patterns import lazy_pattern
from recollect.text.question_time import (
    asks_about_plan,
    asks_for_advice,
    asks_for_future,
    asks_for_past_state,
    asks_what_is_to_come,
    find_predecessor,
    in_present_tense,
    is_statement,
)
from recollect.text.stopwords import STOP, stop_words
from recollect.text.times import TimeExpression, TimeSpan, find_times
from recollect.text.times.reading import normalised
from recollect.text.words import words

SINCE = lazy_pattern(r"\b(?:since|seit)\b|以来|以來", re.IGNORECASE)
MAX_QUERY_CHARACTERS = 10_000  # a time that is named later in a query is not read
MAX_ENDS = 10  # of times of a query: the text of a memory is read as if it were written at the end of each


@dataclass(frozen=True, slots=True)
class TimeReader:
    """Reads the times that a query names (“last week”, “on 4 March”), and takes their words out of it.

    Only what is asked for counts, not what is told (“lovely weather today”): of several sentences the questions, in a
    long message the last of them, and none of a query that is a statement. Nor does a time to come count where advice
    is asked for (“a film for tonight?”): what answers that was told at any time.
    """

    long: int = 3  # sentences

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        found = self._find(query.text[:MAX_QUERY_CHARACTERS], run)
        if not found:
            return query
        questions = self._questions(query.text[:MAX_QUERY_CHARACTERS])
        times = [each for each in found if any(each.begin < end and start < each.end for start, end in questions)]
        if not times or (asks_for_advice(query.text) and all(_is_to_come(each.span, run.as_of) for each in times)):
            return query
        # The name of a holiday stays: memories of that day have it, too.
        only_time = frames_only(_without(times, query.text), query.language)
        rest = _without([each for each in times if not each.holiday], query.text)
        spans = tuple(each.span for each in times)
        if only_time and any(self._is_looked_up(each, run) for each in times):
            only_time = _is_known(run, spans)
        run.log("time", "; ".join(f"“{each.text}”: {format_span(each.span)}" for each in times))
        return replace(query, text=query.text if only_time else rest, times=spans, only_time=only_time)

    def _find(self, text: str, run: Run) -> list[TimeExpression]:
        """“In May” of a question in the present tense, or for plans, is the coming May, unless memories are of the last
        alone; of a question for what will be, it is never the last."""
        found, future = find_times(text, run.as_of), asks_for_future(text)
        if not found or not (future or in_present_tense(text) or asks_what_is_to_come(text)):
            return found
        coming = find_times(text, run.as_of, ahead=True)
        spans, last = ([each.span for each in times] for times in (coming, found))
        if spans == last or future or _is_known(run, spans):
            return coming
        return found if _is_known(run, last) else coming

    def _is_looked_up(self, time: TimeExpression, run: Run) -> bool:
        """Is it a holiday that some memory names? Not one of a year that is over, such as “last Christmas”."""
        if not time.holiday or (normalised(time.text) != time.holiday and not _is_to_come(time.span, run.as_of)):
            return False
        terms = tuple(Term(word, language=run.query.language) for word in dict.fromkeys(words(time.holiday)))
        return len(search(run.snapshot, run.scope, Bm25Query(terms, ALL_FIELDS, require_all=True), 1).rows) > 0

    def _questions(self, text: str) -> list[tuple[int, int]]:
        """The places of the sentences that are questions; if none is, of those that are no statements."""
        sentences = [(found.start(), found.end(), found[0]) for found in SENTENCE.finditer(text)]
        questions = [(start, end) for start, end, sentence in sentences if "?" in sentence or "？" in sentence]
        if len(sentences) > self.long:
            questions = questions[-1:]
        return questions or [(start, end) for start, end, sentence in sentences if not is_statement(sentence)]


@dataclass(frozen=True, slots=True)
class PredecessorReader:
    """Reads “before the Volvo” as the time before the first memory that has this name, and takes it out of the query:
    what came before it is found by the rest of the question, and need not have the name.

    That is when the memory was written, or what it tells of. Where no memory, or the oldest one, has the name, it tells
    no time.
    """

    most: int = 50  # memories with the name that are looked at

    def read(self, query: ParsedQuery, run: Run) -> ParsedQuery:
        found = None if query.times else find_predecessor(query.text, query.language)
        if found is None:
            return query
        name, phrase = found
        terms = tuple(Term(word, language=query.language) for word in dict.fromkeys(words(name)))
        rows = search(run.snapshot, run.scope, Bm25Query(terms, ALL_FIELDS, require_all=True), self.most).rows
        created = run.snapshot.numbers("created", rows)
        if not len(rows) or np.isnan(created).all():
            return query
        first = int(np.nanargmin(created))
        (told,) = run.snapshot.told_times(rows[first : first + 1])
        began = min((start for start, _ in told if start > -np.inf), default=np.inf)
        span = TimeSpan(None, from_micros(int(min(created[first], began))))
        if not run.snapshot.during(as_intervals((span,)), run.scope, False).count:
            return query
        run.log("time", f"“{phrase}”: {format_span(span)}")
        return replace(query, text=" ".join(query.text.replace(phrase, " ", 1).split()), times=(span,))


def _is_known(run: Run, spans: Sequence[TimeSpan]) -> bool:
    """Is any memory of one of these times?"""
    return run.snapshot.during(as_intervals(spans), run.scope, True).count > 0


def _without(times: Sequence[TimeExpression], text: str) -> str:
    """A text without the words of these times."""
    starts, ends = [0, *(each.end for each in times)], [*(each.begin for each in times), len(text)]
    return " ".join("".join(text[start:end] for start, end in zip(starts, ends, strict=True)).split())


def _is_to_come(span: TimeSpan, now: datetime) -> bool:
    """Does it begin today or later?"""
    return span.start is not None and span.start > now - timedelta(days=1)


def format_span(span: TimeSpan) -> str:
    """``2026-08-03 to 2026-08-09``, both included."""
    first = f"{span.start:%Y-%m-%d}" if span.start else ""
    last = f"{_last_day(span.end):%Y-%m-%d}" if span.end else ""
    if first and last:
        return first if first == last else f"{first} to {last}"
    return f"from {first}" if first else f"up to {last}"


def _name_span(span: TimeSpan) -> str:
    """``July 2026`` or ``2026`` where it is a whole month or year; otherwise the days."""
    start, end = span.start, span.end
    if start is not None and end is not None and start.day == end.day == 1 and not (start.hour or end.hour):
        months = (end.year - start.year) * 12 + end.month - start.month
        if months == 1 or (months == 12 and start.month == 1):
            return f"{start:%B %Y}" if months == 1 else f"{start:%Y}"
    return format_span(span)


def _last_day(end: datetime) -> datetime:
    return from_micros(int(end.timestamp() * 1e6) - 1).astimezone(end.tzinfo)


def why_not_of_time(run: Run, row: int) -> str:
    """Why a query that names a time and nothing else does not find a memory; empty if it is of that time."""
    if not run.query.only_time or _during(run).contains(np.array([row])).all():
        return ""
    times = " or ".join(map(format_span, run.query.times))
    known = f"nothing is known of {times}" if not _during(run).count else f"this memory is not of {times}"
    return f"The query names a time and nothing else, and {known}."


def _during(run: Run) -> Scope:
    """The memories in scope that are of the time that the query names."""
    if "during" not in run.cache:
        about_events = not asks_what_was_said(run.query.text)  # then the time is that of the event
        intervals, now = as_intervals(run.query.times), float(micros(run.as_of))
        if SINCE.search(run.trace.query) or not in_present_tense(run.trace.query):  # what happened is no plan
            intervals = [(start, now + 1 if start <= now and end == np.inf else end) for start, end in intervals]
        run.cache["during"] = run.snapshot.during(intervals, run.scope, about_events)
    scope: Scope = run.cache["during"]
    return scope


class TimeFirst:
    """Runs the time cue, and the other cues unless the query names a time and nothing else. If nothing is known of that
    time, nothing is found: its words, such as “week”, tell nothing."""

    def __init__(self, time: Cue, rest: CuePlan) -> None:
        self._time, self._rest = time, rest

    def gather(self, run: Run) -> list[Candidates]:
        found = run.find(self._time)
        if not run.query.only_time:
            return [found, *self._rest.gather(run)]
        for cue in self._rest.cues():
            run.skip(cue, "the query names a time and nothing else")
        return [found]

    def cues(self) -> list[Cue]:
        return [*self._rest.cues(), self._time]


@dataclass(frozen=True, slots=True)
class TimeCue:
    """Memories of the time that the query names: created then, valid then, or telling of it.

    Of a time with many memories, those that are nearest in words and in meaning. Where the query names nothing but a
    time, a memory scores by its content words, up to ``full`` of them: a greeting says less than a statement;
    × covering for what only tells of a longer time around it (“I worked in Leeds from 1 May to 30 September”).
    """

    name: str = "time"
    depth: Depth = fixed(100)
    full: int = 6  # content words
    covering: float = 0.3

    def find(self, run: Run) -> Candidates:
        if not run.query.times:
            raise Skip("the query names no time")
        scope = _during(run)
        n = self.depth(run.k)
        if run.query.only_time or scope.count <= self.depth(1):
            rows = run.snapshot.page(scope, "oldest", n)
        else:
            rows = self._best(run, scope, n)
        return Candidates(self.name, rows, self.score(run, rows), scope.count)

    def score(self, run: Run, rows: Rows) -> Expression:
        if run.query.only_time:
            counts = np.array([_content_words(text, run.query.language) for text in run.texts(rows)], dtype=np.float64)
            covers = _only_covers(run, rows)
            full = np.minimum(1.0, counts / self.full) * np.where(covers, self.covering, 1.0)
            scores = np.where(_during(run).contains(rows), full, 0.0)

            def label(at: int) -> str:
                return f"{counts[at]:g} content words{' about a longer time' if covers[at] else ''}"

            return leaf(scores, label).tag("component", self.name)
        inside = np.zeros(len(rows), dtype=np.bool_)
        if run.query.times:
            inside = _during(run).contains(rows) | _names_the_time(run, rows)
        return leaf(inside.astype(np.float64), self.name)

    def _best(self, run: Run, scope: Scope, n: int) -> Rows:
        """The nearest by words and by meaning, alternating."""
        lists: list[list[int]] = []
        with suppress(Skip):
            lists.append(nearest(run.snapshot, run.vector(), scope, n).rows.tolist())
        with suppress(Skip):
            lists.append(search(run.snapshot, scope, WordsCue().query(run), n).rows.tolist())
        alternating = [each[at] for at in range(n) for each in lists if at < len(each)]
        return np.array(list(dict.fromkeys(alternating))[:n], dtype=np.int64)


def _only_covers(run: Run, rows: Rows) -> Flags:
    """What tells of a longer time that covers the one that the query names, and is not otherwise of that time."""
    asked = as_intervals(run.query.times)
    created = run.snapshot.numbers("created", rows)
    return np.array(
        [
            any(a < end and start < b for a, b in spans for start, end in asked)
            and not any(start <= moment < end for start, end in asked)
            and not any(min(b, end) - max(a, start) >= TOLD_SHARE * (b - a) for a, b in spans for start, end in asked)
            for moment, spans in zip(created.tolist(), run.snapshot.told_times(rows), strict=True)
        ],
        dtype=np.bool_,
    )


def _content_words(text: str, language: str) -> int:
    stop = STOP | stop_words(language)
    return sum(word not in stop for word in dict.fromkeys(words(text, whole=True)))


@dataclass(frozen=True, slots=True)
class TimeFactor:
    """× outside for memories of another time than the query names, if there are candidates of that time.

    People often tell of an event some days later: × soon for what was created within ``soon_days`` after that time and
    tells of no other. Of a time that is over, × announced for what was told before it: a plan is not what happened.
    What was told before a long time, and tells of no other, may still have held during it: × since. Of a question for
    something that lasts (“where was I living in March?”) that is what was told before any time: × lasting. A question
    in the present tense for a time that is not over (“where does she go in August?”) asks for what is planned:
    × written for what was only written then, if other candidates tell of that time. What names that month, season or
    holiday without saying of which year (“works from Porto in July”) is not lowered.
    """

    outside: float = 0.25
    soon: float = 0.6
    announced: float = 0.8
    soon_days: float = 7.0
    since: float = 0.6
    lasting: float = 0.8
    written: float = 0.6
    long_days: float = 300.0  # a year
    name: str = "time match"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not run.query.times:
            raise Skip("the query names no time")
        created = run.snapshot.numbers("created", hits.keys)
        inside = _during(run).contains(hits.keys) | np.isnan(created)  # of external results the time is unknown
        if not inside[hits.page == hits.page.min(initial=0)].any():
            raise Skip("no candidate is of that time")
        lasts = asks_for_past_state(run.trace.query)
        soon, since = (np.zeros(len(hits), dtype=np.bool_) for _ in range(2))
        for start, end in as_intervals(run.query.times):
            soon |= (created >= end) & (created < end + self.soon_days * DAY)
            since |= (created < start) & (self.long_days * DAY <= end - start < np.inf)
        told = run.snapshot.told_times(hits.keys)
        tells_no_time = np.array([not spans for spans in told], dtype=np.bool_)
        soon &= tells_no_time
        since &= tells_no_time
        if lasts:  # what it tells of may be when that began
            since = created < min(start for start, _ in as_intervals(run.query.times))
        times = " or ".join(map(_name_span, run.query.times))
        named = _names_the_time(run, hits.keys) & ~inside
        announced = inside & _announced(run, created)
        written = inside & _only_written(run, told)

        def label(at: int) -> str:
            if inside[at]:
                return f"{'told before' if announced[at] else 'only written in' if written[at] else 'from'} {times}"
            if named[at]:
                return f"about {times}"
            return f"{'from soon after' if soon[at] else 'from before' if since[at] else 'not from'} {times}"

        outside = np.where(
            named, 1.0, np.where(soon, self.soon, np.where(since, self.lasting if lasts else self.since, self.outside))
        )
        factor = np.where(inside, np.where(announced, self.announced, np.where(written, self.written, 1.0)), outside)
        run.cache[TIME_FACTORS] = dict(zip(hits.keys.tolist(), factor.tolist(), strict=True))
        return [Rescore(product("after time", hits.score, leaf(factor, label).tag("reason", "it is")))]


def _names_the_time(run: Run, rows: Rows) -> Flags:
    """Which memories that tell of no certain time name a long one or a holiday that is, in the year that is asked for,
    the time that the query names."""
    known: dict[int, bool] = run.cache.setdefault("names the time", {})
    new = np.array([row for row in rows.tolist() if row > 0 and row not in known], dtype=np.int64)
    ends = {span.end for span in run.query.times if span.start is not None and span.end is not None}
    latest = sorted(ends)[-MAX_ENDS:]
    for row, text, told in zip(new.tolist(), run.texts(new), run.snapshot.told_times(new), strict=True):
        known[row] = not told and any(_names_until(text, end, run.query.times) for end in latest)
    return np.array([known.get(row, False) for row in rows.tolist()], dtype=np.bool_)


def _names_until(text: str, end: datetime, times: Sequence[TimeSpan]) -> bool:
    """Does a text name one of these times, read as if it were written at the end of one?"""
    found = find_times(text[:MAX_QUERY_CHARACTERS], end - timedelta(microseconds=1))
    named = as_intervals([each.span for each in found if each.holiday or _is_long(each.span)])
    starts, ends = (np.array([span[side] for span in named]) for side in (0, 1))
    return any(tells_of(starts, ends, each).any() for each in as_intervals(times))


def _is_long(span: TimeSpan) -> bool:
    return span.start is not None and span.end is not None and span.end - span.start > timedelta(days=27)


def _only_written(run: Run, told: Sequence[Sequence[Interval]]) -> Flags:
    """What does not tell of the time that the query names, if others do, and that time is not over and asked for in the
    present tense."""
    intervals = as_intervals(run.query.times)
    coming = all(micros(run.as_of) < end < np.inf for _, end in intervals) and in_present_tense(run.trace.query)
    if not coming:
        return np.zeros(len(told), dtype=np.bool_)
    tells = [any(a < end and start < b for a, b in spans for start, end in intervals) for spans in told]
    return ~np.array(tells, dtype=np.bool_) & any(tells)


def _of_other_times(run: Run, rows: Rows) -> Flags:
    """What tells of times, and of none that the query names (“last week I sold the bicycle”), unless it asks for what
    was said."""
    if asks_what_was_said(run.query.text):
        return np.zeros(len(rows), dtype=np.bool_)
    intervals = as_intervals(run.query.times)
    return np.array(
        [
            bool(spans) and not any(a < end and start < b for a, b in spans for start, end in intervals)
            for spans in run.snapshot.told_times(rows)
        ],
        dtype=np.bool_,
    )


def _announced(run: Run, created: Floats) -> Flags:
    """What was created before the time that the query names, if that time is over and no plan is asked for."""
    if asks_about_plan(run.query.text):
        return np.zeros(len(created), dtype=np.bool_)
    start = min(start for start, _ in as_intervals(run.query.times))
    end = max(end for _, end in as_intervals(run.query.times))
    return np.asarray((created < start) & (end <= micros(run.as_of)))


@dataclass(frozen=True, slots=True)
class ChronologicalOrder:
    """For a query that names a time and nothing else: statements in the order of time, then the rest likewise.

    The rest are texts of fewer than ``min_words`` content words; what was said before that time, if it is over; what
    was said then of other times, unless the query asks for what was said; and an assistant's words, unless the query is
    about them. Last is what only tells of a longer time around it.
    """

    min_words: int = 3
    name: str = "order of time"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        if not run.query.only_time:
            raise Skip("the query does not ask for a time alone")
        short = [_content_words(text, run.query.language) < self.min_words for text in run.texts(hits.keys)]
        about_assistant = asks_about_assistant(run.query.text)
        answers = [role == "assistant" and not about_assistant for role in run.snapshot.strings("role", hits.keys)]
        created = run.snapshot.numbers("created", hits.keys)
        rest = np.array(short) | np.array(answers) | _announced(run, created) | _of_other_times(run, hits.keys)
        positions = np.nan_to_num(run.snapshot.numbers("position", hits.keys), nan=0.0)
        group = np.where(_only_covers(run, hits.keys), 2, rest.astype(np.int64))
        order = ordered(run.snapshot, hits.keys, hits.page, group, created, positions)
        return [Reorder(order, "in the order of time; then plans, small talk and answers")]
