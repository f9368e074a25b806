"""The table of operations: checked input, true schemas, scopes, and the tools that are made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from recollect import InvalidInput, Mind, NotFound
from recollect.errors import AccessDenied
from recollect.service import Service, all_operations, error_json, find_operation, tool_operations
from recollect.service.errors import error_from_json

TEXTS = [
    "The blue cup is on the top shelf of the kitchen.",
    "Ann prefers green tea in the morning.",
    "The meeting with Bob moved to Thursday.",
    "The robot gripper slips on wet glass below 8 N.",
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        yield Service(mind)


@pytest.fixture
def ids(service: Service) -> list[str]:
    context = {"spatial": {"position": [1.0, 2.0, 0.5]}}
    items = [{"text": text, "context": context, "entities": ["Kitchen"], "session": "s1"} for text in TEXTS]
    added: list[str] = service.call("remember_many", {"items": items})["ids"]
    return added


def arguments_of(name: str, ids: list[str]) -> dict[str, Any]:
    """Arguments with which every operation works."""
    query = {"query": "where is the cup?"}
    by_name: dict[str, dict[str, Any]] = {
        "remember": {"text": "New.", "tags": ["a"], "created": "2026-01-02"},
        "remember_many": {"items": [{"text": "One."}, {"text": "Two.", "tags": ["b"]}]},
        "update": {"id": ids[0], "text": "The blue cup is in the sink.", "tags": ["kitchen"]},
        "supersede": {"old": ids[1], "new": "Ann prefers coffee now."},
        "contradict": {"a": ids[0], "b": ids[1], "loser": ids[1]},
        "link": {"source": ids[0], "target": ids[1]},
        "unlink": {"source": ids[0], "target": ids[1]},
        "relate": {"subject": "ann", "relation": "works_with", "object": "bob"},
        "reinforce": {"id": ids[0]},
        "forget": {"ids": [ids[3]], "reason": "wrong"},
        "recall": {**query, "k": 2, "explain": True, "trace": True},
        "context": query,
        "why": {**query, "id": ids[0]},
        "why_not": {**query, "id": ids[2]},
        "compare": {**query, "recipes": ["default", "openclaw"], "trace": True},
        "show": {"id": ids[0]},
        "list": {"limit": 2},
        "history": {"id": ids[0]},
        "edges": {"ids": [ids[0]]},
        "relations": {"names": ["ann"]},
        "graph": {"id": ids[0], "depth": 2},
        "start_session": {"context": {"task": {"name": "clear the table"}}},
        "end_session": {"session_id": "s1", "outcome_score": 0.5},
        "save_perception": {"description": "A wet glass.", "data": [1, 2]},
        "memory_search": query,
        "import": {"records": [{"text": "Imported."}]},
        "erase": {"ids": [ids[0]]},
    }
    return by_name.get(name, {})


WITHOUT_NOTES = [name for name in all_operations() if name != "memory_get"]


@pytest.mark.parametrize("name", WITHOUT_NOTES)
def test_the_output_of_each_operation_is_as_its_schema_says(service: Service, ids: list[str], name: str) -> None:
    arguments = arguments_of(name, ids)
    operation = find_operation(name)
    Draft202012Validator(operation.input_schema).validate(arguments)
    output = service.call(name, arguments)
    records = list(output) if name == "export" else [output]
    for each in records:
        Draft202012Validator(operation.output_schema).validate(json.loads(json.dumps(each, allow_nan=False)))


@pytest.mark.parametrize("operation", all_operations().values(), ids=lambda each: each.name)
def test_each_operation_is_described(operation: Any) -> None:
    for schema in (operation.input_schema, operation.output_schema, operation.tool_schema):
        Draft202012Validator.check_schema(schema)
    assert operation.summary.endswith(".") or "; " in operation.summary
    assert all(each.help for each in operation.parameters)
    if operation.tools:
        assert len(operation.description) > 30


@pytest.mark.parametrize("operation", all_operations().values(), ids=lambda each: each.name)
def test_an_unknown_argument_is_refused_by_name(service: Service, ids: list[str], operation: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{operation.name} has no argument 'colour'"):
        service.call(operation.name, {**arguments_of(operation.name, ids), "colour": "red"})


@pytest.mark.parametrize("operation", all_operations().values(), ids=lambda each: each.name)
def test_a_value_of_the_wrong_type_is_refused_by_name(service: Service, operation: Any) -> None:
    for parameter in operation.parameters:
        wrong = [] if "object" in str(parameter.schema.get("type")) or not parameter.schema else {"a": object()}
        if not parameter.schema:
            continue
        with pytest.raises(InvalidInput, match=parameter.name):
            parameter.check(wrong, parameter.name)


@pytest.mark.parametrize("operation", all_operations().values(), ids=lambda each: each.name)
def test_each_operation_needs_its_scope(service: Service, ids: list[str], operation: Any) -> None:
    order = ("read", "write", "admin")
    for scope in order:
        caller = Service(service.mind, scope)  # type: ignore[arg-type]
        if order.index(scope) >= order.index(operation.scope):
            caller.require(operation)
        else:
            with pytest.raises(AccessDenied, match=operation.scope):
                caller.call(operation.name, arguments_of(operation.name, ids))


def test_settings_that_name_files_or_services_are_not_taken_from_a_call(service: Service) -> None:
    for recipe, settings in (("abmind", {"notes": "/etc"}), ("qmd", {"reranker": "http://localhost"})):
        with pytest.raises(InvalidInput, match=next(iter(settings))):
            service.call("recall", {"query": "x", "recipe": recipe, "settings": settings})
    assert service.call("recall", {"query": "x", "settings": {"recency": 0.5}})["results"] == []
    with pytest.raises(InvalidInput, match="no setting 'colour'"):
        service.call("recall", {"query": "x", "settings": {"colour": 0.5}})


def test_pages_follow_one_another_without_gaps_while_memories_are_added(service: Service) -> None:
    for number in range(25):
        service.call("remember", {"text": f"Note {number}.", "created": f"2026-01-{number + 1:02}"})
    seen, cursor = [], None
    while True:
        page = service.call("list", {"limit": 10, "cursor": cursor})
        seen += [each["text"] for each in page["memories"]]
        service.call("remember", {"text": f"Added after {len(seen)}."})
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"Note {number}." for number in reversed(range(25))]
    with pytest.raises(InvalidInput, match="cursor"):
        service.call("list", {"cursor": "bm90IG9uZQ=="})


def test_a_recall_within_a_budget_returns_what_fits(service: Service, ids: list[str]) -> None:
    found = service.call("recall", {"query": "cup tea meeting robot", "budget": 16})
    assert 0 < len(found["results"]) < len(TEXTS)


def test_the_explanation_in_json_evaluates_to_the_score(service: Service, ids: list[str]) -> None:
    import operator
    from functools import reduce

    operators: dict[str, Any] = {
        "+": operator.add,
        "−": operator.sub,
        "×": operator.mul,
        "÷": operator.truediv,
        "max": max,
        "min": min,
    }

    def evaluate(tree: Any) -> float:
        if "parts" not in tree:
            return float(tree["value"])
        return float(reduce(operators[tree["operation"]], map(evaluate, tree["parts"])))

    found = service.call("recall", {"query": "where is the blue cup?", "explain": True})
    for result in found["results"]:
        assert evaluate(result["explanation"]) == result["score"]


def test_a_trace_lists_whom_each_step_left_out(service: Service, ids: list[str]) -> None:
    found = service.call("recall", {"query": "the cup and the meeting", "k": 1, "trace": True})
    cut = next(step for step in found["trace"]["steps"] if step["kind"] == "cut")
    (group,) = cut["left_out"]
    assert group["total"] == cut["in"] - 1
    assert group["memories"][0]["value"] == 2.0
    assert group["memories"][0]["id"] in ids


def test_tools_are_few_by_default_and_take_what_they_do_not_offer() -> None:
    basic = [each.name for each in tool_operations("basic")]
    assert basic == ["remember", "update", "supersede", "forget", "recall"]
    assert "erase" not in basic
    assert sum(len(json.dumps(each.tool_schema)) + len(each.description) for each in tool_operations("basic")) < 12_000
    with pytest.raises(InvalidInput, match="basic, robot, notes, all"):
        tool_operations("some")


def test_tools_call_the_operations(service: Service) -> None:
    tools = service.mind.tools()
    stored = tools.call("remember", {"text": "The blue cup is on the shelf.", "confidence": 0.5})
    assert stored["confidence"] == 0.5
    assert tools.call("recall", {"query": "cup"})["results"][0]["memory"]["id"] == stored["id"]
    assert {each["function"]["name"] for each in tools.for_openai()} == {each["name"] for each in tools.for_anthropic()}
    with pytest.raises(InvalidInput, match="no tool 'shell'"):
        tools.call("shell", {})


def test_errors_have_one_shape_and_come_back_as_the_same_exception(service: Service) -> None:
    with pytest.raises(NotFound) as missing:
        service.call("show", {"id": "nothing"})
    shown = error_json(missing.value, "r1")
    assert shown == {
        "type": "NotFound",
        "message": "There is no memory with the id 'nothing'.",
        "hint": shown["hint"],
        "request_id": "r1",
    }
    again = error_from_json(shown)
    assert (type(again), str(again)) == (NotFound, str(missing.value))


def test_an_unexpected_error_shows_nothing_of_itself() -> None:
    shown = error_json(RuntimeError("the password is swordfish"), "r2")
    assert shown["type"] == "InternalError"
    assert "swordfish" not in json.dumps(shown)


def test_a_recall_tells_which_words_match_in_meaning_only_when_asked(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder="local") as mind:
        service = Service(mind)
        mind.remember("🙂 The puppy chewed my sneakers.")
        asked = {"query": "what did the dog do?"}
        (plain,) = service.call("recall", asked)["results"]
        assert "matched_words" not in plain
        answer = service.call("recall", {**asked, "matched_words": True})
        (word,) = answer["results"][0]["matched_words"]
        assert (word["start"], word["end"], word["query_word"]) == (6, 11, "dog")
        assert 0.4 <= word["similarity"] <= 1.1
        Draft202012Validator(find_operation("recall").output_schema).validate(answer)


def test_dates_without_a_zone_are_in_that_of_the_mind(tmp_path: Path) -> None:
    with Mind(tmp_path / "zone.db", embedder=None, tz="America/New_York") as mind:
        service = Service(mind)
        id = service.call("remember", {"text": "Bought a kayak.", "created": "2025-03-14"})["id"]
        assert service.call("show", {"id": id})["created"] == "2025-03-14T04:00:00+00:00"
        service.call("update", {"id": id, "created": "2025-03-14T23:30"})
        day = {"since": "2025-03-14", "until": "2025-03-15"}
        assert service.call("list", {"filter": day})["total"] == 1
        assert len(service.call("recall", {"query": "kayak", "filter": day})["results"]) == 1
        periods = service.call("timeline", {"period": "day"})["periods"]
        assert periods == [{"begins": "2025-03-14", "memories": 1}]
