"""What else decides: status, age, forgetting, edits; and the marks of use that a recall leaves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Filter, Mind

from .kit import APRIL_FIRST, NOON, Clock, ids, nodes, open_mind, texts


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mind(tmp_path: Path, clock: Clock) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", clock=clock) as mind:
        yield mind


@pytest.mark.contract("M9")
def test_what_no_longer_stands_comes_after_what_does(mind: Mind) -> None:
    mind.remember("a red cup", id="contradicted", status="contradicted")
    mind.remember("a red cup", id="superseded", status="superseded")
    mind.remember("a red cup", id="active")
    recall = mind.recall("red cup")
    assert ids(recall) == ["active", "superseded", "contradicted"]
    assert [result.score / recall[0].score for result in recall] == pytest.approx([1.0, 0.5, 0.3])


def test_of_two_equals_the_newer_one_comes_first(mind: Mind) -> None:
    mind.remember("a red cup", id="old", created=NOON - timedelta(days=60))
    mind.remember("a red cup", id="new", created=NOON)
    recall = mind.recall("red cup")
    assert ids(recall) == ["new", "old"]
    assert recall[1].score > 0.95 * recall[0].score


def test_a_better_match_of_last_year_wins_over_a_bad_one_of_today(mind: Mind) -> None:
    mind.remember("the red cup is on the shelf", id="good", created=NOON - timedelta(days=365))
    mind.remember("a shelf for many other things and books", id="bad", created=NOON)
    assert ids(mind.recall("red cup on the shelf")) == ["good", "bad"]


def test_a_memory_from_the_future_is_no_better_than_a_fresh_one(mind: Mind) -> None:
    mind.remember("a red cup", id="now", created=NOON)
    mind.remember("a red cup", id="later", created=NOON + timedelta(days=9))
    recall = mind.recall("red cup")
    assert recall[0].score == recall[1].score


# Forgetting.


@pytest.mark.contract("M9")
@pytest.mark.parametrize(
    "filter",
    [None, Filter(status="forgotten"), Filter(status=["active", "forgotten"]), ~Filter(status="active")],
    ids=["no filter", "asked for", "asked for among others", "negation"],
)
def test_a_forgotten_memory_never_returns(mind: Mind, filter: Filter | None) -> None:
    id = mind.remember("the red cup").id
    mind.forget(id)
    assert ids(mind.recall("red cup", filter=filter)) == []
    assert ids(mind.recall("red cup", filter=filter, as_of=NOON)) == []


def test_a_forgotten_memory_comes_back_with_undo(mind: Mind) -> None:
    id = mind.remember("the red cup").id
    before = [(result.memory.id, result.score) for result in mind.recall("red cup", track=False)]
    mind.forget(id)
    mind.undo()
    assert [(result.memory.id, result.score) for result in mind.recall("red cup", track=False)] == before


def test_a_forgotten_memory_no_longer_counts_in_the_rarity_of_words(mind: Mind) -> None:
    mind.remember("red cup", id="kept")
    alone = str(mind.why("red cup", "kept"))
    gone = mind.remember("red door", id="gone")
    assert str(mind.why("red cup", "kept")) != alone
    mind.forget(gone.id)
    assert str(mind.why("red cup", "kept")) == alone


# Editing.


def test_an_edited_text_is_found_by_its_new_words_and_no_longer_by_the_old(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", None) as mind:
        id = mind.remember("the zebra is striped").id
        mind.edit(id, text="the tiger is striped")
        assert ids(mind.recall("tiger")) == [id]
        assert ids(mind.recall("zebra")) == []


def test_an_edited_text_is_near_by_its_new_vector_and_no_longer_by_the_old(mind: Mind) -> None:
    mind.remember("zebra", id="edited")
    mind.remember_many(["zebra stripes", "giraffe neck"])
    mind.edit("edited", text="giraffe")
    for query, cosine in (("zebra", 0), ("giraffe", 1)):
        found = [node.value for node in nodes(mind.why(query, "edited")) if node.label.startswith("vectors: cosine")]
        assert found == pytest.approx([cosine], abs=1e-3)


def test_a_kept_external_id_replaces_the_text_in_every_index(mind: Mind) -> None:
    first = mind.remember("the zebra", external_id="x")
    again = mind.remember("the tiger", external_id="x")
    assert again.id == first.id
    assert texts(mind.recall("zebra")) == ["the tiger"]  # near enough by its vector, but not by words
    assert "“zebra”" not in str(mind.why("tiger", first.id))
    with open_mind(Path(mind.path), None) as words:
        assert ids(words.recall("zebra")) == []


# Use.


@pytest.mark.contract("R15", "M11")
def test_a_tracked_recall_counts_what_it_returned_and_nothing_else(mind: Mind, clock: Clock) -> None:
    mind.remember_many({"text": f"cup {n}", "id": f"m{n}"} for n in range(3))
    moment = clock.pass_(hours=1)
    returned = ids(mind.recall("cup 1", k=1))
    mind.recall("cup 1", k=1)
    for memory in mind.list():
        expected = (2, moment) if memory.id in returned else (0, None)
        assert (memory.use.access_count, memory.use.last_accessed) == expected


def test_an_untracked_recall_leaves_no_mark(mind: Mind) -> None:
    before = mind.remember("cup").use
    mind.recall("cup", track=False)
    assert mind.list()[0].use == before
    assert before.access_count == 0


def test_tracking_is_no_change_of_content(mind: Mind) -> None:
    id = mind.remember("cup").id
    before, version = mind.show(id), mind.status().store.version
    mind.recall("cup")
    assert mind.status().store.version == version
    assert mind.show(id).updated == before.updated
    assert mind.history(id) == []
    undone = mind.undo()
    assert undone is not None
    assert undone.verb == "remember"


def test_tracking_does_not_change_the_next_answer(mind: Mind) -> None:
    mind.remember_many(f"cup {n}" for n in range(5))
    first = [(result.memory.id, result.score) for result in mind.recall("cup 3", k=2)]
    assert [(result.memory.id, result.score) for result in mind.recall("cup 3", k=2)] == first


def test_a_use_is_noted_at_the_moment_of_asking_not_at_the_one_asked_about(mind: Mind, clock: Clock) -> None:
    id = mind.remember("cup", created=APRIL_FIRST).id
    assert len(mind.recall("cup", as_of="2025-04-02")) == 1
    assert mind.show(id).use.last_accessed == clock.now


def test_use_is_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path) as mind:
        mind.remember("cup")
        mind.recall("cup")
    with open_mind(path) as mind:
        assert mind.list()[0].use.access_count == 1


def test_a_decay_and_its_undo_count_at_once_also_when_another_process_made_them(tmp_path: Path, clock: Clock) -> None:
    with (
        open_mind(tmp_path / "memory.db", clock=clock) as mind,
        open_mind(tmp_path / "memory.db", clock=clock) as other,
    ):
        mind.remember("a red cup", created=NOON - timedelta(days=10))

        def strength() -> str:
            return next((node.label for node in nodes(mind.recall("red cup")[0].why) if "strength" in node.label), "")

        assert strength() == ""  # full: the stage has nothing to do
        other.decay(0.1)
        assert strength() == "strength 0.37"
        other.undo()
        assert strength() == ""
