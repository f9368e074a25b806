"""An export carries the history of edits, and an import keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from tests.conftest import Clock


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "copy.db", embedder=None) as copy:
        yield copy


@pytest.fixture
def edited(path: Path, clock: Clock) -> Iterator[Mind]:
    with Mind(path, embedder=None, clock=clock) as mind:
        mind.remember("The cup is red.", id="cup")
        for colour in ("green", "blue"):
            clock.advance(days=1)
            mind.edit("cup", text=f"The cup is {colour}.")
        yield mind


def test_a_copy_has_the_same_history(edited: Mind, copy: Mind) -> None:
    copy.import_(edited.export())
    assert copy.history("cup") == edited.history("cup")
    assert [former.text for _, former in copy.history("cup")] == ["The cup is red.", "The cup is green."]
    assert list(copy.export()) == list(edited.export())


def test_history_goes_on_where_it_was_brought(edited: Mind, copy: Mind) -> None:
    copy.import_(edited.export())
    copy.edit("cup", text="The cup is gone.")
    assert [former.text for _, former in copy.history("cup")][-1] == "The cup is blue."
    copy.undo()
    assert copy.show("cup").text == "The cup is blue."
    assert len(copy.history("cup")) == 2


def test_undo_of_an_import_takes_its_history_with_it(edited: Mind, copy: Mind) -> None:
    empty = list(copy.export())
    copy.import_(edited.export())
    copy.undo()
    assert list(copy.export()) == empty
    copy.remember("The cup is new.", id="cup")
    assert len(copy.history("cup")) == 0


def test_a_memory_that_is_here_already_keeps_its_own_history(edited: Mind, copy: Mind) -> None:
    copy.remember("The cup is mine.", id="cup")
    for _ in range(2):
        copy.import_(edited.export())
        assert [former.text for _, former in copy.history("cup")] == ["The cup is mine."]


def test_a_former_without_a_memory_is_named(copy: Mind) -> None:
    with pytest.raises(InvalidInput, match=r"Record 1: .*former needs until and memory"):
        copy.import_([{"type": "former", "text": "x"}])


def test_undo_of_an_import_does_not_speak_of_its_history(edited: Mind, copy: Mind) -> None:
    copy.import_(edited.export())
    undone = copy.undo()
    assert undone is not None
    assert (undone.removed, undone.restored, undone.ids) == (1, 0, ())


@pytest.mark.parametrize("strict", [True, False])
def test_a_file_of_an_export_brings_history(edited: Mind, copy: Mind, tmp_path: Path, strict: bool) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in edited.export()))
    done = copy.import_from(file, strict=strict)
    assert (done.added, done.failed, len(copy.history("cup"))) == (1, 0, 2)
    again = copy.import_from(file, strict=strict)
    assert (again.same, len(copy.history("cup"))) == (1, 2)
