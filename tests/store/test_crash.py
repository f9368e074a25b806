"""Pulling the plug: a writer is killed at any moment, and what it had acknowledged is there."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from recollect import Mind
from recollect.ingest.imports.importer import IMPORT_BATCH_SIZE
from recollect.ingest.writer import ATOMIC_LIMIT
from tests.store import programs
from tests.store.looking import assert_whole, rare_word


def write_and_kill(path: Path, first: int, after: float, least: int = 0) -> dict[str, str]:
    """Let a process write for so many seconds; the ids that it got back, with the word of each."""
    said = ""
    with programs.start("write_until_killed", path, first) as writer:
        assert writer.stdout is not None
        if after > 0:
            assert writer.stdout.readline() == '"ready"\n'
            said = "".join(writer.stdout.readline() for _ in range(least))
            time.sleep(after)
        else:
            time.sleep(0.25 + after)  # while it opens the file
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read()  # communicate() would lose what was read ahead of the lines above
    whole_lines = said.splitlines(keepends=True)
    acknowledged = [json.loads(line) for line in whole_lines if line.endswith("]\n")]
    return {id: word for pairs in acknowledged for id, word in pairs}


def kill_writers(path: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: dict[str, str] = {}
    for round in range(times):
        after = -chance.uniform(0, 0.1) if round % 10 == 9 else chance.uniform(0.001, 0.08)
        acknowledged |= write_and_kill(path, round * 100_000, after, least=0 if round else 2)
    assert len(acknowledged) >= 6
    with Mind(path, embedder=None) as mind:
        for id, word in acknowledged.items():
            assert word in mind.show(id).text
            assert [result.memory.id for result in mind.recall(word, k=1, track=False)] == [id]
        batches = Counter(memory.topic for memory in mind.list() if memory.topic)
        assert set(batches.values()) <= {5}, "a batch was written in part"
        # A write may have landed whose acknowledgement was cut off, but only the last one of each life.
        assert len(mind.list()) <= len(acknowledged) + 6 * times
        mind.remember(f"life goes on {rare_word(2**31)}")
        assert mind.recall(rare_word(2**31), k=1)
    assert_whole(path)


def test_a_pulled_plug_loses_nothing_acknowledged(path: Path) -> None:
    kill_writers(path, times=5, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_thousand_pulled_plugs_lose_nothing_acknowledged(path: Path, seed: int) -> None:
    kill_writers(path, times=50, seed=seed)


def test_a_reader_that_was_open_when_the_writer_died_goes_on(path: Path, mind: Mind) -> None:
    mind.remember("there before")
    assert mind.recall("before")
    acknowledged = write_and_kill(path, 0, 0.03, least=2)
    assert len(acknowledged) >= 6
    for id, word in acknowledged.items():
        assert [result.memory.id for result in mind.recall(word, k=1)] == [id]
    assert mind.remember("there after").text == "there after"
    assert_whole(path)


def test_a_bulk_write_that_is_killed_leaves_nothing_of_itself(path: Path, mind: Mind) -> None:
    mind.remember("there from the beginning")
    with programs.start("write_many", path, "remember_many", 10_000) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline() != '"writing"\n':
            assert writer.poll() is None
        time.sleep(0.1)
        assert writer.poll() is None, "it was done before it was killed"
        writer.kill()
        writer.communicate(timeout=30)
    assert [memory.text for memory in mind.list()] == ["there from the beginning"]
    assert mind.remember("there after").text == "there after"
    with Mind(path, embedder=None) as fresh:
        assert [memory.text for memory in fresh.list()] == ["there after", "there from the beginning"]
    assert_whole(path)


@pytest.mark.parametrize(
    ("verb", "stop"),
    [
        ("import", signal.SIGKILL),
        pytest.param("import", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("remember_many", signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("remember_many", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_big_write_that_is_stopped_is_continued_by_running_it_again(
    path: Path, mind: Mind, verb: str, stop: signal.Signals
) -> None:
    """Each of its transactions is there as a whole or not at all; nothing is written twice."""
    count, step = (10_000, IMPORT_BATCH_SIZE) if verb == "import" else (3 * ATOMIC_LIMIT, ATOMIC_LIMIT)
    with programs.start("write_many", path, verb, count) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline() != '"writing"\n':
            assert writer.poll() is None
        writer.send_signal(stop)
        writer.communicate(timeout=60)
    written = sum(memory.text.startswith("bulk") for memory in mind.list())
    assert written < count, "it was done before it was stopped"
    assert written % step == 0
    assert written >= step
    records = programs.bulk_records(count)
    again = mind.import_(records) if verb == "import" else mind.remember_many(records)
    assert (again.added, again.changed, again.same) == (count - written, 0, written)
    assert_whole(path)
