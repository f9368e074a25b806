"""Eight writers and eight readers on one file: every write is acknowledged and found, and nobody is told "locked"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Mind
from tests.store import programs
from tests.store.looking import assert_whole

pytestmark = pytest.mark.contract("B9")


def run_together(path: Path, writers: int, readers: int, seconds: float) -> tuple[int, int]:
    """How many memories were written, and how many questions answered; any error of theirs is an error here."""
    Mind(path, embedder=None).close()
    started = [programs.start("write_for", path, f"writer{number}", seconds) for number in range(writers)]
    started += [programs.start("read_for", path, seconds) for _ in range(readers)]
    counts = []
    for process in started:
        said, _ = process.communicate(timeout=seconds + 120)
        assert process.returncode == 0, said
        counts.append(json.loads(said.splitlines()[-1]))
    problems = [problem for _, problem in counts if problem]
    assert problems == []
    written = {f"writer{number}": count for number, (count, _) in enumerate(counts[:writers])}
    with Mind(path, embedder=None) as mind:
        texts = {memory.text for memory in mind.list()}
        assert texts == {f"{label} {number}" for label, count in written.items() for number in range(count)}
    assert_whole(path)
    return sum(written.values()), sum(count for count, _ in counts[writers:])


def test_two_writers_and_two_readers_share_a_file(path: Path) -> None:
    written, answered = run_together(path, writers=2, readers=2, seconds=1)
    assert written >= 1
    assert answered >= 1


@pytest.mark.slow
def test_eight_writers_and_eight_readers_share_a_file_for_a_minute(path: Path) -> None:
    written, answered = run_together(path, writers=8, readers=8, seconds=60)
    assert written > 100
    assert answered > 100
