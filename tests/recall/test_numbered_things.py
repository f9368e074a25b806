"""Several things of a kind that have numbers are different things: one says nothing of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Mind


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ("Oven 2 heats to 838 degrees.", "Oven 3 now heats to 848 degrees again.", "Oven 2 now heats to 850 degrees."),
        ("Ofen 2 heizt auf 838 Grad.", "Ofen 3 heizt jetzt auf 848 Grad.", "Ofen 2 heizt jetzt auf 850 Grad."),
        ("二号炉只有838度。", "三号炉现在只有848度了。", "二号炉现在有850度了。"),
    ],
)
def test_a_statement_of_one_oven_is_no_conflict_with_one_of_another(
    tmp_path: Path, first: str, second: str, again: str
) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        mind.remember(first, id="first", created="2026-01-05")
        mind.remember(second, id="second", created="2026-02-05")
        assert mind.conflicts() == []
        mind.remember(again, id="again", created="2026-03-05")
        assert [(pair.older.id, pair.newer.id) for pair in mind.conflicts()] == [("first", "again")]
