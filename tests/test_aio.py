"""The async door: every verb of a Mind, awaitable, many at once."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import recollect
from recollect import Filter, NotFound, StoreError, aio

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


class Bag:
    name, dim = "toy-bag", 16

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[float(sum(crc32(w.encode()) % 16 == n for w in text.split())) for n in range(16)] for text in texts]


def with_mind(path: Path, use: Callable[[aio.AsyncMind], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        usual = {"embedder": Bag(), "durability": "fast", "clock": lambda: NOON}
        async with aio.AsyncMind(path, **{**usual, **options}) as mind:
            return await use(mind)

    return asyncio.run(run())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_every_public_method_of_a_mind_is_on_the_async_one() -> None:
    public = {name for name, each in inspect.getmembers(recollect.Mind, callable) if not name.startswith("_")}
    missing = public - set(dir(aio.AsyncMind))
    assert missing == set()


def test_every_public_method_of_the_async_mind_is_awaitable() -> None:
    for name, each in inspect.getmembers(aio.AsyncMind, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each), name


def test_what_was_remembered_is_recalled(path: Path) -> None:
    async def use(mind: aio.AsyncMind) -> None:
        cup = await mind.remember("the red cup", tags=["kitchen"])
        receipt = await mind.remember_many(["a door", {"text": "a window", "user": "ada"}])
        assert receipt.added == 2
        recall = await mind.recall("red cup", 2, filter=Filter(user=""))
        assert recall[0].memory.id == cup.id
        assert (await mind.why("red cup", cup.id)).evaluate() == recall[0].score
        verdict = await mind.why_not("red cup", receipt.ids[1], filter=Filter(user=""))
        assert verdict.step == "filter"
        assert recall.why_not(receipt.ids[1]).step == "filter"

    with_mind(path, use)


def test_memories_are_edited_linked_forgotten_and_brought_back(path: Path) -> None:
    async def use(mind: aio.AsyncMind) -> None:
        a, b = (await mind.remember_many(["one", "two"])).ids
        assert (await mind.edit(a, text="uno", tags=["x"])).text == "uno"
        assert (await mind.show(a)).tags == ("x",)
        assert [memory.text for _, memory in await mind.history(a)] == ["one"]
        assert (await mind.link(a, b, "supports", 0.5)).weight == 0.5
        assert len(await mind.edges(a)) == 1
        assert await mind.unlink(a, b) == 1
        await mind.relate("alice", "works_with", "bob", user="ada")
        assert [edge.object for edge in await mind.entity_edges()] == ["bob"]
        assert await mind.forget(a, reason="wrong") == 1
        assert [memory.id for memory in await mind.list()] == [b]
        undone = await mind.undo()
        assert undone is not None
        assert undone.verb == "forget"
        assert {memory.id for memory in await mind.list(limit=5)} == {a, b}

    with_mind(path, use)


def test_memories_are_superseded_contradicted_strengthened_and_fade(path: Path) -> None:
    async def use(mind: aio.AsyncMind) -> None:
        old = await mind.remember("in the kitchen", strength=0.5, created="2025-05-01")
        new = await mind.supersede(old.id, "in the hallway", tags=["dock"])
        assert (new.tags, (await mind.show(old.id)).status) == (("dock",), "superseded")
        assert (await mind.contradict(old.id, new.id, 0.5, loser=old.id)).kind == "contradicts"
        assert (await mind.show(old.id)).status == "contradicted"
        assert (await mind.reinforce(old.id, 0.25)).strength == 0.75
        assert await mind.decay() == 1
        assert (await mind.show(old.id)).strength < 0.75

    with_mind(path, use)


def test_everything_is_carried_to_another_file(path: Path, tmp_path: Path) -> None:
    async def give(mind: aio.AsyncMind) -> list[Any]:
        await mind.remember_many(f"cup {n}" for n in range(300))
        return [record async for record in mind.export()]

    async def take(mind: aio.AsyncMind) -> None:
        assert (await mind.import_(records)).added == 300
        assert (await mind.status()).store.memories == {"active": 300}
        assert await mind.embed_missing() == 0

    records = with_mind(path, give)
    with_mind(tmp_path / "other.db", take)


def test_many_recalls_at_once_agree_with_one_after_another(path: Path) -> None:
    queries = [f"cup {n % 20} shelf" for n in range(40)]

    async def use(mind: aio.AsyncMind) -> None:
        await mind.remember_many(f"cup {n} on shelf {n % 7}" for n in range(200))
        single = [[(r.memory.id, r.score) for r in await mind.recall(query, track=False)] for query in queries]
        many = await asyncio.gather(*(mind.recall(query) for query in queries))
        assert [[(r.memory.id, r.score) for r in recall] for recall in many] == single
        assert all(recall.trace.failures == [] for recall in many)
        used = sum(memory.use.access_count for memory in await mind.list())
        assert used == sum(len(recall) for recall in many)

    with_mind(path, use)


def test_recalls_beside_writes_see_whole_states(path: Path) -> None:
    async def use(mind: aio.AsyncMind) -> None:
        async def write() -> None:
            for n in range(8):
                await mind.remember_many([f"pair {n} left", f"pair {n} right"])

        async def read() -> None:
            for _ in range(20):
                found = await mind.recall("pair", 100, track=False)
                assert len(found) % 2 == 0
                assert all(result.why.evaluate() == result.score for result in found)

        await asyncio.gather(write(), *(read() for _ in range(3)))
        assert len(await mind.recall("pair", 100)) == 16

    with_mind(path, use)


def test_the_loop_goes_on_while_a_recall_waits(path: Path) -> None:
    class Slow(Bag):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            if query:
                time.sleep(0.2)
            return super().embed(texts)

    async def use(mind: aio.AsyncMind) -> int:
        await mind.remember("cup")
        waiting = asyncio.create_task(mind.recall("cup"))
        turns = 0
        while not waiting.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert len(await waiting) == 1
        return turns

    assert with_mind(path, use, embedder=Slow()) >= 5


def test_errors_are_those_of_the_mind(path: Path) -> None:
    async def use(mind: aio.AsyncMind) -> aio.AsyncMind:
        with pytest.raises(NotFound):
            await mind.show("nobody")
        return mind

    closed = with_mind(path, use)
    with pytest.raises(StoreError, match="closed"):
        asyncio.run(closed.recall("cup"))


def test_open_and_close_do_without_a_with(path: Path) -> None:
    async def run() -> int:
        mind = await aio.AsyncMind(path, embedder=None).open()
        await mind.remember("cup")
        found = len(await mind.recall("cup"))
        await mind.close()
        return found

    assert asyncio.run(run()) == 1


def test_a_mind_that_was_never_opened_says_how_to_open_it(path: Path) -> None:
    with pytest.raises(StoreError, match="open"):
        asyncio.run(aio.AsyncMind(path).recall("cup"))
