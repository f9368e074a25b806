"""A question that names a time, and one that asks for one: the stages dates and answering."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from recollect import Mind

from .kit import BAG, Clock, ids, nodes, open_mind, step, told

NOW = datetime(2025, 6, 18, 12, tzinfo=UTC)  # a Wednesday
DAYS = {"march": "2025-03-10", "may": "2025-05-20", "last week": "2025-06-11", "today": "2025-06-18"}


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def mind(tmp_path: Path, clock: Clock) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", BAG, clock=clock) as mind:
        yield mind


@pytest.fixture
def swims(mind: Mind) -> Mind:
    """The same thing said at four times."""
    mind.remember_many({"text": "we swam in the lake", "id": name, "created": day} for name, day in DAYS.items())
    return mind


def labels(mind: Mind, query: str, id: str, **options: object) -> dict[str, float]:
    return {node.label: node.value for node in nodes(mind.why(query, id, k=20, **options))}


def of_another_time(mind: Mind, query: str, **options: object) -> set[str]:
    return {id for id in DAYS if labels(mind, query, id, **options).get("outside the dates of the query", 1.0) < 1}


# Dates.


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("where did we swim in March?", {"march"}),
        ("where did we swim on 20 May 2025?", {"may"}),
        ("where did we swim on the 18th of May?", {"may"}),  # told two days later
        ("where did we swim last week?", {"last week", "today"}),
        ("where did we swim today?", {"today"}),
        ("where did we swim in March or May?", {"march"}),  # “or May” is not a date
        ("where did we swim in March and in May?", {"march", "may"}),
    ],
)
def test_what_was_made_at_another_time_comes_after(swims: Mind, question: str, meant: set[str]) -> None:
    assert of_another_time(swims, question) == DAYS.keys() - meant
    assert set(ids(swims.recall(question, len(meant)))) == meant


def test_what_is_told_soon_after_counts_as_of_that_time_and_what_was_told_long_before_does_not(mind: Mind) -> None:
    on = datetime(2025, 5, 7, tzinfo=UTC)
    for days in (-2, -1, 0, 7, 8):
        mind.remember("we swam", id=f"{days}", created=on + timedelta(days=days))
    asked = "who swam on 7 May 2025?"
    late = {id for id in ids(mind.recall(asked)) if "outside the dates of the query" in labels(mind, asked, id)}
    assert late == {"-2", "8"}


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("where did we swim?", "the query names no date"),
        ("May I ask where we swam?", "the query names no date"),
        ("where did we swim on 31 June?", "the query names no date"),
        ("where did we swim in 2025?", "all candidates are inside the dates of the query, or all outside"),
        ("where did we swim in 1999?", "all candidates are inside the dates of the query, or all outside"),
    ],
)
def test_where_dates_decide_nothing_the_stage_says_so(swims: Mind, question: str, reason: str) -> None:
    recall = swims.recall(question)
    assert (step(recall, "dates")["outcome"], step(recall, "dates")["reason"]) == ("skipped", reason)
    assert "the dates of the query" not in str(recall[0].why)


def test_the_trace_says_which_dates_were_read(swims: Mind) -> None:
    recall = swims.recall("did we swim on 20 May 2025 or yesterday?")
    assert step(recall, "dates")["detail"]["dates"] == "2025-05-20 to 2025-05-21, 2025-06-17 to 2025-06-18"


def test_last_week_is_that_before_the_moment_that_is_asked_about(swims: Mind, clock: Clock) -> None:
    asked = "where did we swim last month?"
    assert of_another_time(swims, asked) == {"march", "last week", "today"}
    swims.remember("we swam in the lake", id="april", created="2025-04-20")
    then = swims.recall(asked, as_of="2025-05-25")
    assert set(ids(then)) == {"march", "april", "may"}
    assert ids(then)[0] == "april"
    assert step(then, "dates")["detail"]["dates"] == "2025-04-01 to 2025-05-01"
    clock.pass_(days=30)
    assert ids(swims.recall(asked, 2)) == ["today", "last week"]


def test_days_are_those_of_utc_whatever_zone_the_clock_is_in(tmp_path: Path) -> None:
    """Half past midnight in Rome is still yesterday."""
    told = []
    for hours in (0, 2, -11):
        clock = Clock(datetime(2025, 6, 18, 22, 30, tzinfo=UTC).astimezone(timezone(timedelta(hours=hours))))
        with open_mind(tmp_path / f"{hours}.db", BAG, clock=clock) as mind:
            mind.remember("we swam", id="early", created="2025-03-01")
            mind.remember("we swam", id="late", created="2025-06-18T00:30:00+02:00")
            told.append(step(mind.recall("who swam today?"), "dates")["detail"]["dates"])
    assert told == ["2025-06-18 to 2025-06-19"] * 3


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize("when", ["yesterday", "today", "last year", "in March", "on 31 December", "9 years ago"])
def test_at_the_ends_of_time_nothing_fails(mind: Mind, clock: Clock, year: int, when: str) -> None:
    clock.now = datetime(year, 1, 1, tzinfo=UTC) if year == 1 else datetime(year, 12, 31, 23, tzinfo=UTC)
    mind.remember_many({"text": "we swam", "created": f"{year:04}-{month:02}-03"} for month in range(1, 13))
    recall = mind.recall(f"who swam {when}?", 20)
    assert len(recall) == 12
    assert recall.trace.failures == []


# Answering.


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Mind]:
    """By words alone, to which a question mark is nothing."""
    with open_mind(tmp_path / "plain.db", None) as mind:
        yield mind


def test_between_people_who_asks_does_not_answer(plain: Mind) -> None:
    for person in ("Ann", ""):
        plain.remember("the lake, where is the lake?", id=f"{person} asks", speaker=person)
        plain.remember("the lake, where is the lake.", id=f"{person} tells", speaker=person)
    scores = {result.memory.id: result.score for result in plain.recall("where is the lake?")}
    assert scores["Ann asks"] < scores["Ann tells"]
    assert scores[" asks"] == scores[" tells"], "a request to an assistant is left alone"
    assert labels(plain, "where is the lake?", "Ann asks")["100% of the text are questions"] == pytest.approx(0.6)


def test_to_a_question_for_a_time_what_names_none_comes_after(plain: Mind) -> None:
    plain.remember("we swam in the lake together", id="timeless")
    plain.remember("we swam in the lake yesterday", id="timely")
    assert ids(plain.recall("when did we swim in the lake?")) == ["timely", "timeless"]
    asked = labels(plain, "when did we swim in the lake?", "timeless")
    assert asked["the text names no time"] == pytest.approx(0.9)


def test_where_nobody_speaks_and_no_time_is_asked_for_the_stage_says_so(mind: Mind) -> None:
    mind.remember("where is the lake?")
    told = step(mind.recall("where is the lake?"), "answering")
    reason = "no candidate has a speaker, and the query asks for no time or amount"
    assert (told["outcome"], told["reason"]) == ("skipped", reason)


def test_only_the_first_forty_are_read(mind: Mind) -> None:
    mind.remember_many({"text": f"the lake {n}?", "id": f"{n}", "speaker": "Ann"} for n in range(60))
    whys = [str(result.why) for result in mind.recall("when did the lake freeze?", 60)]
    assert sum("not among the first" in why for why in whys) == 20


# Both.

ASKED = "when did Ann swim last week, or on 7 May?"


@pytest.fixture
def talk(mind: Mind) -> Mind:
    for n in range(70):
        said = f"we swam {'yesterday' if n % 3 else 'far'} with number {n}{'?' if n % 4 == 0 else '.'} Did you?"
        made = NOW - timedelta(days=n, hours=n % 5)
        mind.remember(said, id=f"m{n}", speaker=("Ann", "Bob", "")[n % 3], created=made, session=f"s{n // 9}")
    return mind


def test_the_reasons_give_the_score_to_the_bit(talk: Mind) -> None:
    recall = talk.recall(ASKED, 70)
    assert {step(recall, name)["outcome"] for name in ("dates", "answering", "speaker", "session")} == {"ran"}
    assert len(recall) == 70
    for result in recall:
        assert result.why.evaluate() == result.score
    whole = "\n".join(str(result.why) for result in recall)
    for said in ("outside the dates", "inside the dates", "names no time", "of the text are questions"):
        assert said in whole


def test_the_same_state_and_clock_give_the_same_bytes(talk: Mind) -> None:
    first = told(talk.recall(ASKED, 30, track=False))
    assert told(talk.recall(ASKED, 30, track=False)) == first
    with open_mind(Path(talk.path), BAG, clock=Clock(NOW)) as other:
        assert told(other.recall(ASKED, 30, track=False)) == first


def test_asking_for_more_never_changes_the_first(talk: Mind) -> None:
    most = [(result.memory.id, result.score) for result in talk.recall(ASKED, 70, track=False)]
    for k in (1, 5, 20, 39, 40, 41, 50, 51):
        assert [(result.memory.id, result.score) for result in talk.recall(ASKED, k, track=False)] == most[:k]
