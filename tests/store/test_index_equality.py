"""Recalls from the index on disk and from the exhaustive reference store, after the same random changes: the same
memories with the same scores, bit for bit. Processes that build the index are killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import Memory, Mind
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.index import IndexLimits
from tests.conftest import Clock

pytestmark = pytest.mark.contract("B23")
LIMITS = IndexLimits(min_saved=100, max_tail=80, max_segment=2000)
WORDS = [f"{first}{last}" for first in ("ka", "lo", "mi", "nu", "pe", "ri", "so", "tu") for last in "bdfgklmnprst"]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"user": "user 1"},
    {"tags": ["even"], "topic": "topic 2"},
    {"context": {"room": {"$lt": 3}}},
    {"context": {"room": 5}},
]


class WordVectors:
    """The sum of a vector for each word, without a model."""

    name, dim = "word vectors", 64

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        chosen = [np.random.default_rng(sum(map(ord, word)) * 7919).standard_normal(self.dim) for word in text.split()]
        total = np.sum(chosen, axis=0) if chosen else np.ones(self.dim)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


class Changes:
    """Random changes that any mind can be given."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.living: list[str] = []
        self.count = 0

    def text(self) -> str:
        return " ".join(WORDS[int(len(WORDS) * self.chance.random() ** 3)] for _ in range(self.chance.randint(3, 14)))

    def added(self, size: int) -> list[Memory]:
        return [self._memory() for _ in range(size)]

    def _memory(self) -> Memory:
        number, self.count = self.count, self.count + 1
        self.living.append(f"m{number}")
        return Memory(
            self.text(),
            id=f"m{number}",
            user=f"user {number % 3}",
            session=f"session {number // 7}",
            topic=f"topic {number % 5}",
            tags=("even",) if number % 2 == 0 else (),
            context={"room": number % 10},
        )

    def edited(self, size: int) -> list[tuple[str, str]]:
        return [(id, self.text()) for id in self.chance.sample(self.living, min(size, len(self.living)))]

    def forgotten(self, size: int) -> list[str]:
        chosen = self.chance.sample(self.living, min(size, len(self.living) // 3))
        self.living = [id for id in self.living if id not in set(chosen)]
        return chosen


BUILDER = """
import sys
sys.path.insert(0, {root!r})
from tests.store.test_index_equality import open_file
mind = open_file(sys.argv[1])
mind.store.drop_index()
print("building", flush=True)
while True:
    mind.store.drop_index()
    mind.recall("kab lod", track=False)
"""


def open_file(path: str) -> Mind:
    store = SqliteStore(path, Clock(), index_limits=LIMITS, vector_search="exact")
    return Mind(store=store, embedder=WordVectors(), clock=Clock())


def kill_a_builder(path: Path, milliseconds: int) -> None:
    """A process that writes the index again and again, killed at some moment."""
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", BUILDER.format(root=root), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(milliseconds / 1000)
        os.kill(process.pid, signal.SIGKILL)


def answers(mind: Mind, changes: Changes, questions: int) -> list[list[tuple[str, float]]]:
    chance = random.Random(changes.count)
    found = []
    for number in range(questions):
        query = " ".join(WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(3))
        filter = FILTERS[number % len(FILTERS)]
        found.append([(each.id, each.score) for each in mind.recall(query, 15, filter=filter, track=False)])
    return found


@pytest.mark.parametrize(
    ("size", "rounds", "kills", "questions"),
    [(700, 4, 1, 5), pytest.param(50_000, 3, 3, 5, marks=pytest.mark.slow)],
)
def test_exact_recalls_from_the_index_equal_those_of_the_reference_store_bit_for_bit(
    tmp_path: Path, size: int, rounds: int, kills: int, questions: int
) -> None:
    path, changes = tmp_path / "memory.db", Changes(size)
    reference = Mind(store=ReferenceStore(Clock()), embedder=WordVectors(), clock=Clock())
    minds = [reference, open_file(str(path))]
    for _ in range(rounds):
        added, edited = changes.added(size // rounds), changes.edited(size // 50)
        forgotten = changes.forgotten(size // 40)
        for mind in minds:
            mind.remember_many(added)
            mind.recall("kab", track=False)
            for id, text in edited:
                mind.edit(id, text=text) if id not in forgotten else None
            mind.forget(*forgotten)
        for _ in range(kills):
            kill_a_builder(path, changes.chance.randint(0, 300))
        minds[1].store.close()
        minds[1] = open_file(str(path))
        expected, found = (answers(mind, changes, questions) for mind in minds)
        assert found == expected
        assert any(found)
    status = minds[1].store.index_status()  # type: ignore[attr-defined]
    assert (status.state, status.segments > 0) == ("usable", True)
    minds[1].store.close()
