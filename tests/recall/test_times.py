"""A question that names a time finds memories by it (B13): created then, valid then, or telling of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from recollect import InvalidInput, Mind

from .kit import BAG, Clock, ids, nodes, open_mind, step

NOW = datetime(2025, 6, 18, 12, tzinfo=UTC)  # a Wednesday
DAYS = {"march": "2025-03-10", "may": "2025-05-20", "last week": "2025-06-11", "today": "2025-06-18"}
pytestmark = pytest.mark.contract("B13")


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def mind(tmp_path: Path, clock: Clock) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", BAG, clock=clock) as mind:
        yield mind


@pytest.fixture
def swims(mind: Mind) -> Mind:
    """The same thing at four times."""
    mind.remember_many({"text": "we swam in the lake", "id": name, "created": day} for name, day in DAYS.items())
    return mind


def time_factors(mind: Mind, query: str, id: str) -> list[float]:
    """The factors of the stage for time in the score of a memory."""
    found = nodes(mind.why(query, id, k=20))
    return [
        node.value
        for node in found
        if node.label.startswith(("from ", "not from ", "told before ", "only written in "))
    ]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("where did we swim in March?", ["march"]),
        ("where did we swim on 20 May 2025?", ["may"]),
        ("where did we swim last week?", ["last week"]),
        ("where did we swim today?", ["today"]),
        ("where did we swim in March and in May?", ["march", "may"]),
        ("where did we swim since June?", ["last week", "today"]),
        ("where did we swim before April?", ["march"]),
        ("Wo sind wir letzte Woche in the lake geschwommen?", ["last week"]),
        ("上周 in the lake", ["last week"]),
    ],
)
def test_memories_of_the_time_come_first(swims: Mind, question: str, meant: list[str]) -> None:
    recall = swims.recall(question)
    assert sorted(ids(recall)[: len(meant)]) == sorted(meant)
    for result in recall:
        assert time_factors(swims, question, result.id)[0] == (
            1.0 if result.id in meant else pytest.approx(0.25, abs=0.4)
        )
        assert result.why.evaluate() == result.score


def test_a_memory_that_shares_no_word_is_found_by_its_time(mind: Mind) -> None:
    mind.remember_many({"text": f"where did the boat number {n} go", "created": "2025-01-05"} for n in range(300))
    mind.remember("Lunch at the harbour.", id="lunch", created="2025-06-17")
    recall = mind.recall("where did the boat go yesterday?")
    assert "lunch" in ids(recall)
    assert step(recall, "time")["outcome"] == "ran"


def test_what_is_told_is_of_the_time_that_it_tells_of(mind: Mind) -> None:
    mind.remember("The kettle broke yesterday.", id="told", created="2025-03-05")
    mind.remember("The kettle broke.", id="other", created="2025-02-10")
    assert ids(mind.recall("what broke on 4 March?"))[0] == "told"
    mind.remember("It rained.", id="said", created="2025-03-04")
    assert ids(mind.recall("what did I tell you on 4 March about what broke?"))[0] == "said"


def test_a_period_of_validity_is_a_time(mind: Mind) -> None:
    mind.remember("We rent the house.", id="old", valid_from="2024-01-01", valid_to="2024-12-31", created="2025-05-01")
    mind.remember("We rent the house by the sea.", id="new", valid_from="2025-01-01", created="2025-05-01")
    assert ids(mind.recall("which house did we rent in summer 2024?"))[0] == "old"


def test_what_is_told_soon_after_comes_before_what_was_said_long_before(mind: Mind) -> None:
    mind.remember("we swam far", id="then", created="2025-05-07")
    mind.remember("we swam far", id="soon", created="2025-05-12")
    mind.remember("we swam far", id="long after", created="2025-05-19")
    question = "who swam on 7 May 2025?"
    assert ids(mind.recall(question)) == ["then", "soon", "long after"]
    assert [time_factors(mind, question, id) for id in ("then", "soon", "long after")] == [[1.0], [0.6], [0.25]]


@pytest.mark.parametrize(
    "question", ["where did we swim?", "May I ask where we swam?", "where did we swim on 31 June?"]
)
def test_a_question_without_a_time_has_none(swims: Mind, question: str) -> None:
    recall = swims.recall(question)
    assert {
        (each["kind"], each["reason"])
        for each in recall.trace.as_dict()["steps"]
        if each["name"] in ("time", "time match")
    } == {
        ("cue", "the query names no time"),
        ("stage", "the query names no time"),
    }


def test_where_nothing_is_of_that_time_nothing_changes(swims: Mind) -> None:
    recall = swims.recall("where did we swim in 1999?")
    assert len(recall) == 4
    assert not any(time_factors(swims, "where did we swim in 1999?", each.id) for each in recall)


def test_the_trace_says_what_was_read(swims: Mind) -> None:
    recall = swims.recall("did we swim on 20 May 2025 or last week?")
    (read,) = (each for each in recall.trace.as_dict()["steps"] if each["name"] == "TimeReader")
    assert "2025-05-20" in read["detail"]["time"]
    assert "2025-06-09 to 2025-06-15" in read["detail"]["time"]


def test_time_words_are_not_searched(mind: Mind) -> None:
    mind.remember("the last one was lost, at least", id="words", created="2025-01-05")
    mind.remember("we swam", id="other", created="2025-06-11")
    recall = mind.recall("where did we swim last week?")
    assert ids(recall)[0] == "other"
    assert "last" not in step(recall, "words")["detail"]["terms"]


def test_last_week_is_that_before_the_moment_that_is_asked_about(swims: Mind, clock: Clock) -> None:
    question = "where did we swim last month?"
    assert ids(swims.recall(question))[0] == "may"
    swims.remember("we swam in the lake", id="april", created="2025-04-20")
    then = swims.recall(question, as_of="2025-05-25")
    assert set(ids(then)) == {"march", "april", "may"}
    assert ids(then)[0] == "april"
    clock.pass_(days=30)
    assert set(ids(swims.recall(question, 2))) == {"today", "last week"}


# A time and nothing else.


@pytest.fixture
def days(mind: Mind) -> Mind:
    turns = [
        ("user", "Morning!"),
        ("user", "The gearbox of the old van broke near the bridge."),
        ("assistant", "Sorry to hear about the gearbox of the van, will the garage repair it?"),
        ("user", "Yes, thanks."),
        ("user", "Our neighbour Olga lent us her trailer until Friday."),
    ]
    for day in (3, 4):
        for at, (role, text) in enumerate(turns):
            mind.remember(
                text,
                id=f"{day}.{at}",
                role=role,
                session=f"s{day}",
                position=at,
                created=datetime(2025, 3, day, 9, at, tzinfo=UTC),
            )
    return mind


@pytest.mark.parametrize(
    "question",
    [
        "What did we discuss on 4 March?",
        "what happened on the 4th of March",
        "Worüber haben wir am 4. März gesprochen?",
        "三月四号我们聊了什么？",
    ],
)
def test_a_question_that_is_only_a_time_returns_that_day_in_order_small_talk_last(days: Mind, question: str) -> None:
    recall = days.recall(question)
    found = [id for id in ids(recall) if id.startswith("4")]
    assert ids(recall)[:2] == ["4.1", "4.4"]
    assert set(found) == {"4.0", "4.1", "4.2", "4.3", "4.4"}
    assert found[2:] == ["4.0", "4.2", "4.3"]
    assert recall.confidence == 1.0
    skipped = [each for each in recall.trace.as_dict()["steps"] if each["name"] == "vectors"]
    assert skipped[0]["reason"] == "the query names a time and nothing else"


def test_asking_for_more_never_changes_the_first(mind: Mind) -> None:
    for n in range(130):
        made = datetime(2025, 3, 4, 6, tzinfo=UTC) + timedelta(minutes=7 * n)
        mind.remember(f"we swam {n % 9} times around {'the lake' * (n % 3)}", id=f"{n:03}", created=made)
    for question in ("what happened on 4 March?", "who swam around the lake on 4 March?"):
        most = [(each.id, each.score) for each in mind.recall(question, 130, track=False)]
        for k in (1, 10, 50, 51, 100):
            assert [(each.id, each.score) for each in mind.recall(question, k, track=False)] == most[:k]


def test_a_time_of_which_nothing_is_known_is_answered_by_words(swims: Mind) -> None:
    recall = swims.recall("what happened in 1999?")
    assert recall.confidence is not None
    assert recall.confidence < 1


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize("when", ["yesterday", "today", "last year", "in March", "on 31 December", "9 years ago"])
def test_at_the_ends_of_time_nothing_fails(mind: Mind, clock: Clock, year: int, when: str) -> None:
    clock.now = datetime(year, 1, 1, tzinfo=UTC) if year == 1 else datetime(year, 12, 31, 23, tzinfo=UTC)
    mind.remember_many({"text": "we swam", "created": f"{year:04}-{month:02}-03"} for month in range(1, 13))
    recall = mind.recall(f"who swam {when}?", 20)
    assert len(recall) == 12
    assert recall.trace.failures == []


# The moment and the time zone of a query.


def test_the_moment_of_a_query_can_be_given(swims: Mind) -> None:
    question = "where did we swim last month?"
    assert ids(swims.recall(question, now="2025-04-10"))[0] == "march"
    assert ids(swims.recall(question, now=datetime(2025, 6, 10, tzinfo=UTC)))[0] == "may"
    assert ids(swims.compare(question, "default", now="2025-04-10").recalls["default"])[0] == "march"


def test_days_begin_in_the_given_time_zone(mind: Mind) -> None:
    mind.remember("we swam", id="early", created="2025-06-16T12:00:00Z")
    mind.remember("we swam", id="late", created="2025-06-16T22:30:00Z")  # the 17th in Berlin
    question = "who swam on 17 June?"
    assert time_factors(mind, question, "late") == []  # in UTC nothing is of that day
    recall = mind.recall(question, tz="Europe/Berlin")
    assert ids(recall) == ["late", "early"]
    assert ids(mind.recall("who swam yesterday?", now=NOW.astimezone(ZoneInfo("Europe/Berlin")))) == ["late", "early"]


def test_a_day_of_23_hours_is_one_day(mind: Mind) -> None:
    mind.remember("we swam", id="before", created="2025-03-29T22:30:00Z")  # 23:30 in Berlin
    mind.remember("we swam", id="on", created="2025-03-30T21:30:00Z")  # 23:30, summer time has begun
    mind.remember("we swam", id="after", created="2025-03-30T22:30:00Z")
    assert ids(mind.recall("who swam on 30 March?", tz="Europe/Berlin"))[0] == "on"


@pytest.mark.parametrize(("name", "value"), [("tz", "Mars/Base"), ("tz", 3), ("now", "soon"), ("now", [])])
def test_what_is_no_moment_or_zone_is_refused(swims: Mind, name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        swims.recall("where did we swim?", **{name: value})


@pytest.mark.parametrize(
    "query",
    [
        "A third of the lakes were warmer than in March.",  # a claim
        "My plan renewed today. The lake was cold.",  # told, not asked for
        "Can you recommend a lake for tonight?",  # advice for a time to come
        "Any tips for the lake next week?",
        "Hast du einen Vorschlag für das Wochenende am See?",
    ],
)
def test_a_time_that_is_told_or_still_to_come_for_advice_is_not_asked_for(swims: Mind, query: str) -> None:
    assert all(not time_factors(swims, query, result.id) for result in swims.recall(query))


@pytest.mark.parametrize(
    "query",
    ["where did we swim last week", "Show me the lake last week.", "lake last week", "Tell me about last week."],
)
def test_a_time_counts_without_a_question_mark(swims: Mind, query: str) -> None:
    assert swims.recall(query)[0].id == "last week"


def test_a_plan_is_what_was_told_before_its_time(mind: Mind) -> None:
    mind.remember("whom to invite to the party next month: Ann", id="plan", created="2025-04-20")
    labels = [node.label for node in nodes(mind.why("whom did we plan to invite to the party in May?", "plan"))]
    assert "from May 2025" in labels
    labels = [node.label for node in nodes(mind.why("who came to the party in May?", "plan"))]
    assert "told before May 2025" in labels


def test_what_must_be_done_by_a_day_is_not_only_a_time(mind: Mind) -> None:
    mind.remember("we swam in the lake", id="swim", created="2025-06-01")
    mind.remember("the form must be at the office", id="form", created="2025-06-02")
    recall = mind.recall("what must I do by the end of June?")
    assert step(recall, "words")["outcome"] == "ran"
    assert recall[0].id == "form"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what do I need to do in December?", "coming"),
        ("what is happening in December?", "coming"),
        ("what did I do in December?", "past"),
        ("Was muss ich im Dezember erledigen?", "coming"),
        ("十二月我有什么安排？", "coming"),
    ],
)
def test_a_month_is_the_coming_one_for_a_question_about_what_is_to_come(mind: Mind, question: str, first: str) -> None:
    mind.remember("we flew to Oslo", id="past", created="2024-12-10")
    mind.remember("the passport runs out on 12 December 2025", id="coming", created="2025-06-01")
    assert ids(mind.recall(question))[0] == first


def test_the_last_month_of_that_name_is_meant_where_nothing_is_known_of_the_coming_one(mind: Mind) -> None:
    mind.remember("we flew to Oslo", id="past", created="2024-12-10")
    mind.remember("we flew to Rome", id="other", created="2025-03-10")
    assert ids(mind.recall("what is there to see in December?"))[0] == "past"


def test_the_name_of_a_holiday_is_also_a_word(mind: Mind) -> None:
    mind.remember("the lamb was dry", id="same day", created="2025-04-21")
    mind.remember("Easter was lovely, Rita cooked", id="Easter", created="2025-04-21")
    recall = mind.recall("who cooked at Easter?")
    assert step(recall, "ContentWords")["detail"]["words"] == "cooked, easter"
    assert recall[0].id == "Easter"


@pytest.mark.parametrize(
    "question",
    [
        "Was war gestern?",
        "Was war gestern los?",
        "Wie war es gestern?",
        "Wie war der Tag gestern?",
        "Was lief gestern?",
        "Was geschah gestern?",
        "Was gab es gestern?",
        "How did yesterday go?",
        "What was yesterday like?",
        "What was I up to yesterday?",
        "昨天发生了什么？",
        "昨天怎么样？",
        "昨天过得怎么样？",
        "昨天出了什么事？",
    ],
)
def test_a_question_how_a_day_was_is_only_a_time(mind: Mind, question: str) -> None:
    mind.remember("We saw a film about the war.", id="war", created="2025-06-10")
    mind.remember("The printer delivered 400 flyers.", id="flyers", created="2025-06-17")
    mind.remember("Lunch with Ida at the harbour.", id="lunch", created="2025-06-17")
    assert sorted(ids(mind.recall(question))) == ["flyers", "lunch"]


def test_a_question_how_something_went_on_a_day_is_about_that(mind: Mind) -> None:
    mind.remember("Lunch with Ida at the harbour.", id="lunch", created="2025-06-17")
    mind.remember("The interview was a mess.", id="interview", created="2025-06-17")
    assert "a time and nothing else" not in str(mind.recall("How did the interview go yesterday?").trace)


def test_what_has_to_be_done_on_a_date_is_a_plan_for_it(tmp_path: Path) -> None:
    with open_mind(tmp_path / "plans.db", BAG, clock=Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))) as mind:
        plan = mind.remember("Pixel has to get his teeth cleaned on 26 November.", created="2026-11-14")
        mind.remember("Pixel chewed the blue slipper.", created="2026-11-15")
        assert ids(mind.recall("what is planned for next week?"))[0] == plan.id


def test_what_names_the_month_that_is_asked_for_is_of_that_month(tmp_path: Path) -> None:
    with open_mind(tmp_path / "month.db", BAG, clock=Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))) as mind:
        standing = mind.remember("Farid works from Porto in July.", created="2026-06-18").id
        mind.remember("Farid sent the invoice.", created="2026-07-10")
        other = mind.remember("Farid works from Rome in May.", created="2026-04-18").id
        assert ids(mind.recall("where was Farid in July?"))[0] == standing
        labels = [node.label for node in nodes(mind.why("where was Farid in July?", standing))]
        assert "about July 2026" in labels
        assert time_factors(mind, "where was Farid in July?", other) == [0.25]


@pytest.mark.parametrize("question", ["what happened since September?", "what's new since September?"])
def test_what_happened_since_a_time_ends_now(tmp_path: Path, question: str) -> None:
    with open_mind(tmp_path / "since.db", BAG, clock=Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))) as mind:
        mind.remember("I am pregnant! The due date is 12 February 2027.", created="2026-07-03")
        fence = mind.remember("We painted the fence.", created="2026-09-20").id
        assert ids(mind.recall(question)) == [fence]


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("what is happening next week?", "2026-11-23 to 2026-11-29"),
        ("what happened in 1850?", "1850-01-01 to 1850-12-31"),
    ],
)
def test_of_a_time_of_which_nothing_is_known_nothing_is_found(tmp_path: Path, question: str, time: str) -> None:
    with open_mind(tmp_path / "week.db", BAG, clock=Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))) as mind:
        mind.remember("I go swimming twice a week.", created="2026-05-03")
        found = mind.recall(question)
        assert ids(found) == []
        assert (found.confidence, found.low_confidence) == (0.0, True)
        assert found.low_confidence_reason == f"nothing is known of {time}"


def test_the_name_of_a_holiday_is_looked_up_where_nothing_is_of_that_day(tmp_path: Path) -> None:
    with open_mind(tmp_path / "holiday.db", BAG, clock=Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))) as mind:
        cookies = mind.remember("Omi's recipe for Christmas cookies is in the blue tin.", created="2026-05-03").id
        assert ids(mind.recall("what about Christmas?")) == [cookies]


@pytest.mark.parametrize(
    "text",
    [
        "I've got to pick up the kids on Friday.",
        "We've got guests on Friday.",
        "I have a haircut on Friday.",
        "Anna wants to visit on Friday.",
        "Don't forget the recital on Friday.",
        "Nicht vergessen: Freitag Müll rausstellen.",
        "周五记得交房租。",
        "Haircut on Friday at 3.",
        "Ich habe am Freitag eine Prüfung.",
        "周五三点理发",
    ],
)
def test_what_is_to_be_done_on_a_weekday_is_of_the_next_one(text: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember(text)
        assert mind.recall("what's on this Friday?")
        assert not mind.recall("what happened last Friday?")


@pytest.mark.parametrize(
    "text",
    [
        "The meeting on Friday went well.",
        "I had a haircut on Friday.",
        "The power failed on Friday at 3.",
        "Ich habe am Freitag den Schlüssel verloren.",
        "周五三点理了发",
    ],
)
def test_a_verb_after_a_weekday_tells_of_the_last_one(text: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember(text)
        assert mind.recall("what happened last Friday?")
        assert not mind.recall("what's on this Friday?")


def test_what_was_written_that_day_about_others_comes_after_what_happened_on_it() -> None:
    texts = (
        "Last week I sold the old bicycle.",
        "I have to get the car repaired on Friday.",
        "I met Ines at the museum.",
    )
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        for hour, text in enumerate(texts, 8):
            mind.remember(text, created=datetime(2026, 11, 18, hour, tzinfo=UTC))
        assert mind.recall("what happened today?")[0].text == texts[2]
        assert mind.recall("what did I tell you today?")[0].text == texts[0]


@pytest.mark.parametrize("question", ["Anything on Friday?", "Termine am Freitag?", "周五有什么安排？"])
def test_a_question_for_plans_needs_no_verb_to_be_about_what_is_to_come(question: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember("We ate at the harbour.", created="2026-11-13")
        plan = mind.remember("The chimney is going to be swept this Friday.", created="2026-11-16").id
        assert ids(mind.recall(question))[0] == plan


@pytest.mark.parametrize("text", ["The rent is due by Friday.", "Die Miete ist bis Freitag fällig."])
def test_a_deadline_is_of_its_last_day(text: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember("The shed has a new roof.", created="2026-08-01")
        rent = mind.remember(text, created="2026-11-16").id
        assert ids(mind.recall("what's on this Friday?")) == [rent]
        assert ids(mind.recall("anything due by the end of the month?"))[0] == rent


@pytest.mark.parametrize(
    ("created", "text", "question"),
    [
        ("2026-06-28", "We were in Rome from 19 to 27 June.", "where was I on 22 June?"),
        ("2026-11-12", "Ski holiday from 19 to 27 December.", "what is on 22 December 2026?"),
        ("2026-11-12", "Conference in Ghent 5-9 December.", "what is on 7 December 2026?"),
        ("2026-08-12", "I'm on leave from 1 September until 30 November.", "what was I doing on 15 October?"),
        ("2026-06-28", "Wir waren vom 19. bis 27. Juni in Rom.", "Wo war ich am 22. Juni?"),
        ("2026-06-28", "6月19日到27日我们在罗马。", "6月22日我在哪里？"),
    ],
)
def test_a_period_from_one_day_to_another_covers_each_of_its_days(created: str, text: str, question: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember("We painted the fence.", created="2026-09-20")
        period = mind.remember(text, created=created).id
        assert ids(mind.recall(question)) == [period]


@pytest.mark.parametrize(
    "text", ["The bridge will be closed in October 2026.", "The licence runs from 1 January 2026 to 31 December 2027."]
)
def test_a_long_time_tells_nothing_of_one_of_its_days(text: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember(text, created="2026-01-03")
        found = mind.recall("what happened on 7 October?")
        assert (ids(found), found.low_confidence_reason) == ([], "nothing is known of 2026-10-07")


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("where will I be on 22 December?", "2026-12-22"),
        ("what is going to happen on 3 January?", "2027-01-03"),
        ("what will I do in March?", "2027-03-01 to 2027-03-31"),
        ("what will I do after 22 December?", "from 2026-12-23"),
        ("Wo werde ich am 22. Dezember sein?", "2026-12-22"),
        ("Was wird am 3. Januar passieren?", "2027-01-03"),
        ("12月22日我会在哪里？", "2026-12-22"),
        ("1月3日要做什么？", "2027-01-03"),
        ("is the exhibition on 22 November?", "2026-11-22"),
        ("is the exhibition on 22 December?", "2026-12-22"),
        ("what was I going to do on 3 January?", "2026-01-03"),
        ("are the shoes I bought on 22 December at home?", "2025-12-22"),
        ("did Will say where I was on 22 December?", "2025-12-22"),
        ("Was ist am 22. Dezember geworden?", "2025-12-22"),
    ],
)
def test_what_will_be_is_never_of_the_last_time_of_that_name(question: str, time: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 19, 12, tzinfo=UTC)) as mind:
        for text, created in (("We had a party.", "2025-12-22"), ("Flew home.", "2026-01-03"), ("Ill.", "2026-03-03")):
            mind.remember(text, created=created)
        assert step(mind.recall(question), "TimeReader")["detail"]["time"].endswith(f": {time}")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("who did I report to in October?", "I reported to Mr Ito."),
        ("what did the report say in October?", "The report says that sales fell."),
        ("who did I write to in October?", "I wrote to the landlord."),
        ("An wen habe ich im Oktober geschrieben?", "Ich habe an Oma geschrieben."),
        ("Was stand im Oktober auf der Liste?", "Auf der Liste stand Milch."),
        ("十月我给谁写了？", "我给小明写了信。"),
    ],
)
def test_what_has_content_of_its_own_is_not_only_a_time(question: str, first: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 19, 12, tzinfo=UTC)) as mind:
        mind.remember("We painted the fence with Ines and Ben.", created="2026-10-02")
        mind.remember(first, created="2026-10-08")
        found = mind.recall(question)
        assert found[0].text == first
        assert "a time and nothing else" not in str(found.trace)


def test_what_has_content_is_judged_by_its_content() -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 19, 12, tzinfo=UTC)) as mind:
        mind.remember("We painted the fence.", created="2026-10-02")
        assert mind.recall("what did I note in October?").confidence == 1.0
        confidence = mind.recall("what did the report say in October?").confidence
        assert confidence is not None
        assert confidence < 0.7


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("what happened last Christmas?", "2025-12-24 to 2025-12-26"),
        ("Was war letztes Weihnachten?", "2025-12-24 to 2025-12-26"),
        ("去年圣诞节发生了什么？", "2025-12-24 to 2025-12-26"),
        ("what happened at Easter?", "2026-04-03 to 2026-04-06"),
    ],
)
def test_of_a_holiday_of_which_nothing_is_known_nothing_is_found(question: str, time: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 19, 12, tzinfo=UTC)) as mind:
        mind.remember("Omi's recipe for Christmas cookies is in the blue tin.", created="2026-05-03")
        mind.remember("We painted the fence.", created="2026-10-02")
        found = mind.recall(question)
        assert (ids(found), found.low_confidence_reason) == ([], f"nothing is known of {time}")
        assert mind.recall("what about Christmas?")


def test_a_plan_for_later_comes_after_what_happened_in_the_week_in_which_it_was_made() -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 19, 12, tzinfo=UTC)) as mind:
        plan = mind.remember("On 12 December we fly to Reykjavik.", created="2026-11-09").id
        first = mind.remember("I met Ines at the museum.", created="2026-11-10").id
        second = mind.remember("We ate fish with Ida at home.", created="2026-11-11").id
        assert ids(mind.recall("what happened last week?")) == [first, second, plan]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Tom said the boiler leaks.", "Is that what Tom said in May?"),
        ("Ben quit his job at the bakery.", "Is it right that Ben quit in May?"),
        ("I wore the red boots at the loch.", "Are those the boots I wore in May?"),
        ("Auf der Rechnung stehen 300 Euro.", "Welcher Betrag wird im Mai in der Rechnung genannt?"),
        ("电费账单：三百元。", "我要看五月的电费账单"),
        ("音乐会在大剧院，很好听。", "五月的音乐会在哪里？"),
    ],
)
def test_a_question_that_may_be_about_the_past_falls_back_to_the_last_time_of_that_name(
    text: str, question: str
) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 10, 13, 12, tzinfo=UTC)) as mind:
        mind.remember(text, created="2026-05-10")
        mind.remember("Something about the garden and the cat.", created="2026-09-01")
        found = mind.recall(question)
        assert found[0].memory.text == text
        assert step(found, "TimeReader")["detail"]["time"].endswith(": 2026-05-01 to 2026-05-31")


@pytest.mark.parametrize(
    ("text", "question", "kept"),
    [
        ("I worked at the bakery in Leeds from 1 May to 30 September.", "What did I do on 7 June?", True),
        (
            "Ich habe vom 1. Mai bis zum 30. September in der Bäckerei gearbeitet.",
            "Was habe ich am 7. Juni gemacht?",
            True,
        ),
        ("The Wi-Fi broke twice between 1 May and 31 July.", "What did I do on 7 June?", False),
        ("Zwischen dem 1. Mai und dem 31. Juli ist das WLAN zweimal ausgefallen.", "Was war am 7. Juni?", False),
        ("5月1日到7月31日之间网络断了两次。", "6月7日我做了什么？", False),
    ],
)
def test_of_a_day_what_was_written_on_it_comes_before_a_longer_time_around_it(
    text: str, question: str, kept: bool
) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        period = mind.remember(text, created="2026-10-01").id
        fence = mind.remember("Painted the fence.", created="2026-06-07").id
        assert ids(mind.recall(question)) == [fence, period][: 1 + kept]


def test_a_period_that_is_not_much_longer_is_found_alone() -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember("Painted the fence.", created="2026-09-07")
        period = mind.remember("We were in Rome from 19 to 27 June.", created="2026-07-01").id
        assert ids(mind.recall("What did I do on 22 June?")) == [period]


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ"])
def test_the_apostrophe_of_a_holiday_may_be_curly(apostrophe: str) -> None:
    with Mind(":memory:", embedder=None, clock=lambda: datetime(2026, 10, 13, 12, tzinfo=UTC)) as mind:
        goose = mind.remember("On New Year's Eve 2019 we burned the goose.", created="2026-03-01").id
        mind.remember("The cat sleeps.", created="2026-03-01")
        assert ids(mind.recall(f"What did we do on New Year{apostrophe}s Eve?")) == [goose]
        assert ids(mind.recall(f"What did we do last New Year{apostrophe}s Eve?")) == []
