"""What the abmind tests share: toy embedders, minds at noon, and the document's formulas written once more."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect import Mind, Recall

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)  # a Sunday
Open = Callable[..., Mind]
Details = dict[str, Any]


@contextmanager
def minds(folder: Path) -> Iterator[Open]:
    """``open(embedder)``: minds in files of their own, at noon of a Sunday, closed in the end."""
    opened: list[Mind] = []

    def open_mind(embedder: Any = None) -> Mind:
        path = folder / f"{len(opened)}.db"
        opened.append(Mind(path, embedder=embedder, clock=lambda: NOON, durability="fast"))
        return opened[-1]

    yield open_mind
    for mind in opened:
        mind.close()


class Meaning:
    """Each text lies at a given cosine from every question; at a right angle unless told otherwise."""

    name, dim = "toy-meaning", 2

    def __init__(self, **cosines: float) -> None:
        self.cosines = {text.replace("_", " "): cosine for text, cosine in cosines.items()}

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        angles = [1.0 if query else self.cosines.get(text, 0.0) for text in texts]
        return [[cosine, math.sqrt(1 - cosine**2)] for cosine in angles]


class Gate(Meaning):
    """Embeds a question only once the gate is opened."""

    def __init__(self, **cosines: float) -> None:
        super().__init__(**cosines)
        self.asked, self.opened = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if query:
            self.asked.set()
            assert self.opened.wait(30)
        return super().embed(texts, query)


def ask(mind: Mind, query: str, k: int | None = None, **settings: Any) -> Recall:
    return mind.recall(query, k, **{"recipe": "abmind", "track": False, "timezone": "UTC", **settings})


def texts(recall: Iterable[Any]) -> list[str]:
    return [result.text for result in recall]


def score(recall: Recall, text: str) -> float:
    (found,) = [result.score for result in recall if result.text == text]
    return found


def stage(recall: Recall, name: str) -> Details:
    (found,) = [step for step in recall.trace.as_dict()["steps"] if step["name"] == name]
    return dict(found)


def hits(recall: Recall) -> dict[str, int]:
    """What each stage was the first to find."""
    steps = recall.trace.as_dict()["steps"]
    return {
        step["name"]: step["detail"]["hits"] for step in steps if step["kind"] == "cue" and step["outcome"] == "ran"
    }


def note(folder: Path, name: str, text: str) -> None:
    """``note(folder, "weekly/weekly_2025-W10", "…")``."""
    path = folder / "consolidation" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def nodes(tree: Any) -> Iterator[Any]:
    yield tree
    for part in tree.parts:
        yield from nodes(part)


def bm25(query: str, text: str, corpus: Sequence[str]) -> float:
    """Σ ln(1 + (N − n + ½) / (n + ½)) × tf × 2.2 / (tf + 1.2 × (0.25 + 0.75 × length / average)), on bare words."""
    documents = [each.split() for each in corpus]
    average = sum(map(len, documents)) / len(documents)
    mine, result = text.split(), 0.0
    for word in query.split():
        having = sum(word in each for each in documents)
        idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        tf = mine.count(word)
        result += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(mine) / average))
    return result


def worth(
    words: float,
    memory: Details,
    recalls: int = 0,
    days: float = 365.0,
    floor: float = 0.3,
    boost: float = 0.1,
) -> float:
    """The document's formula, as it stands there."""
    emotion = abs(memory.get("emotion", 0.0))
    trust, credibility = memory.get("trust") or 0, memory.get("credibility")
    age = max(0.0, (NOON - datetime.fromisoformat(memory.get("created", NOON.isoformat()))).total_seconds() / 86400)
    value = (
        (words + 0.5 * math.log(1 + emotion))
        * (1 + 0.1 * recalls)
        * (1 + (0.2 if memory.get("relevance", 0.0) > 0 else 0.0))
        * (0.5 + 0.5 * (trust / 3))
        * (1.25 if credibility is not None and credibility <= 2 else 1.0)
        * (1.3 if memory.get("tier") == "core" else 1.0)
        * (max(floor, 1 - age / days) * (1 + emotion * boost))
    )
    return float(value)
