"""Everyday questions where several rules meet: times with follow-ups, contradictions in a row, several users."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind, when
from recollect import open as open_store

from .kit import BAG, Clock, ids, open_mind, step

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", BAG, clock=Clock(NOW)) as mind:
        yield mind


def test_a_follow_up_that_names_only_a_time_keeps_its_subject(mind: Mind) -> None:
    mind.remember("The salary came, 2,900.", id="salary", created="2026-03-10")
    mind.remember("Paid 40 for new brakes of the bike.", id="bike", created="2026-03-12")
    turns = [("user", "What did I pay for the bike in December?"), ("assistant", "300 euros for the bike.")]
    assert ids(mind.recall("and last week?", history=turns))[0] == "bike"


def test_of_contradictions_in_a_row_the_most_certain_comes_first(mind: Mind) -> None:
    for id, confidence in (("a", 1.0), ("b", 0.8), ("c", 0.3)):
        mind.remember("the kettle holds water", id=id, confidence=confidence, session=id)
    mind.contradict("a", "b")
    mind.contradict("b", "c")
    assert ids(mind.recall("kettle water")) == ["a", "b", "c"]


def test_an_assistant_on_a_later_page_does_not_change_the_first(mind: Mind) -> None:
    mind.remember_many({"text": f"the boiler makes noise {n}", "id": f"{n:03}", "role": "user"} for n in range(60))
    mind.remember("unrelated words here", id="reply", role="assistant")
    few, many = (mind.recall("What did you say about the boiler noise?", k, track=False) for k in (5, 61))
    assert [(each.id, each.score) for each in few] == [(each.id, each.score) for each in many][:5]


def test_conflicts_are_found_however_many_users_state_the_same(mind: Mind) -> None:
    for user in range(12):
        mind.remember("The rent is 480 a month.", user=f"u{user}", session="s", created="2026-01-01")
        mind.remember("The rent is now 520 a month.", user=f"u{user}", session="t", created="2026-03-01")
    pairs = {(pair.older.user, pair.newer.user) for pair in mind.conflicts(limit=100)}
    assert pairs == {(f"u{user}", f"u{user}") for user in range(12)}


def test_a_moment_in_text_keeps_its_zone(mind: Mind) -> None:
    mind.remember("we swam", id="fourth", created="2026-03-03T20:00:00Z")  # the 4th in Tokyo
    mind.remember("we swam", id="third", created="2026-03-03T02:00:00Z")
    moment = "2026-03-05T06:00:00+09:00"
    assert ids(mind.recall("who swam yesterday?", now=moment))[0] == "fourth"
    assert ids(mind.recall("who swam yesterday?", now=datetime.fromisoformat(moment)))[0] == "fourth"
    assert ids(mind.recall("who swam yesterday?", now="2026-03-05T06:00:00", tz="Asia/Tokyo"))[0] == "fourth"


@pytest.mark.parametrize(
    ("now", "tz"), [("9999-12-31T23:59:59+00:00", "Asia/Tokyo"), ("0001-01-01T00:00:00+00:00", "America/New_York")]
)
def test_a_moment_beyond_the_calendar_is_refused(mind: Mind, now: str, tz: str) -> None:
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        mind.recall("who swam?", now=now, tz=tz)


def test_blanks_around_a_time_are_no_puzzle() -> None:
    with pytest.raises(InvalidInput, match="names no time"):
        when("yesterday" + " " * 150 + "zebra", now=NOW)


def test_the_beginning_of_an_id_is_not_stored_as_a_newer_fact(mind: Mind) -> None:
    old, new = mind.remember("She lives in Leeds."), mind.remember("She lives in York.")
    with pytest.raises(InvalidInput, match="give all of it"):
        mind.supersede(old.id, new.id[:6])
    assert mind.supersede(old.id, new.id).id == new.id


@pytest.mark.parametrize(
    ("question", "answer", "follow_up"),
    [
        ("How much is the rent?", "1,020 a month.", "And before that?"),
        ("What rent do I pay now?", "1,020.", "what was it before?"),
        ("Wie hoch ist die Miete?", "1.020 im Monat.", "Und davor?"),
        ("How much was the rent in 2026?", "1,020 a month.", "And before that?"),
    ],
)
def test_what_was_before_is_the_same_question_for_an_earlier_time(
    tmp_path: Path, question: str, answer: str, follow_up: str
) -> None:
    texts = {
        "en": ("The rent is {}.", "The rent goes up to {} from May.", "Rita bought a dog.", "We flew to Oslo."),
        "de": (
            "Die Miete beträgt {}.",
            "Die Miete steigt ab Mai auf {}.",
            "Rita hat einen Hund.",
            "Wir waren in Oslo.",
        ),
    }["de" if follow_up.startswith("Und") else "en"]
    rents = ("900", "960", "1.020" if follow_up.startswith("Und") else "1,020")
    with Mind(tmp_path / "memory.db", clock=lambda: datetime(2026, 11, 18, tzinfo=UTC)) as mind:
        mind.remember(texts[0].format(rents[0]), id="first", created="2024-03-01")
        mind.remember(texts[1].format(rents[1]), id="second", created="2025-04-01")
        mind.remember(texts[2], id="other", created="2025-05-01")
        mind.remember(texts[1].format(rents[2]), id="third", created="2026-04-01")
        mind.remember(f"{rents[2]}, noted.", id="noted", created="2026-04-02", role="assistant")
        mind.remember(texts[3], id="trip", created="2026-05-01")
        history = [{"role": "user", "text": question}, {"role": "assistant", "text": answer}]
        recall = mind.recall(follow_up, history=history)
        assert recall[0].id == "second"
        assert question in step(recall, "FollowUp")["detail"]["asked again"]


@pytest.mark.parametrize(
    "question", ["What changed about my salary at Acme?", "What has changed about the price of bread?"]
)
def test_a_question_for_a_change_is_not_one_for_an_amount(tmp_path: Path, question: str) -> None:
    texts = [
        "I work at Acme.",
        "Acme pays more since May.",
        "Bread is dearer since May.",
        "Ida got a dog.",
        "I like tea.",
    ]
    with Mind(tmp_path / "memory.db", clock=Clock(NOW)) as mind:
        mind.remember_many([*texts, "We flew to Oslo.", "Tom plays chess.", "The lake was cold.", "My boss is Eve."])
        judged = step(mind.recall(question), "confidence")["detail"]
        assert judged["no amount"] == 0
        assert "changed" not in judged["words missing"]


def test_a_question_for_a_change_gets_the_newest_statement(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", clock=Clock(NOW)) as mind:
        mind.remember("The rent is 900 a month.", id="old", created="2025-03-01")
        mind.remember("We went to the lake.", id="lake", created="2025-04-01")
        mind.remember("The rent is 960 a month, says Mr Pettifer.", id="new", created="2026-03-01")
        recall = mind.recall("what changed about the rent?")
        assert ids(recall)[:2] == ["new", "old"]
        assert "earlier statement" in recall[0].notes[0]


@pytest.mark.parametrize("store", ["memory.db", "memory:"])
def test_told_days_are_those_of_the_minds_time_zone(tmp_path: Path, store: str) -> None:
    evening = datetime(2026, 3, 6, 3, tzinfo=UTC)  # ten in the evening of 5 March in New York
    path = str(tmp_path / store) if store.endswith("db") else store
    with open_store(path, embedder=BAG, clock=Clock(evening), tz="America/New_York") as mind:
        mind.remember("we met Rita yesterday", id="met", session="s")
        mind.remember("the roof was painted", id="painted", created="2026-03-03T20:00:00-05:00")
        assert ids(mind.recall("what happened on 4 March?")) == ["met"]
        assert "met" not in ids(mind.recall("what happened on 3 March?"))
        assert ids(mind.recall("what happened today?")) == ["met"]  # told today, in New York
        mind.edit("met", text="we met Rita and Tom yesterday")
        assert ids(mind.recall("what happened on 4 March?")) == ["met"]


def test_a_zone_that_does_not_exist_is_refused_when_a_mind_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Mars"):
        Mind(tmp_path / "memory.db", tz="Mars/Olympus")
