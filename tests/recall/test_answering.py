"""Whether a text can be an answer: the stage answering, and with it a time that the query names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Mind

from .kit import BAG, Clock, ids, nodes, open_mind, step, told

NOW = datetime(2025, 6, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def mind(tmp_path: Path, clock: Clock) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", BAG, clock=clock) as mind:
        yield mind


def labels(mind: Mind, query: str, id: str, **options: object) -> dict[str, float]:
    return {node.label: node.value for node in nodes(mind.why(query, id, k=20, **options))}


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
    assert asked["the text names no time"] == pytest.approx(0.8)


def test_where_nobody_speaks_and_no_time_is_asked_for_the_stage_says_so(mind: Mind) -> None:
    mind.remember("where is the lake?")
    told = step(mind.recall("where is the lake?"), "answering")
    reason = "no candidate has a speaker, and the query asks for no time, amount or person"
    assert (told["outcome"], told["reason"]) == ("skipped", reason)


def test_only_the_first_forty_are_read(mind: Mind) -> None:
    mind.remember_many({"text": f"the lake {n}?", "id": f"{n}", "speaker": "Ann"} for n in range(60))
    whys = [str(result.why) for result in mind.recall("when did the lake freeze?", 60)]
    assert sum("not among the first" in why for why in whys) == 20


# With a time.

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
    assert {step(recall, name)["outcome"] for name in ("time match", "answering", "speaker", "session")} == {"ran"}
    assert len(recall) == 70
    for result in recall:
        assert result.why.evaluate() == result.score
    whole = "\n".join(str(result.why) for result in recall)
    for said in (
        "not from 2025-06-09",
        " from 2025-06-09",
        "names no time",
        "of the text are questions",
    ):
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


def test_a_text_that_names_nobody_is_unlikely_to_tell_who(mind: Mind) -> None:
    mind.remember("The oven hinge broke on Tuesday.", id="broken")
    mind.remember("Samir fixed the oven hinge.", id="fixed")
    assert labels(mind, "Who fixed the oven?", "broken")["the text names nobody"] == 0.8
    assert "the text names nobody" not in labels(mind, "Who fixed the oven?", "fixed")
    assert "the text names nobody" not in labels(mind, "When did the oven break?", "broken")
