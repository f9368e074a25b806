"""Do all stores give the same answers? ``python -m bench.same_answers`` asks a file, PostgreSQL and the reference.

The same memories of labelled sets are in all of them. For every recipe and question the first ten and their scores are
compared, bit for bit; then the searches for vectors of PostgreSQL with an HNSW index are compared with the exact ones.
The reference store compares everything with everything, so it is asked fewer questions.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench import datasets
from bench.memory_files import CachedLocalEmbedder
from recollect import Mind
from recollect.model import Memory
from recollect.recall.registry import BUILT_IN
from recollect.recall.similarity import nearest
from recollect.store.base import Bound, Store
from recollect.store.postgres import PostgresStore
from recollect.store.postgres.statements import active_space
from recollect.store.postgres.vector_index import build_indexes, missing_indexes
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore
from recollect.upkeep.copying import copy_store
from tests.postgres.server import OWNER, started

SETS = ("locomo", "realtalk", "vehiclemem", "lme_oracle_user", "precisionmem", "cosqa_code")
LONGEST = 8000  # characters of a text that is used
WITHOUT_MODELS: dict[str, dict[str, Any]] = {"qmd": {"reranker": None}, "jeffsbrain": {"rerank": False}}
NOW = datetime(2025, 6, 1, tzinfo=UTC)
HOME = Path(__file__).resolve().parent


def read_some(data: Path, memories: int, questions: int) -> tuple[list[Memory], list[str]]:
    """So many memories of the sets, and questions about them."""
    sets = [datasets.read(data / name).labelled for name in SETS]
    chosen = [memory for each in sets for memory in each.memories if len(memory.text) <= LONGEST][:memories]
    present = {memory.id for memory in chosen}
    about = [question.text for each in sets for question in each.questions if present & {*question.relevant}]
    return [replace(each, collection="main") for each in chosen], about[:: max(1, len(about) // questions)][:questions]


def first_ten(mind: Mind, recipe: str, question: str) -> list[tuple[str, float]]:
    found = mind.recall(question, k=10, recipe=recipe, **WITHOUT_MODELS.get(recipe, {}))
    return [(result.id, result.score) for result in found]


def compare(file: Mind, other: Mind, questions: Sequence[str], name: str) -> None:
    different: Counter[str] = Counter()
    for recipe in BUILT_IN:
        for question in questions:
            different[recipe] += first_ten(file, recipe, question) != first_ten(other, recipe, question)
    asked = len(questions) * len(BUILT_IN)
    same = 1 - different.total() / asked
    print(f"{name}: {same:.2%} of {asked} answers equal the file's, scores included", dict(+different), flush=True)


def compare_approximate(
    store: PostgresStore, approximate: PostgresStore, embedder: Any, questions: Sequence[str]
) -> None:
    with store.reading() as connection:
        active = active_space(connection)
        assert active is not None
        missing = missing_indexes(connection, active, 0)
    build_indexes(store.database, missing)
    overlap = []
    bound = Bound(collection="main")
    with store.within(bound).snapshot() as exact, approximate.within(bound).snapshot() as other:
        for vector in embedder.embed(list(questions), query=True):
            rows = []
            for snapshot in (exact, other):
                scope = snapshot.scope(None, ("active",), NOW)
                found = nearest(snapshot, vector / np.linalg.norm(vector), scope, 10)
                assert found.approximate is (snapshot is other)
                rows.append({*found.rows.tolist()})
            overlap.append(len(rows[0] & rows[1]) / len(rows[0]))
    print(f"HNSW: the nearest ten of {len(overlap)} questions overlap by {np.mean(overlap):.2%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HOME.parent.parent / "shared" / "data")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--reference", type=int, default=3, help="questions for the reference store; 0 leaves it out")
    options = parser.parse_args()
    cache = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench")) / "quality"
    cache.mkdir(parents=True, exist_ok=True)
    embedder = CachedLocalEmbedder(cache)
    memories, questions = read_some(options.data, options.memories, options.questions)
    with ExitStack() as stack:
        server = stack.enter_context(started())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-same-")))
        server.create_database("same")
        url = server.url("same", OWNER)
        stores: dict[str, Store] = {
            "file": SqliteStore(str(folder / "memory.db"), lambda: NOW),
            "PostgreSQL": PostgresStore(f"{url}&prepare=yes", lambda: NOW),
            "reference": ReferenceStore(lambda: NOW),
        }
        for store in stores.values():
            stack.callback(store.close)
        file, postgres, reference = (
            Mind(store=store, embedder=embedder, clock=lambda: NOW) for store in stores.values()
        )
        file.remember_many(memories)
        print(f"{len(memories):,} memories, {len(questions)} questions, {len(BUILT_IN)} recipes", flush=True)
        copy_store(stores["file"], stores["PostgreSQL"])
        server.execute("VACUUM ANALYZE", "same")
        approximate = PostgresStore(f"{url}&approximate=1000", lambda: NOW)
        stack.callback(approximate.close)
        exact = stores["PostgreSQL"]
        assert isinstance(exact, PostgresStore)
        compare_approximate(exact, approximate, embedder, questions)
        for at in range(0, len(questions), 10):
            compare(file, postgres, questions[at : at + 10], f"PostgreSQL, questions from {at}")
        if options.reference:
            copy_store(stores["file"], stores["reference"])
            compare(file, reference, questions[: options.reference], "reference")


if __name__ == "__main__":
    main()
