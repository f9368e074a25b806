"""A reranker of one's own: what is asked of it, and what its answers are checked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, RecollectError
from recollect.rerank import (
    LateInteraction,
    RerankDocument,
    Reranker,
    RerankError,
    rerank_documents,
    rerank_texts,
    resolve_reranker,
)

from .kit import Fixed, Liking


def test_the_example_in_the_docs_is_a_reranker() -> None:
    class Shortest:
        name = "shortest first"

        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            return [-len(text) for text in texts]

    assert isinstance(Shortest(), Reranker)
    assert rerank_texts(Shortest(), "q", ["aaa", "b"]).tolist() == [-3.0, -1.0]


def test_a_reranker_gets_the_question_and_all_texts_at_once() -> None:
    liking = Liking("red")
    scores = rerank_texts(liking, "which?", ["a red cup", "a blue cup"])
    assert scores.dtype == np.float64
    assert liking.asked == [("which?", ["a red cup", "a blue cup"])]


def test_a_reranker_may_ask_for_the_ids_beside_the_texts() -> None:
    class Known:
        name = "known scores"

        def rerank_documents(self, query: str, documents: Sequence[RerankDocument]) -> list[float]:
            return [{"a": 1.0, "b": 2.0}[document.id] for document in documents]

    known = Known()
    assert resolve_reranker(known) is known
    documents = [RerankDocument("b", "x"), RerankDocument("a", "y")]
    assert rerank_documents(known, "q", documents).tolist() == [2.0, 1.0]
    assert rerank_documents(Liking("y"), "q", documents).tolist() == rerank_texts(Liking("y"), "q", ["x", "y"]).tolist()
    with pytest.raises(RerankError, match="known scores"):
        rerank_documents(known, "q", [RerankDocument("c", "z")])


def test_no_texts_need_no_opinion() -> None:
    assert rerank_texts(Fixed(RuntimeError("must not be asked")), "q", []).shape == (0,)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ([1.0], "returned 1 scores for 2 texts"),
        ([], "returned 0 scores for 2 texts"),
        ([1, 2, 3], "returned 3 scores for 2 texts"),
        ([[1], [2]], r"\(2, 1\)"),
        (None, r"shape \(\)"),
        ([1.0, float("nan")], "NaN"),
        ([1.0, None], "NaN"),
        ([float("-inf"), 1.0], "infinite"),
        (["good", "bad"], "failed"),
        ({"0": 1.0}, "failed"),
        (ConnectionError("the model is on holiday"), "failed: the model is on holiday"),
        (TimeoutError(), "failed: TimeoutError"),
        (InvalidInput("the reranker's own"), "failed: the reranker's own"),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_clear_error(answer: Any, complaint: str) -> None:
    with pytest.raises(RerankError, match=complaint) as refusal:
        rerank_texts(Fixed(answer), "q", ["a", "b"])
    assert "'fixed'" in str(refusal.value)
    assert isinstance(refusal.value, RecollectError)
    assert not isinstance(refusal.value, InvalidInput)  # else it would end the recall


def test_a_name_none_or_an_object_becomes_a_reranker() -> None:
    liking = Liking()
    assert resolve_reranker(None) is None
    assert resolve_reranker(liking) is liking
    assert isinstance(resolve_reranker("late"), LateInteraction)


@pytest.mark.parametrize("given", ["cohere", 3, object(), Liking, lambda query, texts: []])
def test_what_is_no_reranker_is_a_clear_error(given: Any) -> None:
    with pytest.raises(InvalidInput, match="reranker must be"):
        resolve_reranker(given)
