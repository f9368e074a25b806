"""Reranking as a stage of a recall: the head is reordered, the tail is not, and trouble leaves the order as it was."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from recollect import InvalidInput, Memory, Mind
from recollect.recall.hits import HitOperation, Hits
from recollect.recall.run import Run
from recollect.recall.stages import RecencyFactor
from recollect.recall.stages.rerank import Rerank, rerank_text
from recollect.rerank import ChatReranker, HttpReranker
from tests.recall.kit import step, texts

from .kit import Fixed, Liking, Reply, Request, service
from .shelf import number, numbers, shelf, with_stages


class Backwards:
    """The last shall be first."""

    name = "backwards"
    seconds = 0.0

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append(list(texts))
        time.sleep(self.seconds)
        return [float(at) for at in range(len(texts))]


@pytest.mark.contract("J5", "J3")
def test_the_head_is_reordered_and_the_tail_follows_unchanged() -> None:
    with shelf(30) as mind:
        assert numbers(mind.recall("cup", 30, recipe=with_stages())) == list(range(1, 31))
        recall = mind.recall("cup", 30, recipe=with_stages(Rerank(Backwards())))
    assert numbers(recall) == [*range(20, 0, -1), *range(21, 31)]


@pytest.mark.contract("J5")
def test_only_the_head_is_sent_to_the_reranker() -> None:
    backwards = Backwards()
    with shelf(30) as mind:
        mind.recall("cup", 30, recipe=with_stages(Rerank(backwards, head=4)))
    assert [[number(text) for text in asked] for asked in backwards.asked] == [[1, 2, 3, 4]]


@pytest.mark.contract("J5")
def test_a_list_shorter_than_the_head_is_reranked_as_a_whole() -> None:
    with shelf(3) as mind:
        assert numbers(mind.recall("cup", recipe=with_stages(Rerank(Backwards())))) == [3, 2, 1]


@pytest.mark.contract("J5", "B2")
def test_scores_stay_and_the_rerankers_own_are_remarks_and_in_the_trace() -> None:
    with shelf(5) as mind:
        plain = {result.memory.id: result.score for result in mind.recall("cup", recipe=with_stages())}
        recall = mind.recall("cup", recipe=with_stages(Rerank(Backwards(), head=3)))
    assert {result.memory.id: result.score for result in recall} == plain
    assert all(result.why.evaluate() == result.score for result in recall)
    assert recall[0].notes == ("reranked from 3 to 1: 2.0000 by backwards",)
    assert recall[3].notes == ()
    assert step(recall, "rerank")["detail"] == {"reranker": "backwards", "head": 3, "scores": [2.0, 1.0, 0.0]}


def test_equal_scores_keep_the_fused_order() -> None:
    with shelf(6) as mind:
        recall = mind.recall("cup", recipe=with_stages(Rerank(Liking("number4"))))
    assert numbers(recall) == [4, 1, 2, 3, 5, 6]


def test_asking_for_fewer_or_more_results_does_not_change_the_first() -> None:
    recipe = with_stages(Rerank(Backwards()))
    with shelf(150) as mind:
        most = numbers(mind.recall("cup", 150, recipe=recipe))
        assert len(most) == 150
        for k in (1, 5, 20, 21, 100, 101):
            assert numbers(mind.recall("cup", k, recipe=recipe)) == most[:k]


def test_a_later_stage_changes_scores_and_not_the_order() -> None:
    with shelf(5) as mind:
        recall = mind.recall("cup", recipe=with_stages(Rerank(Backwards()), RecencyFactor(share=0.5)))
    assert numbers(recall) == [5, 4, 3, 2, 1]


@pytest.mark.contract("J6")
@pytest.mark.parametrize(
    ("memory", "text"),
    [
        (Memory("body", title="Title", summary="Summary"), "Title\nSummary"),
        (Memory("body", title="Title"), "Title"),
        (Memory("body", summary="Summary"), "Summary"),
        (Memory("body", title=" ", summary="\n"), "body"),
        (Memory("  body\n"), "body"),
        (Memory("x" * 281), "x" * 280),
        (Memory("x" * 280), "x" * 280),
        (Memory("x" * 400, title="t" * 400), "t" * 400),
    ],
)
def test_a_reranker_reads_title_and_summary_or_what_there_is(memory: Memory, text: str) -> None:
    assert rerank_text(memory) == text


def test_another_text_may_be_read() -> None:
    liking = Liking()
    with shelf(2) as mind:
        mind.recall("cup", recipe=with_stages(Rerank(liking, text=lambda memory: memory.id)))
    assert liking.asked == [("cup", ["cup-001", "cup-002"])]


def test_without_a_reranker_the_stage_is_skipped_and_says_so() -> None:
    with shelf(3) as mind:
        recall = mind.recall("cup", recipe=with_stages(Rerank(None)))
    assert numbers(recall) == [1, 2, 3]
    assert (step(recall, "rerank")["outcome"], step(recall, "rerank")["reason"]) == ("skipped", "there is no reranker")


def test_nothing_found_asks_nobody() -> None:
    backwards = Backwards()
    with shelf(3) as mind:
        assert len(mind.recall("zebra", recipe=with_stages(Rerank(backwards)))) == 0
    assert backwards.asked == []


@pytest.mark.contract("J5")
@pytest.mark.parametrize(
    "answer",
    [[1.0], [1.0, 2.0, float("nan")], None, "scores", RuntimeError("out of order"), InvalidInput("not by me")],
    ids=["too few", "nan", "none", "text", "raises", "raises ours"],
)
def test_a_reranker_that_fails_leaves_the_fused_order_and_the_trace_says_so(answer: Any) -> None:
    with shelf(3) as mind:
        recall = mind.recall("cup", recipe=with_stages(Rerank(Fixed(answer))))
    assert numbers(recall) == [1, 2, 3]
    assert all(result.notes == () for result in recall)
    (failure,) = recall.trace.failures
    assert (failure.name, "Reranker 'fixed'" in failure.reason) == ("rerank", True)


@pytest.mark.contract("J15", "J5")
def test_a_slow_reranker_leaves_the_fused_order_within_the_deadline() -> None:
    backwards = Backwards()
    backwards.seconds = 1.0
    with shelf(3) as mind:
        start = time.perf_counter()
        recall = mind.recall("cup", recipe=with_stages(Rerank(backwards)), deadline=0.2)
        assert time.perf_counter() - start < 0.8
    assert numbers(recall) == [1, 2, 3]
    assert step(recall, "rerank")["outcome"] == "skipped"
    assert step(recall, "rerank")["reason"] == "the deadline passed while the head was reranked"


@pytest.mark.contract("J15")
def test_a_reranker_is_not_asked_once_the_deadline_has_passed() -> None:
    backwards = Backwards()
    with shelf(3) as mind:
        mind.recall("cup", recipe=with_stages(Rerank(backwards)), deadline=0)
    assert backwards.asked == []


def test_a_deadline_that_is_far_away_changes_nothing() -> None:
    with shelf(3) as mind:
        assert numbers(mind.recall("cup", recipe=with_stages(Rerank(Backwards())), deadline=60)) == [3, 2, 1]


class Impatient:
    """A stage whose work has a time limit of its own."""

    name = "impatient"

    def apply(self, run: Run, hits: Hits) -> Sequence[HitOperation]:
        def give_up() -> Sequence[HitOperation]:
            raise TimeoutError("my own")

        return run.within_deadline(give_up, "it worked")


@pytest.mark.parametrize("deadline", [None, 60])
def test_a_time_limit_of_the_work_itself_is_not_taken_for_the_deadline(deadline: float | None) -> None:
    with shelf(3) as mind:
        recall = mind.recall("cup", recipe=with_stages(Impatient()), deadline=deadline)
    assert [failure.reason for failure in recall.trace.failures] == ["TimeoutError: my own"]


def test_a_reranker_that_hangs_does_not_keep_the_program_alive() -> None:
    program = """
import time
from recollect import Mind
from recollect.recall.stages.rerank import Rerank
from recollect.recall.default import default

class Hanging:
    name = "hanging"
    def rerank(self, query, texts):
        time.sleep(3600)

with Mind(":memory:", embedder=None) as mind:
    mind.remember("a red cup")
    recall = mind.recall("cup", recipe=default().but(stages=[Rerank(Hanging())]), deadline=0.1)
    print(recall[0].text)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "a red cup\n"


def test_a_service_reorders_a_recall() -> None:
    def answer(request: Request) -> Reply:
        scores = [float("peanut" in text) for text in request.body["documents"]]
        return Reply.of({"results": [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]})

    with service(answer) as there, Mind(":memory:", embedder=None) as mind:
        mind.remember_many(
            ["Anna eats nuts.", "Nuts and bolts.", "No nuts for Ben: a peanut allergy, the doctor says."]
        )
        recall = mind.recall("nuts", recipe=with_stages(Rerank(HttpReranker(there.url, "rerank-v3.5"))))
    assert texts(recall)[0].startswith("No nuts for Ben")
    assert there.requests[0].body["query"] == "nuts"


@pytest.mark.parametrize("kind", [HttpReranker, ChatReranker])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(b"overloaded", status=500), "answered 500"),
        (Reply(b"<html>"), "not return JSON"),
        (Reply(hangs=True), "did not answer"),
    ],
    ids=["500", "garbage", "hangs"],
)
def test_a_service_in_trouble_leaves_the_fused_order_and_the_trace_names_it(
    kind: Any, reply: Reply, reason: str
) -> None:
    with service(lambda request: reply) as there, shelf(3) as mind:
        recall = mind.recall(
            "cup", recipe=with_stages(Rerank(kind(there.url, "m", timeout=0.2 if reply.hangs else 10)))
        )
    assert numbers(recall) == [1, 2, 3]
    (failure,) = recall.trace.failures
    assert reason in failure.reason
    assert there.url in failure.reason


@pytest.mark.contract("J15")
def test_a_service_that_hangs_does_not_hold_up_a_recall_with_a_deadline() -> None:
    with service(lambda request: Reply(hangs=True)) as there, shelf(3) as mind:
        start = time.perf_counter()
        recall = mind.recall("cup", recipe=with_stages(Rerank(HttpReranker(there.url, timeout=2))), deadline=0.2)
        assert time.perf_counter() - start < 1.5
    assert numbers(recall) == [1, 2, 3]
    assert "deadline" in step(recall, "rerank")["reason"]


@pytest.mark.parametrize("reranker", ["cohere", 3, Backwards])
def test_what_is_no_reranker_is_refused_when_the_recipe_is_made(reranker: Any) -> None:
    with pytest.raises(InvalidInput, match="reranker must be"):
        Rerank(reranker)


def test_an_empty_head_is_refused_when_the_recipe_is_made() -> None:
    with pytest.raises(InvalidInput, match="head must be at least 1"):
        Rerank(None, head=0)
