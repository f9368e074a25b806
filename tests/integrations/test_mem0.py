"""mem0's client API: the calls of its documentation, with its argument names and the shapes of its answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind
from recollect.integrations.mem0 import AsyncMemory, Memory
from tests.conftest import Clock

pytestmark = pytest.mark.contract("B22")
CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I am allergic to nuts.", "name": "ada"},
    {"role": "assistant", "content": "I will keep nuts away."},
]


@pytest.fixture
def memory(path: Path, clock: Clock) -> Iterator[Memory]:
    with Mind(path, embedder=None, clock=clock) as mind:
        yield Memory(mind=mind)


def texts(answer: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [item["memory"] for item in answer["results"]]


def everything(memory: Memory, **filters: Any) -> list[str]:
    return sorted(texts(memory.get_all(filters=filters, top_k=1000)))


def add(memory: Memory, text: str, **options: Any) -> str:
    (result,) = memory.add(text, **{"user_id": "ada", **options})["results"]
    return str(result["id"])


def test_a_program_of_the_documentation_runs_with_another_import(path: Path) -> None:
    with Memory(path=path) as memory:
        memory.add("The kiln is serviced every October.", user_id="ada")
        added = memory.add(CHAT, user_id="ada", metadata={"topic": "health"})
        assert [set(item) for item in added["results"]] == [{"id", "memory", "event", "actor_id", "role"}] * 2
        (best, *_) = memory.search("what must she not eat?", filters={"user_id": "ada"}, top_k=3)["results"]
        assert best["memory"] == "I am allergic to nuts."
        assert {*best} == {
            *("id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id", "actor_id", "role")
        }
        assert best["metadata"] == {"topic": "health"}
        assert memory.update(best["id"], "I am allergic to nuts and milk.") == {
            "message": "Memory updated successfully!"
        }
        item = memory.get(best["id"])
        assert item is not None
        assert (item["memory"], item["score"]) == ("I am allergic to nuts and milk.", None)
        assert memory.delete(best["id"]) == {"message": "Memory deleted successfully!"}
        assert memory.get(best["id"]) is None
        events = [(entry["event"], entry["old_memory"], entry["new_memory"]) for entry in memory.history(best["id"])]
        assert events == [
            ("ADD", None, "I am allergic to nuts."),
            ("UPDATE", "I am allergic to nuts.", "I am allergic to nuts and milk."),
            ("DELETE", "I am allergic to nuts and milk.", None),
        ]
    with Memory(path=path) as memory:
        assert len(everything(memory, user_id="ada")) == 2


def test_without_a_model_messages_are_stored_as_they_are(memory: Memory) -> None:
    for infer in (True, False):
        memory.add(CHAT, run_id=f"run-{infer}", infer=infer)
        assert everything(memory, run_id=f"run-{infer}") == ["I am allergic to nuts.", "I will keep nuts away."]


def test_with_an_extractor_facts_are_the_memories_and_turns_their_sources(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        memory = Memory(mind=mind, extract=lambda messages: ["Ada is allergic to nuts."])
        added = memory.add(CHAT, user_id="ada", run_id="r1", metadata={"topic": "health"})
        assert [(item["memory"], item["event"]) for item in added["results"]] == [("Ada is allergic to nuts.", "ADD")]
        assert everything(memory, user_id="ada", run_id="r1") == ["Ada is allergic to nuts."]
        assert texts(memory.search("nuts", filters={"user_id": "ada"})) == ["Ada is allergic to nuts."]
        assert len(mind.edges(added["results"][0]["id"])) == 2
        memory.add(CHAT, user_id="ada", infer=False)
        assert len(everything(memory, user_id="ada")) == 3
        memory.delete_all(user_id="ada")
        assert mind.list() == []  # the turns are gone, too


def test_messages_are_found_when_the_extractor_fails(path: Path) -> None:
    def fail(messages: Any) -> list[str]:
        raise TimeoutError("no model")

    with Mind(path, embedder=None) as mind:
        memory = Memory(mind=mind, extract=fail)
        assert texts(memory.add(CHAT, user_id="ada")) == ["I am allergic to nuts.", "I will keep nuts away."]
        assert len(texts(memory.search("nuts", filters={"user_id": "ada"}))) == 2
        assert "run_id" not in memory.get_all(filters={"user_id": "ada"})["results"][0]


# Users, agents and runs.


def test_delete_all_of_one_user_deletes_nothing_of_others(memory: Memory) -> None:
    owners: list[dict[str, Any]] = [
        {"user_id": "ada"},
        {"user_id": "ada", "agent_id": "cook"},
        {"user_id": "ada2"},
        {"user_id": "Ada"},
        {"agent_id": "ada"},
        {"run_id": "ada"},
        {"user_id": "bob", "agent_id": "cook", "run_id": "r1"},
    ]
    for number, owner in enumerate(owners):
        memory.add(f"memory {number}", **owner)
    stranger = memory.mind.remember("not of mem0", user="ada", collection="main")
    memory.delete_all(user_id="ada", agent_id="cook")
    assert everything(memory, user_id="ada") == ["memory 0"]
    memory.delete_all(user_id=" ada ")
    left = {found.text for found in memory.mind.list()}
    assert left == {"memory 2", "memory 3", "memory 4", "memory 5", "memory 6", "not of mem0"}
    assert memory.mind.show(stranger.id).status == "active"
    memory.mind.undo()
    assert everything(memory, user_id="ada") == ["memory 0"]


@pytest.mark.parametrize("ids", [{}, {"user_id": None}, {"user_id": ""}, {"user_id": " "}, {"user_id": "a b"}])
def test_delete_all_without_a_name_deletes_nothing(memory: Memory, ids: dict[str, Any]) -> None:
    add(memory, "stays")
    with pytest.raises(ValueError):  # noqa: PT011  the type is what users of mem0 catch
        memory.delete_all(**ids)
    assert everything(memory, user_id="ada") == ["stays"]


@pytest.mark.parametrize("ids", [{"user_id": {"ne": "x"}}, {"user_id": ["ada"]}, {"user_id": True}, {"user_id": None}])
def test_a_name_is_no_condition(memory: Memory, ids: dict[str, Any]) -> None:
    add(memory, "of ada")
    with pytest.raises(InvalidInput, match="user_id"):
        memory.get_all(filters=ids)
    with pytest.raises(ValueError):  # noqa: PT011
        memory.delete_all(**ids)
    assert everything(memory, user_id="ada") == ["of ada"]


def test_a_search_sees_only_the_user_agent_and_run_that_it_names(memory: Memory) -> None:
    for user, agent in (("ada", "cook"), ("ada", "maid"), ("bob", "cook")):
        memory.add(f"the kettle of {user} for {agent}", user_id=user, agent_id=agent)
    found = memory.search("kettle", filters={"user_id": "ada", "agent_id": "cook"})
    assert texts(found) == ["the kettle of ada for cook"]
    assert len(texts(memory.search("kettle", filters={"agent_id": "cook"}))) == 2
    assert texts(memory.search("kettle", filters={"user_id": "nobody"})) == []


def test_metadata_cannot_move_a_memory_to_another_user(memory: Memory) -> None:
    id = add(memory, "of ada", metadata={"user_id": "bob", "topic": "x"})
    memory.update(id, metadata={"user_id": "bob", "agent_id": "cook"})
    assert everything(memory, user_id="bob") == []
    item = memory.get(id)
    assert item is not None
    assert (item["user_id"], item["metadata"]) == ("ada", {"topic": "x"})


def test_a_star_is_the_name_of_a_user_and_not_everybody(memory: Memory) -> None:
    add(memory, "the kettle of ada")
    add(memory, "the kettle of *", user_id="*")
    assert everything(memory, user_id="*") == texts(memory.search("kettle", filters={"user_id": "*"}))
    memory.delete_all(user_id="*")
    assert everything(memory, user_id="ada") == ["the kettle of ada"]


def test_numbers_are_names_as_in_mem0(memory: Memory) -> None:
    add(memory, "of user 7", user_id=7)
    assert everything(memory, user_id=" 7 ") == ["of user 7"]


def test_memories_of_other_collections_and_kinds_do_not_exist(memory: Memory) -> None:
    other = memory.mind.remember("elsewhere", user="ada")
    turn = memory.mind.remember_turns(["a turn"], user="ada", collection="mem0").turns[0]
    for id in (other.id, turn.id, add(memory, "mine")[:8], "nonsense", ""):
        assert memory.get(id) is None
        with pytest.raises(ValueError, match="not found"):
            memory.delete(id)
        with pytest.raises(ValueError, match="not found"):
            memory.update(id, "x")
    assert memory.history("nonsense") == []
    assert memory.history(other.id) == []
    memory.reset()
    assert memory.mind.show(other.id).status == "active"
    assert everything(memory, user_id="ada") == []


# Filters.


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"topic": "food"}, {1, 2}),
        ({"topic": {"eq": "food"}}, {1, 2}),
        ({"topic": {"ne": "food"}}, {3}),
        ({"topic": {"in": ["food", "home"]}}, {1, 2, 3}),
        ({"topic": {"nin": ["food", "x"]}}, {3}),
        ({"size": {"gt": 1}}, {2, 3}),
        ({"size": {"gte": 1, "lt": 3}}, {1, 2}),
        ({"size": {"lte": 1}}, {1}),
        ({"size": 2}, {2}),
        ({"topic": {"contains": "oo"}}, {1, 2}),
        ({"topic": {"icontains": "OO"}}, {1, 2}),
        ({"tags": {"contains": "x"}}, {1}),
        ({"tags": ["x", "y"]}, {1}),
        ({"size": "*"}, {1, 2, 3, 4}),
        ({"a.b": "dotted"}, {4}),
        ({"deep.er": {"gt": 1}}, {3}),
        ({"OR": [{"user_id": "*"}]}, set()),
        ({"AND": [{"topic": "food"}, {"size": {"gt": 1}}]}, {2}),
        ({"OR": [{"topic": "home"}, {"size": 1}]}, {1, 3}),
        ({"NOT": [{"topic": "food"}, {"size": 3}]}, {4}),
        ({"role": "user"}, {1, 2, 3, 4}),
        ({"actor_id": "nobody"}, set()),
        ({"topic": {"gt": 5}}, set()),
        ({"none": None}, set()),
    ],
)
def test_filters_of_mem0(memory: Memory, condition: dict[str, Any], expected: set[int]) -> None:
    rows: list[dict[str, Any]] = [
        {"topic": "food", "size": 1, "tags": ["x", "y"]},
        {"topic": "food", "size": 2},
        {"topic": "home", "size": 3, "deep": {"er": 2}},
        {"a.b": "dotted"},
    ]
    for number, metadata in enumerate(rows, 1):
        add(memory, f"kettle {number}", metadata=metadata)
        add(memory, f"kettle {number}", metadata=metadata, user_id="bob")
    named = {f"kettle {number}" for number in expected}
    assert {*texts(memory.get_all(filters={"user_id": "ada", **condition}))} == named
    assert {*texts(memory.search("kettle", filters={"user_id": "ada", **condition}))} == named


def test_filters_apply_before_the_limit(memory: Memory) -> None:
    for number in range(80):
        add(memory, f"kettle number {number}", metadata={"n": number})
    found = memory.search("kettle", filters={"user_id": "ada", "n": {"gte": 78}}, top_k=2)
    assert sorted(texts(found)) == ["kettle number 78", "kettle number 79"]


# Dates, thresholds and explanations.


@pytest.mark.parametrize("day", ["2025-01-03", date(2025, 1, 3), datetime(2025, 1, 3, 8)])
def test_a_memory_is_hidden_after_its_expiration_date(memory: Memory, clock: Clock, day: Any) -> None:
    id = add(memory, "the kettle is on sale", expiration_date=day)
    clock.advance(days=2)  # the last day
    assert everything(memory, user_id="ada") == ["the kettle is on sale"]
    clock.advance(days=1)
    filters = {"user_id": "ada"}
    assert texts(memory.get_all(filters=filters)) == texts(memory.search("kettle", filters=filters)) == []
    assert len(texts(memory.get_all(filters=filters, show_expired=True))) == 1
    assert len(texts(memory.search("kettle", filters=filters, show_expired=True))) == 1
    item = memory.get(id)
    assert item is not None
    assert item["expiration_date"] == "2025-01-03"
    memory.update(id, expiration_date=None)
    assert len(texts(memory.search("kettle", filters=filters))) == 1


def test_scores_below_the_threshold_and_beyond_top_k_are_left_out(memory: Memory) -> None:
    add(memory, "the blue kettle whistles")
    add(memory, "a kettle")
    filters = {"user_id": "ada"}
    scores = [item["score"] for item in memory.search("blue kettle", filters=filters, threshold=0)["results"]]
    assert len(scores) == 2
    between = sum(scores) / 2
    assert texts(memory.search("blue kettle", filters=filters, threshold=between)) == ["the blue kettle whistles"]
    assert texts(memory.search("blue kettle", filters=filters, top_k=1)) == ["the blue kettle whistles"]
    assert texts(memory.search("blue kettle", filters=filters, top_k=0)) == []
    (item,) = memory.search("blue kettle", filters=filters, top_k=1, explain=True)["results"]
    assert item["score_details"]["final_score"] == item["score"]
    assert item["score_details"]["why"]


# Bad input.


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.add("x"),
        lambda memory: memory.add(7, user_id="ada"),
        lambda memory: memory.add(["x"], user_id="ada"),
        lambda memory: memory.add("x", user_id="a b"),
        lambda memory: memory.add("x", user_id="ada", metadata={"x": object()}),
        lambda memory: memory.add("x", user_id="ada", metadata=["x"]),
        lambda memory: memory.add("x", user_id="ada", expiration_date="soon"),
        lambda memory: memory.add("x", user_id="ada", timestamp=1),
        lambda memory: memory.add("x", agent_id="cook", memory_type="procedural_memory"),
        lambda memory: memory.add("  ", user_id="ada"),
        lambda memory: memory.search("x"),
        lambda memory: memory.search("x", user_id="ada"),
        lambda memory: memory.search(" ", filters={"user_id": "ada"}),
        lambda memory: memory.search("x", filters={"user_id": "ada"}, threshold=2),
        lambda memory: memory.search("x", filters={"user_id": "ada"}, top_k=-1),
        lambda memory: memory.search("x", filters={"user_id": "ada"}, limit=3),
        lambda memory: memory.search("x", filters={"user_id": "ada", "n": {"near": 3}}),
        lambda memory: memory.search("x", filters={"user_id": "ada", "OR": []}),
        lambda memory: memory.search("x", filters={"user_id": "ada", "n": {"in": 3}}),
        lambda memory: memory.search("x", filters={"topic": "food"}),
        lambda memory: memory.get_all(),
        lambda memory: memory.get_all(user_id="ada"),
        lambda memory: Memory.from_config({"vectorstore": {}}, mind=memory.mind),
    ],
)
def test_wrong_calls_are_refused_and_store_nothing(memory: Memory, call: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call(memory)
    assert isinstance(caught.value, InvalidInput)
    assert memory.mind.list() == []


def test_an_update_needs_something_to_change(memory: Memory) -> None:
    id = add(memory, "x")
    with pytest.raises(ValueError, match="At least one of text"):
        memory.update(id)
    memory.update(id, data="y")  # the old name of text
    assert everything(memory, user_id="ada") == ["y"]


def test_large_metadata_comes_back_whole(memory: Memory) -> None:
    metadata = {f"key.{number}": "x" * 1000 for number in range(100)}
    item = memory.get(add(memory, "large", metadata=metadata))
    assert item is not None
    assert item["metadata"] == metadata


def test_a_configuration_of_mem0_names_the_collection(memory: Memory) -> None:
    config = {"vector_store": {"provider": "qdrant", "config": {"collection_name": "diary"}}, "version": "v1.1"}
    diary = Memory.from_config(config, mind=memory.mind)
    diary.add("dear diary", user_id="ada")
    assert [found.collection for found in memory.mind.list()] == ["diary"]
    assert everything(memory, user_id="ada") == []


# The asynchronous client.


def test_the_asynchronous_client_does_the_same(path: Path) -> None:
    async def run() -> None:
        async with AsyncMemory(path=path) as memory:
            added = await asyncio.gather(*(memory.add(f"kettle {n}", user_id="ada") for n in range(5)))
            id = added[0]["results"][0]["id"]
            filters = {"user_id": "ada"}
            assert len((await memory.search("kettle", filters=filters))["results"]) == 5
            assert len((await memory.get_all(filters=filters, top_k=3))["results"]) == 3
            await memory.update(id, "pan")
            await memory.update(id, text="pot", metadata={"n": 1})
            assert (await memory.get(id) or {})["memory"] == "pot"
            assert len(await memory.history(id)) == 3
            await memory.delete(id)
            await memory.delete_all(user_id="ada")
            assert (await memory.get_all(filters=filters))["results"] == []
            await memory.reset()

    asyncio.run(run())


def test_both_clients_have_the_same_methods() -> None:
    def public(owner: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(owner, callable) if not name.startswith("_")}

    assert public(AsyncMemory) == public(Memory)
