"""Undo by operations: one call is taken back as a whole, and a bound mind takes back only what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind, StoreError
from recollect.ingest.imports.importer import IMPORT_BATCH_SIZE
from recollect.ingest.writer import ATOMIC_LIMIT
from tests.conftest import Clock
from tests.recall.kit import BAG
from tests.store.looking import assert_whole, held, sql, texts


@pytest.fixture
def minds(path: Path, clock: Clock) -> Iterator[tuple[Mind, Mind, Mind]]:
    """The whole file, what ann has of it, and what bob has of it."""
    with (
        Mind(path, embedder=None, clock=clock) as whole,
        Mind(path, embedder=None, clock=clock, user="ann") as ann,
        Mind(path, embedder=None, clock=clock, user="bob") as bob,
    ):
        yield whole, ann, bob


def undone_verb(mind: Mind) -> str | None:
    undone = mind.undo()
    return None if undone is None else undone.verb


def transactions(path: Path, verb: str) -> int:
    return int(sql(path, f"SELECT count(*) FROM changes WHERE verb = '{verb}'")[0][0])


# Several transactions.


def test_an_import_of_several_transactions_is_undone_as_a_whole(path: Path, mind: Mind) -> None:
    mind.remember("the blue cup", external_id="0")
    mind.remember("a lamp", id="lamp")
    before = held(mind)
    count = 2 * IMPORT_BATCH_SIZE + 10
    records: list[dict[str, Any]] = [{"text": f"number {at}", "external_id": str(at)} for at in range(count)]
    records += [{"text": "the last one", "id": "last"}]
    records += [{"type": "edge", "source": "last", "target": "lamp", "kind": "mentions"}]
    records += [{"type": "entity_edge", "subject": "cup", "relation": "beside", "object": "lamp"}]
    mind.import_(records)
    assert transactions(path, "import") > 2
    undone = mind.undo()
    assert undone is not None
    assert (undone.verb, undone.removed) == ("import", count)
    assert held(mind) == before
    assert texts(mind, "number") == []
    assert texts(mind, "cup") == ["the blue cup"]
    assert_whole(path)


def test_more_memories_than_one_transaction_takes_are_undone_as_a_whole(path: Path, mind: Mind) -> None:
    mind.remember("the blue cup")
    before = held(mind)
    mind.remember_many(f"number {at}" for at in range(ATOMIC_LIMIT + 1))
    assert transactions(path, "remember") == 3
    undone = mind.undo()
    assert undone is not None
    assert (undone.verb, undone.removed) == ("remember", ATOMIC_LIMIT + 1)
    assert held(mind) == before


def test_texts_that_an_operation_of_several_transactions_replaced_come_back_with_their_vectors(path: Path) -> None:
    count = IMPORT_BATCH_SIZE + 10
    with Mind(path, embedder=BAG) as mind:
        mind.remember_many({"text": f"number {at}", "external_id": str(at)} for at in range(count))
        before = held(mind)
        vectors = sql(path, "SELECT row, vector FROM vectors ORDER BY row")
        mind.import_([{"text": f"another {at}", "external_id": str(at)} for at in range(count)])
        undone = mind.undo()
        assert undone is not None
        assert (undone.removed, undone.restored) == (0, count)
        assert held(mind) == before
        assert sql(path, "SELECT row, vector FROM vectors ORDER BY row") == vectors


def test_what_a_later_transaction_changed_of_what_an_earlier_one_added_goes_with_it(path: Path) -> None:
    records = [{"text": f"number {at}", "external_id": str(at)} for at in range(IMPORT_BATCH_SIZE)]
    with Mind(path, embedder=BAG) as mind:
        mind.import_([*records, {"text": "number zero", "external_id": "0"}])
        undone = mind.undo()
        assert undone is not None
        assert (undone.removed, undone.restored, undone.ids) == (IMPORT_BATCH_SIZE, 0, ())
        assert not mind.list({"status": ("active", "forgotten")})


def test_undo_restores_what_another_operation_had_written_before_it_was_replaced(path: Path, mind: Mind) -> None:
    """Somebody edits a memory that only a later transaction of the import replaces."""
    mind.remember("an old text", id="old")

    def edit_meanwhile(done: int, of: int | None) -> None:
        with Mind(path, embedder=None) as other:
            if done <= IMPORT_BATCH_SIZE:
                other.edit("old", text="edited by hand")

    records = [{"text": f"number {at}"} for at in range(IMPORT_BATCH_SIZE)]
    mind.import_([*records, {"text": "imported", "id": "old"}], progress=edit_meanwhile)
    assert mind.show("old").text == "imported"
    assert undone_verb(mind) == "import"
    assert [memory.text for memory in mind.list()] == ["edited by hand"]


def test_an_import_that_was_undone_can_be_made_again(mind: Mind) -> None:
    records = [{"text": f"number {at}", "external_id": str(at)} for at in range(IMPORT_BATCH_SIZE + 1)]
    mind.import_(records)
    mind.undo()
    assert mind.import_(records).added == IMPORT_BATCH_SIZE + 1
    assert undone_verb(mind) == "import"
    assert undone_verb(mind) is None
    assert not mind.list()


# Bounds.


@pytest.mark.parametrize("name", ["collection", "user", "agent", "session"])
def test_a_bound_mind_takes_back_its_own_last_operation_and_passes_over_those_elsewhere(path: Path, name: str) -> None:
    here, elsewhere = {name: "here"}, {name: "elsewhere"}
    with (
        Mind(path, embedder=None, **here) as mine,  # type: ignore[arg-type]
        Mind(path, embedder=None, **elsewhere) as other,  # type: ignore[arg-type]
    ):
        mine.remember("mine, first", id="first")
        mine.edit("first", text="mine, edited")
        other.remember("another's", id="other")
        other.edit("other", text="another's, edited")
        before = held(other)
        assert undone_verb(mine) == "edit"
        assert mine.show("first").text == "mine, first"
        assert undone_verb(mine) == "remember"
        assert undone_verb(mine) is None
        assert held(other) == before
        assert undone_verb(other) == "edit"
        assert other.show("other").text == "another's"


def test_an_operation_of_the_whole_file_on_one_users_memories_is_that_users_to_undo(
    minds: tuple[Mind, Mind, Mind],
) -> None:
    whole, ann, bob = minds
    whole.remember("of ann", id="ann", user="ann")
    whole.forget("ann")
    assert undone_verb(bob) is None
    assert undone_verb(ann) == "forget"
    assert [memory.id for memory in ann.list()] == ["ann"]


def test_a_decay_of_a_bound_mind_is_its_own_to_undo(minds: tuple[Mind, Mind, Mind], clock: Clock) -> None:
    whole, ann, bob = minds
    ann.remember("of ann", id="ann")
    bob.remember("of bob", id="bob")
    clock.advance(days=10)
    assert ann.decay(0.1) == 1
    assert whole.show("bob").strength == 1.0
    assert undone_verb(bob) == "remember"
    assert undone_verb(ann) == "decay"
    assert ann.show("ann").strength == 1.0


OUTSIDE: dict[str, Callable[[Mind], object]] = {
    "memories of two users": lambda mind: mind.forget("ann", "bob"),
    "a move to another user": lambda mind: mind.edit("ann", user="bob"),
    "a link to another user's memory": lambda mind: mind.link("ann", "bob"),
    "an import for two users": lambda mind: mind.import_(
        [{"text": "new", "user": user, "external_id": str(at)} for at in range(600) for user in ("ann", "bob")]
    ),
    "a decay of everything": lambda mind: mind.decay(0.1),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_undo_is_refused_when_the_operation_also_touched_something_outside_the_bound(
    minds: tuple[Mind, Mind, Mind], clock: Clock, what: str
) -> None:
    whole, ann, bob = minds
    ann.remember("of ann", id="ann")
    bob.remember("of bob", id="bob")
    beginning = held(whole)
    clock.advance(days=10)
    OUTSIDE[what](whole)
    before, version = held(whole), whole.status().store.version
    for bound in (ann, bob):
        with pytest.raises(StoreError, match=r"outside the bound .*nothing was changed"):
            bound.undo()
    assert held(whole) == before
    assert whole.status().store.version == version
    assert whole.undo() is not None
    assert held(whole) == beginning


# Later operations.


def test_undo_is_refused_when_a_later_operation_touched_the_same_memory(path: Path, mind: Mind) -> None:
    """An import goes on after somebody else has edited what its first transaction wrote."""
    edited = False

    def edit_meanwhile(done: int, of: int | None) -> None:
        nonlocal edited
        if not edited:
            edited = True
            with Mind(path, embedder=None) as other:
                other.edit("m0", text="edited by hand")

    records = [{"text": f"number {at}", "id": f"m{at}"} for at in range(IMPORT_BATCH_SIZE + 10)]
    mind.import_(records, progress=edit_meanwhile)
    before, version = held(mind), mind.status().store.version
    with pytest.raises(StoreError, match=r"a later change.* touched the same memory"):
        mind.undo()
    assert held(mind) == before
    assert mind.status().store.version == version
    assert mind.show("m0").text == "edited by hand"
