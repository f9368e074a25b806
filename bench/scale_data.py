"""A million natural memories without a million embeddings: parts of real texts, and mixtures of their vectors.

Each memory is a part of one real text followed by a sentence of another one. Its vector is that of the first text plus
0.4 of the difference of two others, scaled to unit length (a cosine of about .87 to the first): vectors spread like
those of the texts, in as many dimensions. Its token sketch has tokens of both texts. Questions are real ones with
vectors of the local model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.memory_files import CachedLocalEmbedder
from bench.synthetic_data import Vectors, unit
from recollect import Memory
from recollect.embed.base import TokenVectors
from recollect.embed.token_sketch import sketch_tokens

SETS = (
    "locomo realtalk beam100k beam500k lme_oracle_user realmem everyday_en_a everyday_en_b vehiclemem scifact".split()
)
TEXTS, QUESTIONS = 12_000, 600  # at most
LONGEST = 1200  # characters of a text that is used
WORDS = 32, 16  # at most, of the first text and of the second
TOKENS = 20, 8  # of their sketches
TOKEN_BYTES = 48
BATCH = 10_000
BEGINNING = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NaturalTexts:
    """Real texts and questions with their vectors."""

    sentences: list[list[str]]  # of each text
    vectors: Vectors
    sketches: list[bytes]
    questions: dict[str, TokenVectors]

    def batch(self, first: int, size: int = BATCH) -> tuple[list[Memory], Vectors, list[bytes]]:
        """Memories from a number on, which a batch begins with, and their vectors and sketches."""
        one, other, _, starts = self._drawn(first)
        memories = [self._memory(first + at, int(one[at]), int(other[at]), starts[at].tolist()) for at in range(size)]
        return memories, self.batch_vectors(first)[:size], self.batch_sketches(one[:size], other[:size])

    def batch_sketches(self, one: NDArray[Any], other: NDArray[Any]) -> list[bytes]:
        return [
            self.sketches[a][: TOKENS[0] * TOKEN_BYTES] + self.sketches[b][: TOKENS[1] * TOKEN_BYTES]
            for a, b in zip(one.tolist(), other.tolist(), strict=True)
        ]

    def batch_vectors(self, first: int) -> Vectors:
        one, other, third, _ = self._drawn(first)
        return unit(self.vectors[one] + np.float32(0.4) * (self.vectors[other] - self.vectors[third]))

    def _drawn(self, first: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """The three texts of each memory of a batch, and where its two parts begin. Ten in a row are a session."""
        chance = np.random.default_rng(first)
        one, other, third = (chance.integers(0, len(self.sentences), BATCH) for _ in range(3))
        one = (one[np.arange(BATCH) // 10 * 10] + np.arange(BATCH) % 10) % len(self.sentences)
        return one, other, third, chance.random((BATCH, 2))

    def _memory(self, number: int, one: int, other: int, starts: Sequence[float]) -> Memory:
        parts = []
        for text, start, words in zip((one, other), starts, WORDS, strict=True):
            sentences = self.sentences[text]
            parts += " ".join(sentences[int(start * len(sentences)) :]).split()[:words]
        return Memory(
            text=" ".join(parts),
            id=f"n{number}",
            created=BEGINNING + timedelta(seconds=20 * number),
            session=f"session {number // 10}",
            position=number % 10,
            user=f"user {number // 10 % 100}",
            topic=f"topic {number % 10}",
            tags=("even",) if number % 2 == 0 else (),
            context={"room": number % 100},
        )


class QuestionEmbedder:
    """An embedder without cost that knows the vectors of some questions."""

    name, dim = "scale", 384

    def __init__(self, questions: Mapping[str, TokenVectors]) -> None:
        self._questions = questions

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        return np.stack([self._questions[text].text_vector for text in texts])


class QuestionTokenEmbedder(QuestionEmbedder):
    """The same with the vectors of their tokens."""

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [self._questions[text] for text in texts]


class BatchEmbedder(QuestionTokenEmbedder):
    """Knows the vectors and sketches of the memories that are written next, too."""

    _batch: Mapping[str, tuple[Vectors, bytes]] = {}

    def know(self, memories: Sequence[Memory], vectors: Vectors, sketches: Sequence[bytes]) -> None:
        texts = (memory.text for memory in memories)
        self._batch = {text: (vector, sketch) for text, vector, sketch in zip(texts, vectors, sketches, strict=True)}

    def embed_with_sketches(self, texts: Sequence[str]) -> list[tuple[Vectors, bytes]]:
        return [self._batch[text] for text in texts]


def read_natural_texts(data: Path, cache: Path) -> NaturalTexts:
    """Texts and questions of the sets in a folder, with vectors of the local model, which are cached."""
    if not data.is_dir():
        raise SystemExit(f"There is no folder {data} with labelled sets: name one by --data.")
    texts = [text for text in _texts(data, "corpus.jsonl") if 20 <= len(text) <= LONGEST]
    questions = _texts(data, "queries.jsonl")
    chance = np.random.default_rng(1)
    texts, questions = (
        [all_[at] for at in sorted(chance.permutation(len(all_))[:most].tolist())]
        for all_, most in ((texts, TEXTS), (questions, QUESTIONS))
    )
    (cache / "quality").mkdir(exist_ok=True)
    embedder = CachedLocalEmbedder(cache / "quality")
    embedded = [each for at in range(0, len(texts), 256) for each in embedder.token_vectors(texts[at : at + 256])]
    tokens = zip(questions, embedder.token_vectors(questions), strict=True)
    asked = {text: _unit_tokens(each) for text, each in tokens}
    sentences = [re.split(r"(?<=[.!?])\s+", text) for text in texts]
    vectors = unit(np.stack([each.text_vector for each in embedded]))
    return NaturalTexts(sentences, vectors, [sketch_tokens(each) for each in embedded], asked)


def _unit_tokens(text: TokenVectors) -> TokenVectors:
    return TokenVectors(text.tokens, text.vectors, unit(text.text_vector[None])[0])


def _texts(data: Path, file: str) -> list[str]:
    """The distinct texts of the sets, in their order."""
    found: dict[str, None] = {}
    for name in SETS:
        if (data / name / file).exists():
            with (data / name / file).open() as lines:
                found.update((json.loads(line)["text"].strip(), None) for line in lines)
    return [text for text in found if text]
