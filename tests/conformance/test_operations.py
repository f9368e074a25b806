"""Operations and undo: each kind of change taken back, operations of several transactions, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recollect.errors import StoreError
from recollect.model import Edge, EntityEdge, Memory
from recollect.store.base import Bound, Store, Transaction, WriteResult
from tests.conformance.kit import SPACE, embed, encoded, everything, ids_in, link, relate, remember, revise, undo
from tests.conftest import Clock


def contents(store: Store) -> list[Any]:
    with store.snapshot() as snapshot:
        ids = ids_in(snapshot, everything(snapshot))
    memories = sorted(store.get(ids), key=lambda memory: memory.id)
    history = {id: store.history(id) for id in ids}
    return [memories, store.edges(), store.entity_edges(), history, store.status().memories]


@pytest.fixture
def filled(store: Store, clock: Clock) -> Store:
    remember(store, "The cup is blue.", "cup", external_id="cup", tags=("kitchen",), context={"height": 1.5})
    remember(store, "The plate is white.", "plate")
    link(store, "cup", "plate", "supports", 0.5)
    relate(store, "cup", "on", "shelf", weight=0.5)
    clock.advance(hours=1)
    return store


def change_text(transaction: Transaction, id: str, text: str) -> WriteResult:
    return transaction.revise(id, lambda memory: replace(memory, text=text))


CHANGES: dict[str, tuple[Callable[[Transaction], object], int, int, tuple[str, ...]]] = {
    "an added memory": (lambda t: t.remember(Memory("a third cup", id="third")), 1, 0, ()),
    "an update": (lambda t: t.remember(Memory("The cup is red.", external_id="cup")), 0, 1, ("cup",)),
    "a revision": (lambda t: change_text(t, "cup", "The cup is red."), 0, 1, ("cup",)),
    "a forgotten memory": (lambda t: t.revise("cup", lambda m: replace(m, status="forgotten")), 0, 1, ("cup",)),
    "a new edge": (lambda t: t.link(Edge("plate", "cup", "mentions")), 0, 0, ()),
    "another weight": (lambda t: t.link(Edge("cup", "plate", "supports", 0.25)), 0, 1, ()),
    "a removed edge": (lambda t: t.unlink("cup", "plate", None), 0, 1, ()),
    "a new relation": (lambda t: t.relate(EntityEdge("cup", "beside", "plate")), 0, 0, ()),
    "another relation weight": (lambda t: t.relate(EntityEdge("cup", "on", "shelf", 0.25)), 0, 1, ()),
    "a decay": (lambda t: t.decay(0.5), 0, 2, ()),
    "two versions of one memory": (
        lambda t: [change_text(t, "cup", text) for text in ("red", "green")],
        0,
        1,
        ("cup",),
    ),
    "an added memory that is changed": (
        lambda t: [t.remember(Memory(text, id="third")) for text in ("one", "two")],
        1,
        0,
        (),
    ),
    "an added memory with an edge": (
        lambda t: t.link(Edge(t.remember(Memory("third")).id, "cup", "mentions")),
        1,
        0,
        (),
    ),
    "another collection": (lambda t: t.revise("cup", lambda m: replace(m, collection="y")), 0, 2, ("cup",)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_undo_takes_it_back_exactly(filled: Store, clock: Clock, name: str) -> None:
    change, removed, restored, ids = CHANGES[name]
    before = contents(filled)
    with filled.transaction("edit", "why") as transaction:
        change(transaction)
    assert contents(filled) != before
    at = clock.now
    clock.advance(hours=1)
    undone = undo(filled)
    assert undone is not None
    assert (undone.verb, undone.at) == ("edit", at)
    assert (undone.removed, undone.restored, undone.ids) == (removed, restored, ids)
    assert contents(filled) == before


def test_undo_again_takes_back_the_operation_before(filled: Store) -> None:
    verbs = []
    while undone := undo(filled):
        verbs.append(undone.verb)
    assert verbs == ["relate", "link", "remember", "remember"]
    assert contents(filled) == [[], [], [], {}, {}]


def test_there_is_nothing_to_undo_in_an_empty_store(store: Store) -> None:
    assert undo(store) is None
    assert store.undo_texts() == {}


@pytest.mark.parametrize("verb", ["undo", "embed", "reembed", "sync"])
def test_operations_that_follow_something_else_are_not_undone(filled: Store, verb: str) -> None:
    remember(filled, "by hand", "hand")
    remember(filled, "derived", "derived", verb=verb)
    undone = undo(filled)
    assert undone is not None
    assert undone.verb == "remember"
    assert filled.get(["derived"])[0].text == "derived"


def test_what_a_sync_has_written_over_is_not_restored(store: Store) -> None:
    remember(store, "from the file", "chunk", verb="sync")
    revise(store, "chunk", topic="animals")
    remember(store, "another text in the file", "chunk", topic="animals", verb="sync")
    assert store.history("chunk") == []
    assert undo(store) is not None
    assert store.get(["chunk"])[0].text == "another text in the file"
    assert undo(store) is None


def test_embedding_does_not_stand_in_the_way_of_undo(filled: Store) -> None:
    revise(filled, "cup", text="The cup is red.")
    embed(filled, "cup", 1.0)
    undone = undo(filled)
    assert undone is not None
    assert undone.ids == ("cup",)


def test_a_restored_text_has_no_vector_of_the_text_that_it_replaces(filled: Store) -> None:
    embed(filled, "cup", 1.0)
    revise(filled, "cup", tags=("kitchen", "blue"))
    undo(filled)
    assert "cup" not in filled.unembedded(SPACE)
    revise(filled, "cup", text="The cup is red.")
    assert "cup" in filled.unembedded(SPACE)
    embed(filled, "cup", 0.0, 1.0)
    undo(filled)
    assert "cup" in filled.unembedded(SPACE)


def test_undo_texts_are_what_an_undo_needs_to_embed(filled: Store) -> None:
    revise(filled, "plate", tags=("white",))
    assert filled.undo_texts() == {}
    with filled.transaction("edit") as transaction:
        change_text(transaction, "cup", "red")
        transaction.revise("cup", lambda memory: replace(memory, text="green", title="Cup"))
        transaction.remember(Memory("new", id="new"))
    assert filled.undo_texts() == {"cup": "The cup is blue."}
    undo(filled)
    revise(filled, "cup", title="Cup")
    assert filled.undo_texts() == {"cup": "The cup is blue."}


def test_an_undo_and_its_vectors_are_one_transaction(filled: Store) -> None:
    revise(filled, "cup", text="The cup is red.")
    with filled.transaction("undo") as transaction:
        texts = filled.undo_texts()
        transaction.undo()
        rows = [transaction.row_with(id, text) for id, text in texts.items()]
        assert None not in rows
        transaction.embed([row for row in rows if row], [encoded(1.0)] * len(rows), SPACE)
    assert filled.unembedded(SPACE) == ["plate"]


# Operations of several transactions.


def test_an_operation_of_several_transactions_is_undone_as_one(filled: Store, clock: Clock) -> None:
    before, at = contents(filled), clock.now
    with filled.transaction("import") as transaction:
        operation = transaction.operation
        transaction.remember(Memory("one", id="one"))
    clock.advance(minutes=1)
    with filled.transaction("import", operation=operation) as transaction:
        assert transaction.operation == operation
        transaction.remember(Memory("two", id="two"))
        change_text(transaction, "one", "another one")
        change_text(transaction, "cup", "The cup is red.")
    clock.advance(minutes=1)
    with filled.transaction("import", operation=operation) as transaction:
        transaction.link(Edge("one", "cup", "mentions"))
        change_text(transaction, "cup", "The cup is green.")
    undone = undo(filled)
    assert undone is not None
    assert (undone.verb, undone.at, undone.ids) == ("import", at, ("cup",))
    assert (undone.removed, undone.restored) == (2, 1)
    assert contents(filled) == before


def test_a_transaction_without_a_change_can_begin_an_operation(store: Store) -> None:
    with store.transaction("import") as transaction:
        operation = transaction.operation
    remember(store, "another operation", "other")
    with store.transaction("import", operation=operation) as transaction:
        transaction.remember(Memory("one", id="one"))
    undone = undo(store)
    assert undone is not None
    assert (undone.verb, undone.removed) == ("import", 1)
    assert [memory.id for memory in store.get(["one", "other"], missing_ok=True)] == ["other"]


def test_an_operation_that_changed_nothing_is_no_step_for_undo(filled: Store) -> None:
    with filled.transaction("import") as transaction:
        assert transaction.operation
        transaction.revise("cup", lambda memory: memory)
    undone = undo(filled)
    assert undone is not None
    assert undone.verb == "relate"


def test_a_decay_between_the_transactions_of_an_operation_is_a_later_change(store: Store, clock: Clock) -> None:
    remember(store, "one", "one")
    with store.transaction("import") as transaction:
        operation = transaction.operation
        change_text(transaction, "one", "two")
    clock.advance(days=1)
    with store.transaction("decay") as transaction:
        transaction.decay(0.5)
    with store.transaction("import", operation=operation) as transaction:
        transaction.remember(Memory("three", id="three"))
    with pytest.raises(StoreError, match="later change"):
        undo(store)


def test_of_two_operations_at_once_the_one_that_ended_last_is_undone_first(store: Store) -> None:
    with store.transaction("import") as transaction:
        operation = transaction.operation
        transaction.remember(Memory("one", id="one"))
    remember(store, "by hand", "hand")
    with store.transaction("import", operation=operation) as transaction:
        transaction.remember(Memory("two", id="two"))
    undone = undo(store)
    assert undone is not None
    assert (undone.verb, undone.removed) == ("import", 2)
    assert [memory.id for memory in store.get(["one", "hand", "two"], missing_ok=True)] == ["hand"]


@pytest.mark.parametrize("what", ["change", "link"])
def test_undo_is_refused_when_another_operation_has_touched_the_same_memory_since(store: Store, what: str) -> None:
    remember(store, "a cup", "cup")
    with store.transaction("import") as transaction:
        operation = transaction.operation
        transaction.remember(Memory("one", id="one"))
    if what == "change":
        revise(store, "one", text="edited by hand")
    else:
        link(store, "one", "cup")
    with store.transaction("import", operation=operation) as transaction:
        transaction.remember(Memory("two", id="two"))
    before = contents(store)
    with pytest.raises(StoreError, match="later change"):
        undo(store)
    assert contents(store) == before


IN_BETWEEN: dict[str, tuple[Callable[[Transaction], object], Callable[[Transaction], object]]] = {
    "a new edge": (
        lambda t: t.link(Edge("plate", "cup", "mentions", 0.5)),
        lambda t: t.link(Edge("plate", "cup", "mentions", 0.75)),
    ),
    "an edge": (
        lambda t: t.link(Edge("cup", "plate", "supports", 0.25)),
        lambda t: t.unlink("cup", "plate", "supports"),
    ),
    "a removed edge": (
        lambda t: t.unlink("cup", "plate", "supports"),
        lambda t: t.link(Edge("cup", "plate", "supports", 0.75)),
    ),
    "a relation": (
        lambda t: t.relate(EntityEdge("cup", "on", "shelf", 0.25)),
        lambda t: t.relate(EntityEdge("cup", "on", "shelf", 0.75)),
    ),
}


@pytest.mark.parametrize("name", IN_BETWEEN)
def test_undo_is_refused_when_another_operation_has_changed_the_same_connection_since(filled: Store, name: str) -> None:
    first, between = IN_BETWEEN[name]
    with filled.transaction("import") as transaction:
        first(transaction)
        operation = transaction.operation
    with filled.transaction("edit") as transaction:
        between(transaction)
    with filled.transaction("import", operation=operation) as transaction:
        transaction.remember(Memory("two", id="two"))
    before = contents(filled)
    with pytest.raises(StoreError, match="later change"):
        undo(filled)
    assert contents(filled) == before


def test_an_undone_operation_stays_undone(filled: Store) -> None:
    remember(filled, "first", "first")
    undo(filled)
    remember(filled, "second", "second")
    undone = undo(filled)
    assert undone is not None
    assert filled.get(["first", "second"], missing_ok=True) == []
    undone = undo(filled)
    assert undone is not None
    assert undone.verb == "relate"


# Undo and bounds.


@pytest.fixture
def shared(store: Store) -> Store:
    remember(store, "of ann", "ann 1", collection="ann")
    remember(store, "of bob", "bob 1", collection="bob")
    return store


def test_undo_takes_the_last_operation_inside_the_bound(shared: Store) -> None:
    ann = shared.within(Bound(collection="ann"))
    revise(shared, "ann 1", text="changed")
    revise(shared, "bob 1", text="changed")
    relate(shared, "bob", "knows", "zoe", collection="bob")
    undone = undo(ann)
    assert undone is not None
    assert undone.ids == ("ann 1",)
    assert [memory.text for memory in shared.get(["ann 1", "bob 1"])] == ["of ann", "changed"]
    undone = undo(ann)
    assert undone is not None
    assert undone.verb == "remember"
    assert undo(ann) is None
    assert ann.undo_texts() == {}
    assert shared.status().memories == {"active": 1}


OVER_THE_BOUND: dict[str, Callable[[Store], object]] = {
    "two memories": lambda store: _revise_both(store),
    "a move": lambda store: revise(store, "bob 1", collection="ann"),
    "a decay of everything": lambda store: _decay(store),
}


def _revise_both(store: Store) -> None:
    with store.transaction("edit") as transaction:
        for id in ("ann 1", "bob 1"):
            change_text(transaction, id, "changed")


def _decay(store: Store) -> None:
    with store.transaction("decay") as transaction:
        assert transaction.decay(0.5) == 2


@pytest.mark.parametrize("name", OVER_THE_BOUND)
def test_undo_is_refused_for_an_operation_that_also_changed_something_outside(
    shared: Store, clock: Clock, name: str
) -> None:
    clock.advance(days=1)
    OVER_THE_BOUND[name](shared)
    before = contents(shared)
    with pytest.raises(StoreError) as refused:
        undo(shared.within(Bound(collection="ann")))
    assert "bob" not in str(refused.value)
    assert contents(shared) == before
    assert undo(shared) is not None


def test_a_decay_inside_a_bound_is_undone_inside_it(shared: Store, clock: Clock) -> None:
    clock.advance(days=1)
    ann = shared.within(Bound(collection="ann"))
    with ann.transaction("decay") as transaction:
        assert transaction.decay(0.5) == 1
    undone = undo(shared.within(Bound(collection="bob")))
    assert undone is not None
    assert undone.verb == "remember"
    undone = undo(ann)
    assert undone is not None
    assert undone.verb == "decay"
    assert ann.get(["ann 1"])[0].strength == 1.0
