"""OpenMem (M), the recall side: words seed activation, it spreads along edges, and memories compete.

What strengthens, fades, contradicts and supersedes (M7, M8, B4) is in test_openmem_keeping.py.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Filter, InvalidInput, Mind
from recollect.recall.hits import HitOperation, Hits
from recollect.recall.registry import get_recipe
from recollect.recall.run import Run
from tests.conftest import Clock, examples
from tests.recall.kit import ids, nodes, step, told
from tests.systems.openmem.kit import (
    RECENCY,
    activations,
    ask,
    chain,
    fresh,
    labels,
    records,
    rivals,
    scores,
    ten_words,
)

FEW = settings(max_examples=examples(10, 25), deadline=None)


@pytest.fixture
def mind(path: Path, clock: Clock) -> Iterator[Mind]:
    with Mind(path, embedder=None, clock=clock, durability="fast") as mind:
        yield mind


# M1: full text.


@pytest.mark.contract("M1")
@pytest.mark.parametrize("details", [{"text": "cup"}, {"summary": "cup"}, {"entities": ["cup"]}], ids=str)
def test_text_summary_and_entities_are_searched(mind: Mind, details: dict[str, Any]) -> None:
    mind.remember(**{"text": "something else", "id": "here", **details})
    assert ids(ask(mind, "cup")) == ["here"]


@pytest.mark.contract("M1")
def test_other_fields_are_not_searched(mind: Mind) -> None:
    mind.remember("something else", title="cup", tags=["cup"], keywords=["cup"], path="cup.md", speaker="cup")
    assert ids(ask(mind, "cup")) == []


@pytest.mark.contract("M1")
def test_four_candidates_a_result_are_fetched(mind: Mind) -> None:
    mind.remember_many(f"cup number {n}" for n in range(20))
    found = ask(mind, "cup", 3)
    assert step(found, "words")["out"] == 12
    assert len(found) == 3


@pytest.mark.contract("M1")
def test_one_word_of_several_is_enough(mind: Mind) -> None:
    mind.remember("a blue cup", id="cup")
    assert ids(ask(mind, "where did I leave my cup?")) == ["cup"]


NO_WORDS = ['"', "'", "\0", "\0'\"", "%", "\\", "\ud800", "\u202e"]
WITH_A_CUP = ['"cup', 'cup" OR "', "cup*", "cup AND", "NEAR(cup, 3)", "cup -", "(cup", "text:cup", "^cup", "{cup}"]
WITH_A_CUP += ["cup\0cup", "cup;--", "🫖 cup"]


@pytest.mark.contract("M1")
@pytest.mark.parametrize("query", NO_WORDS + WITH_A_CUP, ids=ascii)
def test_quotes_nul_bytes_and_operators_are_no_syntax(mind: Mind, query: str) -> None:
    mind.remember(f"a cup with {query} in it", id="cup")
    found = ask(mind, query)
    assert found.trace.failures == []
    assert ids(found) == (["cup"] if query in WITH_A_CUP else [])


@pytest.mark.contract("M1")
@FEW
@given(st.lists(st.text(st.characters(exclude_categories=()), min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_no_input_makes_an_error(texts: list[str]) -> None:
    with fresh() as mind:
        mind.remember_many(texts)
        for text in texts:
            found = ask(mind, text)
            assert found.trace.failures == []
            assert all(result.why.evaluate() == result.score for result in found)


# M2 to M4: activation.


@pytest.mark.contract("M2")
def test_the_best_hit_has_an_activation_of_one_and_the_others_their_share(mind: Mind) -> None:
    chain(mind)
    assert activations(mind, "cup", max_hops=0) == pytest.approx({"best": 1.0, "A": 0.8})
    shares = [node for node in nodes(ask(mind, "cup").why("A")) if node.operation == "÷"]
    assert [node.value for node in shares] == pytest.approx([0.8])


@pytest.mark.contract("M3")
def test_the_chain_of_the_document_holds(mind: Mind) -> None:
    chain(mind)
    assert activations(mind, "cup") == pytest.approx({"best": 1.0, "A": 0.80, "B": 0.24, "C": 0.06})


@pytest.mark.contract("M4")
def test_activation_flows_against_an_edge_as_well(mind: Mind) -> None:
    for id, cups in (("best", 10), ("A", 3), ("B", 0), ("C", 0)):
        mind.remember(ten_words(cups), id=id)
    mind.link("B", "A", "supports", 0.6)
    mind.link("C", "B", "mentions", 0.5)
    assert activations(mind, "cup") == pytest.approx({"best": 1.0, "A": 0.80, "B": 0.24, "C": 0.06})


@pytest.mark.contract("M4")
def test_two_hops_are_the_default_and_others_can_be_set(mind: Mind) -> None:
    mind.import_(records({"a": "cup", "b": "x", "c": "x", "d": "x"}, [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)]))
    reached = ["a", "b", "c", "d"]
    assert [*activations(mind, "cup")] == reached[:3]
    for hops in range(4):
        assert [*activations(mind, "cup", max_hops=hops)] == reached[: hops + 1]


@pytest.mark.contract("M4")
def test_the_decay_of_a_hop_can_be_set(mind: Mind) -> None:
    chain(mind)
    found = activations(mind, "cup", decay_per_hop=0.25)
    assert (found["B"], found["C"]) == pytest.approx((0.8 * 0.6 * 0.25, 0.8 * 0.6 * 0.25 * 0.5 * 0.25))


@pytest.mark.contract("M4")
def test_of_several_paths_the_strongest_wins(mind: Mind) -> None:
    edges = [("a", "weak", 0.1), ("weak", "end", 1.0), ("a", "strong", 1.0), ("strong", "end", 0.9), ("a", "end", 0.4)]
    mind.import_(records({"a": "cup", "weak": "x", "strong": "x", "end": "x"}, edges))
    assert activations(mind, "cup")["end"] == 1.0 * 1.0 * 0.5 * 0.9 * 0.5
    assert "hop 2, from strong by supports" in labels(ask(mind, "cup").why("end"))


@pytest.mark.contract("M4")
def test_of_several_edges_between_two_memories_the_strongest_counts(mind: Mind) -> None:
    mind.import_(records({"a": "cup", "b": "x"}, [("a", "b", 0.2), ("b", "a", 0.6)]))
    mind.link("a", "b", "mentions", 0.4)
    assert activations(mind, "cup")["b"] == 0.6 * 0.5


@pytest.mark.contract("M4")
def test_a_hit_is_raised_by_a_neighbour_but_never_lowered(mind: Mind) -> None:
    for id, cups in (("best", 10), ("low", 1), ("high", 9)):
        mind.remember(ten_words(cups), id=id)
    before = activations(mind, "cup", max_hops=0)
    mind.link("best", "high", "supports", 1.0)
    mind.link("high", "low", "supports", 0.1)
    assert activations(mind, "cup") == before


@pytest.mark.contract("M4")
def test_an_edge_without_weight_carries_nothing(mind: Mind) -> None:
    mind.import_(records({"a": "cup", "b": "x"}, [("a", "b", 0.0)]))
    assert [*activations(mind, "cup")] == ["a"]


@pytest.mark.contract("M4", "B3")
def test_what_a_filter_leaves_out_is_neither_reached_nor_passed_through(mind: Mind) -> None:
    mind.import_(records({"a": "cup", "b": "x", "c": "x"}, [("a", "b", 1), ("b", "c", 1)]))
    mind.edit("b", user="someone")
    assert [*activations(mind, "cup")] == ["a", "b", "c"]
    assert [*activations(mind, "cup", filter=Filter(user=""))] == ["a"]


NODES = [f"n{n}" for n in range(6)]
EDGES = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from([0.1, 0.3, 0.5, 0.9, 1.0])).filter(
        lambda edge: edge[0] != edge[1]
    ),
    max_size=14,
    unique_by=lambda edge: edge[:2],
)
CUPS = st.lists(st.integers(0, 6), min_size=len(NODES), max_size=len(NODES)).filter(any)


def spread(seeds: dict[str, float], edges: Sequence[tuple[str, str, float]], hops: int) -> dict[str, float]:
    """What the document says, by hand: each hop gives source × weight × ½ to both ends, and the largest stays."""
    active = dict(seeds)
    for _ in range(hops):
        lent = [(b, active.get(a, 0) * w * 0.5) for a, b, w in edges] + [
            (a, active.get(b, 0) * w * 0.5) for a, b, w in edges
        ]
        for target, value in lent:
            active[target] = max(active.get(target, 0.0), value)
    return {id: value for id, value in active.items() if value > 0}


@pytest.mark.contract("M3", "M4", "B2")
@FEW
@given(CUPS, EDGES, st.integers(0, 5))
def test_activation_in_any_graph_is_what_the_document_says(
    cups: list[int], edges: list[tuple[str, str, float]], hops: int
) -> None:
    with fresh() as mind:
        texts = {id: ten_words(count) for id, count in zip(NODES, cups, strict=True)}
        mind.import_(records(texts, edges))
        expected = spread(activations(mind, "cup", max_hops=0), edges, hops)
        assert activations(mind, "cup", max_hops=hops) == pytest.approx(expected, rel=1e-12)
        for result in ask(mind, "cup", max_hops=hops):
            assert result.why.evaluate() == result.score


@pytest.mark.contract("M4", "M12")
@FEW
@given(CUPS, EDGES, st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(
    cups: list[int], edges: list[tuple[str, str, float]], shuffle: random.Random
) -> None:
    answers = []
    texts = {id: ten_words(count) for id, count in zip(NODES, cups, strict=True)}
    for _ in range(3):
        with fresh() as mind:
            mind.import_(records(texts, edges))
            answers.append(told(ask(mind, "cup", max_hops=4)))
        shuffle.shuffle(edges)
    assert answers[1:] == answers[:-1]


@pytest.mark.contract("M4")
def test_a_ring_ends_however_many_hops_are_allowed(mind: Mind) -> None:
    ring = [f"r{n}" for n in range(12)]
    edges = [(a, b, 1.0) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)]
    mind.import_(records({id: "cup" if id == "r0" else "x" for id in ring}, edges))
    found = activations(mind, "cup", max_hops=100, decay_per_hop=1.0)
    assert found == dict.fromkeys(ring, 1.0)


@pytest.mark.contract("M4", "B2")
def test_a_hundred_hops_are_followed_and_explained(mind: Mind) -> None:
    line = [f"n{n:03d}" for n in range(120)]
    texts = {id: "cup" if id == "n000" else "x" for id in line}
    mind.import_(records(texts, [(a, b, 1.0) for a, b in pairwise(line)]))
    found = ask(mind, "cup", 200, max_hops=100, decay_per_hop=1.0)
    assert len(found) == 101
    assert found.why("n100").evaluate() == scores(found)["n100"]
    assert "hop 100, from n099 by supports" in str(found.why("n100"))


@pytest.mark.contract("M4")
def test_ten_thousand_edges_on_one_memory_are_answered(mind: Mind) -> None:
    many = {f"m{n}": "x" for n in range(10_000)}
    mind.import_(records({"hub": "cup", **many}, [("hub", id, 0.5) for id in many]))
    found = ask(mind, "cup", 20)
    assert (found[0].memory.id, len(found)) == ("hub", 20)
    assert step(found, "spread")["detail"]["reached"] == 10_000
    assert found[1].why.evaluate() == found[1].score


@pytest.mark.contract("M4", "M5", "M11")
@pytest.mark.parametrize(
    "setting",
    [
        {"max_hops": -1},
        {"max_hops": 1.5},
        {"max_hops": 101},
        {"decay_per_hop": -0.1},
        {"decay_per_hop": 1.1},
        {"decay_per_hop": float("nan")},
        {"token_budget": -1},
        {"token_budget": "many"},
        {"weights": {"vectors": 1.0}},
        {"weights": {"recency": -1.0}},
        {"weights": {"recency": "much"}},
        {"weights": [0.5, 0.2]},
        {"weights": {1: 1.0}},
        {"hops": 2},
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_refused_and_named(mind: Mind, setting: dict[str, Any]) -> None:
    mind.remember("cup")
    with pytest.raises(InvalidInput, match=next(iter(setting)).rstrip("s")):
        ask(mind, "cup", **setting)


# M5 to M9: the competition.


@pytest.mark.contract("M5")
def test_the_score_is_the_weighted_sum_of_four_parts(mind: Mind, clock: Clock) -> None:
    for id, cups in (("best", 10), ("A", 3)):
        mind.remember(ten_words(cups), id=id, strength=0.6, confidence=0.4)
    clock.advance(days=1)
    recency = math.exp(-0.05)
    found = scores(ask(mind, "cup"))
    assert found["best"] == pytest.approx(0.5 * 1.0 + 0.2 * recency + 0.2 * 0.6 + 0.1 * 0.4)
    assert found["A"] == pytest.approx(0.5 * 0.8 + 0.2 * recency + 0.2 * 0.6 + 0.1 * 0.4)


@pytest.mark.contract("M5")
def test_weights_are_set_one_by_one(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup", strength=0.6, confidence=0.4)
    clock.advance(days=1)
    recency = math.exp(-0.05)
    default = {"activation": (0.5, 1.0), "recency": (0.2, recency), "strength": (0.2, 0.6), "confidence": (0.1, 0.4)}
    for name in default:
        expected = sum((0.7 if name == each else weight) * part for each, (weight, part) in default.items())
        assert scores(ask(mind, "cup", weights={name: 0.7}))["cup"] == pytest.approx(expected)


@pytest.mark.contract("M5")
def test_a_memory_without_confidence_gets_nothing_for_it(mind: Mind) -> None:
    mind.remember("cup", id="cup", confidence=None)
    assert scores(ask(mind, "cup"))["cup"] == pytest.approx(0.9)


@pytest.mark.contract("M6")
@pytest.mark.parametrize(("days", "recency"), [(0, 1.0), (1, 0.95), (14, 0.5), (30, 0.22)])
def test_recency_fades_with_the_days_since_creation(mind: Mind, clock: Clock, days: int, recency: float) -> None:
    mind.remember("cup", id="cup")
    clock.advance(days=days)
    found = scores(ask(mind, "cup", weights=RECENCY))["cup"]
    assert found == math.exp(-0.05 * days)
    assert found == pytest.approx(recency, abs=0.005)


@pytest.mark.contract("M6", "M11")
def test_recency_counts_from_the_last_access(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup")
    clock.advance(days=30)
    assert len(ask(mind, "cup", track=True)) == 1
    clock.advance(days=1)
    assert scores(ask(mind, "cup", weights=RECENCY))["cup"] == math.exp(-0.05)


@pytest.mark.contract("M6")
def test_a_memory_from_the_future_is_as_recent_as_one_of_now(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup", created=clock.now + timedelta(days=9))
    assert scores(ask(mind, "cup", weights=RECENCY))["cup"] == 1.0


@pytest.mark.contract("M9")
@pytest.mark.parametrize(("status", "penalty"), [("active", 1.0), ("superseded", 0.5), ("contradicted", 0.3)])
def test_what_no_longer_stands_is_multiplied_by_its_penalty(mind: Mind, status: Any, penalty: float) -> None:
    mind.remember("cup", id="cup", status=status)
    assert scores(ask(mind, "cup")) == pytest.approx({"cup": penalty})
    assert f"status: {status}" in labels(ask(mind, "cup").why("cup"))


@pytest.mark.contract("M9")
def test_a_forgotten_memory_never_returns_not_even_as_a_neighbour(mind: Mind) -> None:
    mind.import_(records({"a": "cup", "b": "cup", "c": "x"}, [("a", "b", 1), ("b", "c", 1)]))
    mind.forget("b")
    assert ids(ask(mind, "cup")) == ["a"]
    assert ids(ask(mind, "cup", filter=Filter(status=["active", "forgotten"]))) == ["a"]


# M10: contradictions.


@pytest.mark.contract("M10")
@pytest.mark.parametrize(
    ("second", "loser"),
    [({"strength": 0.4}, "second"), ({"strength": 0.9}, "first"), ({"confidence": 0.9}, "second")],
    ids=str,
)
@pytest.mark.parametrize("ends", [("first", "second"), ("second", "first")], ids=str)
def test_the_weaker_of_two_contradictions_is_multiplied_once(
    mind: Mind, second: dict[str, Any], loser: str, ends: tuple[str, str]
) -> None:
    rivals(mind, **second)
    before = scores(ask(mind, "cup"))
    mind.contradict(*ends)
    after = scores(ask(mind, "cup", max_hops=0))
    winner = "first" if loser == "second" else "second"
    assert after == {winner: before[winner], loser: before[loser] * 0.3}
    assert f"contradicted by {winner}" in labels(ask(mind, "cup").why(loser))


@pytest.mark.contract("M10")
def test_of_two_equals_the_one_unused_for_longer_is_weaker(mind: Mind, clock: Clock) -> None:
    rivals(mind, created=clock.now - timedelta(days=5))
    mind.contradict("first", "second")
    assert ids(ask(mind, "cup")) == ["first", "second"]
    assert "contradicted by first" in labels(ask(mind, "cup").why("second"))


@pytest.mark.contract("M10")
def test_on_a_tie_the_one_with_the_lower_score_yields(mind: Mind) -> None:
    mind.remember(ten_words(3), id="lower")
    mind.remember(ten_words(10), id="higher")
    mind.contradict("lower", "higher", weight=0.0)
    found = ask(mind, "cup")
    assert ids(found) == ["higher", "lower"]
    assert scores(found) == pytest.approx({"higher": 1.0, "lower": 0.9 * 0.3})


@pytest.mark.contract("M10")
def test_on_a_tie_in_everything_the_later_memory_yields(mind: Mind) -> None:
    rivals(mind)
    mind.contradict("second", "first")
    found = ask(mind, "cup")
    assert ids(found) == ["first", "second"]
    assert found[1].score == found[0].score * 0.3


@pytest.mark.contract("M10")
def test_whoever_loses_to_several_is_multiplied_once(mind: Mind) -> None:
    for id, strength in (("strong", 0.9), ("stronger", 1.0), ("weak", 0.1)):
        mind.remember("the cup is red", id=id, strength=strength)
    before = scores(ask(mind, "cup"))
    mind.contradict("weak", "strong")
    mind.contradict("stronger", "weak")
    mind.contradict("weak", "stronger")
    assert scores(ask(mind, "cup", max_hops=0)) == {**before, "weak": before["weak"] * 0.3}
    assert "contradicted by stronger" in labels(ask(mind, "cup").why("weak"))


@pytest.mark.contract("M10")
def test_a_contradiction_with_what_is_not_activated_is_none(mind: Mind) -> None:
    mind.remember("the cup is red", id="cup", strength=0.1)
    mind.remember("something else", id="absent")
    mind.contradict("cup", "absent", weight=0.0)
    found = ask(mind, "cup")
    assert scores(found) == pytest.approx({"cup": 0.5 + 0.2 + 0.02 + 0.1})
    assert step(found, "contradict")["outcome"] == "skipped"


@pytest.mark.contract("M10")
def test_a_neighbour_that_contradicts_a_hit_is_judged_with_it(mind: Mind) -> None:
    mind.remember("the cup is red", id="hit", strength=0.1)
    mind.remember("it is blue", id="neighbour")
    mind.contradict("hit", "neighbour")
    assert "contradicted by neighbour" in labels(ask(mind, "cup").why("hit"))


@pytest.mark.contract("M10")
@FEW
@given(st.lists(st.sampled_from([0.2, 0.5, 0.5, 0.9]), min_size=3, max_size=6))
def test_a_ring_of_contradictions_ends_and_every_pair_has_one_loser(strengths: list[float]) -> None:
    ring = [f"r{n}" for n in range(len(strengths))]
    pairs = list(zip(ring, ring[1:] + ring[:1], strict=True))
    with fresh() as mind:
        mind.remember_many({"text": "cup", "id": id, "strength": s} for id, s in zip(ring, strengths, strict=True))
        before = scores(ask(mind, "cup"))
        mind.import_(records({}, [(a, b, 1.0) for a, b in pairs], "contradicts"))
        after = scores(ask(mind, "cup", max_hops=0))
    status_at = {id: (strength, -n) for n, (id, strength) in enumerate(zip(ring, strengths, strict=True))}
    losers = {min(pair, key=status_at.__getitem__) for pair in pairs}
    assert after == {id: score * (0.3 if id in losers else 1.0) for id, score in before.items()}


# M11: packing.


@pytest.mark.contract("M11")
def test_a_token_is_four_characters_rounded_up(mind: Mind) -> None:
    mind.remember("cup b", id="five")  # 2 tokens
    mind.remember("cup cup cup", id="eleven")  # 3 tokens
    for budget, fitting in ((0, 0), (2, 0), (3, 1), (4, 1), (5, 2), (9, 2)):
        assert ids(ask(mind, "cup", token_budget=budget)) == ["eleven", "five"][:fitting]


@pytest.mark.contract("M11")
def test_the_first_that_does_not_fit_ends_it(mind: Mind) -> None:
    mind.remember("cup " * 3, id="good")
    mind.remember("cup " * 2 + "x" * 40, id="long")
    mind.remember("one cup more", id="short")
    assert ids(ask(mind, "cup")) == ["good", "long", "short"]
    assert ids(ask(mind, "cup", token_budget=7)) == ["good"]


@pytest.mark.contract("M11", "B2")
def test_what_packing_left_out_is_told_apart_from_what_k_left_out(mind: Mind) -> None:
    mind.remember_many({"text": "cup", "id": f"m{n}"} for n in range(5))
    tight = ask(mind, "cup", 3, token_budget=2).why_not("m2")
    assert (tight.step, tight.value, tight.threshold) == ("pack", 3.0, 2.0)
    assert ask(mind, "cup", 3, token_budget=2).why_not("m4").step == "pack"
    roomy = ask(mind, "cup", 3, token_budget=99).why_not("m4")
    assert (roomy.step, roomy.value, roomy.threshold) == ("best 3", 5.0, 3.0)


class Dawdle:
    """A stage that uses up all the time there is."""

    name = "dawdle"

    def apply(self, run: Run, hits: Hits) -> list[HitOperation]:
        while run.seconds_left():
            time.sleep(0.01)
        return []


@pytest.mark.contract("M11")
def test_a_budget_holds_even_when_the_deadline_has_passed(mind: Mind) -> None:
    mind.remember_many(f"{'cup ' * 9}cu{number} " for number in range(5))
    recipe = get_recipe("openmem", token_budget=25)
    late = mind.recall("cup", recipe=recipe.but(stages=[Dawdle(), *recipe.stages]), deadline=0.5)
    assert step(late, "compete")["outcome"] == "skipped"
    assert (step(late, "pack")["outcome"], step(late, "pack")["detail"]) == ("ran", {"tokens": 20})
    assert len(late) == 2


@pytest.mark.contract("M11")
@FEW
@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(0, 60), st.integers(1, 9))
def test_packing_never_exceeds_and_stops_at_the_first_that_does_not_fit(
    lengths: list[int], budget: int, k: int
) -> None:
    with fresh() as mind:
        mind.remember_many(("cup " + "x" * length) for length in lengths)
        every = [result.text for result in ask(mind, "cup", 100)]
        packed = [result.text for result in ask(mind, "cup", k, token_budget=budget)]
    cost = [math.ceil(len(text) / 4) for text in every]
    fitting = [n for n in range(len(every) + 1) if sum(cost[:n]) <= budget]
    assert packed == every[: min(k, max(fitting))]
    assert sum(math.ceil(len(text) / 4) for text in packed) <= budget


@pytest.mark.contract("M11")
def test_the_use_of_what_is_returned_is_counted_and_of_nothing_else(mind: Mind, clock: Clock) -> None:
    mind.import_(records({"a": "cup", "b": "does not fit", "c": "nor does this cup"}, [("a", "b", 1)]))
    moment = clock.advance(hours=1)
    assert ids(ask(mind, "cup", track=True, token_budget=2)) == ["a"]
    used = {memory.id: (memory.use.access_count, memory.use.last_accessed) for memory in mind.list()}
    assert used == {"a": (1, moment), "b": (0, None), "c": (0, None)}
    ask(mind, "cup", track=False)
    assert mind.show("c").use.access_count == 0


# M12: the same again, and why.


@pytest.mark.contract("M12")
def test_the_same_question_gets_the_same_bytes(path: Path, mind: Mind, clock: Clock) -> None:
    chain(mind)
    mind.contradict("A", "C", 0.2)
    clock.advance(days=3)
    first = told(ask(mind, "cup filler", token_budget=30))
    assert told(ask(mind, "cup filler", token_budget=30)) == first
    with Mind(path, embedder=None, clock=clock) as again:
        assert told(ask(again, "cup filler", token_budget=30)) == first


@pytest.mark.contract("M12")
def test_a_tracked_recall_moves_access_times_and_an_untracked_one_nothing(mind: Mind, clock: Clock) -> None:
    mind.remember("cup", id="cup")
    clock.advance(days=9)
    before = told(ask(mind, "cup"))
    assert told(ask(mind, "cup")) == before
    ask(mind, "cup", track=True)
    assert told(ask(mind, "cup")) != before


@pytest.mark.contract("M12")
def test_no_embedder_is_called(path: Path) -> None:
    class Refusing:
        name, dim, asked = "refusing", 4, 0

        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            Refusing.asked += query
            raise ConnectionError("there is no model")

    with Mind(path, embedder=Refusing(), durability="fast") as mind:
        mind.remember("the red cup", id="cup")
        found = ask(mind, "cup", deadline=5.0)
    assert (ids(found), found.trace.failures, Refusing.asked) == (["cup"], [], 0)


@pytest.mark.contract("M12", "M3")
def test_the_reasons_name_the_words_the_path_and_the_strength(mind: Mind) -> None:
    chain(mind)
    found = ask(mind, "cup")
    assert "“cup”" in labels(found.why("A"))
    path = [label for label in labels(found.why("C")) if label.startswith("hop")]
    assert path == ["hop 2, from B by mentions", "hop 1, from A by supports"]
    assert "“cup”" in labels(found.why("C"))
    for result in found:
        assert {"strength", "confidence", "status: active"} <= set(labels(result.why))
        assert result.why.evaluate() == result.score
    stages = [each["name"] for each in found.trace.as_dict()["steps"] if each["kind"] == "stage"]
    assert stages == ["spread", "compete", "contradict", "pack"]
