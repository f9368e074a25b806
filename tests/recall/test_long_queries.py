"""Queries of 200 KB: answered in bounded time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind
from recollect.model.limits import changed_limits

SIZE = 200_000  # characters
QUERIES = {
    "letters": "x" * SIZE,
    "digits": "7" * SIZE,
    "spaces and words": "the cup   " * (SIZE // 10),
    "different words": " ".join(f"word{number}" for number in range(SIZE // 9)),
    "Chinese": "我昨天在北京买了一个红色的杯子" * (SIZE // 15),
    "time words": "last " * (SIZE // 5),
    "German compounds": "Donaudampfschifffahrtsgesellschaft und die Krankenhausverwaltung ist " * (SIZE // 70),
    "identifiers": " ".join(f"OPS-{number}" for number in range(SIZE // 9)),
    "questions": "What is it? " * (SIZE // 12),
}


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    path: Path = tmp_path_factory.mktemp("long") / "memory.db"
    with changed_limits(query_bytes=1_000_000), Mind(path) as mind:
        mind.remember_many(
            [f"Cup {number} is in Krankenhaus {number}: word{number}, OPS-{number}." for number in range(200)]
        )
        for warm in ("where is the cup?", "wo ist das Krankenhaus und die Tasse?", "红色的杯子在哪里"):
            mind.recall(warm)
        yield mind


@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_of_200_kb_is_answered(mind: Mind, kind: str) -> None:
    assert len(mind.recall(QUERIES[kind], track=False)) == 10


def test_the_trace_says_how_many_words_were_not_looked_up(mind: Mind) -> None:
    step = next(step for step in mind.recall(QUERIES["different words"]).trace.steps if step.name == "ContentWords")
    assert step.detail["words not looked up"] > 1000


def test_a_memory_is_not_said_to_have_every_word_when_some_were_not_looked_up(tmp_path: Path) -> None:
    known = " ".join(f"word{number}" for number in range(1100))
    with Mind(tmp_path / "memory.db", embedder=None) as mind, changed_limits(query_bytes=1_000_000):
        mind.remember(known)
        step = next(step for step in mind.recall(known, recipe="openclaw").trace.steps if step.name == "words")
        assert step.detail["with all words"] == 0
        first = known[: known.index("word400")]
        step = next(step for step in mind.recall(first, recipe="openclaw").trace.steps if step.name == "words")
        assert step.detail["with all words"] == 1
