"""The same question gives the same answer: for any k, in any process, after any other use."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from recollect import Embedder, Filter, Mind

from .kit import BAG, NOON, Bag, Scatter, ids, open_mind, told

KS = (1, 3, 10, 50, 99, 100, 101, 200, 250, 500, 1000)
QUERY = "blue cup w7 on the w11 shellf"


def fill(path: Path, embedder: Embedder, distinct: int) -> None:
    """1,500 memories; few distinct texts make ties everywhere, also where pages end."""
    chance = random.Random(5)
    words = [f"w{n}" for n in range(90)] + ["blue", "cup", "shelf", "red", "door"]
    texts = [" ".join(chance.choices(words, k=chance.randint(2, 9))) for _ in range(distinct)]
    records = [
        {
            "text": chance.choice(texts),
            "id": f"m{n}",
            "created": NOON - timedelta(days=chance.choice([0, 0, 5, 300])),
            "status": chance.choice(["active"] * 8 + ["superseded", "contradicted", "forgotten"]),
        }
        for n in range(1500)
    ]
    with open_mind(path, embedder) as mind:
        for start in range(0, 1500, 300):
            mind.remember_many(records[start : start + 300])
            mind.recall(QUERY, track=False)
        for n in chance.sample(range(1500), 40):  # edits shuffle the layout in memory
            if mind.show(f"m{n}").status != "forgotten":
                mind.edit(f"m{n}", tags=["edited"])


CASES: dict[str, tuple[Embedder, int]] = {
    "bag, all different": (BAG, 1500),
    "bag, ties": (BAG, 25),
    "wide, ties": (Scatter(), 25),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=list(CASES))
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Embedder]:
    embedder, distinct = request.param
    path = tmp_path_factory.mktemp("stability") / "memory.db"
    fill(path, embedder, distinct)
    return path, embedder


def ranking(mind: Mind, k: int, filter: Filter | None = None) -> list[tuple[str, float]]:
    return [(result.memory.id, result.score) for result in mind.recall(QUERY, k, filter=filter, track=False)]


def test_asking_for_more_never_changes_the_first(stored: tuple[Path, Embedder]) -> None:
    with open_mind(*stored) as mind:
        longest = ranking(mind, 1500)
        assert len(longest) > 1000
        for k in KS:
            assert ranking(mind, k) == longest[:k], f"k={k}"


def test_asking_for_more_never_changes_the_first_under_a_filter(stored: tuple[Path, Embedder]) -> None:
    some = Filter(since=NOON - timedelta(days=1))
    with open_mind(*stored) as mind:
        longest = ranking(mind, 1500, some)
        assert 300 < len(longest) < 1000
        for k in KS:
            assert ranking(mind, k, some) == longest[:k], f"k={k}"


def test_asking_for_more_never_changes_the_first_by_words_alone(stored: tuple[Path, Embedder]) -> None:
    with open_mind(stored[0], None) as mind:
        longest = ranking(mind, 1500)
        assert len(longest) > 200
        for k in KS:
            assert ranking(mind, k) == longest[:k], f"k={k}"


def test_a_second_mind_on_the_file_gives_the_same_results(stored: tuple[Path, Embedder]) -> None:
    with open_mind(*stored) as first:
        mine = [ranking(first, k) for k in KS]
        with open_mind(*stored) as second:
            assert [ranking(second, k) for k in KS] == mine


def test_a_mind_that_followed_every_change_agrees_with_one_that_opens_the_file_now(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path) as old:
        chance = random.Random(9)
        for _ in range(12):
            old.remember_many(f"cup {chance.choice('abcd')} shelf" for _ in range(20))
            old.recall("cup")
            old.edit(chance.choice(old.list()).id, text=f"shelf {chance.choice('abcd')} cup")
            old.forget(chance.choice(old.list()).id)
        with open_mind(path) as new:
            for query in ("cup a", "shelf d", "shellf", "b"):
                assert told(new.recall(query, 50, track=False)) == told(old.recall(query, 50, track=False))


def test_unrelated_use_changes_nothing(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many([f"cup {n % 5} shelf" for n in range(60)])
        before = told(mind.recall("cup 3", 20, track=False))
        mind.recall("shelf")
        mind.recall("something else", filter=Filter(tags=["none"], context={"a": 1}))
        mind.list(Filter(user="nobody"))
        list(mind.export())
        mind.why_not("cup", mind.list()[0].id)
        assert told(mind.recall("cup 3", 20, track=False)) == before


def test_the_same_question_at_the_same_time_gives_the_same_bytes(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many([f"cup {n} shelf" for n in range(150)])
        first = told(mind.recall("cupp 12 of the shelf", 30, track=False))
        assert told(mind.recall("cupp 12 of the shelf", 30, track=False)) == first


class Crowd:
    """Everything lies almost equally near: cosines differ by less than a 32-bit product can tell."""

    name, dim = "toy-crowd", 384

    def embed(self, texts: Sequence[str], query: bool = False) -> list[Any]:
        if query:  # the same everywhere, but for a millionth
            return [1 + 1e-6 * np.random.default_rng(1).standard_normal(self.dim) for _ in texts]
        signs = np.repeat([1.0, -1.0], [300, 84])
        return [np.random.default_rng(crc32(text.encode())).permutation(signs) for text in texts]


def test_asking_for_more_never_changes_the_first_when_cosines_are_all_but_equal(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", Crowd()) as mind:
        mind.remember_many(f"number {n}" for n in range(1500))
        longest = ranking(mind, 1500)
        for k in KS:
            assert ranking(mind, k) == longest[:k], f"k={k}"


def test_ties_stand_in_the_order_in_which_they_were_remembered(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    names = [f"m{n:03}" for n in range(300)]
    with open_mind(path) as mind:
        mind.remember_many({"text": "the same cup", "id": name} for name in names)
        assert ids(mind.recall("cup", 300, track=False)) == names
        mind.edit("m000", importance=0.5)  # it moves in memory, not in rank
        assert ids(mind.recall("cup", 300, track=False)) == names
    with open_mind(path) as mind:
        assert ids(mind.recall("cup", 120, track=False)) == names[:120]


def test_an_embedder_that_gives_nothing_for_a_question_leaves_the_words_their_order(tmp_path: Path) -> None:
    """A vector of zeros is at a right angle to everything."""

    class Silent(Bag):
        def embed(self, texts: object, query: bool = False) -> list[list[float]]:
            assert isinstance(texts, list)
            return [[0.0] * self.dim for _ in texts] if query else super().embed(texts)

    path = tmp_path / "memory.db"
    with open_mind(path, Silent()) as mind:
        mind.remember_many(["a cup", "cup cup", "a cup on a long shelf"])
        heard = ids(mind.recall("cup", track=False))
    with open_mind(path, None) as mind:
        assert ids(mind.recall("cup", track=False)) == heard
