"""A mind with a shelf of cups, found in the order of their numbers: the shorter a text, the better its BM25."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from recollect import Mind, Recall, Recipe
from recollect.recall.default import default
from recollect.recall.recipe import Stage


@contextmanager
def shelf(cups: int, **options: Any) -> Iterator[Mind]:
    with Mind(":memory:", embedder=None, durability="fast", **options) as mind:
        mind.remember_many(
            [{"id": f"cup-{n:03}", "text": f"cup number{n}" + " filler" * n} for n in range(1, cups + 1)]
        )
        yield mind


def with_stages(*stages: Stage) -> Recipe:
    return default().but(stages=stages)


def numbers(recall: Recall) -> list[int]:
    return [int(result.memory.id.removeprefix("cup-")) for result in recall]


def number(text: str) -> int:
    return int(text.split()[1].removeprefix("number"))
