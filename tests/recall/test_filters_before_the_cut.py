"""Filters select before the cut, in every cue: with seven matching memories among a thousand, seven come (B3, R2)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Embedder, Filter, Mind, Near
from recollect.model.filter import FilterExpression
from recollect.recall.results import Recall

from .kit import BAG, NOON, open_mind

pytestmark = pytest.mark.contract("B3", "R2")

NAMES = ("collection", "user", "agent", "session", "speaker", "role", "kind", "topic", "tier", "source")
QUERY = "blue cup on the top shelf"
FEW = 7
LOW = {"n": -1, "side": "low", "at": {"place": [0, 0]}}
MIDDLE = {"n": 5, "side": "rest", "at": {"place": [10, 0]}}
HIGH = {"n": 10, "side": "rest", "at": {"place": [100, 0]}}


def group(name: str, size: int, text: str, **details: Any) -> list[dict[str, Any]]:
    named = dict.fromkeys(NAMES, name)
    return [{"text": text, "id": f"{name}-{n}", **named, **details} for n in range(size)]


RECORDS = [
    *group(
        "low",
        FEW,
        "somewhere among a great many other words there is also a cup",
        status="superseded",
        tags=["low"],
        path="low/notes.md",
        classification=0,
        confidence=0.1,
        created=NOON - timedelta(days=900),
        context=LOW,
    ),
    *group(
        "middle",
        1000,
        QUERY,
        tags=["middle", "rest"],
        path="rest/middle.md",
        classification=5,
        confidence=0.5,
        created=NOON - timedelta(days=500),
        context=MIDDLE,
    ),
    *group(
        "high",
        FEW,
        "far above all of the things that we know of stands a single cup",
        status="contradicted",
        tags=["high", "rest"],
        path="rest/high.md",
        classification=9,
        confidence=0.9,
        created=NOON - timedelta(days=100),
        context=HIGH,
    ),
]

EARLY, LATE = NOON - timedelta(days=700), NOON - timedelta(days=300)
CASES: dict[str, tuple[FilterExpression, str]] = {
    **{name: (Filter(**{name: "low"}), "low") for name in NAMES},  # type: ignore[arg-type]
    **{f"not {name}": (~Filter(**{name: ["middle", "high"]}), "low") for name in NAMES},  # type: ignore[arg-type]
    "status": (Filter(status="superseded"), "low"),
    "not status": (~Filter(status=["active", "contradicted"]), "low"),
    "tags": (Filter(tags=["low"]), "low"),
    "several tags": (Filter(tags=["rest", "high"]), "high"),
    "not tags": (~Filter(tags=["rest"]), "low"),
    "file": (Filter(path="low/notes.md"), "low"),
    "folder": (Filter(path="low/"), "low"),
    "not folder": (~Filter(path="rest/"), "low"),
    "classification": (Filter(classification=0), "low"),
    "not classification": (~Filter(classification=5), "high"),
    "min_confidence": (Filter(min_confidence=0.9), "high"),
    "not min_confidence": (~Filter(min_confidence=0.5), "low"),
    "confidence_decay": (Filter(min_confidence=0.5, confidence_decay=0.999), "high"),
    "not confidence_decay": (~Filter(min_confidence=0.2, confidence_decay=0.999), "low"),
    "since": (Filter(since=LATE), "high"),
    "not since": (~Filter(since=EARLY), "low"),
    "until": (Filter(until=EARLY), "low"),
    "not until": (~Filter(until=LATE), "high"),
    "context": (Filter(context={"side": "low"}), "low"),
    "not context": (~Filter(context={"side": "rest"}), "low"),
    "$lt": (Filter(context={"n": {"$lt": 5}}), "low"),
    "not $lt": (~Filter(context={"n": {"$lt": 10}}), "high"),
    "$lte": (Filter(context={"n": {"$lte": -1}}), "low"),
    "not $lte": (~Filter(context={"n": {"$lte": 5}}), "high"),
    "$gt": (Filter(context={"n": {"$gt": 5}}), "high"),
    "not $gt": (~Filter(context={"n": {"$gt": -1}}), "low"),
    "$gte": (Filter(context={"n": {"$gte": 10}}), "high"),
    "not $gte": (~Filter(context={"n": {"$gte": 5}}), "low"),
    "$ne": (Filter(context={"side": {"$ne": "rest"}}), "low"),
    "not $ne": (~Filter(context={"side": {"$ne": "low"}}), "low"),
    "$in": (Filter(context={"n": {"$in": [-1, 0]}}), "low"),
    "not $in": (~Filter(context={"n": {"$in": [5, 10]}}), "low"),
    "$contains": (Filter(context={"side": {"$contains": "ow"}}), "low"),
    "$contains in a list": (Filter(context={"at.place": {"$contains": 100}}), "high"),
    "$exists": (Filter(context={"at.place": {"$exists": True}, "n": {"$lt": 5}}), "low"),
    "$or": (Filter(context={"$or": [{"n": -1}, {"side": "low"}]}), "low"),
    "or": (Filter(session="low") | Filter(tags=["low"]), "low"),
    "not or": (~(Filter(session="middle") | Filter(tags=["high"])), "low"),
    "near": (Filter(near=Near("at.place", [0, 0], 9.9)), "low"),
    "not near": (~Filter(near=Near("at.place", [0, 0], 10)), "high"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filters") / "memory.db"
    with open_mind(path) as mind:
        mind.remember_many(RECORDS)
    return path


@pytest.fixture(scope="module", params=[BAG, None], ids=["words and vectors", "words alone"])
def mind(request: pytest.FixtureRequest, path: Path) -> Mind:
    embedder: Embedder | None = request.param
    return open_mind(path, embedder)


def came(recall: Recall) -> list[str]:
    return [result.memory.session for result in recall]


def test_without_a_filter_the_crowd_comes_first(mind: Mind) -> None:
    """What the cases below rely on: unfiltered, none of the seven is anywhere near the top."""
    assert set(came(mind.recall(QUERY, 500, track=False))) == {"middle"}


@pytest.mark.parametrize("name", CASES)
def test_as_many_as_match_come_back(mind: Mind, name: str) -> None:
    filter, expected = CASES[name]
    assert came(mind.recall(QUERY, 5, filter=filter, track=False)) == [expected] * 5
    assert came(mind.recall(QUERY, 20, filter=filter, track=False)) == [expected] * FEW


@pytest.mark.parametrize("name", CASES)
def test_as_many_as_match_come_back_for_a_typo(mind: Mind, name: str) -> None:
    filter, expected = CASES[name]
    assert came(mind.recall("cuup", 20, filter=filter, track=False)) == [expected] * FEW


@pytest.mark.parametrize("name", CASES)
def test_one_filter_and_another_select_before_the_cut(mind: Mind, name: str) -> None:
    filter, expected = CASES[name]
    both = filter & ~Filter(speaker="middle") & Filter(context={"n": {"$ne": 5}})
    assert came(mind.recall(QUERY, 20, filter=both, track=False)) == [expected] * FEW


def test_a_filter_as_a_mapping_says_the_same(mind: Mind) -> None:
    said = {
        "path": "rest/",
        "not": {"tags": ["middle"]},
        "near": {"field": "at.place", "target": [100, 1], "within": 1},
    }
    assert came(mind.recall(QUERY, 20, filter=said, track=False)) == ["high"] * FEW


def test_a_mind_bound_to_a_collection_recalls_from_it_alone(path: Path) -> None:
    with open_mind(path, collection="low") as mind:
        assert came(mind.recall(QUERY, 20, track=False)) == ["low"] * FEW
        assert came(mind.recall(QUERY, 20, filter=Filter(collection="high"), track=False)) == []


def test_a_memory_without_a_word_of_the_question_is_found_behind_a_filter_by_its_vector(path: Path) -> None:
    with open_mind(path) as mind:
        assert came(mind.recall("zebra", 20, filter=Filter(user="low"), track=False)) == ["low"] * FEW


def test_a_typo_finds_what_the_filter_lets_through_though_others_have_likelier_words(tmp_path: Path) -> None:
    """Which known words a typo may stand for is decided among those that may come back."""
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember("the gripper is worn", user="ada")
        mind.remember_many({"text": f"griper{letter}", "user": "bob"} for letter in "abcdefgh")
        recall = mind.recall("griper", filter=Filter(user="ada"))
    assert [result.text for result in recall] == ["the gripper is worn"], str(recall.trace)


def test_a_typo_is_mended_behind_a_filter_though_someone_else_wrote_it_that_way(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        mind.remember("the gripper is worn", user="ada")
        mind.remember("the griper is worn", user="bob")
        recall = mind.recall("griper", filter=Filter(user="ada"))
    assert [result.text for result in recall] == ["the gripper is worn"], str(recall.trace)
