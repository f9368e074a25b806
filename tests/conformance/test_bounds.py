"""Bounds: what lies outside does not exist for the caller, whatever is asked of the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recollect.errors import InvalidInput, NotFound, RecollectError, StoreError
from recollect.model import Edge, Memory, Use
from recollect.model.memory import edit_memory
from recollect.store.base import Bound, Store, Term, Transaction, UseRecord
from tests.conformance.kit import (
    NOON,
    SPACE,
    TEXT,
    embed,
    encoded,
    everything,
    ids_in,
    link,
    relate,
    remember,
    revise,
    rows,
)
from tests.conftest import Clock

BOUNDS = {name: Bound(**{name: "mine"}) for name in ("collection", "user", "agent", "session")}


@pytest.fixture(params=BOUNDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def both(store: Store, name: str) -> Store:
    """Two memories inside the bound and two outside."""
    for id in ("mine a", "mine b"):
        remember(store, "cup and saucer", id, **{name: "mine"})
    for id in ("foreign a", "foreign b"):
        remember(store, "cup and secret", id, external_id=id, **{name: "other"})
    for owner in ("mine", "foreign"):
        link(store, f"{owner} a", f"{owner} b")
        revise(store, f"{owner} a", title=owner)
    for id in ("mine a", "foreign a"):
        embed(store, id, 1.0, sketch=b"\x01")
    return store


@pytest.fixture
def bound(both: Store, name: str) -> Store:
    return both.within(BOUNDS[name])


def test_reads_by_id_find_nothing_outside(bound: Store) -> None:
    assert bound.resolve(["mine a"]) == ["mine a"]
    for id in ("foreign a", "foreign"):
        with pytest.raises(NotFound):
            bound.resolve([id])
    with pytest.raises(NotFound):
        bound.get(["foreign a"])
    assert [memory.id for memory in bound.get(["foreign a", "mine a"], missing_ok=True)] == ["mine a"]
    assert bound.history("foreign a") == []
    assert len(bound.history("mine a")) == 1
    assert [edge.source for edge in bound.edges()] == ["mine a"]
    assert bound.edges(["foreign a"]) == []
    assert bound.unembedded(SPACE) == ["mine b"]
    assert bound.unembedded(SPACE, among=["foreign b"]) == []


def test_status_counts_what_is_inside_alone(bound: Store, name: str) -> None:
    status = bound.status()
    assert status.memories == {"active": 2}
    assert status.collections == {"mine" if name == "collection" else "main": 2}
    assert (status.edges, status.without_vector) == (1, 1)
    assert [space["vectors"] for space in status.spaces] == [1]


def test_a_foreign_change_does_not_move_the_last_change(bound: Store, both: Store, clock: Clock) -> None:
    before = bound.status().last_change
    clock.advance(hours=1)
    revise(both, "foreign a", text="changed")
    assert bound.status().last_change == before
    assert both.status().last_change == clock.now


def test_a_snapshot_has_nothing_from_outside(bound: Store, both: Store) -> None:
    with both.snapshot() as snapshot:
        foreign = rows(snapshot, "foreign a", "foreign b")
        first = int(foreign[0])
    with bound.snapshot() as snapshot:
        scope = everything(snapshot)
        assert ids_in(snapshot, scope) == ["mine a", "mine b"]
        assert scope.count == 2
        assert snapshot.row("foreign a") is None
        assert not scope.contains(foreign).any()
        exclusion = scope.exclusion(first)
        assert exclusion is not None
        assert exclusion.reason == "it is not in the store"
        assert not scope.knows(first)
        assert snapshot.memories(foreign) == []
        assert snapshot.ids(foreign) == snapshot.texts(foreign) == snapshot.paths(foreign) == ["", ""]
        assert snapshot.strings("collection", foreign) == ["", ""]
        assert snapshot.contexts(foreign) == [{}, {}]
        assert snapshot.uses(foreign) == [Use(), Use()]
        assert np.isnan(snapshot.numbers("created", foreign)).all()
        assert np.isnan(snapshot.vectors(foreign)).all()
        assert snapshot.token_sketches(foreign).counts.tolist() == [0, 0]
        assert snapshot.neighbours(foreign, 1).tolist() == [[-1, -1]] * 2
        assert snapshot.edges(foreign).kinds == []
        assert snapshot.term_frequencies([Term("secret")], TEXT, foreign).tolist() == [[0.0, 0.0]]
        assert snapshot.field_lengths(TEXT, foreign).tolist() == [0.0, 0.0]


def test_statistics_and_spellings_are_those_of_the_bound(bound: Store) -> None:
    with bound.snapshot() as snapshot:
        scope = everything(snapshot)
        statistics = snapshot.term_statistics([Term("cup"), Term("secret")], TEXT, scope)
        assert (statistics.documents, statistics.average_length) == (2, 3.0)
        assert (statistics.frequencies, statistics.occurs) == ([2, 0], [True, False])
        assert snapshot.similar_words("secrets", scope, 0.3, 5) == []
        assert snapshot.nearest(encoded(1.0)[0], scope, 5).total == 1


def test_neighbours_skip_what_lies_outside(store: Store) -> None:
    for at in range(4):
        remember(store, f"said {at}", str(at), session="monday", position=at, agent=("mine", "other")[at % 2])
    with store.within(Bound(agent="mine")).snapshot() as snapshot:
        (found,) = snapshot.neighbours(rows(snapshot, "0"), 1)
        assert snapshot.ids(found[1:]) == ["2"]


def owned(name: str, owner: str, id: str = "") -> Memory:
    owners: dict[str, Any] = {name: owner}
    return Memory("x", id=id, **owners)


FORBIDDEN: dict[str, Callable[[Transaction, str], object]] = {
    "remember with a foreign id": lambda t, name: t.remember(owned(name, "mine", "foreign a")),
    "remember outside": lambda t, name: t.remember(owned(name, "other")),
    "revise": lambda t, name: t.revise("foreign a", lambda memory: replace(memory, text="x")),
    "move out": lambda t, name: t.revise("mine a", lambda memory: edit_memory(memory, {name: "other"})),
    "link to": lambda t, name: t.link(Edge("mine a", "foreign a", "mentions")),
    "link from": lambda t, name: t.link(Edge("foreign a", "foreign b", "mentions")),
    "unlink": lambda t, name: t.unlink("foreign a", "foreign b", None),
    "row": lambda t, name: t.row("foreign a"),
}


@pytest.mark.parametrize("verb", FORBIDDEN)
def test_nothing_outside_can_be_written_or_named(bound: Store, both: Store, name: str, verb: str) -> None:
    before = both.get(["mine a", "foreign a", "foreign b"]), both.edges(), both.status()
    with pytest.raises((InvalidInput, NotFound)) as refused, bound.transaction("edit") as transaction:
        FORBIDDEN[verb](transaction, name)
    assert "other" not in str(refused.value).replace("another", "")
    assert (both.get(["mine a", "foreign a", "foreign b"]), both.edges(), both.status()) == before


BY_ROW: dict[str, Callable[[Transaction, int], object]] = {
    "delete": lambda t, row: t.delete([row]),
    "embed": lambda t, row: t.embed([row], [encoded(0.0, 1.0)], SPACE),
    "set use": lambda t, row: t.set_use(row, Use(access_count=7)),
    "add history": lambda t, row: t.add_history(row, Memory("x"), NOON),
}


@pytest.mark.parametrize("verb", BY_ROW)
def test_a_foreign_row_cannot_be_written(bound: Store, both: Store, verb: str) -> None:
    with both.snapshot() as snapshot:
        foreign = rows(snapshot, "foreign a")
        before = snapshot.memories(foreign), snapshot.vectors(foreign).tolist(), both.history("foreign a")
    with suppress(RecollectError), bound.transaction("edit") as transaction:
        BY_ROW[verb](transaction, int(foreign[0]))
    with both.snapshot() as snapshot:
        memories = snapshot.memories(foreign)
        assert (memories, snapshot.vectors(foreign).tolist(), both.history("foreign a")) == before
        assert memories[0].use == Use()


def test_row_with_finds_nothing_outside(bound: Store) -> None:
    with bound.transaction("embed") as transaction:
        assert transaction.row_with("foreign b", "cup and secret") is None
        assert transaction.row_with("mine b", "cup and saucer") is not None


def test_a_use_of_a_foreign_row_is_not_recorded(bound: Store, both: Store) -> None:
    with both.snapshot() as snapshot:
        chosen = rows(snapshot, "foreign a", "mine a").tolist()
    bound.record_use(UseRecord(chosen, NOON))
    assert [memory.use.access_count for memory in both.get(["foreign a", "mine a"])] == [0, 1]


def test_relations_have_a_collection_and_a_user(store: Store) -> None:
    for collection in ("mine", "other"):
        for user in ("ann", "bob"):
            relate(store, "cup", "on", "shelf", collection=collection, user=user)
    bound = store.within(Bound(collection="mine", user="ann"))
    assert [(edge.collection, edge.user) for edge in bound.entity_edges()] == [("mine", "ann")]
    assert bound.status().entity_edges == 1
    with bound.snapshot() as snapshot:
        assert len(snapshot.relations(["CUP"])) == 1
    with pytest.raises(InvalidInput):
        relate(bound, "cup", "on", "floor", collection="other", user="ann")


@pytest.mark.parametrize("bound", [Bound(session="monday", user="bob"), Bound(agent="cook", user="bob")])
def test_relations_belong_to_no_agent_or_session_and_are_in_no_bound_by_one(store: Store, bound: Bound) -> None:
    relate(store, "cup", "on", "shelf", user="bob")
    limited = store.within(bound)
    assert limited.entity_edges() == []
    with pytest.raises(InvalidInput):
        relate(limited, "cup", "on", "floor", user="bob")
    with limited.transaction("undo") as transaction:
        assert transaction.undo() is None


def test_a_decay_elsewhere_does_not_hinder_undo(store: Store, clock: Clock) -> None:
    remember(store, "cup", "a", collection="x", user="ann")
    own = store.within(Bound(collection="y"))
    remember(own, "jug", "j", collection="y")
    clock.advance(days=2)
    with store.within(Bound(user="ann")).transaction("decay") as transaction:
        assert transaction.decay(0.5) == 1
    with own.transaction("undo") as transaction:
        undone = transaction.undo()
    assert undone is not None
    assert (undone.verb, undone.removed) == ("remember", 1)


def test_earlier_versions_from_outside_the_bound_are_not_shown(store: Store) -> None:
    remember(store, "secret", "m", collection="other")
    revise(store, "m", text="public", collection="mine")
    revise(store, "m", text="known")
    bound = store.within(Bound(collection="mine"))
    assert [memory.text for _, memory in bound.history("m")] == ["public"]
    assert [memory.text for _, memory in store.history("m")] == ["secret", "public"]


def test_a_bound_becomes_narrower_and_never_wider(store: Store) -> None:
    remember(store, "one", "one", collection="x", user="ann")
    remember(store, "two", "two", collection="x", user="bob")
    remember(store, "three", "three", collection="y", user="ann")
    x = store.within(Bound(collection="x"))
    both = x.within(Bound(user="ann"))
    assert both.bound == Bound(collection="x", user="ann")
    assert both.status().memories == {"active": 1}
    assert x.within(Bound()).bound == x.bound
    with pytest.raises(InvalidInput):
        x.within(Bound(collection="y"))
    assert store.bound == Bound()


def test_handles_share_one_store(store: Store) -> None:
    bound = store.within(Bound(collection="x"))
    remember(bound, "one", "one", collection="x")
    assert store.get(["one"])[0].text == "one"
    assert bound.path == store.path


def test_the_model_of_all_vectors_cannot_be_changed_inside_a_bound(bound: Store) -> None:
    with pytest.raises(StoreError):
        bound.switch_space(SPACE)
