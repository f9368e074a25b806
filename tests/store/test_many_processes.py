"""Eight writers and eight readers on one file: every write is acknowledged and found, and nobody is told "locked".

python -m tests.store.test_many_processes [SECONDS]: prints how many were written and answered, and the slowest write.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from recollect import Mind
from tests.store import programs
from tests.store.looking import assert_whole

pytestmark = pytest.mark.contract("B9")


def run_together(path: Path, writers: int, readers: int, seconds: float) -> tuple[int, int, float]:
    """How many memories were written, how many queries answered, and the seconds of the slowest write; any error of
    theirs is an error here."""
    Mind(path, embedder=None).close()
    started = [programs.start("write_for", path, f"writer{number}", seconds) for number in range(writers)]
    started += [programs.start("read_for", path, seconds) for _ in range(readers)]
    counts = []
    for process in started:
        said, _ = process.communicate(timeout=seconds + 120)
        assert process.returncode == 0, said
        counts.append(json.loads(said.splitlines()[-1]))
    problems = [problem for _, problem, *_ in counts if problem]
    assert problems == [], problems
    written = {f"writer{number}": count for number, (count, *_) in enumerate(counts[:writers])}
    with Mind(path, embedder=None) as mind:
        texts = {memory.text for memory in mind.list()}
        assert texts == {f"{label} {number}" for label, count in written.items() for number in range(count)}
    assert_whole(path)
    return sum(written.values()), sum(count for count, _ in counts[writers:]), max(each[2] for each in counts[:writers])


def test_two_writers_and_two_readers_share_a_file(path: Path) -> None:
    written, answered, _ = run_together(path, writers=2, readers=2, seconds=1)
    assert written >= 1
    assert answered >= 1


@pytest.mark.slow
def test_eight_writers_and_eight_readers_share_a_file_for_a_minute(path: Path) -> None:
    written, answered, _ = run_together(path, writers=8, readers=8, seconds=60)
    assert written > 100
    assert answered > 100


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
        done = run_together(Path(folder) / "memory.db", writers=8, readers=8, seconds=seconds)
        print("{:,} written, {:,} queries answered, slowest write {:.2f} s".format(*done))
