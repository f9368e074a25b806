"""Transactions: adding, updating, revising, deleting, decay, use, and that all of one is written or nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from threading import Thread

import numpy as np
import pytest

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model import Memory, Use
from recollect.store.base import Bound, Store, UseRecord
from tests.conformance.kit import NOON, embed, link, relate, remember, revise, undo
from tests.conftest import Clock


def test_an_added_memory_has_an_id_and_the_moment_of_the_clock(store: Store) -> None:
    written = remember(store, "a blue cup", tags=("kitchen",), context={"height": 1.5})
    assert written.action == "added"
    assert written.row > 0
    assert written.at == NOON
    (memory,) = store.get([written.id])
    expected = Memory("a blue cup", tags=("kitchen",), context={"height": 1.5}, id=written.id)
    assert memory == replace(expected, created=NOON, updated=NOON)


def test_ids_that_the_store_gives_are_all_different(store: Store) -> None:
    with store.transaction("remember") as transaction:
        ids = {transaction.remember(Memory("the same text")).id for _ in range(50)}
    assert len(ids) == 50
    assert all(ids)


def test_a_given_creation_date_is_kept(store: Store) -> None:
    remember(store, "an old cup", "cup", created=NOON - timedelta(days=9), updated=NOON - timedelta(days=3))
    (memory,) = store.get(["cup"])
    assert (memory.created, memory.updated) == (NOON - timedelta(days=9), NOON - timedelta(days=3))


def test_the_same_id_again_updates_the_memory(store: Store, clock: Clock) -> None:
    first = remember(store, "a blue cup", "cup")
    clock.advance(hours=1)
    second = remember(store, "a red cup", "cup")
    assert (second.action, second.row) == ("changed", first.row)
    (memory,) = store.get(["cup"])
    assert (memory.text, memory.created, memory.updated) == ("a red cup", NOON, clock.now)


def test_the_same_external_id_again_updates_the_memory(store: Store) -> None:
    first = remember(store, "a blue cup", external_id="c")
    second = remember(store, "a red cup", external_id="c")
    assert (second.action, second.id) == ("changed", first.id)


@pytest.mark.parametrize("other", [{"collection": "x"}, {"user": "ann"}, {"agent": "robot"}])
def test_external_ids_belong_to_a_user_and_an_agent_of_a_collection(store: Store, other: dict[str, str]) -> None:
    first = remember(store, "a blue cup", external_id="c")
    second = remember(store, "a red cup", external_id="c", **other)
    assert second.action == "added"
    assert second.id != first.id


def test_equal_content_changes_nothing(store: Store, clock: Clock) -> None:
    remember(store, "a blue cup", "cup", context={"a": 1, "b": [1, {"c": 2}]})
    before = store.status().version
    clock.advance(hours=1)
    assert remember(store, "a blue cup", "cup", context={"b": [1, {"c": 2}], "a": 1}).action == "same"
    assert revise(store, "cup", text="a blue cup").action == "same"
    assert store.status().version == before
    assert store.history("cup") == []
    assert store.get(["cup"])[0].updated == NOON


def test_true_in_a_context_is_not_the_same_as_1(store: Store) -> None:
    remember(store, "a cup", "cup", context={"done": 1})
    assert remember(store, "a cup", "cup", context={"done": True}).action == "changed"
    assert store.get(["cup"])[0].context["done"] is True


def test_an_id_of_another_collection_is_refused(store: Store) -> None:
    remember(store, "a blue cup", "cup", collection="x")
    with pytest.raises(InvalidInput, match="cup"):
        remember(store, "a blue cup", "cup", collection="y")
    assert store.get(["cup"])[0].collection == "x"


def test_two_memories_cannot_get_the_same_external_id(store: Store) -> None:
    remember(store, "a blue cup", "cup", external_id="c")
    remember(store, "a plate", "plate")
    with pytest.raises(InvalidInput, match="external id"):
        revise(store, "plate", external_id="c")


def test_a_revision_sees_the_memory_as_it_is_inside_the_transaction(store: Store) -> None:
    remember(store, "a blue cup", "cup")
    with store.transaction("edit") as transaction:
        transaction.revise("cup", lambda memory: replace(memory, text="a red cup"))
        transaction.revise("cup", lambda memory: replace(memory, title=memory.text))
    (memory,) = store.get(["cup"])
    assert (memory.text, memory.title) == ("a red cup", "a red cup")


def test_a_revision_keeps_a_date_of_change_that_it_sets(store: Store, clock: Clock) -> None:
    remember(store, "a blue cup", "cup")
    clock.advance(hours=1)
    revise(store, "cup", text="a red cup", updated=NOON + timedelta(minutes=7))
    assert store.get(["cup"])[0].updated == NOON + timedelta(minutes=7)
    clock.advance(hours=1)
    revise(store, "cup", text="a green cup")
    assert store.get(["cup"])[0].updated == clock.now


def test_revising_an_unknown_memory_raises_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="nobody"):
        revise(store, "nobody", text="x")


def fail_after_writing(store: Store) -> None:
    with store.transaction("remember") as transaction:
        transaction.remember(Memory("lost", id="lost"))
        transaction.revise("cup", lambda memory: replace(memory, text="changed"))
        transaction.set_use(transaction.row("cup"), Use(access_count=7))
        raise ZeroDivisionError


def test_a_failed_transaction_leaves_nothing_behind(store: Store) -> None:
    remember(store, "a blue cup", "cup")
    before = replace(store.status(), bytes=0)
    with pytest.raises(ZeroDivisionError):
        fail_after_writing(store)
    assert replace(store.status(), bytes=0) == before  # a server frees its pages later
    assert store.get(["cup"])[0].text == "a blue cup"
    assert store.get(["cup"])[0].use == Use()
    assert store.get(["lost"], missing_ok=True) == []
    assert undo(store) is not None
    assert undo(store) is None


def test_what_a_caller_does_to_a_context_later_does_not_reach_the_store(store: Store) -> None:
    context = {"inner": {"height": 1}}
    remember(store, "a cup", "cup", context=context)
    context["inner"]["height"] = 2
    store.get(["cup"])[0].context["inner"] = "changed"
    assert store.get(["cup"])[0].context == {"inner": {"height": 1}}


def test_a_version_changes_with_every_write_and_not_with_use(store: Store) -> None:
    versions = [store.status().version]
    written = remember(store, "a cup", "cup")
    versions.append(store.status().version)
    embed(store, "cup", 1.0)
    versions.append(store.status().version)
    revise(store, "cup", title="Cup")
    versions.append(store.status().version)
    assert len(set(versions)) == 4
    store.record_use(UseRecord([written.row], NOON))
    assert store.status().version == versions[-1]
    with store.snapshot() as snapshot:
        assert snapshot.version == versions[-1]


def test_a_snapshot_does_not_see_what_is_written_after_it_began(store: Store) -> None:
    remember(store, "a blue cup", "cup")
    with store.snapshot() as snapshot:
        row = snapshot.row("cup")
        thread = Thread(target=lambda: (revise(store, "cup", text="a red cup"), remember(store, "new", "new")))
        thread.start()
        thread.join()
        assert snapshot.row("new") is None
        assert row is not None
        assert [memory.text for memory in snapshot.memories(np.array([row]))] == ["a blue cup"]
    with store.snapshot() as snapshot:
        assert snapshot.row("new") is not None


def test_one_writer_waits_for_the_other(store: Store) -> None:
    remember(store, "0", "counter")

    def count() -> None:
        for _ in range(10):
            with store.transaction("edit") as transaction:
                transaction.revise("counter", lambda memory: replace(memory, text=str(int(memory.text) + 1)))

    threads = [Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get(["counter"])[0].text == "30"


def test_a_deleted_memory_is_gone_with_all_that_belongs_to_it(store: Store) -> None:
    gone = remember(store, "a blue cup", "cup").row
    remember(store, "a plate", "plate")
    revise(store, "cup", text="a red cup")
    link(store, "cup", "plate")
    embed(store, "cup", 1.0)
    with store.transaction("delete") as transaction:
        transaction.delete([gone])
    assert store.get(["cup", "plate"], missing_ok=True) == store.get(["plate"])
    assert store.edges() == []
    assert store.history("cup") == []
    assert store.status().memories == {"active": 1}
    assert store.status().spaces[0]["vectors"] == 0


def test_undo_does_not_restore_what_was_deleted(store: Store) -> None:
    gone = remember(store, "a blue cup", "cup").row
    remember(store, "a plate", "plate")
    link(store, "cup", "plate")
    revise(store, "cup", text="a red cup")
    with store.transaction("delete") as transaction:
        transaction.delete([gone])
    while undo(store):
        assert store.get(["cup"], missing_ok=True) == []
        assert store.edges() == []
    assert store.status().memories == {}


def test_a_row_is_never_used_again(store: Store) -> None:
    first = remember(store, "one", "one").row
    with store.transaction("delete") as transaction:
        transaction.delete([first])
    assert remember(store, "two", "two").row != first


def test_row_and_row_with_find_a_memory_by_its_id_and_its_text(store: Store) -> None:
    written = remember(store, "a blue cup", "cup", title="Cup")
    with store.transaction("embed") as transaction:
        assert transaction.row("cup") == written.row
        assert transaction.row_with("cup", "Cup\na blue cup") == written.row
        assert transaction.row_with("cup", "another text") is None
        assert transaction.row_with("nobody", "a blue cup") is None
        with pytest.raises(NotFound, match="nobody"):
            transaction.row("nobody")


# Decay.


def test_decay_weakens_by_the_days_since_creation(store: Store, clock: Clock) -> None:
    remember(store, "new", "new")
    remember(store, "old", "old", created=NOON - timedelta(days=10))
    remember(store, "weak", "weak", created=NOON - timedelta(days=10), strength=0.5)
    with store.transaction("decay") as transaction:
        assert transaction.decay(0.1) == 2
    strengths = [memory.strength for memory in store.get(["new", "old", "weak"])]
    assert strengths == [1.0, pytest.approx(math.exp(-1)), pytest.approx(0.5 * math.exp(-1))]


def test_a_second_decay_counts_from_the_first(store: Store, clock: Clock) -> None:
    remember(store, "old", "old", created=NOON - timedelta(days=10))
    for _ in range(2):
        with store.transaction("decay") as transaction:
            transaction.decay(0.1)
    assert store.get(["old"])[0].strength == pytest.approx(math.exp(-1))
    clock.advance(days=5)
    with store.transaction("decay") as transaction:
        assert transaction.decay(0.1) == 1
    assert store.get(["old"])[0].strength == pytest.approx(math.exp(-1.5))


def test_a_decay_of_one_collection_leaves_the_others_and_counts_for_it_alone(store: Store, clock: Clock) -> None:
    for name in ("x", "y"):
        remember(store, name, name, collection=name, created=NOON - timedelta(days=10))
    with store.within(Bound(collection="x")).transaction("decay") as transaction:
        assert transaction.decay(0.1) == 1
    with store.transaction("decay") as transaction:
        assert transaction.decay(0.1) == 1
    assert [memory.strength for memory in store.get(["x", "y"])] == [pytest.approx(math.exp(-1))] * 2


def test_an_undone_decay_does_not_count(store: Store, clock: Clock) -> None:
    remember(store, "old", "old", created=NOON - timedelta(days=10))
    with store.transaction("decay") as transaction:
        transaction.decay(0.1)
    undone = undo(store)
    assert undone is not None
    assert (undone.verb, undone.removed, undone.restored, undone.ids) == ("decay", 0, 1, ())
    assert store.get(["old"])[0].strength == 1.0
    with store.transaction("decay") as transaction:
        transaction.decay(0.1)
    assert store.get(["old"])[0].strength == pytest.approx(math.exp(-1))


def test_a_decay_is_no_earlier_version(store: Store) -> None:
    remember(store, "old", "old", created=NOON - timedelta(days=10))
    with store.transaction("decay") as transaction:
        transaction.decay(0.1)
    assert store.history("old") == []
    assert store.get(["old"])[0].updated == NOON


# Use.


def test_uses_are_counted_by_what_they_were(store: Store) -> None:
    row = remember(store, "a cup", "cup").row
    later = NOON + timedelta(hours=1)
    store.record_use(UseRecord([row], NOON))
    store.record_use(UseRecord([row], later, ("return", "recall")))
    use = store.get(["cup"])[0].use
    assert use == Use(NOON, 1, 1, 1, later, (later,))


def test_the_last_20_recalls_are_remembered(store: Store) -> None:
    row = remember(store, "a cup", "cup").row
    moments = [NOON + timedelta(minutes=minute) for minute in range(25)]
    for moment in moments:
        store.record_use(UseRecord([row], moment, ("recall",)))
    use = store.get(["cup"])[0].use
    assert use.recall_count == 25
    assert use.recall_times == tuple(moments[-20:])


def test_a_use_of_an_unknown_row_harms_nobody(store: Store) -> None:
    remember(store, "a cup", "cup")
    store.record_use(UseRecord([999], NOON))
    store.record_use(UseRecord([], NOON))
    assert store.get(["cup"])[0].use == Use()


def test_use_stays_when_a_memory_is_revised(store: Store) -> None:
    row = remember(store, "a cup", "cup").row
    store.record_use(UseRecord([row], NOON))
    revise(store, "cup", text="a red cup")
    assert store.get(["cup"])[0].use.access_count == 1


def test_a_transaction_can_set_the_use_that_an_import_brings(store: Store) -> None:
    use = Use(NOON, 3, 2, 1, NOON, (NOON,))
    with store.transaction("import") as transaction:
        transaction.set_use(transaction.remember(Memory("a cup", id="cup")).row, use)
    assert store.get(["cup"])[0].use == use


# Edges and relations.


def test_an_edge_connects_two_memories(store: Store) -> None:
    remember(store, "a", "a")
    remember(store, "b", "b")
    remember(store, "c", "c")
    link(store, "a", "b", "supports", 0.5)
    link(store, "c", "a", "contradicts")
    found = [(edge.source, edge.target, edge.kind, edge.weight, edge.created) for edge in store.edges()]
    assert found == [("a", "b", "supports", 0.5, NOON), ("c", "a", "contradicts", 1.0, NOON)]
    assert [edge.source for edge in store.edges(["b"])] == ["a"]
    assert [edge.source for edge in store.edges(["a"])] == ["a", "c"]
    assert store.edges([]) == []


def test_linking_again_changes_the_weight(store: Store) -> None:
    remember(store, "a", "a")
    remember(store, "b", "b")
    link(store, "a", "b", weight=0.5)
    before = store.status().version
    link(store, "a", "b", weight=0.5)
    assert store.status().version == before
    link(store, "a", "b", weight=0.75)
    assert [edge.weight for edge in store.edges()] == [0.75]


def test_unlinking_takes_one_kind_or_all(store: Store) -> None:
    remember(store, "a", "a")
    remember(store, "b", "b")
    for kind in ("supports", "mentions", "same_as"):
        link(store, "a", "b", kind)
    with store.transaction("unlink") as transaction:
        assert transaction.unlink("b", "a", None) == 0
        assert transaction.unlink("a", "b", "mentions") == 1
    assert [edge.kind for edge in store.edges()] == ["same_as", "supports"]
    with store.transaction("unlink") as transaction:
        assert transaction.unlink("a", "b", None) == 2
    assert store.edges() == []


def test_edges_stay_inside_one_collection(store: Store) -> None:
    remember(store, "a", "a", collection="x")
    remember(store, "b", "b", collection="y")
    with pytest.raises(InvalidInput, match="collection"):
        link(store, "a", "b")
    assert store.edges() == []


def test_a_memory_that_moves_to_another_collection_loses_its_edges_until_that_is_undone(store: Store) -> None:
    for id in ("a", "b", "c"):
        remember(store, id, id)
    link(store, "a", "b")
    link(store, "b", "c")
    before = store.edges()
    revise(store, "a", collection="y")
    assert [edge.source for edge in store.edges()] == ["b"]
    undo(store)
    assert store.edges() == before


def test_linking_an_unknown_memory_raises_not_found(store: Store) -> None:
    remember(store, "a", "a")
    with pytest.raises(NotFound, match="nobody"):
        link(store, "a", "nobody")


def test_relations_are_listed_by_owner_and_name(store: Store) -> None:
    relate(store, "bob", "knows", "ann", weight=0.5)
    relate(store, "ann", "knows", "bob")
    relate(store, "zoe", "knows", "ann", collection="a")
    assert [(edge.collection, edge.subject) for edge in store.entity_edges()] == [
        ("a", "zoe"),
        ("main", "ann"),
        ("main", "bob"),
    ]
    relate(store, "bob", "knows", "ann", weight=0.75)
    assert [edge.weight for edge in store.entity_edges()] == [1.0, 1.0, 0.75]
    assert store.status().entity_edges == 3


def test_relating_the_same_again_changes_nothing(store: Store, clock: Clock) -> None:
    relate(store, "ann", "knows", "bob", weight=0.5, source="chat")
    before = store.status().version
    clock.advance(hours=1)
    relate(store, "ann", "knows", "bob", weight=0.5, source="chat")
    assert store.status().version == before
    assert store.entity_edges()[0].created == NOON


# Reading by id.


def test_the_beginning_of_an_id_is_enough_if_it_is_unique(store: Store) -> None:
    for id in ("apple", "apricot", "banana"):
        remember(store, id, id)
    assert store.resolve(["b", "apple", "appl"]) == ["banana", "apple", "apple"]
    with pytest.raises(InvalidInput, match="apple, apricot"):
        store.resolve(["ap"])
    with pytest.raises(NotFound, match="pear"):
        store.resolve(["pear"])
    with pytest.raises(NotFound):
        store.resolve([""])


def test_an_id_that_is_the_beginning_of_another_is_meant_itself(store: Store) -> None:
    remember(store, "one", "cup")
    remember(store, "two", "cupboard")
    assert store.resolve(["cup"]) == ["cup"]


def test_get_returns_memories_in_the_order_of_the_ids(store: Store) -> None:
    remember(store, "one", "a")
    remember(store, "two", "b")
    assert [memory.text for memory in store.get(["b", "a", "b"])] == ["two", "one", "two"]
    with pytest.raises(NotFound, match="nobody"):
        store.get(["a", "nobody"])
    assert [memory.text for memory in store.get(["nobody", "a"], missing_ok=True)] == ["one"]


def test_history_has_the_earlier_versions_oldest_first(store: Store, clock: Clock) -> None:
    remember(store, "one", "m")
    for text in ("two", "three"):
        clock.advance(hours=1)
        revise(store, "m", text=text)
    found = [(until, memory.text) for until, memory in store.history("m")]
    assert found == [(NOON + timedelta(hours=1), "one"), (NOON + timedelta(hours=2), "two")]
    assert store.history("nobody") == []


def test_a_transaction_can_add_the_history_that_an_import_brings(store: Store) -> None:
    ends = [NOON - timedelta(days=2), NOON - timedelta(days=1)]
    with store.transaction("import") as transaction:
        row = transaction.remember(Memory("three", id="m")).row
        for text, end in zip(("one", "two"), ends, strict=True):
            transaction.add_history(row, Memory(text, id="m", created=NOON, updated=NOON), end)
    assert [(until, memory.text) for until, memory in store.history("m")] == [(ends[0], "one"), (ends[1], "two")]
    undone = undo(store)
    assert undone is not None
    assert (undone.removed, undone.restored) == (1, 0)
    assert store.status().memories == {}
    assert store.history("m") == []


def test_status_counts_what_there_is(store: Store, clock: Clock) -> None:
    assert store.status().memories == {}
    assert store.status().last_change is None
    remember(store, "one", "a")
    remember(store, "two", "b", collection="x", status="superseded")
    remember(store, "three", "c", collection="x", status="forgotten")
    remember(store, "four", "d", collection="x")
    link(store, "b", "d")
    clock.advance(hours=1)
    relate(store, "ann", "knows", "bob")
    embed(store, "a", 1.0)
    status = store.status()
    assert status.memories == {"active": 2, "superseded": 1, "forgotten": 1}
    assert status.collections == {"main": 1, "x": 2}
    assert (status.edges, status.entity_edges, status.without_vector) == (1, 1, 2)
    assert status.spaces == [{"name": "model", "dim": 8, "active": True, "vectors": 1}]
    assert status.last_change == clock.now
    assert (status.path, status.readonly) == (store.path, store.readonly)


def test_status_counts_the_active_memories_that_have_expired(store: Store, clock: Clock) -> None:
    later = clock.now + timedelta(hours=1)
    remember(store, "one", "a", expires=later)
    remember(store, "two", "b", expires=later, status="superseded")
    remember(store, "three", "c", expires=later + timedelta(hours=1))
    remember(store, "four", "d")
    assert store.status().expired == 0
    clock.advance(hours=1)
    assert store.status().expired == 1
    assert store.status().memories == {"active": 3, "superseded": 1}


def test_a_transaction_that_does_nothing_is_no_change(store: Store) -> None:
    before = replace(store.status(), bytes=0)
    with store.transaction("edit"):
        pass
    assert replace(store.status(), bytes=0) == before  # a server frees its pages later
    assert undo(store) is None


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get(["x"])
    with pytest.raises(StoreError, match="closed"), store.snapshot():
        pass
