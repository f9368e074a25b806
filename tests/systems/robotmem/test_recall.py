"""R: the robotmem recipe, promise by promise, with the document's own examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, Memory, Mind, Recall, Result
from tests.recall.kit import NOON, Clock, Moody, Scatter, ids, nodes, open_mind, step
from tests.store.looking import sql


class Chart:
    """Vectors by a word of the text, as told; 4 numbers."""

    name, dim = "toy-chart", 4

    def __init__(self, **places: Sequence[float]) -> None:
        self.places = places

    def embed(self, texts: Sequence[str], query: bool = False) -> list[Sequence[float]]:
        return [next((at for word, at in self.places.items() if word in text), [0, 0, 0, 1]) for text in texts]


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    """Words alone, at noon."""
    with open_mind(path, embedder=None) as mind:
        yield mind


def ask(mind: Mind, query: str, n: int | None = None, **settings: Any) -> Recall:
    return mind.recall(query, n, recipe="robotmem", **settings)


def fused(result: Result) -> float:
    """The score as reciprocal rank fusion made it."""
    return next(node.value for node in nodes(result.why) if node.label == "reciprocal rank")


def mode(recall: Recall) -> str:
    return str(step(recall, "reciprocal rank")["detail"]["mode"])


def terms(recall: Recall) -> list[str]:
    return [*step(recall, "words")["detail"]["terms"]]


# R1: the call.


@pytest.mark.contract("R1")
@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_a_blank_query_is_a_clear_error(mind: Mind, query: str) -> None:
    with pytest.raises(InvalidInput, match="query is blank"):
        ask(mind, query)


@pytest.mark.contract("R1")
@pytest.mark.parametrize(("n", "come"), [(None, 5), (3, 3), (0, 1), (-7, 1), (100, 100), (100_000, 100)])
def test_n_is_five_and_clamped_to_1_and_100(mind: Mind, n: int | None, come: int) -> None:
    mind.remember_many([f"cup {number}" for number in range(120)])
    assert len(ask(mind, "cup", n)) == come


@pytest.mark.contract("R1")
def test_all_parameters_of_the_document_go_into_one_call(mind: Mind) -> None:
    context = {"task": {"success": True}, "spatial": {"object_position": [1.3, 0.7, 0.42]}}
    mind.remember("grasp the cup", id="it", collection="arm", session="abc-123", context=context)
    found = mind.recall(
        "how to grasp a cup",
        recipe="robotmem",
        n=5,
        min_confidence=0.3,
        collection="arm",
        session_id="abc-123",
        context_filter={"task.success": True},
        spatial_sort={"field": "spatial.object_position", "target": [1.3, 0.7, 0.42], "max_distance": 0.1},
    )
    assert ids(found) == ["it"]


@pytest.mark.contract("R1")
def test_a_setting_that_the_recipe_does_not_have_is_a_clear_error(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match=r"no setting 'context_filters'; its settings are: .*context_filter"):
        ask(mind, "cup", context_filters={})


# R2: how many candidates, and that filters come before that cut.


@pytest.mark.contract("R2")
@pytest.mark.parametrize(
    ("settings", "fetched"),
    [
        ({}, 6),
        ({"session_id": "s"}, 6),
        ({"context_filter": {"side": "left"}}, 12),
        ({"spatial_sort": {"field": "at", "target": [0]}}, 12),
    ],
)
def test_each_leg_fetches_twice_n_or_four_times_with_structured_filters(
    path: Path, settings: dict[str, Any], fetched: int
) -> None:
    with open_mind(path) as mind:
        mind.remember_many([Memory(f"cup {n}", session="s", context={"side": "left", "at": [n]}) for n in range(40)])
        found = ask(mind, "cup", 3, **settings)
        assert step(found, "words")["out"] == step(found, "vectors")["out"] == fetched
        assert len(found) == 3


NARROW: dict[str, dict[str, Any]] = {
    "collection": {"collection": "mine"},
    "session": {"session_id": "mine"},
    "confidence": {"min_confidence": 0.9},
    "context": {"context_filter": {"owner": "mine"}},
    "distance": {"spatial_sort": {"field": "at", "target": [0.0, 0.0], "max_distance": 1.0}},
}


@pytest.mark.contract("R2")
@pytest.mark.parametrize("settings", NARROW.values(), ids=NARROW)
@pytest.mark.parametrize("embedded", [True, False], ids=["hybrid", "words"])
def test_a_filter_never_costs_results(path: Path, settings: dict[str, Any], embedded: bool) -> None:
    """Eight of 408 memories pass, and all others match the query better: eight come back."""
    better = [
        Memory("cup cup cup", collection="main", confidence=0.5, context={"owner": "other", "at": [9.0, 9.0]})
        for _ in range(400)
    ]
    passing = [
        Memory(
            "a cup somewhere in a long sentence about other things",
            id=f"mine-{n}",
            collection="mine" if "collection" in settings else "main",
            session="mine",
            context={"owner": "mine", "at": [0.1 * n, 0.0]},
        )
        for n in range(8)
    ]
    with open_mind(path, **({} if embedded else {"embedder": None})) as mind:
        mind.remember_many([*better, *passing])
        assert sorted(ids(ask(mind, "cup", 8, **settings))) == [f"mine-{n}" for n in range(8)]


@pytest.mark.contract("R2")
def test_memories_that_are_not_active_cost_no_places(mind: Mind) -> None:
    mind.remember_many([Memory("cup cup", status="superseded") for _ in range(100)])
    mind.remember("the cup", id="active")
    assert ids(ask(mind, "cup", 1)) == ["active"]


# R3: the query becomes terms.


@pytest.mark.contract("R3")
@pytest.mark.parametrize(
    ("query", "tokens", "match"),
    [
        ("how to grasp a cup", ["how", "to", "grasp", "cup"], '"how" OR "to" OR "grasp" OR "cup"'),
        ("如何抓取杯子", ["如何", "抓取", "杯子"], '"如何" OR "抓取" OR "杯子"'),
    ],
)
def test_the_worked_examples_of_the_document(mind: Mind, query: str, tokens: list[str], match: str) -> None:
    found = ask(mind, query)
    assert terms(found) == tokens
    assert step(found, "PlainTerms")["detail"]["match"] == match


@pytest.mark.contract("R3")
@pytest.mark.parametrize(
    ("query", "tokens"),
    [
        ("cup AND plate OR bowl NOT knife NEAR fork", ["cup", "plate", "bowl", "knife", "fork"]),
        ("near the cup and not on it", ["near", "the", "cup", "and", "not", "on", "it"]),
        ("NEAR(cup plate, 5)", ["cup", "plate"]),
        ("杯子AND盘子", ["杯子", "盘子"]),
        ("ORANGE ANDROID NOTHING", ["orange", "android", "nothing"]),
        ('"cup"* ^plate:{bowl} -x +y (z)', ["cup", "plate", "bowl"]),
        ("x 7 é я Ω cup", ["cup"]),
        ("杯 は 컵", ["杯", "は", "컵"]),
        ("中国科学院", ["中国科学院"]),
    ],
)
def test_operators_in_capitals_special_characters_and_lone_letters_are_left_out(
    mind: Mind, query: str, tokens: list[str]
) -> None:
    assert terms(ask(mind, query)) == tokens


@pytest.mark.contract("R3")
def test_near_in_small_letters_is_a_word_that_matches(mind: Mind) -> None:
    mind.remember("stay near it", id="near")
    mind.remember("the cup", id="cup")
    assert ids(ask(mind, "near")) == ["near"]


@pytest.mark.contract("R3")
@pytest.mark.parametrize("word", ["café", "чашка", "コップ", "컵", "컵을", "κούπα", "ถ้วย", "कप", "杯子", "naïveté"])
def test_letters_of_every_script_survive_and_are_found(mind: Mind, word: str) -> None:
    mind.remember("nothing of that kind")
    mind.remember(f"here: {word}!", id="it")
    assert ids(ask(mind, word)) == ["it"]


@pytest.mark.contract("R3")
@pytest.mark.parametrize("query", ['"', "*", "' OR 1=1 --", "((((", "a\x00b", "NOT", "AND OR", "-", "{}:^", "?!"])
def test_no_query_is_a_syntax_error(mind: Mind, query: str) -> None:
    mind.remember("the cup")
    assert ids(ask(mind, query)) == []


@pytest.mark.contract("R3")
def test_words_are_looked_up_as_they_are_written(mind: Mind) -> None:
    mind.remember("two cups")
    assert ids(ask(mind, "cup")) == []
    assert len(ask(mind, "CUPS")) == 1


# R4: what full text covers.


@pytest.mark.contract("R4")
@pytest.mark.parametrize(
    ("details", "query"),
    [
        ({"text": "the gripper slipped"}, "gripper"),
        ({"text": "x", "summary": "gripper trouble"}, "gripper"),
        ({"text": "x", "files": ["src/gripper_control.py"]}, "gripper"),
        ({"text": "x", "path": "notes/gripper.md"}, "gripper.md"),
        ({"text": "x", "entities": ["GripperController"]}, "GripperController"),
        ({"text": "如何抓取杯子"}, "杯子"),
        ({"text": "x", "summary": "先抓取再放下"}, "抓取"),
        ({"text": "x", "entities": ["杯子"]}, "杯子"),
    ],
)
def test_full_text_covers_content_summary_paths_and_entities(mind: Mind, details: dict[str, Any], query: str) -> None:
    mind.remember(Memory(id="it", **details))
    assert ids(ask(mind, query)) == ["it"]


@pytest.mark.contract("R4")
def test_full_text_covers_nothing_else(mind: Mind) -> None:
    mind.remember("x", title="gripper", tags=["gripper"], keywords=["gripper"], original="gripper", speaker="gripper")
    assert ids(ask(mind, "gripper")) == []


@pytest.mark.contract("R4")
def test_only_the_named_collection_answers_and_its_neighbours_do_not_change_the_order(mind: Mind) -> None:
    mind.remember("cup cup cup", collection="other")
    mind.remember("rare cup", id="rare", collection="mine")
    mind.remember("common cup", id="common", collection="mine")
    mind.remember("common plate", collection="mine")
    mind.remember_many([Memory("rare", collection="other") for _ in range(50)])
    assert ids(ask(mind, "rare common cup", collection="mine"))[:2] == ["rare", "common"]


@pytest.mark.contract("R4")
@pytest.mark.parametrize("status", ["superseded", "contradicted", "forgotten"])
def test_only_active_memories_come_back(mind: Mind, status: str) -> None:
    mind.remember(Memory("the cup", status=status))  # type: ignore[arg-type]
    assert ids(ask(mind, "cup")) == []


@pytest.mark.contract("R4")
def test_the_best_bm25_comes_first(mind: Mind) -> None:
    mind.remember("a cup among many, many other things that stand on this very long shelf", id="third")
    mind.remember("a red cup", id="first")
    mind.remember("a cup on the shelf", id="second")
    assert ids(ask(mind, "red cup")) == ["first", "second", "third"]


# R5: the vector leg.


@pytest.mark.contract("R5")
def test_distance_is_0_for_the_identical_and_2_for_the_opposite(path: Path) -> None:
    chart = Chart(same=[1, 0, 0, 0], across=[0, 1, 0, 0], opposite=[-1, 0, 0, 0], question=[3, 0, 0, 0])
    with open_mind(path, chart) as mind:
        for word in ("opposite", "across", "same"):
            mind.remember(word, id=word)
        found = ask(mind, "question")
        assert ids(found) == ["same", "across", "opposite"]
        assert step(found, "vectors")["detail"] == {"nearest distance": 0.0, "farthest distance": 2.0}


@pytest.mark.contract("R5")
@pytest.mark.parametrize(
    "settings", [{"collection": "mine"}, {"session_id": "mine"}, {"context_filter": {"owner": "mine"}}]
)
def test_the_nearest_are_those_within_the_collection_and_the_filters(path: Path, settings: dict[str, Any]) -> None:
    chart = Chart(near=[1, 0, 0, 0], far=[0.1, 1, 0, 0], question=[1, 0, 0, 0])
    with open_mind(path, chart) as mind:
        mind.remember_many([Memory(f"near {n}", collection="other") for n in range(50)])
        mind.remember("far", id="mine", collection="mine", session="mine", context={"owner": "mine"})
        assert ids(ask(mind, "question", 1, **settings)) == ["mine"]


@pytest.mark.contract("R5")
def test_the_bundled_local_model_has_384_dimensions(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("Grasp the cup by its handle.", id="cup")
        mind.remember("The meeting is on Monday.", id="meeting")
        assert mind.status().dim == 384
        found = ask(mind, "picking up mugs")
        assert mode(found) == "vec_only"
        assert ids(found)[0] == "cup"


# R6, R7: fusion, and which mode it ran in.


def four_documents(path: Path, **settings: Any) -> dict[str, float]:
    """The document's table: A, B, C by words, B, D, A by vectors; C has no vector and D shares no word."""
    chart = Chart(grip=[1, 0, 0, 0], hold=[0.9, 0.1, 0, 0], take=[0.5, 0.5, 0, 0], how=[1, 0, 0, 0])
    with open_mind(path, chart) as mind:
        mind.remember("take: grasp grasp cup cup", id="doc_A")
        mind.remember("grip: grasp the cup", id="doc_B")
        mind.remember("hold it", id="doc_D")
    with open_mind(path, embedder=None) as mind:
        mind.remember("grasp the cup and mind the many things around it", id="doc_C")
    with open_mind(path, chart) as mind:
        found = ask(mind, "how grasp cup", **settings)
        assert mode(found) == "hybrid"
        return {result.memory.id: fused(result) for result in found}


@pytest.mark.contract("R6")
def test_the_four_row_example_of_the_document(path: Path) -> None:
    scores = four_documents(path)
    assert [*scores] == ["doc_B", "doc_A", "doc_D", "doc_C"]
    assert scores == pytest.approx(
        {"doc_A": 1 / 61 + 1 / 63, "doc_B": 1 / 62 + 1 / 61, "doc_C": 1 / 63, "doc_D": 1 / 62}, abs=1e-15
    )
    shown = {id: round(score, 3) for id, score in scores.items()}
    assert shown == {"doc_A": 0.032, "doc_B": 0.033, "doc_C": 0.016, "doc_D": 0.016}


@pytest.mark.contract("R6")
def test_k_is_settable(path: Path) -> None:
    scores = four_documents(path, rrf_k=1)
    assert scores["doc_A"] == pytest.approx(1 / 2 + 1 / 4)
    assert scores["doc_D"] == pytest.approx(1 / 3)


@pytest.mark.contract("R6")
@pytest.mark.parametrize("k", [0, -60, "60", None])
def test_a_k_that_cannot_be_is_a_clear_error(mind: Mind, k: Any) -> None:
    with pytest.raises(InvalidInput, match="rrf_k must be"):
        ask(mind, "cup", rrf_k=k)


@pytest.mark.contract("R7")
def test_hybrid_when_both_legs_return(path: Path) -> None:
    with open_mind(path) as mind:
        mind.remember("the cup")
        assert mode(ask(mind, "cup")) == "hybrid"


@pytest.mark.contract("R7")
def test_bm25_only_without_an_embedder_with_scores_by_the_same_formula(mind: Mind) -> None:
    mind.remember_many([Memory("cup " + "and more " * n) for n in range(5)])
    found = ask(mind, "cup")
    assert mode(found) == "bm25_only"
    assert [fused(result) for result in found] == [1.0 / (60 + rank + 1) for rank in range(5)]
    assert found.trace.failures == []


@pytest.mark.contract("R7")
def test_bm25_only_when_no_memory_has_a_vector(path: Path) -> None:
    with open_mind(path, embedder=None) as mind:
        mind.remember("the cup")
    with open_mind(path) as mind:
        assert mode(ask(mind, "cup")) == "bm25_only"


@pytest.mark.contract("R7")
def test_vec_only_when_no_word_matches_with_scores_by_the_same_formula(path: Path) -> None:
    with open_mind(path, Scatter()) as mind:
        mind.remember_many(["the cup", "the plate", "the bowl"])
        found = ask(mind, "glass")
        assert mode(found) == "vec_only"
        assert [fused(result) for result in found] == [1.0 / (60 + rank + 1) for rank in range(3)]


@pytest.mark.contract("R7")
def test_two_empty_legs_give_an_empty_list_and_no_mode_is_claimed(path: Path) -> None:
    with open_mind(path) as mind:
        found = ask(mind, "cup")
        assert list(found) == []
        assert mode(found) == "nothing found"


# R8: the real world.

REAL = {"env": {"sim_or_real": "real"}}


@pytest.mark.contract("R8")
def test_real_counts_half_as_much_again_and_the_order_follows(mind: Mind) -> None:
    mind.remember("cup cup", id="simulated", context={"env": {"sim_or_real": "sim"}})
    mind.remember("a cup in a longer sentence", id="real", context=REAL)
    found = ask(mind, "cup")
    assert ids(found) == ["real", "simulated"]
    assert found[1].score == pytest.approx((1 / 61) / (1.5 / 62))
    factors = [node.value for node in nodes(found[0].why) if node.label.startswith("source:")]
    assert factors == [1.5]


@pytest.mark.contract("R8")
@pytest.mark.parametrize(
    "context",
    [
        {},
        {"env": "real"},
        {"env": {"sim_or_real": "REAL"}},
        {"env": {"sim_or_real": True}},
        {"env": ["real"]},
        {"env": 1},
    ],
)
def test_nothing_else_counts_as_real(mind: Mind, context: dict[str, Any]) -> None:
    mind.remember("cup cup", id="other", context=context)
    mind.remember("a cup in a longer sentence", id="real", context=REAL)
    assert ids(ask(mind, "cup")) == ["real", "other"]


# R9, R17: confidence, and time.


@pytest.mark.contract("R9")
def test_confidence_below_the_minimum_is_left_out_and_none_counts_as_0(mind: Mind) -> None:
    for confidence in (None, 0.0, 0.29, 0.3, 0.31, 1.0):
        mind.remember("cup", id=str(confidence), confidence=confidence)
    assert set(ids(ask(mind, "cup"))) == {"0.3", "0.31", "1.0"}
    assert set(ids(ask(mind, "cup", min_confidence=0.31))) == {"0.31", "1.0"}
    assert len(ask(mind, "cup", 10, min_confidence=0)) == 6


@pytest.mark.contract("R9")
def test_a_confidence_equal_to_the_minimum_is_enough_a_moment_later(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember("cup", confidence=0.3)
        assert len(ask(mind, "cup")) == 1


@pytest.mark.contract("R17")
def test_time_lowers_confidence_for_the_comparison_and_the_stored_one_stays(path: Path) -> None:
    clock = Clock()
    with open_mind(path, embedder=None, clock=clock) as mind:
        mind.remember("cup", id="it", confidence=0.5)
        clock.pass_(days=50)  # 0.5 × 0.99^50 = 0.303
        assert len(ask(mind, "cup", track=False)) == 1
        clock.pass_(days=1)  # 0.5 × 0.99^51 = 0.299
        assert len(ask(mind, "cup", track=False)) == 0
        assert mind.show("it").confidence == 0.5


@pytest.mark.contract("R17")
def test_recall_protects_confidence(path: Path) -> None:
    clock = Clock()
    with open_mind(path, embedder=None, clock=clock) as mind:
        mind.remember("cup", confidence=0.5)
        for _ in range(4):
            clock.pass_(days=50)
            assert len(ask(mind, "cup")) == 1


@pytest.mark.contract("R17")
@pytest.mark.parametrize(("rate", "comes"), [(1.0, True), (0.99, False), (0.9999, True)])
def test_the_rate_is_settable(path: Path, rate: float, comes: bool) -> None:
    with open_mind(path, embedder=None) as mind:
        mind.remember("cup", created=NOON - timedelta(days=365))
        assert bool(ask(mind, "cup", confidence_decay=rate)) is comes


# R10, R11: episodes and contexts.


@pytest.mark.contract("R10")
def test_a_session_id_restricts_to_one_episode(mind: Mind) -> None:
    mind.remember("cup cup", session="other")
    mind.remember("cup", session="")
    mind.remember("the cup", id="it", session="abc-123")
    assert ids(ask(mind, "cup", session_id="abc-123")) == ["it"]
    assert len(ask(mind, "cup", session_id="")) == 3


@pytest.mark.contract("R10")
def test_a_star_replays_the_episode_oldest_first_without_a_search(path: Path) -> None:
    with open_mind(path) as mind:
        mind.remember("second", id="2", session="abc-123", created=NOON - timedelta(hours=2), context=REAL)
        mind.remember("first", id="1", session="abc-123", created=NOON - timedelta(hours=3))
        mind.remember("third", id="3", session="abc-123", created=NOON - timedelta(hours=1))
        mind.remember("*", id="other", session="other")
        found = ask(mind, "*", session_id="abc-123")
        assert ids(found) == ["1", "2", "3"]
        assert mode(found) == "replay"
        for leg in ("words", "vectors"):
            assert step(found, leg)["outcome"] == "skipped"
        assert found[0].score == 1.0


@pytest.mark.contract("R10")
def test_a_replay_keeps_to_n_to_the_minimum_confidence_and_to_structured_filters(mind: Mind) -> None:
    for number in range(20):
        details = {"confidence": 0.1 if number == 2 else 1.0, "context": {"even": number % 2 == 0}}
        mind.remember(f"step {number}", session="s", created=NOON - timedelta(hours=20 - number), **details)  # type: ignore[arg-type]
    assert [r.text for r in ask(mind, "*", 3, session_id="s")] == ["step 0", "step 1", "step 3"]
    assert [r.text for r in ask(mind, " * ", 2, session_id="s", context_filter={"even": True})] == ["step 0", "step 4"]
    assert len(ask(mind, "*", session_id="s")) == 5


@pytest.mark.contract("R10")
def test_what_a_replay_leaves_out_is_explained(mind: Mind) -> None:
    for number in range(12):
        mind.remember(f"step {number}", id=f"step-{number}", session="s")
    found = ask(mind, "*", 2, session_id="s")
    assert found.why_not("step-3").step == "best 2"
    assert found.why_not("step-9").step == "cues"
    assert [r.why.evaluate() for r in found] == [r.score for r in found]


@pytest.mark.contract("R11")
def test_results_carry_their_parsed_context(mind: Mind) -> None:
    context = {
        "params": {"force": {"value": 12.5, "unit": "N"}},
        "spatial": {"object_position": [1.3, 0.7, 0.42]},
        "robot": {"type": "UR5e"},
        "task": {"success": True},
        "env": {"sim_or_real": "real"},
    }
    mind.remember("grasped the cup", context=context)
    held = ask(mind, "cup")[0].memory.context
    assert held == context
    assert held["params"]["force"]["value"] == 12.5


# R12: the context filter.

CONTEXT = {"task": {"success": True, "name": "grasp"}, "robot": {"type": "UR5e"}, "params": {"force": {"value": 12.0}}}
HOLDS: list[Mapping[str, Any]] = [
    {"task.success": True},
    {"params.force.value": {"$lt": 15.0}},
    {"params.force.value": {"$gte": 10.0, "$lte": 20.0}},
    {"task.success": True, "robot.type": "UR5e"},
    {"params.force.value": 12},
    {"params.force.value": {"$lte": 12}},
    {"params.force.value": {"$gte": 12}},
    {"params.force.value": {"$gt": 11.9}},
    {"params.force.value": {"$ne": 13}},
    {"params.force.value": {"$ne": "12"}},  # another type is not equal
    {"params.mass": {"$ne": 3}},  # neither is what is missing
    {"task.name": {"$gt": "a"}},
    {"params.force": {"value": 12.0}},  # an object without $ keys is equality
    {},
]
FAILS: list[Mapping[str, Any]] = [
    {"task.success": False},
    {"task.success": 1},  # true is not 1
    {"task.success": "true"},
    {"params.force.value": {"$lt": 12.0}},
    {"params.force.value": {"$gt": 12.0}},
    {"params.force.value": {"$gte": 10.0, "$lte": 11.0}},
    {"task.success": True, "robot.type": "Panda"},
    {"params.force.value": {"$lt": "15"}},  # a type mismatch is no match
    {"task.success": {"$gte": 0}},
    {"robot.type": {"$lt": 5}},
    {"params.force.value": {"$lt": None}},
    {"params.mass": {"$lt": 5}},
    {"params.mass": None},
    {"params.force.value.deeper": 12.0},  # through something that is no object
    {"robot.type.0": "U"},
    {"params.force.value": {"$ne": 12}},
    {"params.force": {"value": 12.0, "unit": "N"}},
]


@pytest.mark.contract("R12")
@pytest.mark.parametrize("condition", HOLDS, ids=repr)
def test_a_context_that_meets_the_filter_comes_back(mind: Mind, condition: dict[str, Any]) -> None:
    mind.remember("cup", context=CONTEXT)
    assert len(ask(mind, "cup", context_filter=condition)) == 1


@pytest.mark.contract("R12")
@pytest.mark.parametrize("condition", FAILS, ids=repr)
def test_a_context_that_does_not_is_left_out_without_a_crash(mind: Mind, condition: dict[str, Any]) -> None:
    mind.remember("cup", context=CONTEXT)
    assert len(ask(mind, "cup", context_filter=condition)) == 0


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"x": {"$near": [1]}}, r"'\$near' \(at 'x'\) is not an operator of a context filter; there are \$lt"),
        ({"x": {"$in": 1}}, r"\$in \(at 'x'\) must be a list"),
        ({"x": {"$lt": 1, "y": 2}}, "'y' .* is not an operator"),
        ("task.success", "an object of dot paths"),
        ([], "an object of dot paths"),
    ],
)
def test_an_unknown_operator_is_a_clear_error(mind: Mind, condition: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ask(mind, "cup", context_filter=condition)


# R13: order in space.

PLACES: dict[str, Any] = {
    "far": [2.0, 0.7, 0.42],
    "near": [1.32, 0.7, 0.42],
    "nearest": [1.3, 0.7, 0.42],
    "flat": [1.3, 0.7],
    "words": ["1.3", "0.7", "0.42"],
    "truth": [True, True, True],
    "nowhere": None,
}
TARGET = {"field": "spatial.object_position", "target": [1.3, 0.7, 0.42]}


@pytest.fixture
def places(mind: Mind) -> Mind:
    for name, at in PLACES.items():
        mind.remember(f"the cup {name}", id=name, context={"spatial": {"object_position": at}})
    mind.remember("the cup without a context", id="bare")
    return mind


@pytest.mark.contract("R13")
def test_the_nearest_come_first_and_those_without_usable_coordinates_last(places: Mind) -> None:
    found = ask(places, "cup", 8, spatial_sort=TARGET)
    assert ids(found)[:3] == ["nearest", "near", "far"]
    assert set(ids(found)[3:]) == {"flat", "words", "truth", "nowhere", "bare"}
    assert found[1].notes == ("0.02 away from the target",)


@pytest.mark.contract("R13")
def test_coordinates_of_another_dimension_than_the_target_are_told(mind: Mind) -> None:
    mind.remember_many([Memory("the cup", id=f"m{n}", context={"at": [n, 0.5]}) for n in range(3)])
    sort = {"field": "at", "target": [1.3, 0.7, 0.42]}
    found = ask(mind, "cup", spatial_sort=sort)
    hint = "the coordinates at at are 2-D, and the target is 3-D"
    assert [result.notes for result in found] == [(hint,)] * 3
    assert found.trace.get_detail("stage", "spatial sort", "without a distance") == f"{hint} (3)"
    nothing = ask(mind, "cup", spatial_sort={**sort, "max_distance": 9})
    assert not nothing
    assert hint in nothing.why_not("m0").reason
    flat = ask(mind, "cup", spatial_sort={**sort, "target": [1.3, 0.7]})
    assert flat.trace.get_detail("stage", "spatial sort", "without a distance") == ""


@pytest.mark.contract("R13")
def test_a_cutoff_leaves_out_what_is_farther_or_has_no_coordinates(places: Mind) -> None:
    assert ids(ask(places, "cup", 8, spatial_sort={**TARGET, "max_distance": 0.1})) == ["nearest", "near"]
    assert ids(ask(places, "cup", 8, spatial_sort={**TARGET, "max_distance": 0})) == ["nearest"]


@pytest.mark.contract("R13")
@pytest.mark.parametrize(
    ("at", "target", "cutoff"), [([3, 4], [0, 0], 5), ([1.2], [1.3], 0.1), ([1000.1], [1000], 0.1)]
)
def test_the_cutoff_is_inclusive_whatever_floating_point_makes_of_it(
    mind: Mind, at: list[float], target: list[float], cutoff: float
) -> None:
    mind.remember("cup", context={"at": at})
    assert len(ask(mind, "cup", spatial_sort={"field": "at", "target": target, "max_distance": cutoff})) == 1
    assert not ask(mind, "cup", spatial_sort={"field": "at", "target": target, "max_distance": cutoff * 0.999})


@pytest.mark.contract("R13")
def test_distance_orders_the_fetched_candidates_only(mind: Mind) -> None:
    """What matches the words worst is nearest, and 21st of 20 candidates."""
    mind.remember_many([Memory("cup", context={"at": [1 + n]}) for n in range(20)])
    mind.remember("a cup far down in a long sentence", id="nearest", context={"at": [0]})
    found = ask(mind, "cup", 5, spatial_sort={"field": "at", "target": [0]})
    assert [result.memory.context["at"] for result in found] == [[1], [2], [3], [4], [5]]


@pytest.mark.contract("R13")
def test_a_target_may_be_an_array(places: Mind) -> None:
    target = np.array(TARGET["target"], dtype=np.float32)
    assert ids(ask(places, "cup", 1, spatial_sort={**TARGET, "target": target})) == ["nearest"]


@pytest.mark.contract("R13")
@pytest.mark.parametrize(
    "wrong",
    [
        {"target": []},
        {"target": "1.3"},
        {"target": [1.3, "0.7"]},
        {"target": [1.3, None]},
        {"target": [float("nan"), 0.7]},
        {"target": [True, False]},
        {"target": 1.3},
        {"target": {"x": 1}},
        {"max_distance": -1},
        {"max_distance": "0.1"},
        {"field": 7},
        {"field": " "},
        {"radius": 1},
    ],
    ids=repr,
)
def test_a_malformed_spatial_sort_is_a_clear_error(places: Mind, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"spatial_sort"):
        ask(places, "cup", spatial_sort={**TARGET, **wrong})


@pytest.mark.contract("R13")
@pytest.mark.parametrize("wrong", [{}, {"field": "at"}, {"target": [1]}, [1, 2], "at"], ids=repr)
def test_a_spatial_sort_without_its_parts_says_what_it_looks_like(mind: Mind, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r'"field": "spatial.position"'):
        ask(mind, "cup", spatial_sort=wrong)


# R14: one scale.


@pytest.mark.contract("R14")
@pytest.mark.parametrize("settings", [{}, {"spatial_sort": {"field": "at", "target": [0]}}, {"rrf_k": 5}])
def test_the_best_returned_score_is_1(mind: Mind, settings: dict[str, Any]) -> None:
    """After a spatial sort, the best score is not the first one; it is 1.0 all the same, and none is above."""
    for n in range(30):
        mind.remember("cup " + "and so on " * n, context={"at": [30 - n]})
    found = ask(mind, "cup", 5, **settings)
    assert max(result.score for result in found) == 1.0
    assert [result.why.evaluate() for result in found] == [result.score for result in found]


@pytest.mark.contract("R14")
def test_the_others_keep_their_proportion_to_the_best(mind: Mind) -> None:
    mind.remember_many([Memory("cup " + "and more " * n) for n in range(3)])
    assert [result.score for result in ask(mind, "cup")] == pytest.approx([1.0, 61 / 62, 61 / 63])


# R15: use.


@pytest.mark.contract("R15")
def test_returned_memories_are_counted_and_others_are_not(path: Path) -> None:
    clock = Clock()
    with open_mind(path, embedder=None, clock=clock) as mind:
        mind.remember("cup cup", id="returned")
        mind.remember("a cup in a long sentence", id="cut")
        ask(mind, "cup", 1)
        asked = clock.pass_(hours=1)
        ask(mind, "cup", 1)
        use = mind.show("returned").use
        assert (use.access_count, use.return_count, use.recall_count) == (2, 2, 0)
        assert use.last_accessed == asked
        assert mind.show("cut").use.access_count == 0
        clock.pass_(hours=1)
        ask(mind, "cup", track=False)
        assert mind.show("returned").use == use


# R16: each leg may fail alone.


@pytest.mark.contract("R16", "R7")
def test_words_answer_when_the_embedder_fails_and_the_trace_says_why(path: Path) -> None:
    embedder = Moody()
    with open_mind(path, embedder) as mind:
        mind.remember("the cup", id="it")
        embedder.failing = True
        found = ask(mind, "cup")
        assert ids(found) == ["it"]
        assert mode(found) == "bm25_only"
        (failure,) = found.trace.failures
        assert failure.name == "vectors"
        assert "the model is on holiday" in failure.reason


@pytest.mark.contract("R16", "R7")
def test_vectors_answer_when_full_text_fails_and_the_trace_says_why(path: Path) -> None:
    with open_mind(path) as mind:
        mind.remember("the cup", id="it")
        assert mode(ask(mind, "cup")) == "hybrid"
        sql(path, "ALTER TABLE vocabulary RENAME TO lost")
        found = ask(mind, "cup")
        assert ids(found) == ["it"]
        assert mode(found) == "vec_only"
        (failure,) = found.trace.failures
        assert failure.name == "words"
        assert "vocabulary" in failure.reason


@pytest.mark.contract("R16", "R7")
def test_when_both_legs_fail_the_answer_is_empty_and_both_reasons_are_told(path: Path) -> None:
    embedder = Moody()
    with open_mind(path, embedder) as mind:
        mind.remember("the cup")
        embedder.failing = True
        sql(path, "ALTER TABLE vocabulary RENAME TO lost")
        found = ask(mind, "cup")
        assert list(found) == []
        assert [failure.name for failure in found.trace.failures] == ["words", "vectors"]
