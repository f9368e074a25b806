"""Undo: each verb taken back, exactly, and in the order of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from tests.conftest import Clock
from tests.store.looking import held, texts

VERBS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "remember": (lambda mind: mind.remember("a third cup"), "remember"),
    "remember an update": (lambda mind: mind.remember("The cup is red.", external_id="cup"), "remember"),
    "remember_many": (lambda mind: mind.remember_many(["new", {"text": "red", "external_id": "cup"}]), "remember"),
    "remember_many, one twice": (
        lambda mind: mind.remember_many([{"text": "a", "external_id": "x"}, {"text": "b", "external_id": "x"}]),
        "remember",
    ),
    "remember_many, an old one twice": (
        lambda mind: mind.remember_many([{"text": "a", "external_id": "cup"}, {"text": "b", "external_id": "cup"}]),
        "remember",
    ),
    "edit": (lambda mind: mind.edit("cup", text="The cup is red.", tags=["red"], context={}), "edit"),
    "edit the status": (lambda mind: mind.edit("cup", status="superseded"), "edit"),
    "edit the collection": (lambda mind: mind.edit("cup", collection="elsewhere"), "edit"),
    "forget": (lambda mind: mind.forget("cup", "plate"), "forget"),
    "link": (lambda mind: mind.link("cup", "plate", "contradicts"), "link"),
    "link with another weight": (lambda mind: mind.link("cup", "plate", "supports", 0.1), "link"),
    "unlink": (lambda mind: mind.unlink("cup", "plate"), "unlink"),
    "relate": (lambda mind: mind.relate("cup", "beside", "plate"), "relate"),
    "relate with another weight": (lambda mind: mind.relate("cup", "on", "shelf", 0.1), "relate"),
    "import": (
        lambda mind: mind.import_(
            [
                {"text": "imported", "id": "new"},
                {"text": "The cup is red.", "id": "cup"},
                {"type": "edge", "source": "new", "target": "plate", "kind": "supports"},
                {"type": "edge", "source": "cup", "target": "plate", "kind": "supports", "weight": 0.2},
                {"type": "entity_edge", "subject": "new", "relation": "on", "object": "shelf"},
            ]
        ),
        "import",
    ),
    "import, edges twice": (
        lambda mind: mind.import_(
            [
                {"text": "imported", "id": "new"},
                *[
                    {"type": "edge", "source": "plate", "target": "new", "kind": "supports", "weight": w}
                    for w in (0, 1)
                ],
                *[{"type": "entity_edge", "subject": "a", "relation": "b", "object": "c", "weight": w} for w in (0, 1)],
            ]
        ),
        "import",
    ),
}


@pytest.fixture
def mind(path: Path, clock: Clock) -> Mind:
    mind = Mind(path, embedder=None, clock=clock)
    mind.remember("The cup is blue.", id="cup", external_id="cup", tags=["kitchen"], context={"height": 1.8})
    mind.remember("The plate is white.", id="plate")
    mind.link("cup", "plate", "supports", 0.5)
    mind.relate("cup", "on", "shelf", 0.5)
    mind.recall("cup")
    clock.advance(hours=1)
    return mind


def answers(mind: Mind) -> list[Any]:
    return [
        [(each.memory, each.score) for each in mind.recall(question, track=False, filter=filter)]
        for question in ("cup", "white plate", "red", "a", "b", "new imported")
        for filter in (None, {"tags": ["kitchen"]}, {"collection": "main"}, {"context": {"height": {"$gt": 1}}})
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_undo_takes_a_change_back_exactly(path: Path, mind: Mind, clock: Clock, verb: str) -> None:
    before, before_answers = held(mind), answers(mind)
    history = {id: mind.history(id) for id in ("cup", "plate")}
    VERBS[verb][0](mind)
    assert held(mind) != before
    undone = mind.undo()
    assert undone is not None
    assert (undone.verb, undone.at) == (VERBS[verb][1], clock.now)
    assert held(mind) == before
    assert answers(mind) == before_answers
    assert {id: mind.history(id) for id in ("cup", "plate")} == history
    with Mind(path, embedder=None, clock=clock) as fresh:
        assert held(fresh) == before
        assert answers(fresh) == before_answers


def test_undo_says_how_many_went_and_how_many_came_back(mind: Mind) -> None:
    mind.remember_many(["one", "two", {"text": "The cup is red.", "external_id": "cup"}])
    undone = mind.undo()
    assert undone is not None
    assert (undone.removed, undone.restored) == (2, 1)


def test_undo_twice_takes_back_the_change_before(mind: Mind) -> None:
    before = held(mind)
    mind.remember("one more cup", id="more")
    middle = held(mind)
    mind.edit("more", text="one more bowl")
    mind.undo()
    assert held(mind) == middle
    mind.undo()
    assert held(mind) == before


def test_undo_with_nothing_left_returns_none(path: Path, mind: Mind) -> None:
    mind.forget("cup")
    verbs = []
    while undone := mind.undo():
        verbs.append(undone.verb)
    assert verbs == ["forget", "relate", "link", "remember", "remember"]
    assert mind.undo() is None
    assert held(mind) == [{"type": "recollect", "format": 1}]
    with Mind(path, embedder=None) as fresh:
        assert fresh.undo() is None
        assert texts(fresh, "cup") == []


def test_undo_in_an_empty_memory_returns_none(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        assert mind.undo() is None


def test_what_is_done_after_an_undo_is_undone_next(mind: Mind) -> None:
    mind.remember("first", id="first")
    mind.undo()
    mind.remember("second", id="second")
    before = held(mind)
    mind.remember("third", id="third")
    mind.undo()
    assert held(mind) == before
    assert texts(mind, "first third") == []
    mind.undo()
    assert texts(mind, "second") == []


def test_a_change_that_changed_nothing_is_no_step_for_undo(mind: Mind) -> None:
    mind.edit("cup", text="The cup is red.")
    mind.edit("cup", text="The cup is red.")
    mind.unlink("plate", "cup")
    mind.recall("cup")
    mind.undo()
    assert mind.show("cup").text == "The cup is blue."


def test_undo_takes_back_what_another_process_did_last(path: Path, mind: Mind) -> None:
    with Mind(path, embedder=None) as other:
        other.edit("cup", text="The cup is red.")
        assert texts(mind, "cup")[0] == "The cup is red."
        mind.undo()
        assert texts(other, "cup")[0] == "The cup is blue."


def test_undo_keeps_the_use_of_what_stays(mind: Mind) -> None:
    mind.edit("cup", text="The cup is red.")
    mind.recall("cup")
    mind.undo()
    assert mind.show("cup").use.access_count == 2


def test_use_that_an_import_brings_to_a_memory_goes_with_its_undo(mind: Mind) -> None:
    before = held(mind)
    mind.import_([{"text": "The plate is white.", "id": "plate", "use": {"access_count": 99}}])
    if held(mind) != before:  # it may as well leave the use of a memory that is already here alone
        mind.undo()
    assert held(mind) == before


def test_the_link_of_a_memory_that_came_back_is_there_again(mind: Mind) -> None:
    mind.forget("plate")
    mind.undo()
    assert [(edge.source, edge.target, edge.weight) for edge in mind.edges("plate")] == [("cup", "plate", 0.5)]


def test_a_new_memory_inherits_nothing_from_one_that_was_undone(mind: Mind) -> None:
    gone = mind.remember("a third cup", tags=["old"])
    mind.link(gone.id, "plate")
    mind.edit(gone.id, title="older")
    mind.recall("third")
    for _ in range(3):
        mind.undo()
    fresh = mind.remember("a fresh bowl")
    assert mind.show(fresh.id).use.access_count == 0
    assert mind.edges(fresh.id) == []
    assert mind.history(fresh.id) == []
    assert texts(mind, "bowl") == ["a fresh bowl"]
    assert texts(mind, "third", filter={"tags": ["old"]}) == []
