"""The trace: every step of a recall with its time, its counts, and the reason when it did not run (B2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Filter, InvalidInput
from recollect.recall.registry import get_recipe

from .kit import Moody, open_mind, step

pytestmark = pytest.mark.contract("B2")
CUPS = ["a red cup", "a blue cup", "a door"]


def test_the_trace_has_every_step_in_order_with_its_time(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        trace = mind.recall("where is the cup?", k=2).trace
    recipe = get_recipe("default")
    assert [(each.kind, each.name) for each in trace.steps] == [
        ("filter", "scope"),
        *(("read", type(reading).__name__) for reading in recipe.read),
        ("cue", "time"),
        ("cue", "words"),
        ("cue", "trigrams"),
        ("cue", "vectors"),
        ("cue", "history"),
        ("cue", "tokens"),
        ("fuse", "blend"),
        *(("stage", stage.name) for stage in recipe.stages),
        ("cut", "best 2"),
        ("judge", "confidence"),
        ("fetch", "memories"),
        ("after", "record use"),
    ]
    assert all(each.milliseconds > 0 for each in trace.steps)
    assert sum(each.milliseconds for each in trace.steps) <= trace.milliseconds


def test_counts_say_how_many_came_in_and_went_out(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many([*CUPS, {"text": "a cup of bob", "user": "bob"}])
        recall = mind.recall("cup", k=1, filter=Filter(user=""))
    counts = {each["name"]: (each.get("in"), each.get("out")) for each in recall.trace.as_dict()["steps"]}
    assert counts["scope"][1] == 3
    assert counts["words"] == (2, 2)
    assert counts["vectors"] == (3, 3)
    assert counts["blend"] == (5, 3)
    assert counts["recency"] == (3, 3)
    assert counts["best 1"] == (3, 1)
    assert counts["memories"][1] == 1


def test_what_was_read_out_of_the_question_is_told(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("where is the cupp?")
    assert step(recall, "ContentWords")["detail"] == {"words": "cupp", "stop words dropped": "where, is, the"}
    assert step(recall, "words")["detail"] == {"terms": {"cupp": 0}}
    assert "cup" in step(recall, "trigrams")["detail"]["instead"]
    assert step(recall, "blend")["detail"]["mode"] == "trigrams + vectors"


def test_skipped_steps_say_why(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("cup")
    for name, reason in {
        "trigrams": "every word has a match",
        "vectors": "there is no embedder",
        "status": "all candidates are active",
    }.items():
        assert (step(recall, name)["outcome"], step(recall, name)["reason"]) == ("skipped", reason)
    assert recall.trace.failures == []


def test_a_question_without_words_skips_the_words_and_says_so(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("?!")
    assert len(recall) == 0
    assert step(recall, "words")["reason"] == "the query has no words to look up"
    assert step(recall, "blend")["detail"]["mode"] == "nothing found"
    assert recall.trace.failures == []


@pytest.mark.contract("R16")
def test_a_failed_step_says_how_it_failed(tmp_path: Path) -> None:
    moody = Moody()
    with open_mind(tmp_path / "memory.db", moody) as mind:
        mind.remember_many(CUPS)
        moody.failing = True
        recall = mind.recall("cup")
    (failure,) = recall.trace.failures
    assert failure.name == "vectors"
    assert "holiday" in failure.reason
    assert step(recall, "blend")["detail"]["mode"] == "words"


def test_an_empty_memory_is_no_failure(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        recall = mind.recall("cup")
    assert len(recall) == 0
    assert recall.trace.failures == [], str(recall.trace)


def test_a_memory_without_any_vector_is_no_failure(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember_many(CUPS)
    with open_mind(tmp_path / "memory.db") as mind:
        recall = mind.recall("cup")
    assert len(recall) == 2
    assert recall.trace.failures == [], str(recall.trace)
    assert step(recall, "vectors")["reason"] == "no memory here has a vector"


def test_a_trace_without_tracking_has_no_after(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        trace = mind.recall("cup", track=False).trace
    assert "after" not in [each.kind for each in trace.steps]


def test_a_trace_is_plain_data_and_reads_as_lines(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("cupp of tea", filter=Filter(kind="memory"))
        version = mind.status().store.version
    said = json.loads(json.dumps(recall.trace.as_dict()))
    assert (said["query"], said["recipe"], said["version"]) == ("cupp of tea", "default", version)
    assert len(str(recall.trace).splitlines()) == len(said["steps"]) + 1


@pytest.mark.parametrize("verb", ["recall", "compare", "why", "why_not", "context", "relate"])
def test_an_argument_that_a_verb_does_not_have_is_an_error_that_names_it(tmp_path: Path, verb: str) -> None:
    arguments = {
        "compare": ("cup", "default"),
        "why": ("cup", "id"),
        "why_not": ("cup", "id"),
        "relate": ("a", "b", "c"),
    }
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("a cup", id="id")
        with pytest.raises(InvalidInput, match=r"colour|EntityEdge"):
            getattr(mind, verb)(*arguments.get(verb, ("cup",)), colour="red")
