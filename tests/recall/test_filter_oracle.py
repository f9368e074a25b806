"""Random filters over random memories, against an oracle in plain Python: the same memories, no more and no fewer."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Filter, Memory, Near, Not
from recollect.model import STATUSES
from recollect.model.filter import AllOf, AnyOf, FilterExpression
from tests.conftest import examples

from .kit import NOON, ids, open_mind

pytestmark = pytest.mark.contract("B3", "R12", "R13")

NAMES = ("collection", "user", "agent", "session", "speaker", "role", "kind", "topic", "tier", "source")
FEW = ["", "a", "b", "c"]
PATHS = ["", "a", "a/", "a/b", "a/b/c", "ab", "b/a"]
DAYS = [NOON - timedelta(days=days) for days in range(4)]

scalars: st.SearchStrategy[Any] = st.sampled_from([None, True, False, 0, 1, 2, -1, 0.5, 1.0, "", "1", "a", "b"])
numbers = st.integers(-2, 2) | st.sampled_from([0.5, 1.5])
json_values = st.recursive(
    scalars | st.lists(numbers, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
memories = st.fixed_dictionaries(
    {"text": st.sampled_from(["cup", "red cup", "door"])},
    optional={
        **{name: st.sampled_from(FEW) for name in NAMES},
        "status": st.sampled_from(STATUSES),
        "tags": st.lists(st.sampled_from(FEW), max_size=3),
        "path": st.sampled_from(PATHS),
        "classification": st.integers(0, 3),
        "confidence": st.none() | st.sampled_from([0.0, 0.5, 1.0]),
        "created": st.sampled_from(DAYS),
        "expires": st.sampled_from([*DAYS, NOON + timedelta(days=1)]),
        "context": st.dictionaries(st.sampled_from("xyz"), json_values, max_size=3),
    },
)

one_or_more = st.sampled_from(FEW) | st.lists(st.sampled_from([*FEW, "nowhere"]), min_size=1, max_size=2)
operands: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(["$lt", "$lte", "$gt", "$gte", "$ne", "$contains"], scalars),
    "$in": st.lists(scalars | st.lists(numbers, max_size=2), max_size=3),
    "$exists": st.booleans(),
}
operators = st.lists(
    st.sampled_from(list(operands)).flatmap(lambda name: st.tuples(st.just(name), operands[name])),
    min_size=1,
    max_size=2,
).map(dict)
path_filters = st.dictionaries(
    st.sampled_from(["x", "y", "x.y", "y.x.z", "z"]), json_values | operators, min_size=1, max_size=2
)
context_filters = path_filters | st.builds(
    lambda alternatives, more: {"$or": alternatives, **more},
    st.lists(path_filters, min_size=1, max_size=3),
    path_filters | st.just({}),
)
nears = st.builds(
    Near,
    field=st.sampled_from(["x", "y", "x.y"]),
    target=st.lists(numbers, min_size=1, max_size=3),
    within=st.sampled_from([0, 1, 1.5, 3]),
)
simple = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(NAMES, one_or_more),
        "status": st.sampled_from(["active", "superseded", ["active", "contradicted"]]),
        "tags": one_or_more,
        "path": st.sampled_from(PATHS),
        "classification": st.integers(-1, 3),
        "min_confidence": st.sampled_from([0, 0.5, 0.75, 1]),
        "since": st.sampled_from([*DAYS, DAYS[2].isoformat(), DAYS[1].timestamp()]),
        "until": st.sampled_from(DAYS),
        "context": context_filters,
        "near": nears,
    },
)
NAMED = [each.name for each in fields(Filter)]


@st.composite
def few_conditions(draw: st.DrawFn) -> Filter:
    """One or two conditions; more would hardly ever match."""
    chosen = draw(st.lists(st.sampled_from(NAMED), min_size=1, max_size=2))
    said: dict[str, Any] = draw(simple)
    return Filter(**{name: value for name, value in said.items() if name in chosen})


contextual = st.builds(lambda said: Filter(context=said), context_filters) | st.builds(lambda n: Filter(near=n), nears)
filters: st.SearchStrategy[FilterExpression] = st.recursive(
    few_conditions() | contextual,
    lambda inner: (
        st.builds(lambda f: ~f, inner)
        | st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
    ),
    max_leaves=4,
)


# The oracle: True, False, or None for what cannot be decided.


def holds(filter: FilterExpression, memory: Memory) -> bool | None:
    if isinstance(filter, Not):
        inner = holds(filter.of, memory)
        return None if inner is None else not inner
    if isinstance(filter, AllOf):
        return every([holds(part, memory) for part in filter.of])
    if isinstance(filter, AnyOf):
        return some([holds(part, memory) for part in filter.of])
    said = {name: getattr(filter, name) for name in NAMED if getattr(filter, name) is not None}
    return every([condition(name, value, memory) for name, value in said.items()])


def every(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def some(answers: list[bool | None]) -> bool | None:
    if True in answers:
        return True
    return None if None in answers else False


def condition(name: str, value: Any, memory: Memory) -> bool | None:
    assert memory.created is not None
    match name:
        case "tags":
            return ({value} if isinstance(value, str) else set(value)) <= set(memory.tags)
        case "path":
            return memory.path == value or (value.endswith("/") and memory.path.startswith(value))
        case "classification":
            return memory.classification <= int(value)
        case "min_confidence":
            return (memory.confidence or 0.0) >= float(value)
        case "since":
            return memory.created >= moment(value)
        case "until":
            return memory.created < moment(value)
        case "context":
            return every([_context(memory.context, path, wanted) for path, wanted in value.items()])
        case "near":
            return near(memory.context, value)
    return getattr(memory, name) in ([value] if isinstance(value, str) else value)


def moment(value: Any) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return value if isinstance(value, datetime) else datetime.fromtimestamp(value, NOON.tzinfo)


def at(context: Any, path: str) -> list[Any]:
    """The value at a path in a list of one, or an empty list."""
    for key in path.split("."):
        if not isinstance(context, Mapping) or key not in context:
            return []
        context = context[key]
    return [context]


def kind(value: Any) -> str:
    return {bool: "truth", int: "number", float: "number", str: "text"}.get(type(value), "other")


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return kind(a) == kind(b) and bool(a == b)


def _context(context: Mapping[str, Any], path: str, wanted: Any) -> bool | None:
    if path == "$or":
        return some([every([_context(context, *each) for each in one.items()]) for one in wanted])
    found = at(context, path)
    if not (isinstance(wanted, dict) and any(key.startswith("$") for key in wanted)):
        return bool(found) and same(found[0], wanted)
    answers: list[bool | None] = []
    for operator, value in wanted.items():
        if operator == "$ne":
            answers.append(not found or not same(found[0], value))
        elif operator == "$in":
            answers.append(bool(found) and any(same(found[0], each) for each in value))
        elif operator == "$exists":
            answers.append(bool(found) if value else not found)
        elif operator == "$contains":
            if found and isinstance(found[0], list):
                answers.append(any(same(each, value) for each in found[0]))
            elif found and kind(found[0]) == kind(value) == "text":
                answers.append(found[0].find(value) >= 0)
            else:
                answers.append(None)
        elif not found or kind(found[0]) != kind(value) or kind(value) not in ("number", "text"):
            answers.append(None)
        else:
            low, high = found[0] < value, found[0] > value
            answers.append({"$lt": low, "$lte": not high, "$gt": high, "$gte": not low}[operator])
    return every(answers)


def near(context: Mapping[str, Any], wanted: Near) -> bool | None:
    found = at(context, wanted.field)
    if not found or not isinstance(found[0], list) or len(found[0]) != len(wanted.target):
        return None
    if any(kind(each) != "number" for each in found[0]):
        return None
    return math.dist(found[0], wanted.target) <= wanted.within


@settings(max_examples=examples(15, 60), deadline=None)
@given(records=st.lists(memories, min_size=5, max_size=25), asked=st.lists(filters, min_size=8, max_size=16))
def test_recall_brings_exactly_what_the_oracle_lets_through(
    records: list[dict[str, Any]], asked: list[FilterExpression]
) -> None:
    with tempfile.TemporaryDirectory() as folder, open_mind(Path(folder) / "memory.db") as mind:
        mind.remember_many(records)
        known = mind.list()
        for filter in asked:
            passing = {memory.id for memory in known if holds(filter, memory)}
            current = {memory.id for memory in known if memory.expires is None or memory.expires > NOON}
            assert {memory.id for memory in mind.list(filter)} == passing, filter
            recall = mind.recall("cup", len(records), filter=filter, track=False)
            assert set(ids(recall)) == passing & current, filter
            assert len(set(ids(recall))) == len(recall)
            for memory in known:
                verdict = recall.why_not(memory.id)
                assert verdict.returned == (memory.id in passing & current)
                assert verdict.returned or verdict.step == "filter"


def test_no_tag_at_all_is_asked_of_everyone(tmp_path: Path) -> None:
    """All of no tags are there in any memory, tagged or not."""
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("cup", id="bare")
        mind.remember("cup", id="tagged", tags=["a"])
        assert set(ids(mind.recall("cup", filter=Filter(tags=[])))) == {"bare", "tagged"}
        assert ids(mind.recall("cup", filter=~Filter(tags=[]))) == []


def test_any_of_no_values_is_no_one(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("cup", user="ada")
        assert ids(mind.recall("cup", filter=Filter(user=[]))) == []
        assert len(mind.recall("cup", filter=~Filter(user=[]))) == 1


def test_an_empty_filter_lets_everything_through(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember("cup")
        assert len(mind.recall("cup", filter=Filter())) == 1
        assert len(mind.recall("cup", filter={})) == 1
        assert len(mind.recall("cup", filter=Filter(context={}))) == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", {"a"}),
        ("a/", {"a/b", "a/b/c"}),
        ("a/b", {"a/b"}),
        ("a/b/", {"a/b/c"}),
        ("", {""}),
        ("/", set()),
        ("a/nowhere", set()),
    ],
)
def test_a_path_is_a_file_and_with_a_slash_a_folder(tmp_path: Path, path: str, expected: set[str]) -> None:
    with open_mind(tmp_path / "memory.db") as mind:
        mind.remember_many({"text": "cup", "path": each} for each in ("", "a", "a/b", "a/b/c", "ab", "b/a"))
        assert {result.memory.path for result in mind.recall("cup", filter=Filter(path=path))} == expected
