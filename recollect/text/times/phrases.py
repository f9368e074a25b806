"""Reads one time in words: “last month”, “since Monday”, “2026-03-04”."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.filter import AllOf, AnyOf, Filter, FilterExpression, Not
from recollect.model.zones import in_zone, local_moment
from recollect.text.patterns import lazy_pattern
from recollect.text.times import TimeSpan, find_times

BEFORE = ("", "in ", "im ", "am ", "on ", "on the ", "in den ")  # “March”, “Sommer”, “12th” alone say too little
FILLER = lazy_pattern(
    r"(?:\W|\b(?:in|on|at|the|during|over|for|of|im|am|an|den|dem|der|die|das|zu|zum)\b|[在的那])*", re.IGNORECASE
)
LONGEST = 200  # characters


def when(text: str, now: datetime | None = None, tz: str | tzinfo | None = None) -> TimeSpan:
    """The span of time that a phrase names, read as in a question asked at ``now``.

    ``tz`` is a zone or its name, in which days begin; without it the zone of ``now`` counts, or the machine's. A naive
    ``now`` gives naive moments.

    >>> print(when("last month", now=datetime(2026, 8, 15)))
    2026-07-01 to 2026-08-01
    >>> print(when("since Monday", now=datetime(2026, 8, 15)))
    2026-08-10 to …
    """
    if not isinstance(text, str):
        raise InvalidInput(f"text must be a string such as 'last month', not {type(text).__name__}.")
    moment = local_moment(now, tz)
    for word in BEFORE if len(text) <= LONGEST else ():
        phrase = f"{word}{text.strip()}"
        found = find_times(phrase, moment)
        if len(found) == 1 and FILLER.fullmatch(phrase[: found[0].begin] + " " + phrase[found[0].end :]):
            return found[0].span
    shown = text if len(text) <= 60 else text[:59] + "…"
    raise InvalidInput(
        f"text names no time that can be read: {shown!r}. Give one time, such as 'yesterday', 'last month', "
        "'since Monday', 'between 3 and 9 June', 'Ende März', '上周二' or '2026-03-04'."
    )


def with_moments(filter: FilterExpression | None, now: datetime) -> FilterExpression | None:
    """A filter whose ``since`` and ``until`` are moments: in words the start and the end of what they name; dates
    without a time zone are in that of ``now``."""
    match filter:
        case Filter():
            since, until = _side(filter.since, "start", now), _side(filter.until, "end", now)
            same = since is filter.since and until is filter.until
            return filter if same else replace(filter, since=since, until=until)
        case Not():
            return Not(_required(filter.of, now))
        case AllOf() | AnyOf():
            return type(filter)(tuple(_required(each, now) for each in filter.of))
    return filter


def _required(filter: FilterExpression, now: datetime) -> FilterExpression:
    return with_moments(filter, now) or filter


def _side(value: datetime | str | float | None, side: str, now: datetime) -> datetime | str | float | None:
    """The start or end of a time in words; a date in its zone, or in that of now. Others stay as they are."""
    if isinstance(value, str):
        try:
            return in_zone(datetime.fromisoformat(value.strip()), now.tzinfo)
        except ValueError:
            with suppress(InvalidInput):
                return getattr(when(value, now), side) or value
    return in_zone(value, now.tzinfo) if isinstance(value, datetime) else value


def query_moment(now: object, tz: str | tzinfo | None, zone: tzinfo | None) -> datetime:
    """The moment of a query in its own zone, or in ``tz``; without any zone a date is in ``tz``, or in ``zone``."""
    moment = now
    if isinstance(now, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(now.strip())
    if not isinstance(moment, datetime):
        moment = check.moment(now, "now").astimezone(zone or UTC)
    return local_moment(moment if tz is not None else in_zone(moment, zone), tz)
