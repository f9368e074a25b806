"""When the embedder is slow, fails, or is not there: the words answer, and the trace says why."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from recollect import Embedder, EmbeddingError, InvalidInput, Mind

from .kit import BAG, Moody, ids, open_mind, step, texts

CUPS = ["a red cup", "a blue cup", "a door"]


@pytest.fixture
def moody() -> Moody:
    return Moody()


@pytest.mark.contract("J15")
def test_a_slow_embedder_leaves_the_answer_to_the_words_within_the_deadline(tmp_path: Path, moody: Moody) -> None:
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember_many(CUPS)
        moody.seconds = 3.0
        start = time.perf_counter()
        recall = mind.recall("red cup", deadline=0.1)
        assert time.perf_counter() - start < 2.5, "it waited for the embedder"
    assert texts(recall) == ["a red cup", "a blue cup"]
    assert step(recall, "vectors")["outcome"] == "skipped"
    assert "deadline" in step(recall, "vectors")["reason"]
    assert step(recall, "blend")["detail"]["mode"] == "words"
    assert all(result.why.evaluate() == result.score for result in recall)


@pytest.mark.contract("J15")
def test_a_deadline_of_nothing_still_gives_a_sound_answer(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("red cup", deadline=0)
    assert set(texts(recall)) <= set(CUPS)
    late = [each for each in recall.trace.steps if "deadline" in each.reason]
    assert [each.name for each in late if each.kind == "cue"] == [
        "time",
        "words",
        "trigrams",
        "vectors",
        "history",
        "tokens",
    ]
    assert all(each.outcome == "skipped" for each in late)


def test_a_deadline_that_is_far_away_changes_nothing(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        without = [(r.memory.id, r.score) for r in mind.recall("red cup")]
        assert [(r.memory.id, r.score) for r in mind.recall("red cup", deadline=60)] == without


@pytest.mark.parametrize("deadline", [-1, float("nan"), "soon"])
def test_a_deadline_is_a_number_of_seconds(tmp_path: Path, deadline: Any) -> None:
    with open_mind(tmp_path / "memory.db") as mind, pytest.raises(InvalidInput, match="deadline"):
        mind.recall("cup", deadline=deadline)


@pytest.mark.contract("R7", "R16")
def test_an_embedder_that_fails_at_the_question_leaves_the_answer_to_the_words(tmp_path: Path, moody: Moody) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, moody) as mind:
        mind.remember_many(CUPS)
        moody.failing = True
        recall = mind.recall("red cup", track=False)
    assert [(each.name, "holiday" in each.reason) for each in recall.trace.failures] == [("vectors", True)]
    assert step(recall, "tokens")["outcome"] == "skipped"
    with open_mind(path, None) as mind:
        alone = mind.recall("red cup", track=False)
    assert [(r.memory.id, r.score) for r in recall] == [(r.memory.id, r.score) for r in alone]


@pytest.mark.contract("R16")
def test_an_embedder_that_fails_is_not_asked_again_in_the_same_recall(tmp_path: Path, moody: Moody) -> None:
    """Two cues want the question's vectors; a service that is down is waited for once."""
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember_many(CUPS)
        moody.failing = True
        before = moody.asked
        mind.recall("red cup", track=False)
        assert moody.asked == before + 1
        mind.recall("red cup", track=False)
        assert moody.asked == before + 2, "the next recall tries again"


class Crooked:
    """Answers with something that is no set of vectors."""

    name, dim = "toy-bag", 16

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed(self, texts: Any, query: bool = False) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [None, [], [[1.0] * 15], [[1.0] * 16] * 2, [[float("nan")] * 16], [[float("inf")] * 16], [["x"] * 16], "vectors"],
    ids=["none", "empty", "too short", "too many", "nan", "infinite", "text", "string"],
)
def test_an_answer_that_is_no_vector_is_a_failure_of_that_cue_alone(tmp_path: Path, answer: Any) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path) as mind:
        mind.remember_many(CUPS)
    with open_mind(path, Crooked(answer)) as mind:
        recall = mind.recall("red cup")
    assert len(recall) == 2
    assert [each.name for each in recall.trace.failures] == ["vectors"]
    assert "toy-bag" in recall.trace.failures[0].reason


@pytest.mark.contract("R7")
def test_no_embedder_is_a_mode_and_not_an_error(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("red cup")
        assert mind.status().embedder is None
    assert texts(recall) == ["a red cup", "a blue cup"]
    assert recall.trace.failures == []
    assert step(recall, "blend")["detail"]["mode"] == "words"


@pytest.mark.contract("R7")
def test_the_mode_reported_is_the_mode_that_ran(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        modes = {query: step(mind.recall(query), "blend")["detail"]["mode"] for query in ("cup", "cuup", "?!")}
    assert modes == {"cup": "words + vectors", "cuup": "trigrams + vectors", "?!": "vectors"}


def test_a_memory_kept_while_the_embedder_failed_is_found_by_words_and_mended_later(
    tmp_path: Path, moody: Moody
) -> None:
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember("a red cup", id="whole")
        moody.failing = True
        mind.remember("a blue cup", id="bare")
        moody.failing = False
        assert mind.status().store.without_vector == 1
        recall = mind.recall("blue cup", track=False)
        assert set(ids(recall)) == {"bare", "whole"}
        assert "it has no vector" in str(recall.why("bare"))
        assert ids(mind.recall("zebra", track=False)) == ["whole"]

        assert mind.embed_missing() == 1
        assert mind.embed_missing() == 0
        assert mind.status().store.without_vector == 0
        assert set(ids(mind.recall("zebra", track=False))) == {"whole", "bare"}
        assert "it has no vector" not in str(mind.why("blue cup", "bare"))


def test_an_edit_while_the_embedder_fails_leaves_no_stale_vector(tmp_path: Path, moody: Moody) -> None:
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember("zebra", id="edited")
        mind.remember("door", id="other")
        moody.failing = True
        mind.edit("edited", text="giraffe")
        moody.failing = False
        assert ids(mind.recall("zebra")) == ["other"]
        assert mind.embed_missing() == 1
        assert ids(mind.recall("giraffe"))[0] == "edited"


def test_making_up_for_missing_vectors_needs_an_embedder(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind, pytest.raises(EmbeddingError, match="no embedder"):
        mind.embed_missing()


@pytest.mark.parametrize("embedder", ["remote", 3, object(), Moody])
def test_what_is_no_embedder_is_a_clear_error(tmp_path: Path, embedder: Any) -> None:
    with pytest.raises(InvalidInput, match="embedder"):
        Mind(tmp_path / "memory.db", embedder=embedder)


def test_a_class_with_name_dim_and_embed_is_an_embedder() -> None:
    assert isinstance(BAG, Embedder)
