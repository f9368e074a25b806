"""Sketches: token vectors kept as signs, and how near what they tell is to the truth."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import Mind
from recollect.embed import TokenVectors, embed_with_sketches
from recollect.embed.local import LocalEmbedder, LocalEmbedderV2
from recollect.embed.token_sketch import MAX_TOKENS, sketch_tokens
from recollect.recall.similarity import token_similarity

Floats = NDArray[np.float32]


def directions(count: int, dim: int, seed: int = 0) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


class Given:
    """Texts are numbers: each is a token with a direction that was given."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors
        self.name, self.dim = "toy-given", vectors.shape[1]

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        numbers = [[int(word) for word in text.split()] for text in texts]
        whole = np.ones(self.dim, dtype=np.float32)
        return [TokenVectors(tuple(map(str, each)), self.vectors[each], whole) for each in numbers]

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        return [each.text_vector for each in self.token_vectors(texts)]


def told(vectors: Floats, texts: Sequence[str], question: Floats) -> Floats:
    """What a memory with these texts says of the likeness to the question's tokens."""
    with tempfile.TemporaryDirectory() as folder, Mind(Path(folder) / "memory.db", embedder=Given(vectors)) as mind:
        ids = mind.remember_many(texts).ids
        with mind.store.snapshot() as snapshot:
            rows = [snapshot.row(id) for id in ids]
            return token_similarity(question, snapshot.token_sketches(np.array(rows)))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), dim=st.sampled_from([96, 100, 384, 1023]), near=st.floats(0, 1))
def test_the_likeness_is_close_to_the_cosine(seed: int, dim: int, near: float) -> None:
    vectors = directions(12, dim, seed)
    mixed = near * vectors[::-1] + (1 - near) * directions(12, dim, seed + 1)
    question = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
    found = told(vectors, [str(n) for n in range(12)], question)
    off = found - vectors @ question.T
    assert np.abs(off).max() < 6 * np.sqrt(np.pi / 2 / dim)  # six times the spread for random directions
    assert abs(off.mean()) < 2 * np.sqrt(np.pi / 2 / dim)


def test_of_several_tokens_the_nearest_counts() -> None:
    vectors = directions(6, 384)
    one, other, both = told(vectors, ["0 1", "2 3", "0 1 2 3"], vectors[[0, 2]])
    assert one[0] > 0.8 > 0.4 > one[1]
    assert other[1] > 0.8 > 0.4 > other[0]
    assert both.tolist() == [one[0], other[1]]


def test_the_same_bits_in_whatever_company() -> None:
    vectors = directions(300, 384)
    question = directions(7, 384, seed=1)
    texts = [" ".join(str((7 * n + m) % 300) for m in range(n % 9 + 1)) for n in range(200)]
    with tempfile.TemporaryDirectory() as folder, Mind(Path(folder) / "memory.db", embedder=Given(vectors)) as mind:
        mind.remember_many(texts)
        with mind.store.snapshot() as snapshot:
            rows = np.arange(1, 201)
            together = token_similarity(question, snapshot.token_sketches(rows))
            for part in (rows[:1], rows[5:8], rows[::3], rows[::-1]):
                assert np.array_equal(token_similarity(question, snapshot.token_sketches(part)), together[part - 1])
            assert np.array_equal(token_similarity(question[2:3], snapshot.token_sketches(rows))[:, 0], together[:, 2])


def test_a_row_without_tokens_is_not_a_number(tmp_path: Path) -> None:
    vectors = directions(2, 40)
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("nothing known of it")
    with Mind(tmp_path / "memory.db", embedder=Given(vectors)) as mind, mind.store.snapshot() as snapshot:
        assert np.isnan(token_similarity(vectors, snapshot.token_sketches(np.array([1, 99, -1])))).all()


# What is kept of a text.


def tokens(*words: str, dim: int = 16) -> TokenVectors:
    vectors = directions(len(words), dim)
    return TokenVectors(words, vectors, np.zeros(dim, dtype=np.float32))


def test_a_token_is_one_bit_a_dimension() -> None:
    text = tokens("cup", "shelf", dim=384)
    kept = np.frombuffer(sketch_tokens(text), dtype=np.uint8).reshape(2, 48)
    assert np.array_equal(np.unpackbits(kept, axis=1), text.vectors > 0)


def test_stop_words_and_punctuation_are_left_out_unless_there_is_nothing_else() -> None:
    assert len(sketch_tokens(tokens("the", "cup", ",", "is", "!"))) == 2
    assert len(sketch_tokens(tokens("to", "be", "or", "not", "to", "be"))) == 6 * 2
    assert len(sketch_tokens(tokens("?", "!"))) == 2 * 2


def test_a_text_without_tokens_is_one_itself() -> None:
    assert len(sketch_tokens(tokens())) == 2
    ((vector, kept),) = embed_with_sketches(LocalEmbedder(), [""])
    assert np.isfinite(vector).all()
    assert kept == np.packbits(vector > 0).tobytes()


def test_a_memory_that_is_all_marks_and_signs_does_no_harm(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        for text in ("?!", "\u200b", "🎉🎉", "…"):
            mind.remember(text)
        mind.remember("a red cup")
        recall = mind.recall("where is the red cup?")
        assert mind.embed_missing() == 0
    assert recall[0].text == "a red cup"
    assert recall.trace.failures == []


@pytest.mark.parametrize("count", [MAX_TOKENS, MAX_TOKENS + 1, 200, 1000])
def test_of_a_long_text_so_many_tokens_are_kept(count: int) -> None:
    text = tokens(*(f"w{n}" for n in range(count)))
    assert len(sketch_tokens(text)) == MAX_TOKENS * 2
    assert sketch_tokens(text) == sketch_tokens(text)


def test_a_long_text_that_repeats_itself_says_nothing_else() -> None:
    (cup,) = directions(1, 16)
    text = TokenVectors(("cup",) * 200, np.tile(cup, (200, 1)), cup)
    kept = np.frombuffer(sketch_tokens(text), dtype=np.uint8).reshape(-1, 2)
    assert {row.tobytes() for row in kept} == {np.packbits(cup > 0).tobytes()}


def test_of_a_long_text_every_part_still_speaks() -> None:
    """Tokens are joined with those of like meaning: what the text has stays nearer than what it does not have."""
    kinds, others = directions(40, 384), directions(40, 384, seed=7)
    noise = 0.3 * directions(200, 384, seed=2)
    vectors = kinds[np.arange(200) % 40] + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    text = " ".join(map(str, range(200)))
    here, elsewhere = told(vectors.astype(np.float32), [text], kinds), told(vectors, [text], others)
    assert here.min() > 0.6
    assert elsewhere.max() < 0.4


def test_an_embedder_without_token_vectors_makes_no_sketches() -> None:
    class Plain:
        name, dim = "toy-plain", 2

        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            return [[1.0, len(text)] for text in texts]

    assert [kept for _, kept in embed_with_sketches(Plain(), ["a", "bb"])] == [b"", b""]
    assert embed_with_sketches(Plain(), []) == []


def test_many_texts_keep_each_their_own_sketch() -> None:
    vectors = directions(300, 24)
    made = embed_with_sketches(Given(vectors), [str(n) for n in range(300)])
    assert [kept for _, kept in made] == [np.packbits(each > 0).tobytes() for each in vectors]


# What the local model knows of itself.


@pytest.mark.parametrize("text", ["where is the cup?", "Où est la tasse, Zoë?", "42 ?!", "the 杯 on the shelf"])
def test_it_reads_latin_letters(text: str) -> None:
    assert LocalEmbedder().can_read(text)


@pytest.mark.parametrize("text", ["杯子在哪里", "cup 杯子在哪里呢"])
def test_it_reads_chinese_by_a_glossary(text: str) -> None:
    assert LocalEmbedder().can_read(text)
    assert not LocalEmbedderV2().can_read(text)


@pytest.mark.parametrize(
    "text", ["カップはどこ", "Где чашка?", "컵은 어디에", "cup コップはどこですか", "", "🚗", "?!"]
)
def test_it_does_not_read_others(text: str) -> None:
    assert not LocalEmbedder().can_read(text)


def test_it_knows_words_and_not_slips_of_the_keys() -> None:
    known = {word: LocalEmbedder().knows_word(word) for word in ("activities", "boat", "activitites", "zorble", "")}
    assert known == {"activities": True, "boat": True, "activitites": False, "zorble": False, "": False}
