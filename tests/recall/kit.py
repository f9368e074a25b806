"""What the recall tests share: toy embedders, a clock that stands still, and a mind to try them on."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect import Embedder, Explanation, Mind, Recall
from recollect.embed import TokenVectors

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
APRIL_FIRST = datetime(2025, 4, 1, tzinfo=UTC)


class Bag:
    """Words hashed into 16 numbers: texts that share words lie near each other."""

    name, dim = "toy-bag", 16

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        vectors = [[0.0] * self.dim for _ in texts]
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                vector[crc32(word.encode()) % self.dim] += 1.0
        return vectors


class Scatter:
    """A random direction for every text, as wide as a real model's: equal texts tie, others hardly ever do."""

    name, dim = "toy-scatter", 384

    def embed(self, texts: Sequence[str], query: bool = False) -> list[Any]:
        return [np.random.default_rng(crc32(text.encode())).standard_normal(self.dim) for text in texts]


class Woven:
    """A random direction for every token, one for words of one meaning; a text is its tokens and their sum.

    Long words come in pieces, as a model's do. 100 dimensions: no whole number of bytes, when only the signs are kept.
    """

    name, dim = "toy-woven", 100
    alike: ClassVar = {"mug": "cup", "purchased": "bought", "cellar": "basement"}

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        made = []
        for text in texts:
            tokens = tuple(token for word in re.findall(r"\w+|[^\w\s]", text.lower()) for token in self.pieces(word))
            vectors = np.zeros((len(tokens), self.dim), dtype=np.float32)
            for at, token in enumerate(tokens):
                vectors[at] = self.direction(self.alike.get(token, token))
            made.append(TokenVectors(tokens, vectors, vectors.sum(axis=0)))
        return made

    def embed(self, texts: Sequence[str], query: bool = False) -> list[Any]:
        return [each.text_vector for each in self.token_vectors(texts)]

    def pieces(self, word: str) -> list[str]:
        if len(word) < 10:
            return [word]
        return [word[:3], *("##" + word[at : at + 3] for at in range(3, len(word), 3))]

    def direction(self, word: str) -> NDArray[np.float32]:
        vector = np.random.default_rng(crc32(word.encode())).standard_normal(self.dim)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class Moody(Bag):
    """A Bag that fails, or takes its time, when told to."""

    failing = False
    seconds = 0.0
    asked = 0  # times

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        self.asked += 1
        time.sleep(self.seconds)
        if self.failing:
            raise ConnectionError("the model is on holiday")
        return super().embed(texts, query)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


BAG = Bag()
WOVEN = Woven()


def open_mind(path: Path, embedder: Embedder | None = BAG, **options: Any) -> Mind:
    """A mind that lives at noon, with a toy embedder unless told otherwise."""
    return Mind(path, **{"clock": Clock(), "durability": "fast", "embedder": embedder, **options})


def ids(recall: Recall) -> list[str]:
    return [result.memory.id for result in recall]


def texts(recall: Recall) -> list[str]:
    return [result.text for result in recall]


def nodes(tree: Explanation) -> Iterator[Explanation]:
    """The tree's nodes, top down."""
    yield tree
    for part in tree.parts:
        yield from nodes(part)


def step(recall: Recall, name: str) -> dict[str, Any]:
    """The one step of the trace with this name, as a user reads it."""
    (found,) = [each for each in recall.trace.as_dict()["steps"] if each["name"] == name]
    return dict(found)


def told(recall: Recall) -> bytes:
    """Everything that a recall says, but how long it took, and the version, which differs from file to file."""
    trace = copy.deepcopy(recall.trace.as_dict())
    del trace["milliseconds"], trace["version"]
    for each in trace["steps"]:
        del each["milliseconds"]
    results = [[r.rank, r.score, r.memory.id, r.text, r.why.as_dict()] for r in recall]
    return json.dumps({"trace": trace, "results": results}, ensure_ascii=False).encode()
