"""Consolidation: sessions, days, weeks and quarters into few words, by rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recollect import Memory, Mind, NotFound


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        for at, text, topic in (
            ("2026-03-02T08:00", "The blue cup is on the shelf.", "kitchen"),
            ("2026-03-02T09:00", "The blue cup is on the shelf.", "kitchen"),
            ("2026-03-02T10:00", "Anna called about the heating.", ""),
            ("2026-03-09T10:00", "The boiler was repaired.", "heating"),
            ("2026-06-01T10:00", "The window is open.", ""),
        ):
            mind.remember(text, created=at, topic=topic, session="s1", entities=["Anna"] if "Anna" in text else [])
        yield mind


def test_days_weeks_and_quarters_get_a_note_each(mind: Mind, tmp_path: Path) -> None:
    days = mind.consolidate(tmp_path, "daily")
    assert [path.relative_to(tmp_path).as_posix() for path in days] == [
        "consolidation/daily/2026-03-02.md",
        "consolidation/daily/2026-03-09.md",
        "consolidation/daily/2026-06-01.md",
    ]
    assert [path.name for path in mind.consolidate(tmp_path, "weekly")] == ["2026-W10.md", "2026-W11.md", "2026-W23.md"]
    assert [path.name for path in mind.consolidate(tmp_path, "quarterly")] == ["2026-Q1.md", "2026-Q2.md"]


def test_a_note_says_a_thing_once_under_its_topic(mind: Mind, tmp_path: Path) -> None:
    note = mind.consolidate(tmp_path, "daily")[0].read_text("utf-8")
    assert note == "# 2026-03-02\n\nAnna called about the heating.\n\n## kitchen\n\nThe blue cup is on the shelf.\n"


def test_the_same_memories_give_the_same_notes_and_only_changed_files_are_written(mind: Mind, tmp_path: Path) -> None:
    assert len(mind.consolidate(tmp_path)) == 3
    assert mind.consolidate(tmp_path) == []
    mind.remember("The window is shut.", created="2026-06-01T11:00")
    assert [path.name for path in mind.consolidate(tmp_path)] == ["2026-06-01.md"]


def test_the_forgotten_are_not_in_the_notes(mind: Mind, tmp_path: Path) -> None:
    boiler = next(memory for memory in mind.list() if "boiler" in memory.text)
    mind.forget(boiler.id)
    assert [path.name for path in mind.consolidate(tmp_path)] == ["2026-03-02.md", "2026-06-01.md"]


def test_a_model_of_ones_own_may_do_the_summing_up(mind: Mind, tmp_path: Path) -> None:
    def count(memories: Sequence[Memory]) -> str:
        return f"{len(memories)} things happened."

    assert mind.consolidate(tmp_path, "quarterly", summarise=count)[0].read_text("utf-8") == (
        "# 2026-Q1\n\n4 things happened.\n"
    )


def test_a_session_becomes_one_memory_linked_to_its_own(mind: Mind) -> None:
    summary = mind.consolidate_session("s1")
    assert (summary.kind, summary.session, summary.entities) == ("summary", "s1", ("Anna",))
    assert summary.text.splitlines() == [
        "The blue cup is on the shelf.",
        "Anna called about the heating.",
        "The boiler was repaired.",
        "The window is open.",
    ]
    assert {edge.kind for edge in mind.edges(summary.id)} == {"mentions"}
    assert len(mind.edges(summary.id)) == 5


def test_a_session_that_goes_on_is_summed_up_anew(mind: Mind) -> None:
    first = mind.consolidate_session("s1")
    assert mind.consolidate_session("s1") == first
    mind.remember("The door is locked.", session="s1", created="2026-06-02")
    again = mind.consolidate_session("s1")
    assert again.id == first.id
    assert "The door is locked." in again.text
    mind.undo()
    assert mind.show(first.id).text == first.text


def test_a_session_without_memories_cannot_be_summed_up(mind: Mind) -> None:
    with pytest.raises(NotFound, match="nothing"):
        mind.consolidate_session("nothing")


def test_names_are_found_without_a_model(mind: Mind) -> None:
    mind.relate("charging dock", "stands_in", "hallway")
    said = "Yesterday Anna put the Charging Dock beside Mrs Okafor’s door. Anna left."
    assert mind.names_in(said) == ["Anna", "charging dock", "Mrs Okafor"]
    assert mind.names_in("Nothing here.") == []
