"""A memory in PostgreSQL gives the answers that the same memory in a file gives: for every recipe, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench import datasets
from bench.synthetic_data import TextGenerator
from recollect import Mind
from recollect.model import Memory
from recollect.recall.registry import BUILT_IN
from recollect.store.sqlite import SqliteStore
from recollect.upkeep.copying import copy_store
from tests.conftest import Clock
from tests.postgres.stores import EmptyStores

pytestmark = pytest.mark.contract("B24")
FOLDERS = [folder / "shared" / "data" for folder in Path(__file__).absolute().parents]
DATA = next((folder for folder in FOLDERS if folder.is_dir()), None)
WITHOUT_RERANKING: dict[str, dict[str, Any]] = {"qmd": {"reranker": None}, "jeffsbrain": {"rerank": False}}
needs_data = pytest.mark.skipif(DATA is None, reason="the labelled sets are not here: shared/data in a folder above")


def read_some(names: list[str], memories: int, questions: int) -> tuple[list[Memory], list[str]]:
    """So many memories of these sets, and questions about them."""
    assert DATA is not None
    sets = [datasets.read(DATA / name).labelled for name in names]
    chosen = [memory for each in sets for memory in each.memories][:memories]
    present = {memory.id for memory in chosen}
    about = [question.text for each in sets for question in each.questions if present & {*question.relevant}]
    return [replace(memory, collection="main") for memory in chosen], about[:: max(1, len(about) // questions)]


def compare(file: Mind, server: Mind, questions: list[str]) -> Iterator[tuple[str, str, list[Any], list[Any]]]:
    """Recipe, question, and the first ten with their scores, by file and by server."""
    for recipe in BUILT_IN:
        settings = WITHOUT_RERANKING.get(recipe, {})
        for question in questions:
            answers = [
                [(result.memory.id, result.score) for result in mind.recall(question, k=10, recipe=recipe, **settings)]
                for mind in (file, server)
            ]
            yield recipe, question, answers[0], answers[1]


def count_differences(
    empty_stores: EmptyStores, folder: Path, clock: Clock, memories: list[Memory], questions: list[str]
) -> tuple[int, list[tuple[str, str, list[Any], list[Any]]]]:
    source, server = SqliteStore(str(folder / "memory.db"), clock), empty_stores.open(clock)
    try:
        with Mind(store=source, embedder="local", clock=clock) as file:
            file.remember_many(memories)
            copy_store(source, server)
            with Mind(store=server, embedder="local", clock=clock) as other:
                found = list(compare(file, other, questions))
    finally:
        source.close()
        server.close()
    return len(found), [each for each in found if each[2] != each[3]]


def test_generated_memories_give_the_same_answers(empty_stores: EmptyStores, tmp_path: Path, clock: Clock) -> None:
    generator = TextGenerator(seed=11)
    texts = generator.texts(150)
    memories = [Memory(text, session=f"s{at // 10}", position=at, collection="main") for at, text in enumerate(texts)]
    questions = [each.text for each in generator.questions(5, texts, generator.vectors(len(texts)))]
    asked, different = count_differences(empty_stores, tmp_path, clock, memories, questions)
    assert asked == 5 * len(BUILT_IN)
    assert different == []


@needs_data
def test_all_recipes_give_the_same_first_ten_with_equal_scores(
    empty_stores: EmptyStores, tmp_path: Path, clock: Clock
) -> None:
    memories, questions = read_some(["locomo"], memories=200, questions=5)
    asked, different = count_differences(empty_stores, tmp_path, clock, memories, list(islice(questions, 5)))
    assert asked == 5 * len(BUILT_IN)
    assert different == []


@needs_data
@pytest.mark.slow
def test_ten_thousand_memories_give_the_same_answers(empty_stores: EmptyStores, tmp_path: Path, clock: Clock) -> None:
    sets = ["locomo", "realtalk", "lme_oracle_user", "cosqa_code"]
    memories, questions = read_some(sets, memories=10_000, questions=40)
    assert len(memories) == 10_000
    asked, different = count_differences(empty_stores, tmp_path, clock, memories, questions[:40])
    assert len(different) <= 0.001 * asked, different[0]
