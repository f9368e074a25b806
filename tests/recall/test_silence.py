"""Confidence on questions that were written before it was fitted; about half of them have no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Mind

WORLD = Path(__file__).parent.parent / "fixtures" / "silence.json"


@pytest.fixture(scope="module")
def labelled() -> dict[str, Any]:
    world: dict[str, Any] = json.loads(WORLD.read_text("utf-8"))
    return world


@pytest.fixture(scope="module")
def mind(labelled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    moment = datetime.fromisoformat(labelled["asked_at"])
    with Mind(tmp_path_factory.mktemp("silence") / "memory.db", clock=lambda: moment) as mind:
        mind.remember_many(labelled["memories"])
        yield mind


@pytest.fixture(scope="module")
def low(mind: Mind, labelled: dict[str, Any]) -> dict[str, bool]:
    """By question: whether the confidence is low."""
    return {
        each["text"]: mind.recall(
            each["text"], filter=Filter(collection=each["collection"]), track=False
        ).low_confidence
        for each in labelled["questions"]
    }


def test_nearly_all_questions_that_have_an_answer_keep_it(labelled: dict[str, Any], low: dict[str, bool]) -> None:
    withheld = [each["text"] for each in labelled["questions"] if each["relevant"] and low[each["text"]]]
    assert len(withheld) <= 2, withheld


def test_many_questions_on_known_things_that_have_no_answer_are_recognised(
    labelled: dict[str, Any], low: dict[str, bool]
) -> None:
    asked = [each["text"] for each in labelled["questions"] if not each["relevant"]]
    recognised = [text for text in asked if low[text]]
    assert len(recognised) >= len(asked) // 3, recognised  # most near misses still look like answers


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did Rentokil charge?", "en"),
        ("What did the vet bill for Pudding come to?", "en"),
        ("What does Haxby Mill charge for a sack of flour?", "en"),
        ("Was verlangt der Zimmermann für den Steg?", "de"),
        ("周渝的工资是多少？", "zh"),
    ],
)
def test_a_price_that_was_never_told_is_not_made_of_other_numbers(mind: Mind, text: str, language: str) -> None:
    assert mind.recall(text, filter=Filter(collection=language), track=False).low_confidence
