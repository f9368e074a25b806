"""What recall and remembering cost in processor time, beside embedding the same texts alone, and in bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.datasets import Dataset
from recollect.embed.local import LocalEmbedder
from recollect.evaluation import open_runner
from recollect.mind import Mind
from recollect.recall.recipe import Recipe

QUESTIONS, DOCUMENTS = 40, 200


def recalls(path: Path, set_: Dataset, recipes: Mapping[str, Recipe]) -> dict[str, float]:
    """Median milliseconds a question, embedding included, in turn; "embedding" is that alone."""
    questions = _some(set_.labelled.answerable, QUESTIONS)
    embedder = LocalEmbedder()
    taken: dict[str, list[float]] = {name: [] for name in ("embedding", *recipes)}
    with open_runner(path, embedder) as asker:
        for recipe in recipes.values():
            asker.recall(questions[0], recipe)  # reads the file
        for question in questions:
            taken["embedding"].append(_cpu(lambda: embedder.embed([question.text], query=True)))  # noqa: B023
            for name, recipe in recipes.items():
                taken[name].append(_cpu(lambda: asker.recall(question, recipe)))  # noqa: B023
    return {name: round(median(all_) * 1e3, 3) for name, all_ in taken.items()}


def writes(set_: Dataset, folder: Path) -> dict[str, float]:
    """Milliseconds a memory: remembering some in one call, and embedding their texts alone."""
    memories = _some(set_.labelled.memories, DOCUMENTS)
    embedder = LocalEmbedder()
    embedder.embed(["warm"])
    alone = _cpu(lambda: embedder.embed([memory.text for memory in memories]))
    with Mind(folder / "writes.db", embedder=embedder) as mind:
        whole = _cpu(lambda: mind.remember_many(memories))
    return {"embedding": round(alone / len(memories) * 1e3, 3), "remembering": round(whole / len(memories) * 1e3, 3)}


def size(path: Path, set_: Dataset) -> dict[str, int]:
    """Bytes a memory: all of the file, its text, and what there is beside text and vector."""
    count = len(set_.labelled.memories)
    whole = path.stat().st_size / count
    text = sum(len(each.text.encode()) for each in set_.labelled.memories) / count
    return {"file": round(whole), "text": round(text), "beyond": round(whole - text - 2 * LocalEmbedder.dim)}


def _some(every: Any, most: int) -> list[Any]:
    return list(every) if len(every) <= most else random.Random(5).sample(list(every), most)


def _cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
