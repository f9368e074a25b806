"""Times in texts: places, zones, limits, and phrases on their own."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect import Filter, InvalidInput, Mind, when
from recollect.text.question_time import asks_for_future
from recollect.text.times import find_times

from .time_kit import NOW, read, short

PHRASES = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "time_phrases.tsv"
NAMED = [
    "yesterday", "tomorrow", "two years ago", "in two weeks", "on 31 December", "on 29 February", "since March 2020",
    "the week before Easter", "last weekend", "next winter", "in the first half of 2025", "the end of the year",
    "vor drei Tagen", "übermorgen", "zwischen Oktober und Januar", "am 3.", "letzte Woche Dienstag", "seit Anfang Mai",
    "三天前", "上上周", "去年年底", "中秋节", "三月到五月之间", "12号",
    "9999 years ago", "in the year 9999", "the 9990s",
    "from 1 January to 31 December 9999", "last week", "this quarter", "the past 9999 months", "vor 9999 Jahren",
]  # fmt: skip


def test_an_expression_has_its_words_and_its_place() -> None:
    text = "Well, what did I do between 3 and 9 May, and what since yesterday?"
    found = find_times(text, NOW)
    assert [each.text for each in found] == ["between 3 and 9 May", "since yesterday"]
    assert [text[each.begin : each.end] for each in found] == [each.text for each in found]


@pytest.mark.parametrize(
    "text", ["what did i do last\u00a0month", "what’s new since ‘last month’?", "ＬＡＳＴ month 上个月"]
)
def test_typographic_signs_are_read(text: str) -> None:
    assert any("2026-04-01" in short(each.span) for each in find_times(text, NOW))


def test_without_a_year_29_february_may_be_eight_years_ago() -> None:
    assert read("on 29 February", datetime(2104, 2, 28)) == "2096-02-29"
    assert read("on 29 February", datetime(2104, 2, 29)) == "2104-02-29"


@pytest.mark.parametrize(
    "text", ["31 February", "30.2.2026", "2026-13-01", "on June 31st", "am 30.2.", "二月三十号", "2026-00-10"]
)
def test_a_day_that_cannot_be_is_no_time(text: str) -> None:
    assert read(f"What was on {text}?") == "none"


def test_the_month_is_first_between_slashes_unless_it_cannot_be() -> None:
    assert read("on 3/4/2025") == "2025-03-04"
    assert read("on 13/4/2025") == "2025-04-13"
    assert read("on 3.4.2025") == "2025-04-03"
    assert read("a 3/4 inch hose") == "none"


def test_days_begin_at_midnight_where_the_clock_is() -> None:
    late = datetime(2026, 5, 19, 23, 30, tzinfo=UTC)
    (there,) = find_times("yesterday", late.astimezone(timezone(timedelta(hours=2))))
    assert there.span.start == datetime(2026, 5, 18, 22, tzinfo=UTC)
    assert there.span.end == datetime(2026, 5, 19, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "now", "hours"),
    [
        ("Europe/Berlin", datetime(2026, 3, 30, 9), 23),  # yesterday the clocks went forward
        ("Europe/Berlin", datetime(2026, 10, 26, 9), 25),
        ("America/Santiago", datetime(2025, 9, 8, 9), 23),  # at midnight, which did not exist
        ("America/Havana", datetime(2025, 11, 3, 9), 25),  # the first hour was twice
    ],
)
def test_a_day_may_have_23_or_25_hours(zone: str, now: datetime, hours: int) -> None:
    (found,) = find_times("yesterday", now.replace(tzinfo=ZoneInfo(zone)))
    start, end = found.span.start, found.span.end
    assert start is not None
    assert end is not None
    assert (start.hour, end.hour) == (0, 0)
    assert end.astimezone(UTC) - start.astimezone(UTC) == timedelta(hours=hours)


def test_an_hour_that_comes_twice_does_not_move_midnight() -> None:
    now = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    (found,) = find_times("today", now)
    assert (found.span.start, found.span.end) == (
        datetime(2026, 10, 24, 22, tzinfo=UTC),
        datetime(2026, 10, 25, 23, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "now", [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59), datetime(1, 12, 31), datetime(9999, 1, 1)]
)
@pytest.mark.parametrize("told", [False, True])
def test_no_year_is_too_early_or_too_late(now: datetime, told: bool) -> None:
    for text in NAMED:
        for each in find_times(text, now, told=told):
            assert each.span.start is None or each.span.end is None or each.span.start < each.span.end


words = st.sampled_from(
    [*NAMED, *"12 31. . , - of the st th 2023 1999 ago last May bis vor am 月 号 年 半 前 ſ ı İ ７ few".split()]
)


@given(st.lists(words | st.text(max_size=3), max_size=8).map(" ".join), st.datetimes(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_strange_at_any_time(text: str, now: datetime, told: bool) -> None:
    last = 0
    for each in find_times(text, now, told=told):
        assert each.text == text[each.begin : each.end] != ""
        assert each.begin >= last
        last = each.end
        for side in (each.span.start, each.span.end):
            assert side is None or (side.hour, side.minute, side.second, side.microsecond, side.tzinfo) == (
                0,
                0,
                0,
                0,
                None,
            )


@given(st.datetimes(), st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 30)))
@settings(max_examples=100, deadline=None)
def test_a_whole_date_does_not_depend_on_the_clock(now: datetime, day: datetime) -> None:
    english = f"{day.day} {'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()[day.month - 1]} {day.year}"
    for text in (f"{day:%Y-%m-%d}", english, f"{day:%d.%m.%Y}", f"{day.year}年{day.month}月{day.day}日"):
        assert read(text, now) == f"{day:%Y-%m-%d}"


@pytest.mark.parametrize(
    "part",
    ["1", "last ", "2025-01-01 ", "1.2.", "三月", "the first week of ", " ", "between 3 and ", "vor ", "may ",
     "Monday, ",     "1-", "一", "'", "the day before ", "in May ", "die letzten ", "year ", "\n", "a"],
)  # fmt: skip
@pytest.mark.parametrize("told", [False, True])
def test_of_a_text_of_200_kilobytes_a_bounded_number_of_times_is_read(part: str, told: bool) -> None:
    text = part * (200_000 // len(part))
    assert len(find_times(text, NOW, told=told)) <= 100


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("last month", "2026-04-01..2026-05-01"), ("2026-03-04", "2026-03-04"), ("since Monday", "2026-05-18.."),
        ("March", "2026-03-01..2026-04-01"), ("the 12th", "2026-05-12"), ("2025", "2025-01-01..2026-01-01"),
        ("im Sommer 2025", "2025-06-01..2025-09-01"), ("Mai", "2026-05-01..2026-06-01"), ("上周二", "2026-05-12"),
        ("before Easter", "..2026-04-03"), (" yesterday ", "2026-05-19"),
    ],
)  # fmt: skip
def test_a_phrase_is_read_on_its_own(text: str, span: str) -> None:
    assert short(when(text, now=NOW)) == span
    assert recollect.when is when


def test_a_phrase_is_read_in_a_zone() -> None:
    now = datetime(2026, 5, 20, 23, 30, tzinfo=UTC)
    assert when("today", now, "Asia/Tokyo").start == datetime(2026, 5, 20, 15, tzinfo=UTC)
    assert when("today", now, timezone(timedelta(hours=-11))).start == datetime(2026, 5, 20, 11, tzinfo=UTC)
    assert when("today", now).start == datetime(2026, 5, 20, tzinfo=UTC)
    start = when("today").start
    assert start is not None
    assert start.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text", ["", "soon", "the cup of yesterday", "31 June", "yesterday and last month", "x" * 10_000]
)
def test_what_is_not_one_time_is_an_error_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"names no time that can be read.*'last month'"):
        when(text, NOW)


def test_a_zone_or_clock_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="no known time zone: 'Mars/Base'"):
        when("today", NOW, "Mars/Base")
    with pytest.raises(InvalidInput, match="now must be a datetime"):
        when("today", "2026-05-20")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="tz must be the name"):
        when("today", NOW, 2)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="text must be a string"):
        when(2026)  # type: ignore[arg-type]


def test_a_filter_takes_times_in_words(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None, clock=lambda: NOW.replace(tzinfo=UTC)) as mind:
        for month in (3, 4, 5):
            mind.remember(f"The cup of month {month}.", created=f"2026-{month:02}-10")
        april = Filter(since="last month", until="last month")
        assert [each.text for each in mind.list(april)] == ["The cup of month 4."]
        assert [each.memory.text for each in mind.recall("cup", filter=april)] == ["The cup of month 4."]
        assert {each.text[-2] for each in mind.list(~april)} == {"3", "5"}
        with pytest.raises(InvalidInput, match="since is not a date: 'soon'"):
            mind.list(Filter(since="soon"))


@pytest.mark.skipif(not PHRASES.exists(), reason=f"NOT MEASURED: {PHRASES.name} is not beside the project")
def test_the_labelled_phrases_are_read() -> None:
    """At least 95% of the spans overlap by half, and at least 97% of the traps stay words."""
    spans: list[bool] = []
    traps: list[bool] = []
    with PHRASES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found = [each.span for each in find_times(row["question"], datetime.fromisoformat(row["now"]))]
            if row["marker"] == "none":
                traps.append(not found)
                continue
            start, end = (datetime.fromisoformat(row[side]) if row[side] else None for side in ("start", "end"))
            spans.append(len(found) == 1 and overlap((found[0].start, found[0].end), (start, end)) >= 0.5)
    assert sum(spans) / len(spans) >= 0.95
    assert sum(traps) / len(traps) >= 0.97


def overlap(first: tuple[datetime | None, datetime | None], second: tuple[datetime | None, datetime | None]) -> float:
    """The common part of two spans ÷ the whole; spans that are open on different sides have none."""
    if [side is None for side in first] != [side is None for side in second]:
        return 0.0
    (start, end), (other_start, other_end) = first, second
    if start is None or end is None or other_start is None or other_end is None:
        return float(first == second)
    return (min(end, other_end) - max(start, other_start)) / (max(end, other_end) - min(start, other_start))


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-03-28", 24)])
def test_a_day_on_which_the_clock_changes_is_shorter_or_longer(day: str, hours: int) -> None:
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo("Europe/Berlin"))
    span = when("today", now=noon)
    assert span.start is not None
    assert span.end is not None
    assert span.end.astimezone(UTC) - span.start.astimezone(UTC) == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("What is on in March?", "2026-03-01 to 2026-04-01"),
        ("What is on in June?", "2025-06-01 to 2025-07-01"),
        ("What is on on Friday?", "2025-06-20 to 2025-06-21"),
        ("What must I do before March?", "… to 2026-03-01"),
        ("Which tools do I have since March?", "2025-03-01 to …"),
        ("三月以前我有哪些工具？", "… to 2025-03-01"),
        ("What is left of March 2024?", "2024-03-01 to 2024-04-01"),
    ],
)
def test_a_question_about_what_is_to_come_names_the_coming_time(question: str, span: str) -> None:
    (found,) = find_times(question, datetime(2025, 6, 18), ahead=True)
    assert str(found.span) == span


@pytest.mark.parametrize(
    "question",
    [
        "Is that what Tom said in May?",
        "Is it right that Ben quit in May?",
        "Are those the boots I wore in May?",
        "Are you sure Ben called in May?",
        "Are you sure that Ben is free in May?",
        "Am I right that the fair is in May?",
        "Is the bike I rode in August broken?",
        "Is the contract signed on 3 May valid?",
        "Is that where Anna sat in May?",
        "Is it possible that we were in Rome in May?",
        "Welcher Betrag wird im Mai in der Rechnung genannt?",
        "Wird in der Mail vom 3. Mai ein Preis genannt?",
        "Was wird in den Notizen zum Mai gesagt?",
        "我要看五月的电费账单",
        "我要找五月的账单",
        "五月的音乐会在哪里？",
        "五月的运动会在哪里？",
        "五月的演唱会是谁的？",
        "五月的家长会谁去？",
        "五月的生日会有谁？",
        "五月的误会是什么？",
    ],
)
def test_a_question_that_may_be_about_the_past_is_not_taken_for_the_future(question: str) -> None:
    assert not asks_for_future(question)


@pytest.mark.parametrize(
    "question",
    [
        "Is the fair on 22 November?",
        "Is Ben free on Friday?",
        "Is the dentist booked for 3 May?",
        "Is the shop closed in May?",
        "Are we in Rome on 3 May?",
        "Is it possible to swim in May?",
        "Wird es im Mai teurer?",
        "Werden die Fenster im Mai geliefert?",
        "Ist am 3. Mai frei?",
        "五月我会在哪里？",
        "我五月要去哪里？",
        "五月会下雨吗？",
        "我五月要看牙吗？",
        "五月他会来吗？",
    ],
)
def test_a_question_for_what_will_be_is_one_about_the_future(question: str) -> None:
    assert asks_for_future(question)
