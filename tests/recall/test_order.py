"""Questions for the first, the last, or what came before something that has a name; and what introduces somebody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Mind

from .kit import step

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        yield mind


def fill(mind: Mind, **texts: str) -> None:
    """Statements, one a month from January on, each in a session of its own; the name of one is its id."""
    for month, (id, text) in enumerate(texts.items(), 1):
        mind.remember(text, id=id, created=f"2026-{month:02}-05", session=id, role="user")


def test_what_came_before_a_name_is_of_the_time_before_its_first_mention(mind: Mind) -> None:
    fill(
        mind,
        saab="I drive a rusty Saab, it starts on every third try.",
        garden="Planted two rows of leeks.",
        volvo="Picked up the Volvo today, 9,400 with winter tyres.",
        dent="Somebody dented the Volvo while I was driving to the lake.",
    )
    found = mind.recall("What did I drive before the Volvo?")
    assert found[0].id == "saab"
    assert step(found, "PredecessorReader")["detail"]["time"] == "“before the Volvo”: up to 2026-03-04"
    assert mind.recall("What do I drive?", k=4)[0].id != "garden"


def test_in_german_and_chinese_it_is_read_as_well(mind: Mind) -> None:
    fill(
        mind,
        polo="Ich fahre einen alten Polo, das Auto ist rot.",
        lauch="Zwei Reihen Lauch gesetzt.",
        zoe="Heute haben wir das neue Auto geholt, eine Zoe.",
    )
    assert mind.recall("Welches Auto hatten wir vor der Zoe?")[0].id == "polo"
    reader = step(mind.recall("Zoe之前我开的是什么车？"), "PredecessorReader")
    assert reader["detail"]["time"].endswith("up to 2026-03-04")


@pytest.mark.parametrize(
    "question",
    [
        "What did I eat before the race?",  # an event without a name
        "What did I drive before the Lancia?",  # no memory has it
        "What did I drive before the Saab?",  # nothing is older
    ],
)
def test_a_name_that_tells_no_time_stays_in_the_question(mind: Mind, question: str) -> None:
    fill(mind, saab="I drive a rusty Saab.", race="Ran the race on an empty stomach, only a banana before it.")
    found = mind.recall(question)
    assert "time" not in step(found, "PredecessorReader").get("detail", {})
    assert step(found, "time match")["outcome"] == "skipped"


def test_of_several_alike_the_first_and_the_last_are_the_ends_in_time(mind: Mind) -> None:
    fill(
        mind,
        rake="Bought a rake for the allotment.",
        leeks="The leeks are up already.",
        hoe="Bought a hoe for the allotment, too.",
        spade="Bought a good spade for the allotment.",
    )
    assert mind.recall("What did I buy first for the allotment?")[0].id == "rake"
    assert mind.recall("What did I buy last for the allotment?")[0].id == "spade"
    factor = step(mind.recall("What did I buy for the allotment?"), "order")
    assert factor["outcome"] == "skipped"


def test_who_somebody_is_does_not_ask_for_the_newest_about_them(mind: Mind) -> None:
    fill(
        mind,
        met="Met Solveig, a geologist from Bergen who rents the room upstairs.",
        leeks="The leeks are up already.",
        trip="Solveig is off to Iceland with Tom on Friday.",
    )
    assert step(mind.recall("Who is Solveig?"), "statements")["outcome"] == "skipped"


def test_a_newer_statement_without_an_amount_is_no_newer_price(mind: Mind) -> None:
    fill(
        mind,
        first="Firewood is 310 euros a load at Berger's.",
        leeks="The leeks are up already.",
        price="Firewood is 355 euros a load at Berger's now.",
        came="Berger's brought the load of firewood, 4 logs fell on my foot.",
    )
    assert mind.recall("What do I pay for a load of firewood?")[0].id == "price"


def test_what_an_assistant_advised_is_not_what_it_only_repeated(mind: Mind) -> None:
    turns = [
        ("user", "The physio moved my shoulder session to 14 May.", "s1"),
        ("assistant", "Shoulder session with the physio on 14 May, noted.", "s1"),
        ("user", "My shoulder is stiff again after the session.", "s2"),
        ("assistant", "Keep it warm, do the pendulum exercise twice a day and stop whenever it hurts more.", "s2"),
    ]
    for number, (role, text, session) in enumerate(turns):
        day = f"2026-05-0{number + 1}"
        mind.remember(text, id=str(number), role=role, session=session, position=number, created=day)
    question = "What did you advise me to do about my shoulder?"
    assert mind.recall(question)[0].id == "3"
    labels = mind.why(question, "1", k=10)
    assert "repeats what it replies to" in str(labels)


APPOINTMENTS = {
    "en": (
        "Dentist appointment on 22 January at 9:30.",
        "Dentist appointment on 24 July at 14:00 for a filling.",
        "Appointment with the dentist at the practice on 27 November.",
    ),
    "de": (
        "Zahnarzttermin am 22. Januar um 9:30.",
        "Zahnarzttermin am 24. Juli um 14:00 wegen einer Füllung.",
        "Termin beim Zahnarzt in der Praxis am 27. November.",
    ),
}


@pytest.mark.parametrize(
    ("language", "question", "wanted"),
    [
        ("en", "When is my next dentist appointment?", "coming"),
        ("en", "When was my last dentist appointment?", "past"),
        ("de", "Wann ist der nächste Termin beim Zahnarzt?", "coming"),
        ("de", "Wann war der letzte Termin beim Zahnarzt?", "past"),
        ("en", "我下次看牙是什么时候？", "coming"),
        ("en", "上次看牙是什么时候？", "past"),
    ],
)
def test_the_next_one_is_still_to_come_and_the_last_one_has_been(
    tmp_path: Path, language: str, question: str, wanted: str
) -> None:
    old, past, coming = APPOINTMENTS[language]
    with Mind(tmp_path / "memory.db", clock=lambda: datetime(2026, 11, 18, 12, tzinfo=UTC)) as mind:
        mind.remember(old, id="old", created="2026-01-20")
        mind.remember(past, id="past", created="2026-07-20")
        mind.remember(coming, id="coming", created="2026-09-02")
        assert mind.recall(question)[0].id == wanted
