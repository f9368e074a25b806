"""Memories of an unusual shape in large numbers: all in one session, each in a collection of its own, of one word, of
ten thousand words. They are written, indexed in files, recalled with and without filters, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from recollect import Memory, Mind
from recollect.store.sqlite.index import IndexLimits
from recollect.store.sqlite.store import SqliteStore
from tests.conftest import Clock

pytestmark = pytest.mark.contract("B23")
LIMITS = IndexLimits(min_saved=1000, max_tail=500)
Shape = Callable[[int], Memory]


def in_one_session(number: int) -> Memory:
    return Memory(f"turn number{number} about the garden", id=f"m{number}", session="one", position=number)


def in_a_collection_of_its_own(number: int) -> Memory:
    return Memory(f"note number{number} about the garden", id=f"m{number}", collection=f"collection {number}")


def of_one_word(number: int) -> Memory:
    return Memory(f"number{number}", id=f"m{number}")


def of_ten_thousand_words(number: int) -> Memory:
    words = " ".join(f"w{(number * 31 + at * at) % 50_000}" for at in range(9_999))
    return Memory(f"{words} number{number}", id=f"m{number}")


SHAPES: dict[Shape, tuple[int, int]] = {  # how many are written, in a fast run and in a slow one
    in_one_session: (1_500, 300_000),
    in_a_collection_of_its_own: (1_500, 100_000),
    of_one_word: (1_500, 300_000),
    of_ten_thousand_words: (20, 3_000),
}


def open_mind(path: Path) -> Mind:
    return Mind(store=SqliteStore(str(path), Clock(), index_limits=LIMITS), embedder=None, clock=Clock())


def in_batches(shape: Shape, size: int) -> Iterator[list[Memory]]:
    memories = map(shape, range(size))
    while batch := list(islice(memories, 10_000)):
        yield batch


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        *((shape, fast) for shape, (fast, _) in SHAPES.items()),
        *(pytest.param(shape, slow, marks=pytest.mark.slow) for shape, (_, slow) in SHAPES.items()),
    ],
)
def test_memories_of_any_shape_are_found_filtered_and_forgotten(tmp_path: Path, shape: Shape, size: int) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path) as mind:
        for batch in in_batches(shape, size):
            mind.remember_many(batch)
    with open_mind(path) as mind:
        last = size - 1
        for number in (0, size // 2, last):
            memory = shape(number)
            found = mind.recall(f"number{number}", 3, recipe="default", track=False)
            assert found[0].memory.id == f"m{number}"
            inside = {"collection": memory.collection}
            assert mind.recall(f"number{number}", 3, filter=inside, track=False)[0].memory.id == f"m{number}"
            other = {"collection": "nowhere"}
            assert not list(mind.recall(f"number{number}", 3, filter=other, track=False))
        mind.forget(f"m{last}")
        assert f"m{last}" not in [each.memory.id for each in mind.recall(f"number{last}", 3, track=False)]
        status = mind.status().store
        assert status.memories == {"active": size - 1, "forgotten": 1}
        assert status.index is not None
        assert status.index.state == ("usable" if size >= LIMITS.min_saved else "none")


@pytest.mark.parametrize("size", [1_500, pytest.param(300_000, marks=pytest.mark.slow)])
def test_in_one_long_session_a_memory_has_the_turns_before_and_after_it_as_neighbours(
    tmp_path: Path, size: int
) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        for batch in in_batches(in_one_session, size):
            mind.remember_many(batch)
        with mind.store.snapshot() as snapshot:
            middle = size // 2
            scope = snapshot.scope(None, ("active",), mind.clock())
            rows = snapshot.page(scope, "stored", size)
            near = snapshot.neighbours(rows[middle : middle + 1], 2)[0].tolist()
            ids = snapshot.ids(rows[[middle - 1, middle - 2, middle + 1, middle + 2]])
            assert [snapshot.ids(rows[rows == row])[0] for row in near] == ids
