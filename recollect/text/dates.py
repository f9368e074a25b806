"""Finds dates in a text, as spans of time: “on 7 May 2023”, “in June”, “last Tuesday”, “two weeks ago”."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta

Span = tuple[datetime, datetime]  # from, and up to but not including
DAY = timedelta(days=1)
# In English whatever the locale, which the calendar module follows.
YEAR = "january february march april may june july august september october november december".split()
WEEK = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = {spelling: at for at, name in enumerate(YEAR, 1) for spelling in (name, name[:3])} | {"sept": 9}
WEEKDAYS = {name: at for at, name in enumerate(WEEK)}
LEAP = 8  # years at most from one 29 February to the next
NUMBERS = {name: at for at, name in enumerate("zero one two three four five six seven eight nine ten".split())}
NUMBERS |= {"a": 1, "an": 1, "couple of": 2, "few": 3}
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
NUMBER = r"\d{1,3}|" + "|".join(NUMBERS)


def find_time_spans(text: str, now: datetime) -> list[Span]:
    """Every date in a text. Without a year it is the last such date up to now."""
    text = text.replace("\u00a0", " ")
    found, taken = [], [False] * len(text)
    for pattern, read in PATTERNS:
        for match in pattern.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue  # part of a longer date
            span = None
            with suppress(ValueError, OverflowError):  # a month 13; a time before the year 1 or after 9999
                span = read(match, now)
            if span is not None:
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                found.append(span)
    return found


def _day(match: re.Match[str], now: datetime) -> Span | None:
    month, day = match["month"], int(match["day"])
    number = MONTHS[month.lower()] if month.isalpha() else int(month)
    for year in [int(match["year"])] if match["year"] else range(now.year, now.year - LEAP - 1, -1):
        with suppress(ValueError):  # 31 June
            start = _midnight(now).replace(year=year, month=number, day=day)
            if match["year"] or start <= now:
                return start, start + DAY
    return None


def _month(match: re.Match[str], now: datetime) -> Span | None:
    number = MONTHS[match["month"].lower()]
    year = int(match["year"]) if match["year"] else now.year - (number > now.month)
    return _month_of(now, year, number)


def _month_of(now: datetime, year: int, month: int) -> Span:
    start = now.replace(year=year, month=month, day=1, hour=0, minute=0, second=0, microsecond=0)
    return start, start + calendar.monthrange(year, month)[1] * DAY


def _year(match: re.Match[str], now: datetime) -> Span:
    return _month_of(now, int(match["year"]), 1)[0], _month_of(now, int(match["year"]), 12)[1]


def _single_day(match: re.Match[str], now: datetime) -> Span:
    start = _midnight(now) - (DAY if match[0].lower() == "yesterday" else 0 * DAY)
    return start, start + DAY


def _relative(match: re.Match[str], now: datetime) -> Span | None:
    back = match["which"].lower() not in ("this", "current")
    unit, today = match["unit"].lower(), _midnight(now)
    match unit:
        case "week":
            start = today - (today.weekday() + 7 * back) * DAY
            return start, start + 7 * DAY
        case "weekend":
            start = today - ((today.weekday() - 5) % 7 + 7 * (back and today.weekday() >= 5)) * DAY
            return start, start + 2 * DAY
        case "month":
            year, month = (today.year, today.month - back) if today.month > back else (today.year - 1, 12)
            return _month_of(now, year, month)
        case "year":
            return _month_of(now, today.year - back, 1)[0], _month_of(now, today.year - back, 12)[1]
    start = today - ((today.weekday() - WEEKDAYS[unit] - back) % 7 + back) * DAY
    return start, start + DAY


def _ago(match: re.Match[str], now: datetime) -> Span:
    """The longer ago, the less exact: the span is half a unit to both sides."""
    count = int(match["count"]) if match["count"].isdigit() else NUMBERS[match["count"].lower()]
    unit = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}[match["unit"].lower()]
    middle = now - count * unit
    return _midnight(middle - unit / 2), _midnight(middle + unit / 2) + DAY


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _patterns() -> Iterator[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Span | None]]]:
    year, day = r"(?P<year>(?:19|20)\d\d)", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    for pattern, read in (
        (rf"\b{year}-(?P<month>\d\d)-(?P<day>\d\d)\b", _day),
        (rf"\b(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{year}\b", _day),
        (rf"\b{day}\s+(?:of\s+)?(?P<month>{MONTH})\b\.?,?(?:\s+{year})?", _day),
        (rf"\b(?P<month>{MONTH})\b\.?\s+{day}\b(?!\d)(?:,?\s+{year})?", _day),
        (rf"\b(?P<month>{MONTH})\b\.?,?\s+{year}\b", _month),
        (rf"\b(?:in|during|since|last|early|late|of)\s+(?P<month>{MONTH})\b(?P<year>)", _month),
        (rf"\b(?:in|during|since|of)\s+{year}\b", _year),
        (r"\b(?:yesterday|today)\b", _single_day),
        (rf"\b(?P<count>{NUMBER})\s+(?P<unit>day|week|month|year)s?\s+ago\b", _ago),
        (
            rf"\b(?P<which>last|past|previous|this|current)\s+(?P<unit>weekend|week|month|year|{'|'.join(WEEKDAYS)})\b",
            _relative,
        ),
    ):
        yield re.compile(pattern, re.IGNORECASE | re.ASCII), read  # ASCII: ſ is no s, and 在2023-05-08 begins a word


PATTERNS = tuple(_patterns())
