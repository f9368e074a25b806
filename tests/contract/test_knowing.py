"""What we add (B7, B8): a budget spent on distinct evidence, and silence where nothing is about the question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Filter, InvalidInput, Mind
from recollect.recall.packing import tokens
from recollect.recall.registry import get_recipe
from tests.recall.kit import NOON, WOVEN, open_mind, step

SAID = [
    ("Ann", "we drove down to the coast"),
    ("Bob", "the red tent leaked all night"),
    ("Ann", "we mended it with tape"),
    ("Bob", "dinner was fish and bread"),
    ("Ann", "somebody stole my left shoe"),
]
ASKED, STRANGE = "what happened to the red tent?", "which submarine crossed an ocean under northern ice?"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        mind.remember_many(
            {"text": text, "speaker": speaker, "session": "trip", "position": at, "id": f"said-{at}", "created": NOON}
            for at, (speaker, text) in enumerate(SAID)
        )
        yield mind


@pytest.mark.contract("B7")
@pytest.mark.parametrize("budget", [1, 5, 10, 20, 40, 80, 1000])
def test_a_context_is_never_larger_than_its_budget(mind: Mind, budget: int) -> None:
    mind.remember_many(f"the red tent number {n} " + "and its poles " * (n % 9) for n in range(60))
    made = mind.context(ASKED, budget, track=False)
    assert tokens(made.text) <= made.tokens <= budget
    assert bool(made.text) == (budget >= 10)


@pytest.mark.contract("B7")
def test_a_budget_is_spent_on_distinct_evidence(mind: Mind) -> None:
    mind.remember_many(["The red tent leaked.", "the red tent leaked", "The red tent: leaked!", "a red tent costs 90"])
    told = mind.context(ASKED, 60).text
    assert told.lower().count("red tent leaked") + told.count("tent: leaked") == 2, "by Bob, and once more"
    assert "costs 90" in told


@pytest.mark.contract("B7")
def test_what_is_too_long_makes_room_for_what_fits(mind: Mind) -> None:
    mind.remember("what happened to the red tent? " * 20, id="long")
    assert mind.recall(ASKED)[0].memory.id == "long"
    packed = [result.memory.id for result in mind.recall(ASKED, 100).packed(12)]
    assert packed == ["said-1"]


@pytest.mark.contract("B7")
def test_neighbours_help_where_there_is_room_and_only_where_they_may(mind: Mind) -> None:
    alone = mind.recall(ASKED, 1).packed(1000)
    assert [result.memory.id for result in alone] == ["said-1"]
    by_words = get_recipe("default", vectors=0.0, tokens=0.0)  # nothing else is like the question
    whole = [memory.id for memory in mind.context("leaked", 1000, recipe=by_words).memories]
    assert whole[:3] == ["said-0", "said-1", "said-2"], "in the order of events"
    bob = mind.context("leaked", 1000, recipe=by_words, filter=Filter(speaker="Bob")).memories
    assert {memory.speaker for memory in bob} == {"Bob"}


@pytest.mark.contract("B8")
def test_nothing_comes_back_where_nothing_is_about_the_question(mind: Mind) -> None:
    assert len(mind.recall(STRANGE)) > 0
    silent, spoken = mind.recall(STRANGE, abstain=True), mind.recall(ASKED, abstain=True)
    assert list(silent) == []
    assert spoken[0].memory.id == "said-1"
    assert silent.confidence is not None
    assert spoken.confidence is not None
    assert 0 <= silent.confidence < spoken.confidence <= 1
    assert mind.context(STRANGE, abstain=True).text == ""


@pytest.mark.contract("B8")
def test_a_silence_is_explained_by_its_numbers(mind: Mind) -> None:
    silent = mind.recall(STRANGE, abstain=True)
    verdict = silent.why_not("said-1")
    assert (verdict.step, verdict.value, verdict.returned) == ("abstain", silent.confidence, False)
    assert verdict.threshold is not None
    assert verdict.value is not None
    assert verdict.value < verdict.threshold
    assert {"covered", "cosine", "confidence"} <= step(silent, "confidence")["detail"].keys()


@pytest.mark.contract("B8")
def test_words_alone_know_a_strange_question_too(tmp_path: Path) -> None:
    with open_mind(tmp_path / "words.db", None) as mind:
        mind.remember_many(text for _, text in SAID)
        assert mind.recall("red tent", abstain=True)
        assert not mind.recall("which submarine crossed the red ocean under northern ice?", abstain=True)


@pytest.mark.contract("B8")
def test_a_threshold_can_be_ones_own_and_a_recipe_without_a_measure_says_so(mind: Mind) -> None:
    assert not mind.recall(ASKED, abstain=1.0)
    assert mind.recall(STRANGE, abstain=0.0)
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        mind.recall(ASKED, abstain=1.5)
    with pytest.raises(InvalidInput, match="'robotmem' has no measure of confidence"):
        mind.recall(ASKED, recipe="robotmem", abstain=True)
