"""Holidays by a plain name, as days that come again each year. The languages list how people call them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from recollect.text.times.days import WEEK, Days, Time, day_of, easter, months_of, nth

# Days of the Chinese lunar calendar from 2000 to 2050: the month as a hexadecimal digit, then the day.
FIRST_LUNAR_YEAR = 2000
LUNAR = {
    "spring festival": """
        205 124 212 201 122 209 129 218 207 126 214 203 123 210 131 219 208 128 216 205 125 212 201 122 210 129
        217 206 126 213 203 123 211 131 219 208 128 215 204 124 212 201 122 210 130 217 206 126 214 202 123
    """,
    "dragon boat": """
        606 625 615 604 622 611 531 619 608 528 616 606 623 612 602 620 609 530 618 607 625 614 603 622 610 531
        619 609 528 616 605 624 612 601 620 610 530 618 607 527 614 603 622 611 531 619 608 529 615 604 623
    """,
    "double seventh": """
        806 825 815 804 822 811 731 819 807 826 816 806 823 813 802 820 809 828 817 807 825 814 804 822 810 829
        819 808 826 816 805 824 812 801 820 810 828 817 807 826 814 803 822 811 731 819 808 827 816 805 823
    """,
    "mid-autumn": """
        912 a01 921 911 928 918 a06 925 914 a03 922 912 930 919 908 927 915 a04 924 913 a01 921 910 929 917 a06
        925 915 a03 922 912 a01 919 908 927 916 a04 924 913 a02 920 910 928 917 a05 925 915 a04 922 911 930
    """,
    "double ninth": """
        a06 a25 a14 a04 a22 a11 a30 a19 a07 a26 a16 a05 a23 a13 a02 a21 a09 a28 a17 a07 a25 a14 a04 a23 a11 a29
        a18 a08 a26 a16 a05 a24 a12 a01 a20 a09 a27 a17 a07 a26 a14 a03 a22 a11 a29 a18 a08 a27 a16 a05 a24
    """,
}
At = Callable[[int], Days | None]


def _fixed(month: int, day: int, length: int = 1) -> At:
    def at(year: int) -> Days | None:
        start = day_of(year, month, day)
        return None if start is None else Days(start.start, start.start + length)

    return at


def _easter(offset: int, length: int = 1) -> At:
    def at(year: int) -> Days | None:
        sunday = easter(year)
        return None if sunday is None else Days(sunday + offset, sunday + offset + length)

    return at


def _nth_weekday(month: int, weekday: int, number: int, offset: int = 0, length: int = 1) -> At:
    def at(year: int) -> Days | None:
        days = months_of(year, month)
        found = None if days is None else nth(f"weekday {weekday}", number)(days)
        return None if found is None else Days(found.start + offset, found.start + offset + length)

    return at


def _advent(number: int) -> At:
    """The fourth Sunday of Advent is the last before Christmas Day."""

    def at(year: int) -> Days | None:
        eve = day_of(year, 12, 24)
        if eve is None:
            return None
        day = eve.start - eve.start % WEEK - (4 - number) * WEEK
        return Days(day, day + 1)

    return at


def _lunar(name: str, offset: int = 0, length: int = 1) -> At:
    days = LUNAR[name].split()

    def at(year: int) -> Days | None:
        if not 0 <= year - FIRST_LUNAR_YEAR < len(days):
            return None
        found = days[year - FIRST_LUNAR_YEAR]
        start = date(year, int(found[0], 16), int(found[1:])).toordinal() + offset
        return Days(start, start + length)

    return at


def _qingming(year: int) -> Days | None:
    """The solar term in April, by the usual approximation for 2000 to 2099."""
    short = year - 2000
    return day_of(year, 4, int(short * 0.2422 + 4.81) - short // 4) if 0 <= short < 100 else None


HOLIDAYS = {
    name: Time("holiday", at, "year")
    for name, at in {
        "christmas": _fixed(12, 24, 3),
        "christmas eve": _fixed(12, 24),
        "christmas day": _fixed(12, 25),
        "boxing day": _fixed(12, 26),
        "new year's eve": _fixed(12, 31),
        "new year's day": _fixed(1, 1),
        "turn of the year": _fixed(12, 31, 2),
        "between the years": _fixed(12, 27, 4),
        "epiphany": _fixed(1, 6),
        "valentine": _fixed(2, 14),
        "women's day": _fixed(3, 8),
        "st patrick": _fixed(3, 17),
        "april fools": _fixed(4, 1),
        "labour day": _fixed(5, 1),
        "independence day": _fixed(7, 4),
        "juneteenth": _fixed(6, 19),
        "assumption": _fixed(8, 15),
        "german unity": _fixed(10, 3),
        "reformation": _fixed(10, 31),
        "halloween": _fixed(10, 31),
        "all saints": _fixed(11, 1),
        "all souls": _fixed(11, 2),
        "bonfire night": _fixed(11, 5),
        "remembrance": _fixed(11, 11),
        "nicholas": _fixed(12, 6),
        "easter": _easter(-2, 4),
        "good friday": _easter(-2),
        "maundy thursday": _easter(-3),
        "holy saturday": _easter(-1),
        "palm sunday": _easter(-7),
        "easter sunday": _easter(0),
        "easter monday": _easter(1),
        "ascension": _easter(39),
        "pentecost": _easter(49, 2),
        "whit sunday": _easter(49),
        "whit monday": _easter(50),
        "corpus christi": _easter(60),
        "carnival": _easter(-52, 6),
        "carnival thursday": _easter(-52),
        "rose monday": _easter(-48),
        "shrove tuesday": _easter(-47),
        "ash wednesday": _easter(-46),
        "mother's day": _nth_weekday(5, 6, 2),
        "father's day": _nth_weekday(6, 6, 3),
        "memorial day": _nth_weekday(5, 0, -1),
        "labor day": _nth_weekday(9, 0, 1),
        "thanksgiving": _nth_weekday(11, 3, 4),
        "black friday": _nth_weekday(11, 3, 4, 1),
        "cyber monday": _nth_weekday(11, 3, 4, 4),
        **{f"advent {number}": _advent(number) for number in (1, 2, 3, 4)},
        "spring festival": _lunar("spring festival", -1, 7),
        "spring festival day": _lunar("spring festival"),
        "chinese new year's eve": _lunar("spring festival", -1),
        "lantern festival": _lunar("spring festival", 14),
        "dragon boat": _lunar("dragon boat"),
        "double seventh": _lunar("double seventh"),
        "mid-autumn": _lunar("mid-autumn"),
        "double ninth": _lunar("double ninth"),
        "qingming": _qingming,
        "may holiday": _fixed(5, 1, 5),
        "children's day": _fixed(6, 1),
        "china national day": _fixed(10, 1, 7),
        "singles day": _fixed(11, 11),
    }.items()
}
