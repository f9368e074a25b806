"""Erasing: every store removes the same things, inside its bound only, and keeps a receipt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from recollect import InvalidInput, Memory, StoreError
from recollect.model import EntityEdge
from recollect.model.memory import make_edge
from recollect.store.base import Bound, Space, Store, UseRecord
from recollect.store.reference import ReferenceStore
from recollect.upkeep.erasing import apply_receipts
from tests.conformance.kit import NOON, remember, revise, undo

SPACE = Space("toy", 4)


def fill(store: Store) -> None:
    with store.transaction("remember") as transaction:
        written = [
            transaction.remember(Memory(text, id=id, user=user, created=NOON))
            for id, user, text in (
                ("a", "anna", "Anna was in Rome yesterday."),
                ("b", "anna", "Anna has a cup."),
                ("c", "ben", "Ben has a plate."),
            )
        ]
        vectors = [(np.eye(4, dtype=np.float32)[at], b"\x01" * 8) for at in range(3)]
        transaction.embed([each.row for each in written], vectors, SPACE)
        transaction.link(make_edge("a", "c", "supports", 1.0))
        transaction.link(make_edge("b", "c", "supports", 1.0))
        transaction.relate(EntityEdge("anna", "has", "cup", user="anna", source="b"))
        transaction.relate(EntityEdge("anna", "likes", "tea", user="anna"))
    with store.transaction("edit") as transaction:
        transaction.revise("a", lambda memory: Memory("Anna was in Paris.", id="a", user="anna", created=NOON))
    store.record_use(UseRecord([written[1].row], NOON, ("access",)))


def test_an_erasure_counts_what_belongs_to_the_memories(store: Store) -> None:
    fill(store)
    plan = store.erase(["a", "b"], dry_run=True)
    erased = store.erase(["b", "a"], code=plan.code)
    expected = {"memories": 2, "versions": 1, "vectors": 1, "sketches": 1, "told_times": 0, "edges": 2}
    expected |= {"uses": 1, "chunks": 0, "relations": 1}
    for found in (plan, erased):
        assert {kind: count for kind, count in found.removed.items() if kind in expected} == expected
    assert erased.receipt is not None
    assert erased.receipt.matching(["a", "b", "c"]) == ["a", "b"]
    assert erased.pending == ()
    assert [each.id for each in store.get(["a", "b", "c"], missing_ok=True)] == ["c"]
    assert store.edges() == []
    assert [edge.relation for edge in store.entity_edges()] == ["likes"]
    assert store.history("a") == []
    assert store.receipts() == [erased.receipt]


def test_a_bound_erases_everything_inside_it_and_nothing_else(store: Store) -> None:
    fill(store)
    anna = store.within(Bound(user="anna"))
    assert anna.erase(["c"]).removed["memories"] == 0
    erased = anna.erase(None)
    assert (erased.removed["memories"], erased.removed["relations"]) == (2, 2)
    assert [each.id for each in store.get(["a", "b", "c"], missing_ok=True)] == ["c"]
    assert store.entity_edges() == []
    assert anna.receipts() == store.receipts() == [erased.receipt]
    assert store.within(Bound(user="ben")).receipts() == []


def test_purging_comes_before_removal_and_not_in_a_dry_run(store: Store) -> None:
    fill(store)
    seen: list[int] = []

    def purge(kept: Iterable[str] = ()) -> int:
        assert sorted(kept) == ["Anna has a cup.", "Ben has a plate."]
        seen.append(len(store.get(["a"], missing_ok=True)))
        return 3

    store.erase(["a"], purge, dry_run=True)
    assert seen == []
    assert store.erase(["a"], purge).removed["cached_vectors"] == 3
    assert seen == [1]


def test_a_wrong_code_erases_nothing(store: Store) -> None:
    fill(store)
    code = store.erase(["a"], dry_run=True).code
    with pytest.raises(InvalidInput, match="Nothing was erased"):
        store.erase(["a", "b"], code=code)
    assert len(store.get(["a", "b"])) == 2


def test_a_memory_that_changed_since_the_dry_run_is_not_erased(store: Store) -> None:
    fill(store)
    code = store.erase(["b"], dry_run=True).code
    assert store.erase(["b"], dry_run=True).code == code
    with store.transaction("edit") as transaction:
        transaction.revise("b", lambda memory: replace(memory, text="Anna has a will."))
    with pytest.raises(InvalidInput, match="changed or removed since the dry run"):
        store.erase(["b"], code=code)
    assert store.get(["b"])[0].text == "Anna has a will."


def test_undo_counts_what_was_erased_and_an_erasure_is_not_undone(store: Store) -> None:
    fill(store)
    store.erase(["a"])
    with store.transaction("undo") as transaction:
        undone = transaction.undo()
    assert undone is not None
    assert (undone.verb, undone.removed, undone.restored, undone.erased) == ("edit", 0, 0, 1)
    assert undone.erasure == store.receipts()[0].at  # the last change is the erasure, which was passed over
    with store.transaction("undo") as transaction:
        undone = transaction.undo()
    assert undone is not None
    assert (undone.verb, undone.removed, undone.erased) == ("remember", 2, 1)
    assert store.get(["a", "b", "c"], missing_ok=True) == []


def test_a_user_whose_last_memory_was_erased_has_nothing_left_to_undo(store: Store) -> None:
    anna, ben = store.within(Bound(user="anna")), store.within(Bound(user="ben"))
    for within, user, id in ((anna, "anna", "a"), (ben, "ben", "b"), (anna, "anna", "c")):
        remember(within, f"A cup of {user}.", id, user=user)
    anna.erase(["a"])
    anna.erase(["c"])
    assert undo(anna) is None  # the history no longer has her name
    remember(anna, "Anna is back.", "d", user="anna")
    assert undo(anna) is not None
    assert undo(anna) is None
    undone = undo(ben)
    assert undone is not None
    assert (undone.verb, undone.removed, undone.erasure) == ("remember", 1, None)
    assert store.get(["a", "b", "c", "d"], missing_ok=True) == []


NAMES = ("collection", "user", "agent", "session")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_earlier_versions_that_belonged_to_an_erased_name_go_with_it(store: Store, name: str, whole: bool) -> None:
    remember(store, "The cup is Anna's.", "a", **{name: "anna"})
    remember(store, "The plate is Anna's.", "b", **{name: "anna"})
    revise(store, "a", **{name: "ben"}, text="The cup is Ben's.")
    revise(store, "a", text="The cup is blue.")
    anna, ben = (store.within(Bound(**{name: value})) for value in ("anna", "ben"))
    chosen = None if whole else ["b"]
    plan = anna.erase(chosen, dry_run=True)
    erased = anna.erase(chosen, code=plan.code)
    assert (erased.removed["memories"], erased.removed["versions"], plan.removed["versions"]) == (1, 1, 1)
    assert [memory.text for _, memory in store.history("a")] == ["The cup is Ben's."]
    undone = undo(ben)
    assert undone is not None
    assert (undone.restored, store.get(["a"])[0].text) == (1, "The cup is Ben's.")
    undone = undo(store)  # the move: what was before it is erased
    assert undone is not None
    assert (undone.restored, undone.removed, undone.erased) == (0, 0, 1)
    assert getattr(store.get(["a"])[0], name) == "ben"


@pytest.mark.parametrize("name", NAMES)
def test_versions_are_erased_with_their_owner_even_if_it_has_no_memory_any_more(store: Store, name: str) -> None:
    remember(store, "The cup is Anna's.", "a", **{name: "anna"})
    revise(store, "a", **{name: "ben"})
    erased = store.within(Bound(**{name: "anna"})).erase(None)
    assert (erased.removed["memories"], erased.removed["versions"]) == (0, 1)
    assert store.history("a") == []
    assert undo(store.within(Bound(**{name: "anna"}))) is None
    assert store.within(Bound(**{name: "anna"})).erase(None).removed["versions"] == 0


def test_an_erasure_leaves_the_versions_of_others_that_have_the_same_name(store: Store) -> None:
    """Two users have a session of the same name."""
    for user in ("anna", "ben"):
        remember(store, f"A cup of {user}.", user, user=user, session="monday")
    revise(store, "ben", session="tuesday")
    store.within(Bound(user="anna")).erase(None)
    assert [memory.session for _, memory in store.history("ben")] == ["monday"]


def test_undo_does_not_reach_what_belongs_to_others_when_an_erasure_removed_the_version_of_the_move(
    store: Store,
) -> None:
    with store.transaction("remember") as transaction:
        for id, user in (("a", "anna"), ("b", "ben")):
            transaction.remember(Memory(f"A cup of {user}.", id=id, user=user, created=NOON))
    revise(store, "a", user="carl")
    store.within(Bound(user="anna")).erase(None)
    with pytest.raises(StoreError):
        undo(store.within(Bound(user="ben")))
    assert [memory.user for memory in store.get(["a", "b"])] == ["carl", "ben"]


@pytest.mark.parametrize("name", NAMES)
def test_erasing_everything_of_a_name_leaves_no_trace_of_what_was_undone(store: Store, name: str) -> None:
    remember(store, "The plate is Ben's.", "b", **{name: "ben"})
    remember(store, "The cup is Anna's.", "a", **{name: "anna"})
    undo(store)
    anna = store.within(Bound(**{name: "anna"}))
    assert [owner for owner in store.owners() if "anna" in owner]
    erased = anna.erase(None)
    assert erased.receipt is not None
    assert erased.receipt.bound.keys() == {name}
    assert not [owner for owner in store.owners() if "anna" in owner]
    assert undo(store) is not None  # Ben's change is still in the history
    assert store.get(["b"], missing_ok=True) == []


def test_everything_of_a_name_is_erased_again_from_a_store_as_it_was_before(store: Store) -> None:
    """The earlier versions of what belongs to others now, what was undone since, and relations."""
    remember(store, "The cup is Anna's.", "a", user="anna")
    revise(store, "a", user="ben", text="The cup is Ben's.")
    remember(store, "The bowl is Anna's.", "c", user="anna")
    with store.transaction("relate") as transaction:
        transaction.relate(EntityEdge("anna", "likes", "tea", user="anna"))
        transaction.relate(EntityEdge("ben", "likes", "milk", user="ben"))
    other = ReferenceStore(lambda: NOON + timedelta(days=1))  # where she has one memory, and it is another one
    remember(other, "The plate is Anna's.", "b", user="anna")
    receipt = other.within(Bound(user="anna")).erase(None).receipt
    assert receipt is not None
    removed = apply_receipts(store, [receipt], NOON)
    assert (removed["memories"], removed["versions"], removed["relations"]) == (1, 1, 1)
    assert [(memory.text, memory.user) for memory in store.get(["a", "c"], missing_ok=True)] == [
        ("The cup is Ben's.", "ben")
    ]
    assert store.history("a") == []
    assert {owner[1] for owner in store.owners()} == {"ben"}
    assert apply_receipts(store, [receipt], NOON) == {}


@pytest.mark.parametrize("name", NAMES)
def test_erasing_a_name_of_which_nothing_is_stored_leaves_a_receipt_for_older_backups(store: Store, name: str) -> None:
    remember(store, "The plate is Ben's.", "b", **{name: "ben"})
    anna = store.within(Bound(**{name: "anna"}))
    assert anna.erase(None, dry_run=True).receipt is None
    assert anna.erase(["a"]).receipt is None
    assert store.receipts() == []
    receipt = anna.erase(None).receipt
    assert receipt is not None
    assert store.receipts() == [receipt]
    assert receipt.ids == ()
    assert receipt.bound.keys() == {name}
    assert undo(store) is not None, "nobody's change was erased"
    older = ReferenceStore(lambda: NOON)
    remember(older, "The cup is Anna's.", "a", **{name: "anna"})
    assert apply_receipts(older, [receipt], NOON)["memories"] == 1


def test_what_was_written_after_an_erasure_stays_when_it_is_applied_again(store: Store) -> None:
    remember(store, "The cup is Anna's.", "a", user="anna")
    receipt = store.within(Bound(user="anna")).erase(None).receipt
    assert receipt is not None
    remember(store, "Anna was here before.", "b", user="anna", updated=receipt.at)
    remember(store, "Anna is back.", "c", user="anna", updated=receipt.at + timedelta(seconds=1))
    assert apply_receipts(store, [receipt], NOON)["memories"] == 1
    assert [memory.id for memory in store.get(["b", "c"], missing_ok=True)] == ["c"]


def test_a_relation_that_was_undone_goes_with_the_last_memory_of_its_user(store: Store) -> None:
    remember(store, "A cup.", "a", user="anna")
    for weight in (1.0, 0.5):
        with store.transaction("relate") as transaction:
            transaction.relate(EntityEdge("anna", "has", "cup", weight, user="anna", source="a"))
    for _ in range(2):
        undo(store)
    store.erase(["a"])
    assert undo(store) is None
    assert store.entity_edges() == []


def test_an_erased_id_can_be_used_again(store: Store) -> None:
    fill(store)
    store.erase(["a"])
    with store.transaction("remember") as transaction:
        transaction.remember(Memory("Another.", id="a", created=NOON + timedelta(days=1)))
    assert store.get(["a"])[0].text == "Another."
    assert store.history("a") == []
