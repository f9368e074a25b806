"""Generated memories and queries: Zipf-like words, natural stop words, unit vectors, all from one seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
DIM = 384
VOCABULARY = 30_000
WORDS = 40  # in a text, on average
CONTENT = 0.55  # the share of words that are no stop words
SHIFT, STOP_SHIFT = 20, 3  # p(rank) ~ 1 / (rank + shift): "the" is in 4 texts of 5, the first content word in 1 of 8
STOP = (
    "the and to of a i in it that is was for on you with he she they at my we this had his her be as but are not have "
    "from so by or me were an there their our been all them just if about out then when what would did some up more "
    "has do who where how why no him"
).split()
SYLLABLES = [c + v + e for c in "b d f g k l m n p r s t v br st tr".split() for v in "aeiou" for e in ("", "", "n")]
ENDINGS = ("s", "ed", "ing")
FRAMES = (
    "what did they do with the {} and {}",
    "where was {} when we had the {}",
    "who is it that {} from {}",
    "why are they not at the {} of {}",
    "how was the {} for her and {}",
)


@dataclass(frozen=True, slots=True)
class BenchQuery:
    """A question, the content words in it, and its vector."""

    text: str
    words: tuple[str, ...]
    vector: Vectors


class TextGenerator:
    """Generates texts and queries about them."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._numpy = np.random.default_rng(seed)
        self.words = self._vocabulary()
        self._weights = list(accumulate(1 / (rank + SHIFT) for rank in range(1, VOCABULARY + 1)))
        self._stops = list(accumulate(1 / (rank + STOP_SHIFT) for rank in range(1, len(STOP) + 1)))

    def _vocabulary(self) -> list[str]:
        """Half of the words are inflections of more frequent ones, so that stems meet as they do in English."""
        chosen: dict[str, None] = {}
        bases: list[str] = []
        while len(chosen) < VOCABULARY:
            if bases and self._random.random() < 0.5:
                chosen[self._random.choice(bases[-200:]) + self._random.choice(ENDINGS)] = None
            else:
                bases.append("".join(self._random.choices(SYLLABLES, k=self._random.choice((2, 2, 3)))))
                chosen[bases[-1]] = None
        return list(chosen)

    def texts(self, count: int) -> list[str]:
        return [self._text() for _ in range(count)]

    def _text(self) -> str:
        """A sentence as agents note them: commas, now and then an identifier or a dash that is not ASCII."""
        length = max(8, round(self._random.gauss(WORDS, 6)))
        content = self._random.choices(self.words, cum_weights=self._weights, k=length)
        stops = self._random.choices(STOP, cum_weights=self._stops, k=length)
        said = [a if self._random.random() < CONTENT else b for a, b in zip(content, stops, strict=True)]
        for mark, often in ((",", 0.9), (" —", 0.1), (content[0].capitalize(), 0.1)):  # the last makes camelCase
            if self._random.random() < often:
                said[self._random.randrange(length - 1)] += mark
        text = " ".join(said)
        return f"{text[0].upper()}{text[1:]}."

    def vectors(self, count: int) -> Vectors:
        return unit(self._numpy.standard_normal((count, DIM), dtype=np.float32))

    def questions(self, count: int, texts: Sequence[str], vectors: Vectors) -> list[BenchQuery]:
        """Each asks about one text, in 3 to 6 of its content words."""
        return [self._question(self._random.randrange(len(texts)), texts, vectors) for _ in range(count)]

    def _question(self, about: int, texts: Sequence[str], vectors: Vectors) -> BenchQuery:
        content = list(dict.fromkeys(w for w in re.findall(r"\w+", texts[about].lower()) if w not in STOP))
        chosen = self._random.sample(content, min(len(content), self._random.randint(3, 6)))
        half = (len(chosen) + 1) // 2
        text = self._random.choice(FRAMES).format(" ".join(chosen[:half]), " ".join(chosen[half:]))
        near = vectors[about : about + 1] + 0.8 * self.vectors(1)
        return BenchQuery(text.capitalize() + "?", tuple(chosen), unit(near)[0])


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


class PrecomputedEmbedder:
    """An embedder without cost: all vectors are computed beforehand."""

    name, dim = "bench", DIM

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._places = {text: place for place, text in enumerate(texts)}
        self._vectors = vectors
        self._asked: dict[str, Vectors] = {}

    def know(self, questions: Sequence[BenchQuery]) -> None:
        self._asked.update((each.text, each.vector) for each in questions)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        if query:
            return np.stack([self._asked[text] for text in texts])
        return self._vectors[[self._places[text] for text in texts]]
