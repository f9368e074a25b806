"""What the words of all languages mean: “ago”, “the past”, “early”, “the first week of”, “last” and “next”."""

from __future__ import annotations

import re
from datetime import date

from recollect.text.patterns import lazy_pattern
from recollect.text.times import days as calendar
from recollect.text.times.days import UNITS, WEEK, Days, Time, fixed, half, nth, one_day, part, shift, unit_from
from recollect.text.times.grammar import STRONG, Found, Scene

LONG_AGO = -(10**6)  # a day before all others
DIVISIBLE = ("week", "month", "quarter", "half", "season", "year", "decade")
HALF_UNITS = {"year": (6, "month"), "month": (2, "week"), "decade": (5, "year")}
YEAR_AFTER = lazy_pattern(r",?\s*(?:of\s+)?((?:19|20)\d\d)\b")


def ago(scene: Scene, count: float, unit: str, *, more: bool = False, exact: bool = False) -> Time | None:
    """The day, week, month or year so long ago; with ``more`` all before it; ``exact`` is “a year ago today”."""
    if unit == "fortnight":
        count, unit = 2 * count, "week"
    if count % 1:  # half a year, one and a half years
        smaller, name = HALF_UNITS.get(unit, (0, unit))
        count, unit = (int(count) * 12 + 6, "month") if unit == "year" else (int(count * 2) * smaller, name)
    if unit in ("hour", "minute"):
        minutes = int(count) * (60 if unit == "hour" else 1) - scene.now.hour * 60 - scene.now.minute
        return one_day(scene.today - max(0, -(-minutes // (24 * 60))))
    if exact:
        return one_day(shift(scene.today, unit, -int(count)))
    time = unit_from(unit, scene.today, -int(count))
    days = None if time is None else time.days()
    return fixed("before", Days(LONG_AGO, days.start)) if more and days is not None else time


def rolling(scene: Scene, count: float, unit: str, *, ahead: bool = False) -> Time | None:
    """“The past ten days”: from that day through today. “The next ten days”: from today."""
    if unit == "fortnight":
        count, unit = 2 * count, "week"
    if count == 0.5:
        count, unit = (6, "month") if unit == "year" else (15, "day")
    if unit in ("hour", "minute"):
        count, unit = (count + 23) // 24 if unit == "hour" else 0, "day"
    if ahead:
        return fixed("days", Days(scene.today, shift(scene.today, unit, int(count)) + 1))
    return fixed("days", Days(shift(scene.today, unit, -int(count)), scene.today + 1))


def days_of_month(match: re.Match[str], scene: Scene, month: int, first: int, last: int) -> Found:
    """“3 to 9 June”, with the year if it follows."""
    before = month if first <= last else (month - 2) % 12 + 1  # “from the 22nd to 4 January”
    start, end = calendar.day_and_month(before, first), calendar.day_and_month(month, last)
    year = YEAR_AFTER.match(scene.right(match.end()))
    if year is None:
        return Found(match.start(), match.end(), start, STRONG, "range", end)
    return Found(
        match.start(), match.end() + year.end(), start, STRONG, "range", fixed("day", end.at(int(year[1]))) or end
    )


def part_of(time: Time, which: str) -> Time | None:
    return time.map(part(time.kind, which), "part") if time.kind in DIVISIBLE else None


def half_of(time: Time, which: int) -> Time | None:
    return time.map(half(time.kind, which), "part") if time.kind in DIVISIBLE else None


def nth_of(time: Time, unit: str, number: int) -> Time | None:
    """“The first week of June”, “the last Friday in May” (its unit is “weekday 4”)."""
    wholes = {"month": ("quarter", "season", "year"), "quarter": ("year",), "day": DIVISIBLE}
    if time.kind not in wholes.get(unit, ("month", "quarter", "season", "year")):
        return None
    return time.map(nth(unit, number), "day" if unit == "day" or unit.startswith("weekday") else unit)


def around(time: Time, unit: str) -> Time | None:
    """“The week of 3 June”: the week that has its first day."""
    if time.kind not in ("day", "holiday", "day of month"):
        return None
    return time.map(lambda days: UNITS[unit].at(calendar.index_of("week", days.start)), unit)


def same_time(scene: Scene, unit: str, step: int = -1) -> Time | None:
    """“This time last year” is the month a year ago, “this time last month” the month before, else the day."""
    day = shift(scene.today, unit, step)
    return fixed("month", UNITS["month"].current(day)) if unit in ("month", "year") else one_day(day)


def beside(time: Time, unit: str, step: int) -> Time | None:
    """“The day after Christmas”, “the week before Easter”."""
    if time.kind not in ("day", "holiday", "day of month", "weekday", "month", "year"):
        return None

    def change(days: Days) -> Days | None:
        edge = days.end - 1 if step > 0 else days.start
        if unit == "day":
            return Days(edge + step, edge + step + 1)
        if unit == "weekend":
            return UNITS[unit].first(days.end, begins=True) if step > 0 else UNITS[unit].latest(days.start, ended=True)
        return UNITS[unit].at(calendar.index_of(UNITS[unit].period, edge) + step)

    return time.map(change, unit)


def rest_of(time: Time, scene: Scene, *, later: bool) -> Time | None:
    """“Earlier this week” and “so far this year” end today, “later this month” begins today."""
    days = time.days() if time.fixed else None
    if days is None or not days.start <= scene.today < days.end:
        return None
    return fixed("days", Days(scene.today, days.end) if later else Days(days.start, scene.today + 1))


def determine(time: Time, which: str, scene: Scene) -> Time | None:
    """“Last”, “before last”, “this” and “next” of what comes again."""
    if time.fixed:
        return None
    today = scene.today
    match which:
        case "last":
            days = time.latest(today, ended=True)
        case "before last" | "after next":
            back = which == "before last"
            days = time.latest(today, ended=True) if back else time.first(today + 1, begins=True)
            if days is not None:
                days = time.at(calendar.index_of(time.period, days.start) + (-1 if back else 1))
        case "this":
            days = time.current(today)
            if time.kind == "season" and days is not None and date.fromordinal(days.start).month == 12:
                days = time.latest(today)  # winter is over in the year after it began
            if scene.told and time.kind == "weekday" and days is not None and days.end <= today - 3:
                days = time.first(today)
        case "of next week":
            days = time.at(calendar.index_of(time.period, today) + 1)
        case _:
            days = time.first(today + 1, begins=True)
    return fixed(time.kind, days)


def so_many_ago(time: Time, count: int, scene: Scene) -> Time | None:
    """“Two Fridays ago”, “three summers ago”."""
    days = time.latest(scene.today, ended=True)
    if days is None or count < 1:
        return None
    if time.period == "week":
        return fixed(time.kind, Days(days.start - WEEK * (count - 1), days.end - WEEK * (count - 1)))
    return fixed(time.kind, time.at(calendar.index_of(time.period, days.start) - count + 1))
