"""What is about somebody or something else is no newer statement of the same thing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind
from recollect.embed.local import LocalEmbedder

RENT = [
    ("2026-11-05", "Rent is 1,250 pounds a month, due on the 1st."),
    ("2024-01-01", "Rent is 1,100 pounds a month."),
]
MARTA = [
    ("2024-02-10", "Marta works as a nurse at St. Vincent hospital."),
    ("2025-09-01", "Marta started a new job at the Lindenhof clinic."),
    ("2026-03-15", "Marta moved to York, 21 Castle Row."),
]
MUSHROOMS = [
    ("2026-09-09", "Tom doesn't like mushrooms."),
    ("2026-09-10", "Priya likes mushrooms, olives and blue cheese."),
]
TOM = [
    ("2026-10-02", "Tom is vegan now and his favourite food is falafel."),
    ("2026-11-12", "Tom broke his left wrist while skating."),
    ("2026-10-10", "I finished reading 'Piranesi' by Susanna Clarke."),
]


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with Mind(path, embedder=LocalEmbedder()) as mind:
        yield mind


@pytest.mark.contract("B14")
@pytest.mark.parametrize(
    ("facts", "question", "answer"),
    [
        (MARTA, "Where does Marta work?", "Lindenhof"),
        (MARTA, "Where did Marta work before?", "St. Vincent"),
        (MARTA, "Where does Marta live?", "York"),
        (MUSHROOMS, "Who does not like mushrooms?", "Tom"),
        (TOM, "Does Tom eat meat?", "vegan"),
    ],
)
def test_a_newer_fact_about_something_else_does_not_come_first(
    mind: Mind, facts: list[tuple[str, str]], question: str, answer: str
) -> None:
    for created, text in facts + RENT:
        mind.remember(text, created=created)
    assert answer in mind.recall(question, k=1, now="2026-11-18", track=False)[0].text


def test_opposite_opinions_of_two_people_are_no_conflict(mind: Mind) -> None:
    for created, text in MUSHROOMS:
        mind.remember(text, created=created)
    assert list(mind.conflicts()) == []
