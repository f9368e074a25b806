"""Does a text ask rather than tell, does it say when, and does a question ask for a time?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.classify import asks_when, mentions_time, question_share


@pytest.mark.parametrize(
    "text", ["", "I went home.", "I went home", "…", "???", "Is it so. I wonder", "no\nquestion\n"]
)
def test_who_tells_does_not_ask(text: str) -> None:
    assert question_share(text) == 0


@pytest.mark.parametrize(
    "text", ["Where is it?", "Where is it? And when?", "  Where?  ", "What?!", "What!?", "Really??"]
)
def test_who_only_asks_asks_all_the_time(text: str) -> None:
    assert question_share(text) == 1


def test_a_text_that_tells_and_asks_is_between() -> None:
    assert question_share("I am. Are you?") == pytest.approx(8 / 13)
    assert question_share("I am\nAre you?") == pytest.approx(8 / 12)
    much, little = "I went to Rome and back again. Did you?", "I did. Did you go to Rome, or to Athens, or nowhere?"
    assert 0 < question_share(much) < 0.5 < question_share(little) < 1


@given(st.text("aB .?!\n…？在\0", max_size=40) | st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_a_share_is_between_nothing_and_everything(text: str) -> None:
    assert 0 <= question_share(text) <= 1
    assert "?" in text or "？" in text or question_share(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "I left yesterday",
        "two weeks ago",
        "in MAY",
        "since 1999",
        "on Tuesday.",
        "next month",
        "three nights",
        "in 2023",
        "Standup now starts at 10.",
        "open from 9 to 5",
        "lunch is at noon",
        "um 10 Uhr",
    ],
)
def test_a_text_with_a_time_says_when(text: str) -> None:
    assert mentions_time(text)


@pytest.mark.parametrize(
    "text", ["", "I left", "the sun", "room 12023", "a weekly", "lastly", "1850", "at 10 newtons", "by 5%"]
)
def test_a_text_without_a_time_does_not(text: str) -> None:
    assert not mentions_time(text)


@pytest.mark.parametrize(
    "question",
    [
        "When did she leave?",
        "when",
        "“When was it?”",
        "How long did it last?",
        "In which year was it?",
        "what day is it",
        "On what date?",
        "At what time do we meet?",
        "Which month was it?",
    ],
)
def test_a_question_for_a_time(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize(
    "question",
    ["", "What did he do when it rained?", "Whenever", "how longing", "what daylight", "Which cup?", "How often?"],
)
def test_a_question_for_something_else(question: str) -> None:
    assert not asks_when(question)
