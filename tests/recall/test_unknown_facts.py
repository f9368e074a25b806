"""Questions for a fact about somebody known of whom it was never told, with the packaged embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind

MEMORIES = (
    "Priya spends her weekends restoring an old wooden canoe.",
    "Priya loves mushrooms.",
    "Tom works at the harbour office.",
    "Lea moved to Ghent in May.",
    "Lea is married to Jonas.",
    "Ben has two daughters, Mia and Ida.",
    "Ben turned 41 last week.",
    "Samir fixed the oven hinge.",
    "Hana is a nurse at St Bride's.",
    "Hana's number is 0170 555 0142.",
    "Mia is 1.82 tall.",
)


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    with Mind(tmp_path_factory.mktemp("facts") / "memory.db") as mind:
        mind.remember_many({"text": text} for text in MEMORIES)
        yield mind


@pytest.mark.parametrize(
    "question",
    [
        "Where does Priya work?",
        "Where does Samir come from?",
        "Who is Priya married to?",
        "Who is Tom's boss?",
        "How many children does Hana have?",
        "How tall is Tom?",
        "How old is Lea?",
        "What is Priya's job?",
        "What does Samir do for a living?",
        "Wo arbeitet Priya?",
    ],
)
def test_a_fact_that_nobody_told_of_somebody_known_has_low_confidence(mind: Mind, question: str) -> None:
    assert mind.recall(question, track=False).low_confidence


@pytest.mark.parametrize(
    "question",
    [
        "Where does Tom work?",
        "Where does Hana work?",
        "Where does Lea live?",
        "Who is Lea married to?",
        "How many children does Ben have?",
        "How tall is Mia?",
        "How old is Ben?",
        "What is Hana's job?",
        "Who fixed the oven?",
        "What does Priya do on weekends?",
        "Does Priya like mushrooms?",
    ],
)
def test_a_fact_that_was_told_in_other_words_keeps_its_confidence(mind: Mind, question: str) -> None:
    assert not mind.recall(question, track=False).low_confidence


def test_what_somebody_says_about_herself_is_about_her(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        mind.remember("Priya looks tired.", speaker="Tom", session="s")
        mind.remember("I start at seven in the bakery on Mill Lane.", speaker="Priya", session="s")
        assert not mind.recall("Where does Priya work?").low_confidence


def test_the_trace_says_that_no_memory_has_it(mind: Mind) -> None:
    assert "no memory about this has anything like “work”" in str(
        mind.recall("Where does Priya work?", track=False).trace
    )
