"""Names are found however they are spelt: identifiers by their words, Chinese names by pairs of letters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind

from .kit import open_mind, step, texts


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many(["a red cup", "the door is shut", "今天的天气很好。"])
        yield mind


SPELT = ["max_retries", "maxRetries", "MaxRetries", "MAX_RETRIES", "maxretries"]


@pytest.mark.parametrize("written", SPELT)
@pytest.mark.parametrize("asked", SPELT)
def test_an_identifier_is_found_in_any_spelling(mind: Mind, written: str, asked: str) -> None:
    mind.remember(f"call it with {written}=3")
    recall = mind.recall(asked)
    assert texts(recall) == [f"call it with {written}=3"]
    assert step(recall, "words")["out"] == 1, "by a word, not by what is like it"
    assert recall[0].why.evaluate() == recall[0].score


def test_the_spelling_that_was_asked_for_comes_first(mind: Mind) -> None:
    mind.remember_many(["call it with max_retries", "call it with maxRetries", "call it with retries max"])
    assert texts(mind.recall("max_retries"))[0] == "call it with max_retries"
    assert len(mind.recall("maxRetries")) == 3


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("龚子轩昨天来过", "子轩在哪里？"),  # a name that no dictionary has
        ("欧阳娜娜在台北", "你认识欧阳娜娜吗？"),
        ("機器人在廚房", "廚房裡有什麼？"),  # traditional
    ],
)
def test_a_chinese_name_is_found_by_its_letters(mind: Mind, written: str, asked: str) -> None:
    mind.remember(written)
    assert texts(mind.recall(asked))[0] == written


def test_what_a_chinese_question_is_made_of_finds_nothing(mind: Mind) -> None:
    mind.remember("你知道我的是什么吗")
    recall = mind.recall("天气在哪里？")
    assert texts(recall) == ["今天的天气很好。"]
    detail = next(each.detail for each in recall.trace.steps if each.name == "ContentWords")
    assert "哪里" in detail["stop words dropped"]
    assert "天气" in detail["words"]


def test_a_question_of_stop_words_alone_is_asked_as_it_is(mind: Mind) -> None:
    mind.remember("你知道我的是什么吗")
    assert texts(mind.recall("什么")) == ["你知道我的是什么吗"]
    assert "stop words dropped" not in step(mind.recall("什么"), "ContentWords").get("detail", {})
