"""Durable writes beside the bare transaction on the same disk."""

from pathlib import Path

from bench.bare import Bare
from bench.report import Report
from bench.rounds import clocked, interleave
from bench.texts import World
from recollect import Mind

BATCH = 2_000


def against_transactions(folder: Path, held: int, singles: int, batches: int, report: Report) -> None:
    """Both files begin with the same memories, and get the same texts, by turns."""
    world = World(seed=11)
    bare = Bare(folder / "write.bare.db")
    with Mind(folder / "write.db", embedder=None, durability="full") as mind:
        texts = world.texts(held)
        mind.remember_many(texts)
        bare.add_many(texts)
        texts = world.texts(singles + 20)
        one = interleave(
            {"ours": clocked(lambda n: mind.remember(texts[n])), "bare": clocked(lambda n: bare.add(texts[n]))},
            singles,
            warm=20,
        )
        many = [world.texts(BATCH) for _ in range(batches + 1)]
        bulk = interleave(
            {
                "ours": clocked(lambda n: mind.remember_many(many[n])),
                "bare": clocked(lambda n: bare.add_many(many[n])),
            },
            batches,
            warm=1,
        )
    report.compare(f"remember, durable, into {held:,}", one["ours"], one["bare"], "bare transaction", 1.3)
    report.compare(f"remember_many of {BATCH:,}", bulk["ours"], bulk["bare"], "bare transaction", 1.5)
