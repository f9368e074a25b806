"""Eight writers and eight readers on one file: every write is acknowledged and found, and nobody is told "locked".

python -m tests.store.test_many_processes [SECONDS]: how many were written and answered, and how long writes took.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect import Mind
from recollect.store.sqlite import checkpoints
from tests.store import programs
from tests.store.looking import assert_whole, rare_word

pytestmark = pytest.mark.contract("B9")


@dataclass(frozen=True)
class Together:
    """What processes did at once."""

    writes: list[float]  # seconds of each, the fastest first
    answered: int  # queries

    def slowest(self, share: float) -> float:
        """How many seconds a write took of which this share was faster."""
        return self.writes[min(int(share * len(self.writes)), len(self.writes) - 1)]

    def __str__(self) -> str:
        shares = {"half": 0.5, "99%": 0.99, "99.9%": 0.999, "all": 1}
        within = ", ".join(f"{name} within {self.slowest(share):.3f} s" for name, share in shares.items())
        return f"{len(self.writes):,} written, {self.answered:,} queries answered; writes: {within}"


def run_together(path: Path, writers: int, readers: int, seconds: float) -> Together:
    """Write and read in so many processes at once; any error of theirs is an error here."""
    Mind(path, embedder=None).close()
    writing = [programs.start("write_for", path, f"writer{number}", seconds) for number in range(writers)]
    reading = [programs.start("read_for", path, seconds) for _ in range(readers)]
    written = [process.answer(seconds + 120) for process in writing]
    answered = [process.answer(seconds + 120) for process in reading]
    problems = [problem for _, problem in written + answered if problem]
    assert problems == [], "\n".join(problems)
    with Mind(path, embedder=None) as mind:
        texts = {memory.text for memory in mind.list()}
    assert texts == {f"writer{number} {at}" for number, (taken, _) in enumerate(written) for at in range(len(taken))}
    assert_whole(path)
    return Together(sorted(each for taken, _ in written for each in taken), sum(count for count, _ in answered))


def test_two_writers_and_two_readers_share_a_file(path: Path) -> None:
    done = run_together(path, writers=2, readers=2, seconds=1)
    assert done.writes
    assert done.answered >= 1


@pytest.mark.slow
def test_eight_writers_and_eight_readers_share_a_file_for_a_minute(path: Path) -> None:
    done = run_together(path, writers=8, readers=8, seconds=60)
    assert len(done.writes) > 100
    assert done.answered > 100


def test_a_log_that_others_read_all_the_time_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "RESTARTED_PAGES", 1_000)
    monkeypatch.setattr(checkpoints, "ATTEMPTED_SHARE", 1.0)
    mind = Mind(path, embedder=None)
    enough, store = threading.Event(), mind.store

    def read(moment: float) -> None:
        time.sleep(moment)
        while not enough.is_set():
            with store.snapshot():
                time.sleep(0.02)

    mind.remember("The cup is on the shelf.")
    readers = [threading.Thread(target=read, args=(number / 100,)) for number in range(4)]
    for reader in readers:
        reader.start()
    largest = 0
    for number in range(200):
        mind.remember(rare_word(number) * 10_000, session=str(number))
        largest = max(largest, path.with_name(path.name + "-wal").stat().st_size)
    enough.set()
    for reader in readers:
        reader.join()
    assert largest < 30_000_000, "of about 40 MB that were written; 5 to 16 MB where it begins anew"
    assert len(mind.list()) == 201
    mind.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
        done = run_together(Path(folder) / "memory.db", writers=8, readers=8, seconds=seconds)
        print(done)
