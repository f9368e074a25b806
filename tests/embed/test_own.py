"""An embedder of one's own: what is asked of it, and what its answers are checked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recollect import Embedder, EmbeddingError
from recollect.embed import embed_texts


class Fixed:
    """Answers what it was told to."""

    name, dim = "fixed", 3

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, bool]] = []

    def embed(self, texts: Any, query: bool = False) -> Any:
        self.asked.append((texts, query))
        return self.answer


def test_the_example_in_the_docs_is_an_embedder() -> None:
    class Mine:
        name, dim = "mine-v1", 3

        def embed(self, texts: Any, query: bool = False) -> Any:
            return [[len(t), t.count("a"), t.count("e")] for t in texts]

    assert isinstance(Mine(), Embedder)
    assert embed_texts(Mine(), ["aaa"]).tolist() == [pytest.approx([1 / 2**0.5, 1 / 2**0.5, 0])]


def test_an_embedder_is_told_questions_from_memories() -> None:
    fixed = Fixed([[1, 0, 0]])
    embed_texts(fixed, ["a"], query=True)
    embed_texts(fixed, ["a"])
    assert fixed.asked == [(["a"], True), (["a"], False)]


@given(arrays(np.float32, (4, 3), elements=st.floats(-(2.0**50), 2.0**50, width=32)))
@settings(max_examples=100, deadline=None)
def test_vectors_come_out_at_unit_length_or_as_zeros(given_: Any) -> None:
    lengths = np.linalg.norm(embed_texts(Fixed(given_), ["a", "b", "c", "d"]), axis=1)
    for length, vector in zip(lengths, given_, strict=True):
        if np.abs(vector).max() > 1e-15 or not vector.any():
            assert length == pytest.approx(1.0 if vector.any() else 0.0, abs=1e-5)


@pytest.mark.parametrize("large", [1e20, 3e38])
def test_large_numbers_are_no_trouble(large: float) -> None:
    assert embed_texts(Fixed([[large, 0, 0]]), ["a"]).tolist() == [[1, 0, 0]]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ([[1, 0]], r"\(1, 2\)"),
        ([1, 0, 0], r"\(3,\)"),
        ([[1, 0, 0]] * 2, r"\(2, 3\)"),
        ([], r"\(0,\)"),
        ([[1, 0, float("nan")]], "NaN"),
        ([[1, 0, float("inf")]], "infinity"),
        ([["a", "b", "c"]], r"failed: .+[^.]\.$"),
        (None, "fixed"),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_clear_error(answer: Any, complaint: str) -> None:
    with pytest.raises(EmbeddingError, match=complaint):
        embed_texts(Fixed(answer), ["a"])
