"""Calendar arithmetic: whole days by number, times that come again, and parts of months, weeks and years.

A day is its ordinal (1 January of the year 1 is 1), so that no clock, zone or daylight saving takes part.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

WEEK = 7
MAX_TRIES = 9  # years at most from one 29 February to the next, and one more
MAX_LAST_DAY = date.max.toordinal()


class Days(NamedTuple):
    """The days from ``start`` up to but not including ``end``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Time:
    """A time that a text names: fixed days, or days that come again each ``period``, such as Easter or Monday.

    ``at`` gives the days of one period by its index: see ``index_of``. Fixed days have no period.
    """

    kind: str  # day, weekday, weekend, week, month, quarter, half, season, holiday, year, ...
    at: Callable[[int], Days | None]
    period: str = ""  # week, month, quarter or year

    @property
    def fixed(self) -> bool:
        return not self.period

    def days(self) -> Days | None:
        return self.at(0)

    def map(self, change: Callable[[Days], Days | None], kind: str) -> Time:
        def at(index: int) -> Days | None:
            days = self.at(index)
            return None if days is None else change(days)

        return Time(kind, at, self.period)

    def latest(self, today: int, *, ended: bool = False) -> Days | None:
        """The last that has begun by today, or that has ended before today."""
        for index in range(index_of(self.period, today) + 1, index_of(self.period, today) - MAX_TRIES, -1):
            days = self.at(index)
            if days is not None and (days.end <= today if ended else days.start <= today):
                return days
        return None

    def first(self, day: int, *, begins: bool = False) -> Days | None:
        """The first that ends after a day, or that begins on it or later."""
        for index in range(index_of(self.period, day) - 1, index_of(self.period, day) + MAX_TRIES):
            days = self.at(index)
            if days is not None and (days.start >= day if begins else days.end > day):
                return days
        return None

    def current(self, today: int) -> Days | None:
        """That of this week, month or year."""
        return self.at(index_of(self.period, today))


def fixed(kind: str, days: Days | None) -> Time | None:
    return None if days is None else Time(kind, lambda _: days)


def one_day(day: int) -> Time:
    return Time("day", lambda _: Days(day, day + 1))


def index_of(period: str, day: int) -> int:
    """The number of the week, month, quarter or year that a day is in."""
    if period == "week":
        return (day - 1) // WEEK
    when = date.fromordinal(min(max(day, 1), MAX_LAST_DAY))
    match period:
        case "month":
            return when.year * 12 + when.month - 1
        case "quarter":
            return when.year * 4 + (when.month - 1) // 3
        case "year":
            return when.year
    return 0


def day_of(year: int, month: int, day: int) -> Days | None:
    """One day; None for the 31st of February and for years that a date cannot have."""
    if 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
        start = date(year, month, day).toordinal()
        return Days(start, start + 1)
    return None


def months_of(year: int, month: int, count: int = 1) -> Days | None:
    """``count`` months from a month, which may be beyond 12 or below 1."""
    first, last = year * 12 + month - 1, year * 12 + month - 1 + count - 1
    start = day_of(first // 12, first % 12 + 1, 1)
    end = day_of(last // 12, last % 12 + 1, 1)
    if start is None or end is None:
        return None
    return Days(start.start, end.start + monthrange(last // 12, last % 12 + 1)[1])


def week_of(index: int) -> Days:
    return Days(1 + index * WEEK, 1 + index * WEEK + WEEK)


def day_and_month(month: int, day: int) -> Time:
    return Time("day", lambda year: day_of(year, month, day), "year")


def day_of_month(day: int) -> Time:
    return Time("day of month", lambda index: day_of(index // 12, index % 12 + 1, day), "month")


def weekday(number: int) -> Time:
    """A day of the week, 0 for Monday."""
    return Time("weekday", lambda index: Days(1 + index * WEEK + number, 2 + index * WEEK + number), "week")


def month(number: int) -> Time:
    return Time("month", lambda year: months_of(year, number), "year")


def quarter(number: int) -> Time:
    return Time("quarter", lambda year: months_of(year, 3 * number - 2, 3), "year")


def half_year(number: int) -> Time:
    return Time("half", lambda year: months_of(year, 6 * number - 5, 6), "year")


def season(number: int) -> Time:
    """0 for spring, which is March to May; 3 for winter, which begins in December of the year."""
    return Time("season", lambda year: months_of(year, 3 + 3 * number, 3), "year")


def year(number: int) -> Time | None:
    return fixed("year", months_of(number, 1, 12))


def calendar_week(number: int) -> Time:
    """ISO weeks: the first is that with 4 January."""

    def at(year: int) -> Days | None:
        first = day_of(year, 1, 4)
        if first is None or not 1 <= number <= 53:
            return None
        return week_of(index_of("week", first.start) + number - 1)

    return Time("calendar week", at, "year")


UNITS = {
    "day": Time("day", lambda index: Days(index, index + 1), ""),
    "week": Time("week", week_of, "week"),
    "weekend": Time("weekend", lambda index: Days(6 + index * WEEK, 8 + index * WEEK), "week"),
    "month": Time("month", lambda index: months_of(index // 12, index % 12 + 1), "month"),
    "quarter": Time("quarter", lambda index: months_of(index // 4, index % 4 * 3 + 1, 3), "quarter"),
    "year": Time("year", lambda index: months_of(index, 1, 12), "year"),
}


def unit_from(unit: str, today: int, count: int) -> Time | None:
    """The day, week, month, quarter or year that is so many of them after today, or before if negative."""
    match unit:
        case "day":
            return one_day(today + count)
        case "decade":
            return unit_from("year", today, 10 * count)
        case "hour" | "minute":
            return one_day(today)
    time = UNITS[unit]
    return fixed(unit, time.at(index_of(time.period, today) + count))


def shift(today: int, unit: str, count: int) -> int:
    """The same day so many units later or earlier; the last day of a shorter month."""
    match unit:
        case "hour" | "minute":
            return today
        case "day":
            return today + count
        case "week" | "weekend":
            return today + count * WEEK
    months = count * {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    when = date.fromordinal(today)
    index = when.year * 12 + when.month - 1 + months
    if not 12 <= index < 12 * 10_000:
        raise OverflowError
    return date(index // 12, index % 12 + 1, min(when.day, monthrange(index // 12, index % 12 + 1)[1])).toordinal()


def part(kind: str, which: str) -> Callable[[Days], Days | None]:
    """The early, mid or late part: tenths of a month, days of a week, quarters of a year, thirds of others."""

    def change(days: Days) -> Days | None:
        start, end = days
        length = end - start
        match kind:
            case "week":
                bounds = (0, 2, 4, 7)
            case "month":
                bounds = (0, 10, 20, length)
            case "year":
                bounds = (0, length - 275, length - 92, length)  # up to April, from October
                if which == "mid":
                    return Days(start + length - 245, start + length - 122)  # May to August
            case _:
                bounds = (0, length // 3, length - length // 3, length)
        at = ("early", "mid", "late").index(which)
        return Days(start + bounds[at], start + bounds[at + 1])

    return change


def half(kind: str, which: int) -> Callable[[Days], Days | None]:
    def change(days: Days) -> Days | None:
        length = days.end - days.start
        middle = days.start + {"month": 15, "year": length - 184}.get(kind, length // 2)
        return Days(days.start, middle) if which == 1 else Days(middle, days.end)

    return change


def nth(unit: str, number: int) -> Callable[[Days], Days | None]:
    """The nth week, day, weekend, quarter or weekday (“weekday 0”) of a time; −1 is the last."""

    def change(days: Days) -> Days | None:
        start, end = days
        size = 1
        if unit == "week":
            size = WEEK
            found = end - WEEK if number < 0 else start + WEEK * (number - 1)
        elif unit == "day":
            found = end - 1 if number < 0 else start + number - 1
        elif unit in ("month", "quarter"):
            months, begin = {"month": 1, "quarter": 3}[unit], date.fromordinal(start)
            count = (end - start) // (28 * months)
            at = count if number < 0 else number
            return months_of(begin.year, begin.month + months * (at - 1), months) if at <= count else None
        else:
            target = 5 if unit == "weekend" else int(unit.removeprefix("weekday "))
            size = 2 if unit == "weekend" else 1
            first = start + (target - (start - 1)) % WEEK
            found = first + WEEK * (number - 1) if number > 0 else first + (end - 1 - first) // WEEK * WEEK
        return Days(found, found + size) if start <= found < end else None

    return change


def easter(year: int) -> int | None:
    """Easter Sunday in the Gregorian calendar (Meeus, Jones, Butcher)."""
    if not 1 <= year <= 9999:
        return None
    golden, century, rest = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    to_sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    correction = (golden + 11 * epact + 22 * to_sunday) // 451
    months = epact + to_sunday - 7 * correction + 114
    return date(year, months // 31, months % 31 + 1).toordinal()


def midnight(now: datetime, day: int) -> datetime | None:
    """The beginning of a day in the zone of ``now``; None beyond the years 1 to 9999."""
    if not 1 <= day <= MAX_LAST_DAY:
        return None
    when = date.fromordinal(day)
    return now.replace(
        year=when.year, month=when.month, day=when.day, hour=0, minute=0, second=0, microsecond=0, fold=0
    )
