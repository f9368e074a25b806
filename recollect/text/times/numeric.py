"""Dates in digits, which all languages share: 2026-03-04, 4.3.2026, 3/14/2026, and clock times after them."""

from __future__ import annotations

import re

from recollect.text.times.days import Time, day_and_month, day_of, fixed, months_of
from recollect.text.times.grammar import PREPOSITION, Scene, rule

CLOCK = r"(?:(?:T|,?\s{1,3})\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
BEGIN, END = r"(?<![\d.,/:-])", r"(?![\d/:]|[.,-]\d)"
YEAR = r"(?:19|20)\d\d"
OLD_YEAR = r"1[5-8]\d\d"  # more often a number: only right after “in”


def read_year(text: str) -> int:
    """A year of four digits, or of two: up to 68 they are of this century, as strptime has it."""
    number = int(text)
    return number if len(text) > 2 else number + (2000 if number <= 68 else 1900)


def _date(match: re.Match[str], scene: Scene) -> Time | None:
    return fixed("day", day_of(read_year(match["year"]), int(match["month"]), int(match["day"])))


def _slashes(match: re.Match[str], scene: Scene) -> Time | None:
    """The month comes first, as in the United States, unless it is above 12. Without a year 3/4 may be a fraction."""
    first, second = int(match["first"]), int(match["second"])
    month, day = (second, first) if first > 12 else (first, second)
    if match["year"]:
        return fixed("day", day_of(read_year(match["year"]), month, day))
    return day_and_month(month, day) if max(first, second) > 12 else None


def _without_year(match: re.Match[str], scene: Scene) -> tuple[Time, int]:
    return day_and_month(int(match["month"]), int(match["day"])), PREPOSITION


def _month(match: re.Match[str], scene: Scene) -> tuple[Time, int] | None:
    time = fixed("month", months_of(int(match["year"]), int(match["month"])))
    return None if time is None else (time, PREPOSITION)


FULL_DATES = [
    rule("0", pattern, read)
    for pattern, read in (
        (rf"{BEGIN}(?P<year>\d{{4}})(?P<dash>[-/.])(?P<month>\d\d?)(?P=dash)(?P<day>\d\d?)(?!\d){CLOCK}", _date),
        (rf"{BEGIN}(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\.\s?(?P<year>\d{{4}}|\d\d){END}{CLOCK}", _date),
        (rf"{BEGIN}(?P<day>\d\d?)-(?P<month>\d\d?)-(?P<year>\d{{4}}){END}{CLOCK}", _date),
        (rf"{BEGIN}(?P<first>\d\d?)/(?P<second>\d\d?)/(?P<year>\d{{4}}|\d\d){END}{CLOCK}", _slashes),
        (rf"(?<=\bon\s)(?P<first>\d\d?)/(?P<second>\d\d?)(?P<year>){END}", _slashes),
        (rf"{BEGIN}(?P<year>{YEAR})-(?P<month>\d\d){END}", _month),
    )
]
# 4.3. or, after a preposition, 4.3; not a clock time or a price.
SHORT_DATE = rule(
    "0",
    rf"{BEGIN}(?P<day>\d\d?)\.\s?(?P<month>\d\d?)(?:\.|(?![\d.,]|\s*(?:uhr|euro|€|%|h\b)))(?!\d)",
    _without_year,
)
