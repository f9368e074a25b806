"""How a context is judged: equality, comparisons and distances, and what cannot be decided (R12, R13)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, InvalidInput, Mind, Near

from .kit import ids, open_mind

CONTEXTS: dict[str, dict[str, Any]] = {
    "one": {"v": 1, "at": [1, 0]},
    "true": {"v": True, "at": [3, 4]},
    "text": {"v": "1", "at": [0]},
    "half": {"v": 0.5, "at": ["0", "0"]},
    "null": {"v": None, "at": [True, False]},
    "list": {"v": [1, True], "at": []},
    "object": {"v": {"deep": 2}, "at": {"x": 0}},
    "missing": {},
}
ALL = set(CONTEXTS)


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    with open_mind(tmp_path_factory.mktemp("context") / "memory.db") as mind:
        mind.remember_many({"text": "cup", "id": id, "context": context} for id, context in CONTEXTS.items())
        yield mind


def found(mind: Mind, filter: Any) -> set[str]:
    return set(ids(mind.recall("cup", filter=filter, track=False)))


EQUALITY: list[tuple[Any, set[str]]] = [
    (1, {"one"}),
    (1.0, {"one"}),
    (True, {"true"}),
    (False, set()),
    ("1", {"text"}),
    (None, {"null"}),
    ([1, True], {"list"}),
    ([1, 1], set()),
    ([True, 1], set()),
    ({"deep": 2}, {"object"}),
    ({}, set()),
]


@pytest.mark.contract("R12")
@pytest.mark.parametrize(("wanted", "expected"), EQUALITY)
def test_equality_is_that_of_json_and_true_is_not_1(mind: Mind, wanted: Any, expected: set[str]) -> None:
    assert found(mind, Filter(context={"v": wanted})) == expected


@pytest.mark.contract("R12")
@pytest.mark.parametrize(("wanted", "expected"), EQUALITY)
def test_ne_matches_all_others_with_a_different_type_or_nothing_there(
    mind: Mind, wanted: Any, expected: set[str]
) -> None:
    assert found(mind, Filter(context={"v": {"$ne": wanted}})) == ALL - expected
    assert found(mind, ~Filter(context={"v": wanted})) == ALL - expected


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"$lt": 1}, {"half"}),
        ({"$lte": 1}, {"half", "one"}),
        ({"$gt": 0.5}, {"one"}),
        ({"$gte": 0.5}, {"half", "one"}),
        ({"$gte": 0.5, "$lt": 1}, {"half"}),
        ({"$gt": "0"}, {"text"}),
        ({"$lt": True}, set()),
        ({"$gt": None}, set()),
        ({"$gte": [1]}, set()),
        ({"$gt": 0, "$ne": 1}, {"half"}),
    ],
)
def test_a_comparison_with_another_type_is_no_match(mind: Mind, wanted: Any, expected: set[str]) -> None:
    assert found(mind, Filter(context={"v": wanted})) == expected


@pytest.mark.contract("R12")
def test_what_a_comparison_cannot_decide_is_out_also_under_negation(mind: Mind) -> None:
    assert found(mind, ~Filter(context={"v": {"$lt": 1}})) == {"one"}
    assert found(mind, ~Filter(context={"v": {"$lt": True}})) == set()
    assert found(mind, ~(Filter(context={"v": {"$lt": 1}}) & Filter(kind="memory"))) == {"one"}


@pytest.mark.contract("R12")
def test_what_is_false_for_another_reason_is_in_under_negation(mind: Mind) -> None:
    """No comparison can save a conjunction that has already failed."""
    assert found(mind, ~(Filter(context={"v": {"$lt": 1}}) & Filter(kind="another"))) == ALL
    assert found(mind, ~Filter(context={"v": {"$lt": 1}, "w": "there is none"})) == ALL


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    ("conditions", "expected", "negated"),
    [
        ({"v": {"$in": [1, "1"]}}, {"one", "text"}, ALL - {"one", "text"}),
        ({"v": {"$in": [[1, True], {"deep": 2}]}}, {"list", "object"}, ALL - {"list", "object"}),
        ({"v": {"$in": [True]}}, {"true"}, ALL - {"true"}),
        ({"v": {"$in": []}}, set(), ALL),
        ({"v": {"$exists": True}}, ALL - {"missing"}, {"missing"}),
        ({"v": {"$exists": False}}, {"missing"}, ALL - {"missing"}),
        ({"v.deep": {"$exists": True}}, {"object"}, ALL - {"object"}),
        ({"v": {"$contains": 1}}, {"list"}, set()),
        ({"v": {"$contains": True}}, {"list"}, set()),
        ({"v": {"$contains": 2}}, set(), {"list"}),
        ({"v": {"$contains": "1"}}, {"text"}, {"list"}),
        ({"v": {"$contains": ""}}, {"text"}, {"list"}),
        ({"v": {"$contains": "x"}}, set(), {"text", "list"}),
        ({"$or": [{"v": 1}, {"v": "1"}]}, {"one", "text"}, ALL - {"one", "text"}),
        ({"$or": [{"v": {"$lt": 1}}, {"v": {"$exists": False}}]}, {"half", "missing"}, {"one"}),
        ({"$or": [{"v": 0.5}, {"$or": [{"v": None}]}]}, {"half", "null"}, ALL - {"half", "null"}),
        ({"$or": [{"v": 1}, {"v": True}], "v": {"$ne": 1}}, {"true"}, ALL - {"true"}),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else None,  # sets have no order
)
def test_lists_of_values_parts_presence_and_alternatives(
    mind: Mind, conditions: dict[str, Any], expected: set[str], negated: set[str]
) -> None:
    assert found(mind, Filter(context=conditions)) == expected
    assert found(mind, ~Filter(context=conditions)) == negated


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    "conditions",
    [
        {"v": {"$in": 1}},
        {"v": {"$in": "ab"}},
        {"v": {"$in": {"a": 1}}},
        {"v": {"$exists": 1}},
        {"v": {"$exists": "yes"}},
        {"v": {"$or": [1, 2]}},
        {"$or": []},
        {"$or": {"v": 1}},
        {"$or": [{"v": 1}, 3]},
        {"$or": [{"v": {"$near": 1}}]},
        {"$and": [{"v": 1}]},
    ],
    ids=repr,
)
def test_an_operator_with_a_wrong_operand_is_a_clear_error(mind: Mind, conditions: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"\$|context filter"):
        mind.recall("cup", filter=Filter(context=conditions))


def test_alternatives_are_joined_in_python_and_in_json(mind: Mind) -> None:
    one, text, half = (Filter(context={"v": value}) for value in (1, "1", 0.5))
    assert found(mind, one | text) == {"one", "text"}
    assert found(mind, one | text | half) == {"one", "text", "half"}
    assert found(mind, ~(one | text)) == ALL - {"one", "text"}
    assert found(mind, (one | text) & ~text) == {"one"}
    assert found(mind, ~one | one) == ALL
    alternatives = [{"context": {"v": 1}}, {"context": {"v": "1"}}]
    assert found(mind, {"or": alternatives}) == {"one", "text"}
    assert found(mind, {"or": alternatives, "not": {"context": {"v": 1}}}) == {"text"}
    assert found(mind, {"kind": "another", "or": alternatives}) == set()
    assert found(mind, {"not": {"or": alternatives}}) == ALL - {"one", "text"}


def test_an_alternative_that_cannot_be_decided_leaves_the_others(mind: Mind) -> None:
    undecided = Filter(context={"v": {"$lt": 1}})
    assert found(mind, undecided | Filter(kind="memory")) == ALL
    assert found(mind, ~(undecided | Filter(kind="another"))) == {"one"}


def test_why_not_names_the_alternatives(mind: Mind) -> None:
    recall = mind.recall("cup", filter=Filter(user="ada") | Filter(context={"v": 1}))
    assert "(user='ada') or (context={'v': 1})" in recall.why_not("half").reason
    recall = mind.recall("cup", filter=Filter(context={"$or": [{"v": 1}, {"v": 2}]}))
    assert "none of the alternatives" in recall.why_not("half").reason


@pytest.mark.contract("R12")
def test_a_path_leads_through_objects_only(mind: Mind) -> None:
    assert found(mind, Filter(context={"v.deep": 2})) == {"object"}
    assert found(mind, Filter(context={"v.deep": {"$gte": 2}})) == {"object"}
    assert found(mind, Filter(context={"v.0": 1})) == set()
    assert found(mind, Filter(context={"v.deep.deeper": {"$ne": 0}})) == ALL
    assert found(mind, Filter(context={"": {"$ne": 0}, ".": {"$ne": 0}})) == ALL


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    "wanted",
    [
        {"$near": 1},
        {"$lt": 1, "$nin": [1]},
        {"$lt": 1, "plain": 2},
        {"$": 1},
    ],
)
def test_what_is_no_operator_is_a_clear_error(mind: Mind, wanted: Any) -> None:
    with pytest.raises(InvalidInput, match="operator"):
        mind.recall("cup", filter=Filter(context={"v": wanted}))


@pytest.mark.contract("R12")
@pytest.mark.parametrize(
    "context", ["v", ["v"], 3, {1: 1}, {"v": {1: 1}}, {"v": {1}}, {"v": float("nan")}, {"v": {"$lt": float("inf")}}]
)
def test_what_is_no_json_object_is_a_clear_error(mind: Mind, context: Any) -> None:
    with pytest.raises(InvalidInput):
        mind.recall("cup", filter=Filter(context=context))


@pytest.mark.contract("R13")
@pytest.mark.parametrize(
    ("near", "expected"),
    [
        (Near("at", [0, 0], 5), {"one", "true"}),
        (Near("at", (0, 0), 4.999), {"one"}),
        (Near("at", [1, 0], 0), {"one"}),
        (Near("at", [0], 9), {"text"}),
        (Near("at", [0, 0, 0], 99), set()),
        (Near("at.x", [0], 9), set()),
        (Near("nowhere", [0, 0], 9), set()),
    ],
)
def test_a_distance_counts_up_to_the_cutoff_and_in_the_same_dimension(
    mind: Mind, near: Near, expected: set[str]
) -> None:
    assert found(mind, Filter(near=near)) == expected


@pytest.mark.contract("R13")
def test_without_usable_coordinates_a_memory_is_out_also_under_negation(mind: Mind) -> None:
    assert found(mind, ~Filter(near=Near("at", [0, 0], 2))) == {"true"}
    assert found(mind, ~Filter(near=Near("at", [0, 0, 0], 2))) == set()


@pytest.mark.contract("R13")
@pytest.mark.parametrize(
    "near",
    [
        Near("at", [], 1),
        Near("at", ["0", 0], 1),  # type: ignore[list-item]
        Near("at", [True, 0], 1),
        Near("at", [float("nan"), 0], 1),
        Near("at", "00", 1),  # type: ignore[arg-type]
        Near("at", 3, 1),  # type: ignore[arg-type]
        Near("at", [0, 0], -1),
        Near("at", [0, 0], float("nan")),
        Near("at", [0, 0], "1"),  # type: ignore[arg-type]
        Near(3, [0, 0], 1),  # type: ignore[arg-type]
        {"field": "at", "target": [0, 0], "within": 1, "more": 1},
        {"field": "at"},
        "here",
    ],
)
def test_a_malformed_place_is_a_clear_error(mind: Mind, near: Any) -> None:
    with pytest.raises(InvalidInput, match="near"):
        mind.recall("cup", filter={"near": near})


@pytest.mark.contract("R13")
def test_a_place_that_is_no_near_is_a_clear_error_inside_a_filter_too(mind: Mind) -> None:
    place: Any = {"field": "at", "target": [1, 0], "within": 0}
    with pytest.raises(InvalidInput, match="near"):
        mind.recall("cup", filter=Filter(near=place))


@pytest.mark.parametrize(
    "filter",
    [
        {"sesion": "s1"},
        {"not": {"tag": "x"}},
        {"not": 3},
        {"or": []},
        {"or": {"user": "ada"}},
        {"or": [{"sesion": "s1"}]},
        {"or": [None]},
        Filter(expired=True) | Filter(user="ada"),
        ~(Filter(user="ada") & ~Filter(expired=True)),
        "session",
        7,
        Filter(user=3),  # type: ignore[arg-type]
        Filter(user=[3]),  # type: ignore[list-item]
        Filter(tags=3),  # type: ignore[arg-type]
        Filter(path=3),  # type: ignore[arg-type]
        Filter(classification="2"),  # type: ignore[arg-type]
        Filter(min_confidence=2),
        Filter(min_confidence="high"),  # type: ignore[arg-type]
        Filter(since="someday"),
        Filter(until=True),
    ],
)
def test_a_filter_that_cannot_be_is_a_clear_error(mind: Mind, filter: Any) -> None:
    with pytest.raises(InvalidInput):
        mind.recall("cup", filter=filter)


def test_a_status_that_an_alternative_names_is_let_in(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("cup", id="old", status="superseded")
        mind.remember("cup", id="new", topic="kitchen")
        mind.remember("cup", id="forgotten", status="forgotten")
        assert set(ids(mind.recall("cup", filter=Filter(status="superseded") | Filter(topic="kitchen")))) == {
            "old",
            "new",
        }
        assert ids(mind.recall("cup", filter=Filter(status="superseded") | Filter(status="forgotten"))) == ["old"]
