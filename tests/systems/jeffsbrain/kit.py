"""What the Jeffs Brain tests share: numbered cups whose order in both legs a test can set, and how to ask for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from recollect import Mind, Recall

RANK = [1 / (60 + rank + 1) for rank in range(200)]  # J1


class Order:
    """A model by which numbered cups lie the nearer to any question the earlier their number stands in a list."""

    name, dim = "toy-order", 2

    def __init__(self, *order: int) -> None:
        self.order = order
        self.asked: list[str] = []
        self.failing = False

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if self.failing:
            raise ConnectionError("the model is on holiday")
        if query:
            self.asked += texts
            return [[1.0, 0.0] for _ in texts]
        return [self._beside(text) for text in texts]

    def _beside(self, text: str) -> list[float]:
        said = re.search(r"number(\d+)", text)
        number = int(said.group(1)) if said else -1
        angle = 0.02 * (1 + self.order.index(number)) if number in self.order else 1.5
        return [math.cos(angle), math.sin(angle)]


class Backwards:
    """The last shall be first."""

    name = "backwards"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append(list(texts))
        return [float(at) for at in range(len(texts))]


def cup(number: int, **details: Any) -> dict[str, Any]:
    """Cups are found in the order of their numbers: the shorter a text, the better its BM25."""
    return {"id": f"cup-{number:03}", "text": f"cup number{number}" + " filler" * number, **details}


@contextmanager
def shelf(*memories: dict[str, Any] | str, embedder: Any = None, **options: Any) -> Iterator[Mind]:
    """A mind on a file of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with Mind(path, embedder=embedder, **{"durability": "fast", **options}) as mind:
            mind.remember_many(list(memories))
            yield mind


def ask(mind: Mind, query: str, k: int | None = None, **options: Any) -> Recall:
    """By Jeffs Brain, without a mark of use unless the test wants one."""
    return mind.recall(query, k, recipe="jeffsbrain", **{"track": False, **options})


def numbers(recall: Recall) -> list[int]:
    return [int(result.memory.id.removeprefix("cup-")) for result in recall]


def attempts(recall: Recall) -> list[tuple[str, str, int]]:
    return [(row["strategy"], row["query"], row["hits"]) for row in recall.trace.facts["attempts"]]


def same(score: float) -> Any:
    return pytest.approx(score, rel=1e-12)
