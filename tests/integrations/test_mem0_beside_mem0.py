"""The same calls to mem0 itself, with its local vector store and no model, and to the adapter: the same answers."""

from __future__ import annotations

import hashlib
import inspect
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from recollect.integrations import mem0 as adapter
from tests.integrations.kit import need

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp(prefix="mem0-")}  # read when it is imported
need("mem0")

import mem0  # noqa: E402
from mem0.memory import main  # noqa: E402

pytestmark = [
    pytest.mark.contract("B22"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
METHODS = ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset")
CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I am allergic to nuts.", "name": "ada"},
    {"role": "assistant", "content": "No nuts, then."},
    {"role": "user"},
]


class HashEmbedder:
    """Vectors of which only equality matters: no search result is compared by rank."""

    class config:  # noqa: N801  mem0 reads it
        embedding_dims = 8

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [1 + byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def settings(folder: Path) -> dict[str, Any]:
    return {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "embedding_model_dims": 8, "collection_name": "c"},
        },
        "history_db_path": str(folder / "history.db"),
        "embedder": {"provider": "openai", "config": {"api_key": "x"}},
        "llm": {"provider": "openai", "config": {"api_key": "x"}},
    }


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    for name in dir(main):  # notices, and what they are made from
        if name.startswith(("display_", "detect_")):
            monkeypatch.setattr(main, name, lambda *args, **options: None)
    theirs = mem0.Memory.from_config(settings(tmp_path))
    theirs.embedding_model = HashEmbedder()
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        yield adapter.Memory(mind=mind), theirs
    theirs.vector_store.client.close()


def plain(answer: Any, names: dict[str, str]) -> Any:
    """An answer with ids by order of appearance and without times and scores."""
    if isinstance(answer, dict):
        skipped = ("created_at", "updated_at", "score", "score_details")
        known = {
            key: names.get(value, "id") if key in ("id", "memory_id") else plain(value, names)
            for key, value in answer.items()
            if key not in skipped
        }
        return known | {key: "…" for key in skipped if key in answer}
    if isinstance(answer, list):
        return sorted((plain(each, names) for each in answer), key=repr)
    return answer


def run(memory: Any) -> list[Any]:
    """Calls with everything that an answer can show."""
    seen: list[Any] = []
    names: dict[str, str] = {}

    def note(answer: Any) -> Any:
        seen.append(plain(answer, names))
        return answer

    def refused(call: Any) -> None:
        try:
            call()
        except Exception:
            seen.append("refused")
        else:
            seen.append("accepted")

    added = memory.add(CHAT, user_id="ada", run_id="r1", metadata={"topic": "food", "size": 3}, infer=False)
    ids = [item["id"] for item in added["results"]]
    names |= {id: f"#{number}" for number, id in enumerate(ids)}
    note(added)
    for owner in ({"user_id": "ada"}, {"user_id": "bob"}, {"agent_id": "ada"}, {"user_id": 7, "agent_id": "cook"}):
        added = memory.add(f"nuts of {owner}", **owner, metadata={"topic": "home", "user_id": "eve"}, infer=False)
        names |= {item["id"]: str(owner) for item in added["results"]}
        note(added)
    note(memory.get(ids[0]))
    note(memory.get("11111111-1111-1111-1111-111111111111"))
    for filters in (
        {"user_id": "ada"},
        {"user_id": " ada "},
        {"user_id": "ada", "topic": "food"},
        {"user_id": "ada", "run_id": "r1"},
        {"agent_id": "ada"},
        {"user_id": 7},
        {"user_id": "nobody"},
        {"user_id": "ada", "role": "assistant"},
        {"user_id": "ada", "actor_id": "ada"},
    ):
        note(memory.get_all(filters=filters))
        note(memory.search("nuts", filters=filters, threshold=0.0, top_k=50))
    note(len(memory.get_all(filters={"user_id": "ada"}, top_k=1)["results"]))
    note(memory.update(ids[0], "I am allergic to milk.", metadata={"size": 4, "user_id": "eve"}))
    note(memory.update(ids[0], metadata={"note": "x"}, expiration_date="2001-01-01"))
    note(memory.get(ids[0]))
    note(memory.get_all(filters={"user_id": "ada"}))
    note(memory.get_all(filters={"user_id": "ada"}, show_expired=True))
    note(memory.update(ids[0], expiration_date=None))
    note(memory.delete(ids[1]))
    note([(entry["event"], entry["old_memory"], entry["new_memory"]) for entry in memory.history(ids[0])])
    note(memory.history(ids[1]))
    for call in (
        lambda: memory.delete(ids[1]),
        lambda: memory.update(ids[1], "x"),
        lambda: memory.update(ids[0]),
        lambda: memory.add("x", infer=False),
        lambda: memory.add(7, user_id="ada", infer=False),
        lambda: memory.add("x", user_id="a b", infer=False),
        lambda: memory.search("x"),
        lambda: memory.search(" ", filters={"user_id": "ada"}),
        lambda: memory.search("x", user_id="ada"),
        lambda: memory.search("x", filters={"user_id": "ada"}, threshold=2),
        lambda: memory.get_all(user_id="ada"),
        lambda: memory.get_all(filters={"topic": "food"}),
        lambda: memory.delete_all(),
        lambda: memory.delete_all(user_id=" "),
    ):
        refused(call)
    note(memory.delete_all(user_id="ada"))
    for filters in ({"user_id": "ada"}, {"user_id": "bob"}, {"agent_id": "ada"}):
        note(memory.get_all(filters=filters))
    note(memory.reset())
    note(memory.get_all(filters={"user_id": "bob"}))
    return seen


def test_the_same_calls_have_the_same_answers(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    for number, (mine, other) in enumerate(zip(run(ours), run(theirs), strict=True)):
        assert mine == other, f"answer {number}"


@pytest.mark.parametrize("method", METHODS)
def test_the_methods_have_the_arguments_of_mem0(method: str) -> None:
    def arguments(owner: type) -> list[tuple[str, Any]]:
        _, *found = inspect.signature(getattr(owner, method)).parameters.values()  # without self
        return [(each.name, each.kind) for each in found if each.kind is not each.VAR_KEYWORD]

    assert arguments(adapter.Memory) == arguments(mem0.Memory)
    assert inspect.iscoroutinefunction(getattr(adapter.AsyncMemory, method))


def test_the_asynchronous_client_of_mem0_has_no_other_methods() -> None:
    theirs = {name for name, _ in inspect.getmembers(mem0.AsyncMemory, callable) if not name.startswith("_")}
    assert theirs - {*dir(adapter.AsyncMemory)} <= {"chat"}  # which raises NotImplementedError there


CONDITIONS: list[dict[str, Any]] = [
    {"topic": {"eq": "food"}},
    {"topic": {"ne": "food"}},
    {"topic": {"in": ["food", "home"]}},
    {"topic": {"nin": ["food"]}},
    {"size": {"gt": 1}},
    {"size": {"gte": 1, "lt": 3}},
    {"size": {"lte": 1}},
    {"topic": "*"},
    {"AND": [{"topic": "food"}, {"size": {"gt": 1}}]},
    {"OR": [{"topic": "home"}, {"size": 1}]},
    {"NOT": [{"topic": "food"}]},
    {"NOT": [{"topic": "home"}, {"size": {"gt": 2}}]},
    {"deep.er": 2},
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_conditions_choose_the_same_memories(both: tuple[Any, Any], condition: dict[str, Any]) -> None:
    rows = [
        {"topic": "food", "size": 1},
        {"topic": "food", "size": 2},
        {"topic": "home", "size": 3},
        {"deep": {"er": 2}},
    ]
    answers = []
    for memory in both:
        for number, metadata in enumerate(rows):
            memory.add(f"nuts {number}", user_id="ada", metadata=metadata, infer=False)
        found = memory.search("nuts", filters={"user_id": "ada", **condition}, threshold=0.0)
        answers.append(sorted(item["memory"] for item in found["results"]))
    assert answers[0] == answers[1]
