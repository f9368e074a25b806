"""A disk without room: the write says so, and everything acknowledged before it is there."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind, StoreError
from tests.store.looking import assert_whole, held, rare_word, texts


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, a part of it taken by something that can be moved away."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"NOT RUN: a small disk cannot be mounted here ({mounted.stderr.strip()})")
    try:
        (folder / "ballast").write_bytes(b"." * 600_000)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(mind: Mind) -> dict[str, str]:
    """Remember until there is no more room; what was acknowledged, with a word of its own for each."""
    kept: dict[str, str] = {}
    with pytest.raises(StoreError, match="The disk is full; nothing was written"):
        remember_on_and_on(mind, kept)
    return kept


def remember_on_and_on(mind: Mind, kept: dict[str, str]) -> None:
    noise = random.Random(1)
    for number in range(100_000):
        word = rare_word(number)
        kept[mind.remember(f"{word} {noise.randbytes(20).hex()}").id] = word


def test_a_full_disk_takes_nothing_that_was_acknowledged(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    with Mind(path, embedder=None) as mind:
        kept = fill(mind)
        assert len(kept) > 20
        with pytest.raises(StoreError, match="full"):
            mind.remember("one more " * 14_000)
        assert {memory.id for memory in mind.list()} == kept.keys()
        for id, word in kept.items():
            assert [result.memory.id for result in mind.recall(word, k=1)] == [id]
        before = held(mind, "use")
    with Mind(path, embedder=None) as mind:
        assert held(mind, "use") == before
    assert_whole(path)


def test_a_bulk_write_that_does_not_fit_leaves_nothing_of_itself(small_disk: Path) -> None:
    path, noise = small_disk / "memory.db", random.Random(2)
    with Mind(path, embedder=None) as mind:
        kept = mind.remember("there from the beginning")
        with pytest.raises(StoreError, match="full"):
            mind.remember_many(noise.randbytes(1000).hex() for _ in range(2000))
        assert [memory.id for memory in mind.list()] == [kept.id]
        assert mind.history(kept.id) == []
    assert_whole(path)


def test_once_there_is_room_again_the_same_mind_goes_on(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    with Mind(path, embedder=None) as mind:
        kept = fill(mind)
        (small_disk / "ballast").unlink()
        late = mind.remember("kept after the disk had room again")
        assert texts(mind, "room again", k=1) == ["kept after the disk had room again"]
        assert {memory.id for memory in mind.list()} == {*kept, late.id}
    assert_whole(path)
