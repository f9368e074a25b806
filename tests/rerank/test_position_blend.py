"""Retrieval and a second opinion blended by position: the best keep most of what they had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Mind
from recollect.recall.expressions import leaf, product
from recollect.recall.hits import HitOperation, Hits, Rescore
from recollect.recall.run import Run
from recollect.recall.stages import RecencyFactor
from recollect.recall.stages.rerank import PositionBlend, Rerank
from tests.recall.kit import nodes, step

from .kit import Fixed, Liking
from .shelf import number, numbers, shelf, with_stages


class Marks:
    """A mark for each cup by its number, and a usual one for the others."""

    name = "marks"

    def __init__(self, marks: dict[int, float], usual: float = 0.0) -> None:
        self.marks, self.usual = marks, usual

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return [self.marks.get(number(text), self.usual) for text in texts]


def retrieval(mind: Mind, k: int) -> dict[int, float]:
    """What each cup has without the reranker, as a share of the best."""
    plain = mind.recall("cup", k, recipe=with_stages())
    return {int(result.memory.id[4:]): result.score / plain[0].score for result in plain}


@pytest.mark.contract("O21")
def test_the_weight_of_retrieval_falls_with_the_rank() -> None:
    with shelf(14) as mind:
        before = retrieval(mind, 14)
        marks = {n: n / 14 for n in range(1, 15)}
        recall = mind.recall("cup", 14, recipe=with_stages(PositionBlend(Marks(marks), over="itself")))
    scores = {int(result.memory.id[4:]): result.score for result in recall}
    for n, score in scores.items():
        weight = 0.75 if n <= 3 else 0.60 if n <= 10 else 0.40
        assert score == pytest.approx(weight * before[n] + (1 - weight) * marks[n])
    assert numbers(recall) == sorted(scores, key=lambda n: -scores[n])


@pytest.mark.contract("O21")
def test_a_first_place_is_not_lost_to_a_reranker_alone() -> None:
    """0.75 for its score and 0.25 × 0 are more than 0.40 of a poor score and 0.60 × 1."""
    with shelf(40) as mind:
        recall = mind.recall("cup", 40, recipe=with_stages(PositionBlend(Marks({30: 1.0}), retrieval="rank")))
    assert numbers(recall)[:2] == [1, 30]


@pytest.mark.contract("O21")
def test_with_ranks_for_scores_it_is_the_blend_of_qmd() -> None:
    with shelf(12) as mind:
        recall = mind.recall(
            "cup", 12, recipe=with_stages(PositionBlend(Marks({2: 0.5, 12: 1.0}), retrieval="rank", over="itself"))
        )
    scores = {int(result.memory.id[4:]): result.score for result in recall}
    assert scores[1] == 0.75
    assert scores[2] == pytest.approx(0.75 / 2 + 0.25 * 0.5)
    assert scores[4] == pytest.approx(0.60 / 4)
    assert scores[12] == pytest.approx(0.40 / 12 + 0.60)


@pytest.mark.contract("O21", "B2")
def test_the_tree_of_a_score_names_its_parts_and_gives_it_bit_for_bit() -> None:
    with shelf(8) as mind:
        recall = mind.recall(
            "cup", recipe=with_stages(PositionBlend(Liking("number7", "number2"), head=7), RecencyFactor())
        )
    for result in recall:
        assert result.why.evaluate() == result.score
    labels = [node.label for node in nodes(recall.why("cup-007"))]
    for part in ("blend by position", "weight of retrieval at rank 7", "weight of the reranker at rank 7", "÷ best"):
        assert part in labels
    assert "the reranker's score" in labels
    assert "below the head: not reranked" in [node.label for node in nodes(recall.why("cup-008"))]
    assert step(recall, "position blend")["detail"]["scores"] == [0, 1, 0, 0, 0, 0, 2]


@pytest.mark.contract("O21")
def test_the_tail_stays_below_the_head_in_its_order() -> None:
    with shelf(60) as mind:
        recall = mind.recall("cup", 60, recipe=with_stages(PositionBlend(Marks({40: 1.0, 41: 1.0, 60: 1.0}))))
    assert sorted(numbers(recall)[:40]) == list(range(1, 41))
    assert numbers(recall)[40:] == list(range(41, 61))
    scores = [result.score for result in recall]
    assert scores == sorted(scores, reverse=True)


@given(
    marks=st.lists(st.floats(-1e300, 1e300), min_size=9, max_size=9),
    head=st.integers(1, 12),
    shares=st.tuples(*[st.floats(0, 1)] * 3),
    by=st.sampled_from(["score", "rank"]),
    reranked=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_marks_and_weights_every_tree_evaluates_and_the_tail_is_last(
    cups: Mind, marks: list[float], head: int, shares: tuple[float, float, float], by: Any, reranked: bool
) -> None:
    weights = ((2, shares[0]), (5, shares[1]), (None, shares[2]))
    blend = PositionBlend(Marks(dict(enumerate(marks, 1))), head=head, weights=weights, retrieval=by)
    first = [Rerank(Marks({9: 1.0}), head=9)] if reranked else []
    before = numbers(cups.recall("cup", recipe=with_stages(*first), track=False))
    recall = cups.recall("cup", recipe=with_stages(*first, blend), track=False)
    assert recall.trace.failures == []
    assert numbers(recall)[head:] == before[head:]
    assert all(result.why.evaluate() == result.score for result in recall)
    reordered = [result.score for result in recall][:head]
    assert reordered == sorted(reordered, reverse=True)


@pytest.fixture(scope="module")
def cups() -> Any:
    with shelf(9) as mind:
        yield mind


def test_equal_marks_leave_the_order_to_retrieval() -> None:
    with shelf(5) as mind:
        recall = mind.recall("cup", recipe=with_stages(PositionBlend(Marks({}, usual=0.3))))
    assert numbers(recall) == [1, 2, 3, 4, 5]
    assert recall[0].score == 1.0


class Halved:
    """Halves the score of what comes first."""

    name = "halved"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        factor = np.where(np.arange(len(hits)) == 0, 0.5, 1.0)
        return [Rescore(product("halved", hits.score, leaf(factor, "first?")))]


def test_scores_decide_so_a_later_stage_may_still_reorder() -> None:
    with shelf(5) as mind:
        recall = mind.recall("cup", recipe=with_stages(PositionBlend(Marks({1: 1.0})), Halved()))
    scores = [result.score for result in recall]
    assert (numbers(recall)[0], scores) == (2, sorted(scores, reverse=True))


def test_asking_for_fewer_or_more_results_does_not_change_the_first() -> None:
    recipe = with_stages(PositionBlend(Marks({38: 1.0, 7: 0.7})))
    with shelf(130) as mind:
        most = mind.recall("cup", 130, recipe=recipe)
        for k in (1, 5, 40, 41, 101):
            fewer = mind.recall("cup", k, recipe=recipe)
            assert [(r.memory.id, r.score) for r in fewer] == [(r.memory.id, r.score) for r in most[:k]]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(RuntimeError("gone"), "gone"), ([0.5, 2.0, 0.1], "over='itself' needs 0 to 1"), ([0.5], "1 scores for 3")],
)
def test_a_reranker_that_fails_leaves_scores_and_order(answer: Any, reason: str) -> None:
    with shelf(3) as mind:
        plain = mind.recall("cup", recipe=with_stages())
        recall = mind.recall("cup", recipe=with_stages(PositionBlend(Fixed(answer), over="itself")))
    assert [(r.memory.id, r.score) for r in recall] == [(r.memory.id, r.score) for r in plain]
    assert reason in recall.trace.failures[0].reason


def test_marks_too_far_apart_to_compare_are_a_failure() -> None:
    with shelf(2) as mind:
        recall = mind.recall("cup", recipe=with_stages(PositionBlend(Fixed([-1.7e308, 1.7e308]))))
    assert "too large to be normalised" in recall.trace.failures[0].reason
    assert np.isfinite([result.score for result in recall]).all()


def test_without_a_reranker_it_is_skipped() -> None:
    with shelf(2) as mind:
        recall = mind.recall("cup", recipe=with_stages(PositionBlend(None)))
    assert step(recall, "position blend")["reason"] == "there is no reranker"


@pytest.mark.parametrize(
    "weights", [(), ((3, 0.5),), ((None, 0.5), (3, 0.5)), ((3, 1.5), (None, 0.5)), ((None, -1.0),)]
)
def test_weights_that_make_no_sense_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidInput, match="weights"):
        PositionBlend(None, weights=weights)
