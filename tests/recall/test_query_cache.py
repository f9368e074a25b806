"""The query cache: the same answer again, until a write, or time, would change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, InvalidInput, Mind, Recall
from recollect.recall.query_cache import QueryCache
from recollect.recall.registry import get_recipe

from ..conftest import Clock
from .kit import BAG, Moody, texts


@pytest.fixture
def cached(path: Path, clock: Clock) -> Iterator[Mind]:
    with Mind(path, embedder=BAG, clock=clock, query_cache=QueryCache()) as mind:
        mind.remember_many(["a red cup", "a blue cup", "a green door"])
        yield mind


def from_cache(recall: Recall) -> bool:
    return recall.trace.steps[0].kind == "cache"


def scores(recall: Recall) -> list[tuple[str, float]]:
    return [(result.memory.id, result.score) for result in recall]


def test_the_same_question_gets_the_same_answer_from_the_cache(cached: Mind, path: Path, clock: Clock) -> None:
    first, again = cached.recall("red cup"), cached.recall("red cup")
    assert (from_cache(first), from_cache(again)) == (False, True)
    assert scores(again) == scores(first)
    with Mind(path, embedder=BAG, clock=clock) as plain:
        assert scores(plain.recall("red cup")) == scores(again)


def test_a_cached_answer_explains_itself(cached: Mind) -> None:
    cached.recall("red cup", k=1)
    again = cached.recall("red cup", k=1)
    door = next(memory.id for memory in cached.list() if "door" in memory.text)
    assert from_cache(again)
    assert again[0].why.evaluate() == again[0].score
    assert again.why(again[0].memory.id).value == again[0].score
    assert again.why_not(door).step == "best 1"
    assert "cache" in str(again.trace)
    assert again.trace.as_dict()["steps"][0] == {
        "kind": "cache",
        "name": "query",
        "outcome": "ran",
        "milliseconds": 0.0,
        "detail": {"seconds ago": 0.0},
    }


def test_the_model_is_not_asked_again(path: Path) -> None:
    moody = Moody()
    with Mind(path, embedder=moody, query_cache=QueryCache()) as mind:
        mind.remember("a red cup")
        mind.recall("cup")
        moody.failing = True
        assert mind.recall("cup").trace.failures == []


@pytest.mark.parametrize(
    "write",
    [
        lambda mind, id: mind.remember("another red cup"),
        lambda mind, id: mind.edit(id, text="a red lamp"),
        lambda mind, id: mind.edit(id, tags=["new"]),
        lambda mind, id: mind.forget(id),
        lambda mind, id: mind.undo(),
        lambda mind, id: mind.link(id, next(each.id for each in mind.list() if each.id != id)),
        lambda mind, id: mind.relate("anna", "owns", "cup"),
        lambda mind, id: mind.supersede(id, "a red mug"),
    ],
    ids="remember edit tags forget undo link relate supersede".split(),
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_nothing_is_stale_after_a_write(cached: Mind, path: Path, clock: Clock, write: Any, elsewhere: bool) -> None:
    id = cached.recall("red cup")[0].memory.id
    with Mind(path, embedder=BAG, clock=clock) as other:
        write(other if elsewhere else cached, id)
        again = cached.recall("red cup")
        assert not from_cache(again)
        assert scores(again) == scores(other.recall("red cup"))


@pytest.mark.parametrize(
    "changed",
    [
        {"k": 1},
        {"recipe": "openclaw"},
        {"filter": Filter(tags=["x"])},
        {"filter": {"context": {"done": 1}}},
        {"filter": {"context": {"done": True}}},
        {"as_of": "2024-01-01"},
        {"recipe": "openclaw", "min_score": 0.1},
        {"recipe": get_recipe("openmem")},
    ],
    ids=["k", "recipe", "tags", "a number", "a truth", "as_of", "a setting", "a recipe of one's own"],
)
def test_another_question_gets_an_answer_of_its_own(cached: Mind, changed: dict[str, Any]) -> None:
    for other in ({}, {"recipe": "openclaw", "min_score": 0.2}, {"filter": {"context": {"done": 1.0}}}):
        cached.recall("red cup", **other)
    assert not from_cache(cached.recall("red cup", **changed))
    assert not from_cache(cached.recall("red cups"))


def test_a_setting_that_cannot_be_compared_is_answered_without_the_cache(cached: Mind) -> None:
    asked: dict[str, Any] = {"filter": {"context": {"done": {"$in": {1, 2}}}}}
    for _ in range(2):
        with pytest.raises(InvalidInput):
            cached.recall("red cup", **asked)


def test_bad_input_is_refused_with_a_cache_too(cached: Mind) -> None:
    cached.recall("cup")
    for wrong in ({"k": 0}, {"recipe": "none"}, {"deadline": -1.0}):
        with pytest.raises(InvalidInput):
            cached.recall("cup", **wrong)


def test_an_answer_is_marked_as_used_each_time_it_is_given(cached: Mind) -> None:
    for count in (1, 2, 3):
        recall = cached.recall("red cup", k=1)
        assert from_cache(recall) == (count > 1)
        assert recall[0].memory.use.access_count == count - 1
        assert cached.show(recall[0].memory.id).use.access_count == count
    cached.recall("red cup", k=1, track=False)
    assert cached.show(recall[0].memory.id).use.access_count == 3


def test_scores_into_which_use_goes_are_never_kept(cached: Mind) -> None:
    for asked in ({"recipe": "abmind"}, {"filter": Filter(min_confidence=0.0, confidence_decay=0.9)}):
        cached.recall("red cup", **asked)
        assert not from_cache(cached.recall("red cup", **asked))


def test_an_answer_without_vectors_is_not_kept_because_the_next_may_have_them(path: Path) -> None:
    moody = Moody()
    with Mind(path, embedder=moody, query_cache=QueryCache()) as mind:
        mind.remember("a red cup")
        moody.failing = True
        assert mind.recall("cup").trace.failures != []
        moody.failing = False
        assert mind.recall("cup").trace.failures == []
        mind.recall("a cup", deadline=0)
        assert not from_cache(mind.recall("a cup"))


def test_an_answer_grows_old(cached: Mind, clock: Clock) -> None:
    cached.recall("red cup")
    clock.advance(seconds=59)
    assert cached.recall("red cup").trace.steps[0].detail == {"seconds ago": 59.0}
    clock.advance(seconds=1)
    assert not from_cache(cached.recall("red cup"))
    clock.advance(seconds=-30)
    assert not from_cache(cached.recall("red cup"))  # it knows nothing of an earlier time


@pytest.mark.parametrize("field", ["expires", "valid_from", "valid_to"])
def test_an_answer_ends_when_a_memory_begins_or_ceases_to_hold(
    cached: Mind, path: Path, clock: Clock, field: str
) -> None:
    soon: Any = {field: clock().replace(second=10)}
    cached.remember("a red cup for a moment", **soon)
    cached.recall("red cup")
    clock.advance(seconds=9)
    assert from_cache(cached.recall("red cup"))
    clock.advance(seconds=1)
    again = cached.recall("red cup")
    assert not from_cache(again)
    with Mind(path, embedder=BAG, clock=clock) as plain:
        assert scores(again) == scores(plain.recall("red cup"))


def test_the_least_recently_used_answers_go_first(path: Path) -> None:
    with Mind(path, embedder=None, query_cache=QueryCache(max_entries=2)) as mind:
        mind.remember("one two three")
        for query in ("one", "two", "one", "three"):
            mind.recall(query)
        assert from_cache(mind.recall("one"))
        assert not from_cache(mind.recall("two"))


@pytest.mark.parametrize("setting", [None, QueryCache(enabled=False)])
def test_it_is_off_unless_it_is_wanted(path: Path, setting: QueryCache | None) -> None:
    with Mind(path, embedder=None, query_cache=setting) as mind:
        mind.remember("a cup")
        assert [from_cache(mind.recall("cup")) for _ in range(2)] == [False, False]


def test_collections_are_kept_apart(path: Path) -> None:
    for name in ("mine", "yours"):
        with Mind(path, embedder=None, collection=name, query_cache=QueryCache()) as mind:
            mind.remember(f"a cup of {name}")
            for _ in range(2):
                assert texts(mind.recall("cup")) == [f"a cup of {name}"]


@pytest.mark.parametrize("wrong", [{"max_entries": 0}, {"max_entries": "many"}, {"max_age": -1}])
def test_settings_that_make_no_sense_are_a_clear_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        QueryCache(**wrong)
