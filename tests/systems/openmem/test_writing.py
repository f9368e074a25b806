"""OpenMem (M), the write side: strength, confidence, contradictions; and superseding (B4)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Memory, Mind, NotFound, StoreError
from tests.conftest import Clock, examples
from tests.recall.kit import ids
from tests.store.looking import held, sql
from tests.systems.openmem.kit import STRENGTH, ask, fresh, labels, rivals, scores

FEW = settings(max_examples=examples(10, 25), deadline=None)


@pytest.fixture
def mind(path: Path, clock: Clock) -> Iterator[Mind]:
    with Mind(path, embedder=None, clock=clock, durability="fast") as mind:
        yield mind


# M7: strength.


@pytest.mark.contract("M7")
def test_strength_starts_at_one(mind: Mind) -> None:
    assert mind.remember("cup").strength == 1.0


@pytest.mark.contract("M7")
def test_reinforcing_adds_a_tenth_and_stops_at_one(mind: Mind) -> None:
    id = mind.remember("cup", strength=0.75).id
    assert [mind.reinforce(id).strength for _ in range(4)] == pytest.approx([0.85, 0.95, 1.0, 1.0])
    assert mind.show(id[:8]).strength == 1.0


@pytest.mark.contract("M7")
def test_another_amount_can_be_given_and_only_a_share_of_one(mind: Mind) -> None:
    id = mind.remember("cup", strength=0.25).id
    assert mind.reinforce(id, 0.5).strength == 0.75
    for amount in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(InvalidInput, match="amount"):
            mind.reinforce(id, amount)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        mind.reinforce("nobody")


@pytest.mark.contract("M7")
def test_reinforcing_is_undone_and_does_nothing_at_one(mind: Mind) -> None:
    mind.remember("cup", id="cup", strength=0.5)
    before = held(mind)
    mind.reinforce("cup", 0.5)
    mind.reinforce("cup")
    undone = mind.undo()
    assert undone is not None
    assert undone.verb == "reinforce"
    assert held(mind) == before


# M7: decay.


@pytest.mark.contract("M7")
@pytest.mark.parametrize("days", [0.5, 1, 30, 365])
def test_decay_multiplies_strength_by_the_days_since_creation(mind: Mind, clock: Clock, days: float) -> None:
    mind.remember("cup", id="full")
    mind.remember("cup", id="half", strength=0.5)
    clock.advance(days=days)
    assert mind.decay() == 2
    assert mind.show("full").strength == pytest.approx(math.exp(-0.01 * days))
    assert mind.show("half").strength == pytest.approx(0.5 * math.exp(-0.01 * days))


@pytest.mark.contract("M7")
def test_decay_counts_from_the_last_one_or_from_creation_when_that_came_later(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="old")
    clock.advance(days=10)
    mind.decay()
    clock.advance(days=4)
    mind.remember("cup", id="new")
    clock.advance(days=6)
    mind.decay()
    assert mind.show("old").strength == pytest.approx(math.exp(-0.01 * 20))
    assert mind.show("new").strength == pytest.approx(math.exp(-0.01 * 6))


@pytest.mark.contract("M7")
def test_another_rate_can_be_given_and_none_below_zero(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup")
    clock.advance(days=2)
    assert mind.decay(0) == 0
    assert mind.decay(0.5) == 1
    assert mind.show("cup").strength == pytest.approx(math.exp(-1))
    for rate in (-0.01, float("inf"), "fast"):
        with pytest.raises(InvalidInput, match="rate"):
            mind.decay(rate)  # type: ignore[arg-type]


@pytest.mark.contract("M7")
def test_decay_again_at_the_same_moment_changes_nothing(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup")
    clock.advance(days=3)
    mind.decay()
    before, version = held(mind), mind.status().store.version
    assert mind.decay() == 0
    clock.now -= timedelta(days=1)  # nor does a clock that goes backwards
    assert mind.decay() == 0
    assert (held(mind), mind.status().store.version) == (before, version)


@pytest.mark.contract("M7")
@FEW
@given(st.lists(st.floats(0, 400), min_size=1, max_size=5), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_decay_in_many_steps_or_twice_at_once_is_decay_once(spans: list[float], strengths: list[float]) -> None:
    clock = Clock()
    with fresh(clock) as often, fresh(clock) as once:
        for mind in (often, once):
            mind.remember_many({"text": "cup", "id": f"m{n}", "strength": each} for n, each in enumerate(strengths))
        for span in spans:
            clock.advance(days=span)
            often.decay()
            assert often.decay() == 0
        once.decay()
        for n, strength in enumerate(strengths):
            expected = strength * math.exp(-0.01 * math.fsum(spans))
            assert often.show(f"m{n}").strength == pytest.approx(expected, rel=1e-9)
            assert once.show(f"m{n}").strength == pytest.approx(expected, rel=1e-9)


@pytest.mark.contract("M7")
def test_decay_is_undone_exactly_and_then_counts_from_before(path: Path, mind: Mind, clock: Clock) -> None:
    mind.remember_many({"text": "cup", "id": f"m{n}", "strength": n / 7} for n in range(1, 8))
    clock.advance(days=10)
    mind.decay()
    clock.advance(days=10)
    before = held(mind)
    answered = scores(ask(mind, "cup"))
    mind.decay()
    assert scores(ask(mind, "cup")) != answered
    undone = mind.undo()
    assert undone is not None
    assert (undone.verb, undone.removed, undone.restored) == ("decay", 0, 7)
    assert held(mind) == before
    assert scores(ask(mind, "cup")) == answered
    mind.decay()
    assert mind.show("m7").strength == pytest.approx(math.exp(-0.01 * 20))
    for _ in range(2):
        mind.undo()
    assert [memory.strength for memory in reversed(mind.list())] == [n / 7 for n in range(1, 8)]


@pytest.mark.contract("M7")
def test_decay_keeps_one_record_and_is_no_edit(path: Path, mind: Mind, clock: Clock) -> None:
    mind.remember_many({"text": "cup", "id": f"m{n}"} for n in range(50))
    updated = mind.show("m0").updated
    clock.advance(days=10)
    assert mind.decay() == 50
    assert sql(path, "SELECT count(*) FROM former") == [(1,)]
    assert (mind.show("m0").updated, mind.history("m0")) == (updated, [])


@pytest.mark.contract("M7")
def test_a_mind_that_is_already_open_sees_a_decay_and_its_undo(path: Path, mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup")
    with Mind(path, embedder=None, clock=clock) as other:
        clock.advance(days=100)
        for each in (mind, other):
            assert scores(ask(each, "cup", weights=STRENGTH)) == {"cup": 1.0}
        mind.decay()
        for each in (mind, other):
            assert scores(ask(each, "cup", weights=STRENGTH)) == pytest.approx({"cup": math.exp(-1)})
        other.remember("another cup", id="later")
        assert scores(ask(mind, "cup", weights=STRENGTH)) == pytest.approx({"later": 1.0, "cup": math.exp(-1)})
        other.undo()
        other.undo()
        for each in (mind, other):
            assert scores(ask(each, "cup", weights=STRENGTH)) == {"cup": 1.0}


@pytest.mark.contract("M7")
def test_a_mind_bound_to_a_collection_lets_only_that_one_fade(path: Path, mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="mine", collection="mine")
    mind.remember("cup", id="other", collection="other")
    clock.advance(days=10)
    with Mind(path, embedder=None, clock=clock, collection="mine") as bound:
        assert bound.decay() == 1
    assert mind.show("other").strength == 1.0
    clock.advance(days=10)
    mind.decay()
    assert mind.show("mine").strength == pytest.approx(math.exp(-0.2))
    assert mind.show("other").strength == pytest.approx(math.exp(-0.2))


@pytest.mark.contract("M7")
def test_a_file_opened_for_reading_does_not_fade(path: Path, mind: Mind, clock: Clock) -> None:
    mind.remember("cup")
    with Mind(path, embedder=None, clock=clock, readonly=True) as reader, pytest.raises(StoreError, match="read-only"):
        reader.decay()


@pytest.mark.contract("M7", "M5")
def test_what_has_faded_scores_lower(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="faded")
    clock.advance(days=100)
    mind.decay()
    assert scores(ask(mind, "cup", weights=STRENGTH)) == pytest.approx({"faded": math.exp(-1)})


# M8: confidence.


@pytest.mark.contract("M8")
def test_confidence_is_what_it_was_made_with_whatever_happens(mind: Mind, clock: Clock) -> None:
    id = mind.remember("cup", confidence=0.7).id
    other = mind.remember("no cup").id
    clock.advance(days=100)
    ask(mind, "cup", track=True)
    mind.decay()
    mind.reinforce(id)
    mind.contradict(id, other, loser=id)
    mind.supersede(id, "a newer cup")
    assert mind.show(id).confidence == 0.7


@pytest.mark.contract("M8")
def test_confidence_is_between_0_and_1_and_both_are_allowed(mind: Mind) -> None:
    assert [mind.remember(f"cup {value}", confidence=value).confidence for value in (0, 1)] == [0, 1]
    for outside in (-0.01, 1.01):
        with pytest.raises(InvalidInput, match="confidence"):
            mind.remember("cup", confidence=outside)


# M10: contradict.


@pytest.mark.contract("M10")
def test_contradict_makes_an_edge_and_marks_nothing(mind: Mind) -> None:
    rivals(mind)
    edge = mind.contradict("first", "second", 0.5)
    assert (edge.source, edge.target, edge.kind, edge.weight) == ("first", "second", "contradicts", 0.5)
    assert {memory.status for memory in mind.list()} == {"active"}


@pytest.mark.contract("M10", "M9")
def test_a_known_loser_is_marked_in_the_same_change(mind: Mind) -> None:
    rivals(mind)
    before = held(mind)
    mind.contradict("first", "second", loser="sec")
    assert (mind.show("first").status, mind.show("second").status) == ("active", "contradicted")
    undone = mind.undo()
    assert undone is not None
    assert undone.verb == "contradict"
    assert held(mind) == before


@pytest.mark.contract("M10", "M9")
def test_a_mark_and_a_lost_contradiction_are_two_penalties(mind: Mind) -> None:
    rivals(mind, strength=0.25)
    before = scores(ask(mind, "cup"))
    mind.contradict("first", "second", loser="second")
    after = scores(ask(mind, "cup", max_hops=0))
    assert after == pytest.approx({"first": before["first"], "second": before["second"] * 0.3 * 0.3})


@pytest.mark.contract("M10", "M9")
def test_why_shows_that_a_loser_is_marked_and_by_whom_and_how_far_it_is_weaker(mind: Mind) -> None:
    rivals(mind, strength=0.25)
    mind.contradict("first", "second", loser="second")
    found = ask(mind, "cup")
    shown = labels(found.why("second"))
    assert {"status: contradicted", "contradicted by first"} <= {*shown}
    (result,) = (each for each in found if each.id == "second")
    assert result.notes == ("contradicted by first: strength × confidence × recency is 0.25, and 0.5 there",)


@pytest.mark.contract("M10", "M9", "B4")
def test_before_it_was_contradicted_a_loser_competes_as_active(mind: Mind, clock: Clock) -> None:
    rivals(mind, strength=0.25)
    before, then = scores(ask(mind, "cup")), clock.now
    clock.advance(days=3)
    mind.contradict("first", "second", loser="second")
    assert scores(ask(mind, "cup", as_of=then)) == before
    assert "status: active" in labels(ask(mind, "cup", as_of=then).why("second"))
    assert "status: contradicted" in labels(ask(mind, "cup", as_of=clock.now).why("second"))


@pytest.mark.contract("M3", "B4")
def test_edges_made_after_the_moment_of_the_query_do_not_spread(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="hit")
    mind.remember("saucer", id="early")
    mind.remember("spoon", id="late")
    mind.link("hit", "early", "supports", 0.5)
    then = clock.now
    clock.advance(days=3)
    mind.link("hit", "late", "supports", 0.9)
    mind.link("hit", "early", "supports", 0.8)  # another weight: the edge is as old as before
    assert ids(ask(mind, "cup", as_of=then)) == ["hit", "early"]
    assert {*ids(ask(mind, "cup"))} == {"hit", "early", "late"}
    assert "late" in ids(mind.recall("cup", track=False))  # so too in the default recipe
    assert "late" not in ids(mind.recall("cup", as_of=then, track=False))


@pytest.mark.contract("M10", "M9")
def test_a_loser_must_be_one_of_the_two_and_still_there(mind: Mind) -> None:
    rivals(mind)
    mind.remember("a third", id="third")
    mind.forget("second")
    before = held(mind)
    for wrong, problem in (("third", "one of the two"), ("second", "forgotten")):
        with pytest.raises(InvalidInput, match=problem):
            mind.contradict("first", "second", loser=wrong)
    with pytest.raises(InvalidInput, match="itself"):
        mind.contradict("first", "first")
    with pytest.raises(NotFound):
        mind.contradict("first", "nobody")
    assert held(mind) == before


# B4: supersede.


@pytest.mark.contract("B4")
def test_superseding_keeps_both_and_marks_the_current_one(mind: Mind, clock: Clock) -> None:
    mind.remember("the dock is in the kitchen", id="old")
    now = clock.advance(days=7)
    new = mind.supersede("old", "the dock is in the hallway", tags=["home"])
    old = mind.show("old")
    assert (old.text, old.status, old.valid_to) == ("the dock is in the kitchen", "superseded", now)
    assert (new.text, new.status, new.valid_from, new.valid_to) == ("the dock is in the hallway", "active", now, None)
    assert (new.created, new.tags) == (now, ("home",))
    assert [(e.source, e.target, e.kind) for e in mind.edges()] == [(new.id, "old", "supersedes")]


@pytest.mark.contract("B4", "M9")
def test_the_current_one_comes_first_and_the_past_has_its_own(mind: Mind, clock: Clock) -> None:
    mind.remember("the dock is in the kitchen", id="old")
    then = clock.advance(days=7)
    clock.advance(days=7)
    new = mind.supersede("old", "the dock is in the hallway").id
    assert ids(ask(mind, "dock")) == [new, "old"]
    assert ids(mind.recall("dock", track=False)) == [new, "old"]
    assert ids(ask(mind, "dock", as_of=then)) == ["old"]
    assert "status: active" in labels(ask(mind, "dock", as_of=then).why("old"))
    assert ids(ask(mind, "dock", as_of=clock.now)) == [new]


def number(version: str) -> int:
    """The number of a version: of a file without its random token, on a server that of its only collection."""
    first, *others = version.split(".")
    return int(others[-1] if len(others) == 2 else first)


@pytest.mark.contract("B4")
def test_superseding_is_one_change_and_one_undo(mind: Mind, clock: Clock) -> None:
    mind.remember("the dock is in the kitchen", id="old")
    before, version = held(mind), mind.status().store.version
    clock.advance(days=7)
    mind.supersede("old", "the dock is in the hallway")
    assert number(mind.status().store.version) == number(version) + 1
    undone = mind.undo()
    assert undone is not None
    assert (undone.verb, undone.removed, undone.restored) == ("supersede", 1, 1)
    assert held(mind) == before
    assert ids(ask(mind, "dock hallway")) == ["old"]


@pytest.mark.contract("B4")
def test_a_text_belongs_where_the_old_memory_does_unless_told_otherwise(mind: Mind) -> None:
    home = {"collection": "robots", "user": "ada", "kind": "fact", "topic": "dock", "tier": "core", "classification": 2}
    old = mind.remember("in the kitchen", tags=["x"], session="monday", **home)  # type: ignore[arg-type]
    new = mind.supersede(old.id, "in the hallway", topic="docks")
    assert {name: getattr(new, name) for name in home} == {**home, "topic": "docks"}
    assert (new.tags, new.session) == ((), "")
    whole = mind.supersede(new.id, Memory("in the garage", collection="robots", user="bob"))
    assert (whole.collection, whole.user, whole.classification) == ("robots", "bob", 0)
    with pytest.raises(InvalidInput, match="Edges stay inside one collection"):
        mind.supersede(whole.id, Memory("in the garden"))


@pytest.mark.contract("B4")
def test_a_memory_that_is_already_there_can_take_the_place(mind: Mind, clock: Clock) -> None:
    mind.remember("in the kitchen", id="old")
    mind.remember("in the hallway", id="new")
    now = clock.advance(days=1)
    assert mind.supersede("old", mind.show("new")).id == "new"
    assert (mind.show("old").valid_to, mind.show("new").valid_from) == (now, now)
    assert mind.status().store.memories == {"active": 1, "superseded": 1}


@pytest.mark.contract("B4")
def test_the_moment_of_the_change_can_be_given(mind: Mind, clock: Clock) -> None:
    mind.remember("in the kitchen", id="old")
    moved = clock.advance(days=3)
    clock.advance(days=3)
    new = mind.supersede("old", "in the hallway", valid_from=moved)
    assert (mind.show("old").valid_to, new.valid_from) == (moved, moved)


@pytest.mark.contract("B4")
def test_an_end_that_came_earlier_stays(mind: Mind, clock: Clock) -> None:
    ended = clock.now + timedelta(days=2)
    mind.remember("in the kitchen", id="old", valid_to=ended)
    clock.advance(days=5)
    mind.supersede("old", "in the hallway")
    assert mind.show("old").valid_to == ended


@pytest.mark.contract("B4")
def test_a_line_of_successors_at_one_moment_has_one_current_memory(path: Path, mind: Mind, clock: Clock) -> None:
    id = mind.remember("cup 0").id
    for n in range(1, 4):
        id = mind.supersede(id, f"cup {n}").id
    assert ids(ask(mind, "cup", as_of=clock.now)) == [id]
    assert [memory.status for memory in mind.list()].count("active") == 1
    with fresh(clock) as other:
        assert other.import_(mind.export()).added == 4  # what was written can be carried


@pytest.mark.contract("B4")
def test_superseding_that_cannot_be_is_refused_and_leaves_no_trace(mind: Mind, clock: Clock) -> None:
    later = clock.now + timedelta(days=9)
    mind.remember("in the kitchen", id="old", external_id="dock")
    mind.remember("planned", id="planned", valid_from=later)
    mind.remember("gone", id="gone")
    mind.forget("gone")
    clock.advance(days=1)
    before, version = held(mind), mind.status().store.version
    with pytest.raises(InvalidInput, match="itself"):
        mind.supersede("old", "in the hallway", external_id="dock")
    with pytest.raises(InvalidInput, match="is not valid before"):
        mind.supersede("planned", "another plan")
    with pytest.raises(InvalidInput, match="forgotten"):
        mind.supersede("gone", "back again")
    with pytest.raises(InvalidInput, match="blank"):
        mind.supersede("old", " ")
    with pytest.raises(InvalidInput, match="valid_from must come before"):
        mind.supersede("old", "brief", valid_to=clock.now)
    with pytest.raises(NotFound):
        mind.supersede("nobody", "something")
    assert (held(mind), mind.status().store.version) == (before, version)


# Any of these verbs, in any order: each is one step of undo, and whoever has the file open sees it.

M, N = st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b", "c"])
VERBS = st.one_of(
    st.tuples(st.just("decay"), st.floats(0, 50)),
    st.tuples(st.just("reinforce"), M),
    st.tuples(st.just("edit"), M, st.sampled_from(["red cup", "blue cup"])),
    st.tuples(st.just("forget"), M),
    st.tuples(st.just("supersede"), M),
    st.tuples(st.just("contradict"), M, N, st.booleans()),
)


def do(mind: Mind, clock: Clock, verb: tuple[Any, ...]) -> None:
    match verb:
        case ("decay", days):
            clock.advance(days=days)
            mind.decay()
        case ("reinforce", id):
            mind.reinforce(id)
        case ("edit", id, text):
            mind.edit(id, text=text)
        case ("forget", id):
            mind.forget(id)
        case ("supersede", id):
            mind.supersede(id, "green cup")
        case ("contradict", a, b, settled):
            mind.contradict(a, b, loser=a if settled else None)


@pytest.mark.contract("M7", "M10", "B4", "M12")
@FEW
@given(st.lists(VERBS, max_size=8))
def test_every_change_is_seen_by_all_and_undone_exactly(verbs: list[tuple[Any, ...]]) -> None:
    clock = Clock()
    with fresh(clock) as mind, Mind(mind.path, embedder=None, clock=clock, durability="fast") as watcher:
        mind.remember_many({"text": "cup", "id": id, "strength": 0.8} for id in "abc")
        before = []
        for verb in verbs:
            now, version = held(mind), mind.status().store.version
            with contextlib.suppress(InvalidInput):  # forgotten, or a memory against itself
                do(mind, clock, verb)
            if mind.status().store.version != version:
                before.append(now)
            with Mind(mind.path, embedder=None, clock=clock, durability="fast") as late:
                answers = [scores(ask(each, "cup", max_hops=1)) for each in (mind, watcher, late)]
            assert answers[0] == answers[1] == answers[2]
        for expected in reversed(before):
            mind.undo()
            assert held(mind) == expected
            assert scores(ask(mind, "cup")) == scores(ask(watcher, "cup"))
        undone = mind.undo()
        assert undone is not None
        assert undone.verb == "remember"
