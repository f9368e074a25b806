"""Dates that a question names, as spans of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.dates import MONTHS, PATTERNS, WEEKDAYS, find_time_spans

NOW = datetime(2025, 6, 18, 15, 30, tzinfo=UTC)  # a Wednesday
YEARS = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC))


def days(text: str, now: datetime = NOW) -> list[str]:
    """Each span as its first day and the first after it."""
    return [f"{start:%Y-%m-%d} {end:%Y-%m-%d}" for start, end in find_time_spans(text, now)]


@pytest.mark.parametrize(
    "text",
    [
        "on 2023-05-07?",
        "on 7.5.2023",
        "on 07.05.2023.",
        "on 7 May 2023",
        "on the 7th of May, 2023",
        "ON 7 MAY, 2023",
        "on May 7, 2023",
        "May 7th 2023 was what?",
        "7\u00a0May 2023",
        "在2023-05-07那天",
    ],
)
def test_a_day_with_its_year(text: str) -> None:
    assert days(text) == ["2023-05-07 2023-05-08"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 7 May", "2025-05-07 2025-05-08"),
        ("on June 18", "2025-06-18 2025-06-19"),  # today
        ("on 19 June", "2024-06-19 2024-06-20"),  # tomorrow is no memory
        ("on Sept. 3rd", "2024-09-03 2024-09-04"),
        ("on 29 February", "2024-02-29 2024-03-01"),
        ("in March", "2025-03-01 2025-04-01"),
        ("in June", "2025-06-01 2025-07-01"),
        ("during July", "2024-07-01 2024-08-01"),
        ("since Dec", "2024-12-01 2025-01-01"),
    ],
)
def test_without_a_year_it_is_the_last_such_date(text: str, expected: str) -> None:
    assert days(text) == [expected]


def test_the_29th_of_february_may_be_eight_years_ago() -> None:
    assert days("on 29 February", datetime(2104, 2, 28, tzinfo=UTC)) == ["2096-02-29 2096-03-01"]
    assert days("on 29 February", datetime(2104, 2, 29, tzinfo=UTC)) == ["2104-02-29 2104-03-01"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in May 2023", "2023-05-01 2023-06-01"),
        ("February, 2024", "2024-02-01 2024-03-01"),
        ("in 2024", "2024-01-01 2025-01-01"),
        ("today", "2025-06-18 2025-06-19"),
        ("Yesterday", "2025-06-17 2025-06-18"),
        ("this week", "2025-06-16 2025-06-23"),
        ("last week", "2025-06-09 2025-06-16"),
        ("last weekend", "2025-06-14 2025-06-16"),
        ("last month", "2025-05-01 2025-06-01"),
        ("this month", "2025-06-01 2025-07-01"),
        ("last year", "2024-01-01 2025-01-01"),
        ("last Tuesday", "2025-06-17 2025-06-18"),
        ("last Wednesday", "2025-06-11 2025-06-12"),
        ("this Wednesday", "2025-06-18 2025-06-19"),
        ("last Thursday", "2025-06-12 2025-06-13"),
    ],
)
def test_a_span_by_its_name(text: str, expected: str) -> None:
    assert days(text) == [expected]


def test_last_month_in_january_is_december() -> None:
    assert days("last month", datetime(2025, 1, 31, tzinfo=UTC)) == ["2024-12-01 2025-01-01"]


def test_on_a_weekend_the_last_one_is_another() -> None:
    now = datetime(2025, 6, 22, 9, tzinfo=UTC)
    assert days("this weekend", now) == ["2025-06-21 2025-06-23"]
    assert days("last weekend", now) == ["2025-06-14 2025-06-16"]


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("two days ago", timedelta(days=2)),
        ("2 weeks ago", timedelta(weeks=2)),
        ("a couple of weeks ago", timedelta(weeks=2)),
        ("a few months ago", timedelta(days=90)),
        ("an  year ago", timedelta(days=365)),
        ("0 days ago", timedelta()),
    ],
)
def test_so_long_ago_is_around_that_day(text: str, ago: timedelta) -> None:
    ((start, end),) = find_time_spans(text, NOW)
    assert start < NOW - ago < end
    assert NOW - ago - start == pytest.approx(end - (NOW - ago), abs=timedelta(days=1))


def test_the_longer_ago_the_wider() -> None:
    widths = [
        end - start
        for unit in ("day", "week", "month", "year")
        for start, end in find_time_spans(f"2 {unit}s ago", NOW)
    ]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "May I ask you something?",
        "I may have 3 cups",
        "she marched on",
        "the sun in the window",
        "31 June",
        "June 31, 2023",
        "30 February",
        "2023-13-01",
        "2023-00-10",
        "32.1.2023",
        "0.1.2023",
        "version 12.2023",
        "room 2023",
        "the 2023rd",
        "1234567 May",
        "last ſunday",
        "last frıday",
    ],
)
def test_what_is_no_date_names_none(text: str) -> None:
    assert find_time_spans(text, NOW) == []


def test_a_day_that_never_was_leaves_its_month() -> None:
    assert days("on 31 June 2023") == days("on 29 February 2023, no: June 2023")[-1:] == ["2023-06-01 2023-07-01"]


def test_several_dates_are_several_spans_and_none_is_counted_twice() -> None:
    told = days("between 7 May 2023 and June 2024, and yesterday?")
    assert sorted(told) == ["2023-05-07 2023-05-08", "2024-06-01 2024-07-01", "2025-06-17 2025-06-18"]
    assert days("on 7 May 2023") == ["2023-05-07 2023-05-08"], "May 2023 and the year are in it"


def test_a_day_begins_at_midnight_where_the_clock_is() -> None:
    """At 23:30 UTC it is tomorrow in Rome."""
    late = datetime(2025, 6, 18, 23, 30, tzinfo=UTC)
    rome = late.astimezone(timezone(timedelta(hours=2)))
    assert days("yesterday", late) == ["2025-06-17 2025-06-18"]
    assert days("yesterday", rome) == ["2025-06-18 2025-06-19"]
    assert find_time_spans("yesterday", rome)[0][0] == datetime(2025, 6, 17, 22, tzinfo=UTC)


NAMED = ["yesterday", "today", "2 years ago", "1 day ago", "on 31 December", "on 29 February", "since March 2020"]
NAMED += [f"{which} {unit}" for which in ("this", "last") for unit in ("week", "weekend", "month", "year", *WEEKDAYS)]
NAMED += [f"in {month}" for month in MONTHS]


@pytest.mark.parametrize("now", YEARS, ids=["the first year", "the last year"])
def test_no_year_is_too_early_or_too_late(now: datetime) -> None:
    for text in NAMED:
        for start, end in find_time_spans(text, now):
            assert start < end


words = st.sampled_from([*NAMED, *"12 31 . , - of the st th 2023 1999 ago last May ſ ı İ K 在 ７ few couple".split()])


@given(st.lists(words | st.text(max_size=3), max_size=8).map(" ".join), st.datetimes(timezones=st.just(UTC)))
@settings(max_examples=300, deadline=None)
def test_no_question_is_too_strange_at_any_time(text: str, now: datetime) -> None:
    for start, end in find_time_spans(text, now):
        assert start < end
        assert (start.hour, start.minute, start.second, start.microsecond) == (0, 0, 0, 0)
        assert start.tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 30)))
@settings(max_examples=200, deadline=None)
def test_a_whole_date_does_not_depend_on_the_clock(now: datetime, day: datetime) -> None:
    expected = [f"{day:%Y-%m-%d} {day + timedelta(days=1):%Y-%m-%d}"]
    for text in (f"{day:%Y-%m-%d}", f"{day.day} {day:%B %Y}", f"{day:%b} {day.day}, {day.year}", f"{day:%d.%m.%Y}"):
        assert days(text, now) == expected


def test_every_pattern_is_used_by_some_question() -> None:
    asked = [*NAMED, "2023-05-07", "7.5.2023", "7 May", "May 7", "May 2023", "in 2023"]
    assert all(any(pattern.search(text) for text in asked) for pattern, _ in PATTERNS)
