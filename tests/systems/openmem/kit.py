"""What the OpenMem tests share: a mind for one example, asking without a mark of use, and the document's chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recollect import Explanation, Mind, Recall
from tests.conftest import Clock
from tests.recall.kit import nodes

SILENT = {"activation": 0.0, "recency": 0.0, "strength": 0.0, "confidence": 0.0}
ACTIVATION, RECENCY, STRENGTH = ({**SILENT, name: 1.0} for name in ("activation", "recency", "strength"))


@contextmanager
def fresh(clock: Clock | None = None) -> Iterator[Mind]:
    """A mind for one example of a property."""
    options: dict[str, Any] = {"embedder": None, "clock": clock or Clock(), "durability": "fast"}
    with TemporaryDirectory() as folder, Mind(Path(folder) / "memory.db", **options) as mind:
        yield mind


def ask(mind: Mind, query: str, k: int | None = None, **options: Any) -> Recall:
    """By OpenMem, without a mark of use unless the test wants one."""
    return mind.recall(query, k, recipe="openmem", **{"track": False, **options})


def scores(recall: Recall) -> dict[str, float]:
    return {result.memory.id: result.score for result in recall}


def activations(mind: Mind, query: str, k: int = 100, **options: Any) -> dict[str, float]:
    return scores(ask(mind, query, k, weights=ACTIVATION, **options))


def labels(tree: Explanation) -> list[str]:
    return [node.label for node in nodes(tree)]


def ten_words(cups: int) -> str:
    """A text of ten words, some of which are "cup": among texts of one length, 3 cups score 0.8 of 10."""
    return " ".join(["cup"] * cups + ["filler"] * (10 - cups))


def chain(mind: Mind) -> None:
    """The document's drawing: A, 0.80, then B over 0.6, then C over 0.5; the best hit stands beside it."""
    for id, cups in (("best", 10), ("A", 3), ("B", 0), ("C", 0)):
        mind.remember(ten_words(cups), id=id)
    mind.link("A", "B", "supports", 0.6)
    mind.link("B", "C", "mentions", 0.5)


def records(texts: Mapping[str, str], edges: Sequence[tuple[str, str, float]], kind: str = "supports") -> list[Any]:
    """Memories and edges for one import, in the order given."""
    memories = [{"text": text, "id": id} for id, text in texts.items()]
    return memories + [{"type": "edge", "source": a, "target": b, "kind": kind, "weight": w} for a, b, w in edges]


def rivals(mind: Mind, **second: Any) -> None:
    """Two memories of equal weight that could contradict each other."""
    mind.remember("the cup is red", id="first", strength=0.5)
    mind.remember("the cup is red", id="second", **{"strength": 0.5, **second})
