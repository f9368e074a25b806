"""Questions for a list get new items before repetitions, and more results; questions for the negative get that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind
from tests.recall.kit import NOON

FILMS = ["The Long Harbour", "Paper Moons", "A Winter Train", "Salt Road"]


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", clock=lambda: NOON) as mind:
        for number, film in enumerate(FILMS):
            texts = [("user", f"Saw the film {film} yesterday."), ("assistant", f"The film {film}, noted.")]
            mind.remember_many(
                {"text": text, "role": role, "session": f"s{number}", "position": at, "created": NOON}
                for at, (role, text) in enumerate(texts)
            )
        mind.remember_many([f"The bus number {n} was late." for n in range(40)])
        yield mind


def test_a_list_names_every_item_before_it_repeats_one(mind: Mind) -> None:
    found = mind.recall("List all the films I've told you about", track=False)
    assert {film for film in FILMS for result in found[:4] if film in result.text} == set(FILMS)
    assert all(result.why.evaluate() == result.score for result in found)


def test_a_list_has_more_results_unless_k_is_given(mind: Mind) -> None:
    assert len(mind.recall("List all the films I've told you about", track=False)) == 30
    assert len(mind.recall("List all the films I've told you about", 4, track=False)) == 4
    assert len(mind.recall("Which film did I see first?", track=False)) == 10


def test_a_question_for_what_was_not_liked_prefers_texts_that_say_so(tmp_path: Path) -> None:
    with Mind(tmp_path / "films.db", clock=lambda: NOON) as mind:
        mind.remember_many(["I liked the film Paper Moons.", "The film Salt Road was awful, I hated it."])
        assert "Salt Road" in mind.recall("Which film did I not like?", track=False)[0].text
        assert "Paper Moons" in mind.recall("Which film did I like?", track=False)[0].text
