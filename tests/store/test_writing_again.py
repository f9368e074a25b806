"""Writing the same again, something new under an old name, and many at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from tests.conftest import Clock
from tests.store.looking import held, texts


@pytest.fixture
def mind(path: Path, clock: Clock) -> Mind:
    return Mind(path, embedder=None, clock=clock)


def version(mind: Mind) -> str:
    return mind.status().store.version


def test_the_same_external_id_with_equal_content_changes_nothing(mind: Mind, clock: Clock) -> None:
    first = mind.remember("The cup is blue.", external_id="cup", tags=["kitchen"], context={"a": {"b": [1, 2.5]}})
    before = version(mind)
    clock.advance(days=1)
    again = mind.remember("The cup is blue.", external_id="cup", tags=("kitchen",), context={"a": {"b": [1, 2.5]}})
    assert again == first
    assert again.updated == first.updated
    assert version(mind) == before
    assert mind.history(first.id) == []
    receipt = mind.remember_many([{"text": "The cup is blue.", "external_id": "cup", "tags": ["kitchen"]}])
    assert (receipt.added, receipt.changed, receipt.same) == (0, 1, 0)  # the context went


def test_the_order_of_keys_is_no_change(mind: Mind) -> None:
    first = mind.remember("The cup is blue.", external_id="cup", context={"a": 1, "b": {"c": 2, "d": 3}})
    before = version(mind)
    assert mind.remember("The cup is blue.", external_id="cup", context={"b": {"d": 3, "c": 2}, "a": 1}) == first
    assert mind.edit(first.id, context={"b": {"d": 3, "c": 2}, "a": 1}) == first
    assert version(mind) == before


def test_the_same_external_id_with_new_content_updates_and_keeps_the_history(mind: Mind, clock: Clock) -> None:
    first = mind.remember("The cup is blue.", external_id="cup")
    then = clock.advance(days=1)
    second = mind.remember("The cup is green.", external_id="cup")
    assert (second.id, second.text, second.created, second.updated) == (
        first.id,
        "The cup is green.",
        first.created,
        then,
    )
    assert mind.history(first.id) == [(then, first)]
    assert texts(mind, "blue") == []
    assert texts(mind, "green") == ["The cup is green."]
    assert len(mind.list()) == 1


def test_the_same_external_id_in_another_collection_is_another_memory(path: Path, mind: Mind) -> None:
    here = mind.remember("The cup is blue.", external_id="cup")
    there = mind.remember("The cup is red.", external_id="cup", collection="garden")
    assert here.id != there.id
    with Mind(path, embedder=None, collection="garden") as garden:
        assert garden.remember("The cup is white.", external_id="cup").id == there.id
        assert texts(garden, "cup") == ["The cup is white."]
    assert mind.show(here.id) == here


def test_an_external_id_that_was_forgotten_comes_back_when_it_is_remembered_again(mind: Mind) -> None:
    first = mind.remember("The cup is blue.", external_id="cup")
    mind.forget(first.id)
    assert mind.remember("The cup is blue.", external_id="cup").id == first.id
    assert texts(mind, "cup") == ["The cup is blue."]


def test_the_same_id_again_updates_too(mind: Mind) -> None:
    first = mind.remember("The cup is blue.", id="cup")
    assert mind.remember("The cup is blue.", id="cup") == first
    assert mind.remember("The cup is green.", id="cup").text == "The cup is green."
    assert [former.text for _, former in mind.history("cup")] == ["The cup is blue."]


def test_equal_texts_with_different_external_ids_are_memories_of_their_own(mind: Mind) -> None:
    assert mind.remember("again", external_id="a").id != mind.remember("again", external_id="b").id
    assert len(mind.list()) == 2


def test_a_memory_that_was_shown_can_be_remembered_as_it_is(mind: Mind) -> None:
    kept = mind.remember("The cup is blue.", tags=["kitchen"], lines=(3, 7), valid_to="2030-01-01")
    before = version(mind)
    assert mind.remember(mind.show(kept.id)) == kept
    assert version(mind) == before
    assert mind.remember(replace(kept, text="The cup is green.")).text == "The cup is green."


def test_what_remember_returns_is_what_is_shown(mind: Mind) -> None:
    kept = mind.remember("The cup is blue.", created="2025-01-01T10:00:00+02:00", context={"z": 1, "a": [None, True]})
    assert mind.show(kept.id) == kept
    assert list(kept.context) == list(mind.show(kept.id).context) == ["z", "a"]
    assert mind.edit(kept.id, title="Cups") == mind.show(kept.id)


def test_one_bad_item_among_many_is_named_and_nothing_is_written(mind: Mind) -> None:
    mind.remember("there before")
    before = held(mind)
    with pytest.raises(InvalidInput, match=r"Item 3: confidence must be between 0 and 1, not 7"):
        mind.remember_many(["fine", {"text": "fine, too"}, {"text": "bad", "confidence": 7}, "never seen"])
    assert held(mind) == before


def test_a_generator_that_fails_writes_nothing(mind: Mind) -> None:
    def items() -> object:
        yield "one"
        raise OSError("the source went away")

    with pytest.raises(OSError, match="went away"):
        mind.remember_many(items())  # type: ignore[arg-type]
    assert held(mind) == [{"type": "recollect", "format": 1}]


def test_the_words_of_a_write_that_failed_confuse_no_later_one(path: Path, mind: Mind) -> None:
    with pytest.raises(InvalidInput):
        mind.import_([{"text": "zebra"}, {"type": "edge", "source": "none", "target": "such", "kind": "supports"}])
    mind.remember("giraffe")
    mind.remember("zebra")
    for each in (mind, Mind(path, embedder=None)):
        assert texts(each, "giraffe") == ["giraffe"]
        assert texts(each, "zebra") == ["zebra"]


def test_many_at_once_are_counted_and_come_back_in_order(mind: Mind) -> None:
    mind.remember("old", external_id="1")
    mind.remember("same", external_id="2")
    seen: list[tuple[int, int]] = []
    receipt = mind.remember_many(
        [{"text": "new", "external_id": "1"}, {"text": "same", "external_id": "2"}, "fresh"],
        progress=lambda done, of: seen.append((done, of)),
    )
    assert (receipt.added, receipt.changed, receipt.same) == (1, 1, 1)
    assert [mind.show(id).text for id in receipt.ids] == ["new", "same", "fresh"]
    assert seen[-1] == (3, 3)


def test_one_external_id_twice_in_one_go_is_one_memory_with_the_last_content(mind: Mind) -> None:
    receipt = mind.remember_many([{"text": "first", "external_id": "x"}, {"text": "last", "external_id": "x"}])
    assert receipt.ids[0] == receipt.ids[1]
    assert [memory.text for memory in mind.list()] == ["last"]
    assert texts(mind, "first") == []


def test_nothing_to_remember_is_nothing_done(mind: Mind) -> None:
    before = version(mind)
    assert mind.remember_many([]).ids == []
    assert mind.forget() == 0
    assert version(mind) == before


def test_an_edit_keeps_the_old_text_in_history_where_no_recall_finds_it(path: Path, mind: Mind, clock: Clock) -> None:
    first = mind.remember("The cup is blue.", title="Kitchen", tags=["crockery"])
    mind.recall("blue")
    then = clock.advance(hours=1)
    mind.edit(first.id, text="The bowl is green.", title="Larder", tags=["bowls"])
    later = clock.advance(hours=1)
    mind.edit(first.id, status="superseded")
    assert [(end, former.text) for end, former in mind.history(first.id)] == [
        (then, "The cup is blue."),
        (later, "The bowl is green."),
    ]
    assert mind.history(first.id)[0][1] == first
    for each in (mind, Mind(path, embedder=None, clock=clock)):
        assert texts(each, "blue cup kitchen crockery") == []
        assert texts(each, "bowl", filter={"status": "superseded"}) == ["The bowl is green."]
        assert each.list({"tags": ["crockery"]}) == []


def test_an_edit_that_changes_nothing_is_none(mind: Mind, clock: Clock) -> None:
    first = mind.remember("The cup is blue.", tags=["kitchen"])
    before = version(mind)
    clock.advance(hours=1)
    assert mind.edit(first.id, text="The cup is blue.", tags=["kitchen"]) == first
    assert mind.edit(first.id) == first
    assert version(mind) == before
    assert mind.history(first.id) == []


def test_forgetting_says_how_many_were_let_go(mind: Mind) -> None:
    one, two = mind.remember("one"), mind.remember("two")
    assert mind.forget(one.id, one.id, two.id) == 2
    assert mind.forget(one.id) == 0
    assert mind.list() == []
    assert [memory.id for memory in mind.list({"status": "forgotten"})] == [two.id, one.id]


def test_the_same_link_again_sets_its_weight(mind: Mind) -> None:
    one, two = mind.remember("one").id, mind.remember("two").id
    mind.link(one, two, "supports", 0.2)
    mind.link(one, two, "contradicts", 0.3)
    assert mind.link(one, two, "supports", 0.9).weight == 0.9
    assert {(edge.kind, edge.weight) for edge in mind.edges()} == {("supports", 0.9), ("contradicts", 0.3)}
    assert mind.unlink(one, two, "depends_on") == 0
    assert mind.unlink(two, one) == 0
    assert mind.unlink(one, two) == 2
    assert mind.edges() == []


def test_a_mind_bound_to_a_collection_writes_to_it_alone(path: Path, mind: Mind) -> None:
    with Mind(path, embedder=None, collection="garden") as garden:
        garden.remember("a rake")
        garden.remember_many(["a spade", {"text": "a hoe", "collection": "main"}])
        garden.import_([{"text": "a hose"}])
        garden.relate("rake", "beside", "spade")
        assert {memory.text for memory in garden.list()} == {"a rake", "a spade", "a hoe", "a hose"}
        assert {memory.collection for memory in mind.list()} == {"garden"}
        assert [relation.collection for relation in mind.entity_edges()] == ["garden"]
        cup = mind.remember("a cup")
        assert texts(garden, "cup") == []
        with pytest.raises(InvalidInput, match="Edges stay inside one collection"):
            mind.link(cup.id, garden.list()[0].id)
        assert [record for record in garden.export() if record["type"] == "edge"] == []
        assert {record["collection"] for record in garden.export() if record["type"] != "recollect"} == {"garden"}
