"""Durable writes compared with a bare transaction on the same disk."""

from pathlib import Path

from bench.raw_sqlite import RawSqlite
from bench.report import Report
from bench.synthetic_data import TextGenerator
from bench.timing import interleave, timed
from recollect import Mind

BATCH = 2_000


def compare_with_transactions(folder: Path, held: int, singles: int, batches: int, report: Report) -> None:
    """All files begin with the same memories, and get the same texts, by turns.

    The bulk goal is against a transaction that serves the same searches (words, and trigrams for misspelt ones); the
    smaller one, words alone, is reported beside it.
    """
    world = TextGenerator(seed=11)
    bare, fuller = RawSqlite(folder / "write.bare.db"), RawSqlite(folder / "write.fuller.db", trigrams=True)
    with Mind(folder / "write.db", embedder=None, durability="full") as mind:
        texts = world.texts(held)
        for add in (mind.remember_many, bare.add_many, fuller.add_many):
            add(texts)
        texts = world.texts(singles + 20)
        one = interleave(
            {"ours": timed(lambda n: mind.remember(texts[n])), "bare": timed(lambda n: bare.add(texts[n]))},
            singles,
            warm=20,
        )
        many = [world.texts(BATCH) for _ in range(batches + 1)]
        bulk = interleave(
            {
                "ours": timed(lambda n: mind.remember_many(many[n])),
                "bare": timed(lambda n: bare.add_many(many[n])),
                "fuller": timed(lambda n: fuller.add_many(many[n])),
            },
            batches,
            warm=1,
        )
    name = f"remember_many of {BATCH:,}"
    report.compare(f"remember, durable, into {held:,}", one["ours"], one["bare"], "bare transaction, words", 1.3)
    report.compare(name, bulk["ours"], bulk["fuller"], "bare transaction, words and trigrams", 1.5)
    report.compare(name, bulk["ours"], bulk["bare"], "bare transaction, words", None)
