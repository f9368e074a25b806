"""A file that version 0.1 wrote: it opens, nothing in it is lost, and it answers as it did.

``tests/fixtures/v0_1.db`` is that file, ``v0_1_answers.json`` is what version 0.1 said about it, and ``make_v0_1.py``
is how both were made. Fields that later versions add are not looked at.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Mind, Near, Workspace
from tests.store.looking import assert_whole, sql

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
TOLD: dict[str, Any] = json.loads((FIXTURES / "v0_1_answers.json").read_text(encoding="utf-8"))
NOW = datetime.fromisoformat(TOLD["now"])
RECIPES = sorted({question["recipe"] for question in TOLD["answers"]})
K = 10

Json = dict[str, Any]
Answer = Sequence[tuple[str, float]]  # ids and scores, best first


def copied(folder: Path, name: str = "memory.db") -> Path:
    return Path(shutil.copyfile(FIXTURES / "v0_1.db", folder / name))


def opened(path: Path, **options: Any) -> Mind:
    return Mind(path, clock=lambda: NOW, **options)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as version 0.1 left it."""
    return copied(tmp_path)


# What is held.


def as_then(kind: str, record: Json) -> Json:
    """The fields that version 0.1 had; an export leaves out those that are at their defaults."""
    held = {name: record.get(name, default) for name, default in TOLD["fields"][kind].items()}
    if kind == "Memory":
        held["use"] = as_then("Use", held["use"])
    return held


def contents(exported: Sequence[Json]) -> dict[str, Json]:
    """The records of an export, each under a name of its own."""
    found: dict[str, Json] = {}
    for record in exported:
        match record["type"]:
            case "memory":
                found[f"memory {record['id']}"] = as_then("Memory", record)
            case "former":
                name = f"former {record['memory']['id']} until {record['until']}"
                found[name] = as_then("Memory", record["memory"])
            case "edge":
                found[f"edge {record['source']} {record['kind']} {record['target']}"] = as_then("Edge", record)
            case "entity_edge":
                name = f"entity edge {record['subject']} {record['relation']} {record['object']}"
                found[name] = as_then("EntityEdge", record)
    return found


def exported(mind: Mind) -> dict[str, Json]:
    return contents(json.loads(json.dumps(list(mind.export()))))


def shape(path: Path) -> list[Any]:
    """The tables and indexes of a file, and the migrations that made them."""
    return [
        *sql(path, "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"),
        *sql(path, "SELECT name FROM migrations ORDER BY name"),
    ]


def test_a_file_of_version_0_1_keeps_every_memory(old: Path) -> None:
    with opened(old, embedder=None) as mind:
        now, then = exported(mind), contents(TOLD["export"])
        assert now.keys() == then.keys()
        for name, record in then.items():
            assert now[name] == record, name
    assert_whole(old)


def test_a_file_of_version_0_1_keeps_its_counts(old: Path) -> None:
    with opened(old) as mind:
        status = mind.status().store
        for name, value in TOLD["status"].items():
            held = getattr(status, name)
            if name == "spaces":
                held = [{key: space[key] for key in was} for space, was in zip(held, value, strict=True)]
            assert held == value, name


def test_a_file_of_version_0_1_keeps_its_edges_and_relations(old: Path) -> None:
    def found(edges: Sequence[Any], then: Sequence[Json]) -> list[Json]:
        names = then[0].keys()
        held = [{name: getattr(edge, name) for name in names} for edge in edges]
        return [{**each, "created": each["created"].isoformat()} for each in held]

    with opened(old, embedder=None) as mind:
        assert found(mind.edges(), TOLD["edges"]) == TOLD["edges"]
        assert found(mind.entity_edges(), TOLD["entity_edges"]) == TOLD["entity_edges"]


def test_a_file_of_version_0_1_keeps_its_history(old: Path) -> None:
    with opened(old, embedder=None) as mind:
        ids = [record["id"] for record in TOLD["export"] if record["type"] == "memory"]
        kept = {id: [until.isoformat() for until, _ in mind.history(id)] for id in ids}
        assert {id: ends for id, ends in kept.items() if ends} == TOLD["history"]
        assert [memory.text for _, memory in mind.history("code-02")] == [
            "HttpClient.fetchAll retries three times and then throws TimeoutException."
        ]


def test_a_file_of_version_0_1_is_listed_in_the_same_order(old: Path) -> None:
    with opened(old, embedder=None) as mind:
        assert [memory.id for memory in mind.list()] == TOLD["listed"]


def test_what_version_0_1_did_last_can_be_undone(old: Path) -> None:
    then = TOLD["undone"]
    with opened(old) as mind:
        undone = mind.undo()
        assert undone is not None
        assert (undone.verb, undone.at.isoformat(), sorted(undone.ids)) == (then["verb"], then["at"], then["ids"])
        now = exported(mind)
        for name, record in contents(then["export"]).items():
            assert now[name] == record, name


def test_a_folder_that_version_0_1_followed_is_followed_on(old: Path) -> None:
    """The folder itself is not there: what was read from it stays."""
    then = TOLD["folder"]
    with opened(old) as mind:
        folder = Workspace(then["root"], mind=mind)
        assert folder.collection == then["collection"]
        assert {name: getattr(folder.settings, name) for name in then["settings"]} == then["settings"]
        assert [result.memory.id for result in folder.recall("antifouling", track=False)] == then["found"]
        assert {name: [state.size, state.hash.hex()] for name, state in folder.files().items()} == then["files"]


def test_a_file_of_version_0_1_can_be_written_to(old: Path) -> None:
    with opened(old) as mind:
        new = mind.remember("The tram depot has a small museum.", user="mara", session="trip")
        mind.link(new.id, "trip-06", "supports")
        mind.edit("note-12", text="Dentist appointment for Mara on 24 May at 11:15.")
        mind.forget("note-08")
        mind.recall("where is the museum?")
    with opened(old) as mind:
        assert mind.recall("where is the museum?", 1)[0].memory.id == new.id
        assert [edge.target for edge in mind.edges(new.id)] == ["trip-06"]
        assert len(mind.history("note-12")) == len(TOLD["history"]["note-12"]) + 1
        assert mind.show("note-08").status == "forgotten"
        assert mind.show(new.id).use.access_count == 2
    assert_whole(old)


# What is answered.


@pytest.fixture(scope="module", params=["migrated", "readonly"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    """A mind to ask, which may write or may not. To ask leaves no mark."""
    path = copied(tmp_path_factory.mktemp("v0_1"))
    with opened(path, readonly=request.param == "readonly") as mind:
        yield mind


def answer(mind: Mind, question: Json) -> Answer:
    said = dict(question.get("filter", {}))
    if "near" in said:
        said["near"] = Near(**said["near"])
    found = mind.recall(
        question["query"],
        K,
        recipe=question["recipe"],
        filter=Filter(**said) if said else None,
        as_of=question.get("as_of"),
        track=False,
        **question["settings"],
    )
    return [(result.memory.id, result.score) for result in found]


def level(then: Answer) -> Iterator[slice]:
    """Where the scores of neighbours are as good as equal: among those, any order will do."""
    start = 0
    for end in range(1, len(then) + 1):
        if end == len(then) or then[end - 1][1] - then[end][1] > 1e-6:
            yield slice(start, end)
            start = end


def assert_alike(now: Answer, then: Answer, about: str) -> None:
    """The same ids in the same order, with the same scores but for rounding: processors embed a question a little
    differently."""
    assert len(now) == len(then), about
    for at in level(then):
        cut = at.stop == K and at.stop - at.start > 1  # others of the same score may have been left out
        assert cut or {id for id, _ in now[at]} == {id for id, _ in then[at]}, about
    for (_, score), (id, was) in zip(now, then, strict=True):
        assert math.isclose(score, was, rel_tol=1e-4, abs_tol=1e-6), f"{about}: {id}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_file_of_version_0_1_answers_as_it_did(asked: Mind, recipe: str) -> None:
    questions = [question for question in TOLD["answers"] if question["recipe"] == recipe]
    assert len(questions) >= 25
    if recipe == "default":  # it has learned since: most first answers are the same
        first = [(answer(asked, question)[:1], question["answer"][:1]) for question in questions]
        same = sum([id for id, _ in now] == [id for id, _ in then] for now, then in first)
        assert same >= 0.75 * len(questions), f"{same} of {len(questions)}"
        return
    for question in questions:
        then = [(id, float.fromhex(score)) for id, score in question["answer"]]
        assert_alike(answer(asked, question), then, f"{recipe}: {question['query']}")


def test_an_answer_in_another_order_is_noticed() -> None:
    """The comparison itself: an order among equals is free, any other is not."""
    then = [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.1)]
    assert_alike([("a", 0.9), ("c", 0.5), ("b", 0.50001), ("d", 0.1)], then, "")
    for now in (
        [("b", 0.9), ("a", 0.5), ("c", 0.5), ("d", 0.1)],
        [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.1001)],
        [("a", 0.9), ("b", 0.5), ("c", 0.5)],
    ):
        with pytest.raises(AssertionError):
            assert_alike(now, then, "")


# How it is opened.


def test_reading_a_file_of_version_0_1_leaves_it_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    with opened(old, embedder=None, readonly=True) as mind:
        assert exported(mind) == contents(TOLD["export"])
        assert mind.status().store.readonly
    assert old.read_bytes() == before


def test_a_second_opening_finds_nothing_to_migrate(old: Path) -> None:
    opened(old, embedder=None).close()
    first, migrated = old.read_bytes(), sql(old, "SELECT * FROM migrations")
    for readonly in (False, True):
        with opened(old, embedder=None, readonly=readonly) as mind:
            assert exported(mind) == contents(TOLD["export"])
        assert sql(old, "SELECT * FROM migrations") == migrated
        assert old.read_bytes() == first


OPENING = """
import sys
from recollect import Mind
Mind(":memory:", embedder=None).close()  # so that all is loaded, and what is killed is the opening
print("ready", flush=True)
mind = Mind(sys.argv[1], embedder=None)
print("open", flush=True)
sys.stdin.read()
"""


def open_and_kill(path: Path, after: float | None = None) -> float:
    """Let a process open the file and kill it after so many seconds, or when it is done; how long it lived."""
    command = [sys.executable, "-c", OPENING, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        begun = time.perf_counter()
        if after is None:
            assert process.stdout.readline() == "open\n"
        else:
            time.sleep(after)
        process.kill()
        process.communicate(timeout=30)
    return time.perf_counter() - begun


def kill_openings(folder: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    whole = copied(folder, "undisturbed.db")
    opened(whole, embedder=None).close()
    longest = open_and_kill(copied(folder, "timed.db"))
    for number in range(times):
        path = copied(folder, f"{number}.db")
        open_and_kill(path, chance.uniform(0, longest))
        with opened(path, embedder=None) as mind:
            assert exported(mind) == contents(TOLD["export"])
        assert shape(path) == shape(whole)
        assert_whole(path)


def test_an_opening_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    kill_openings(tmp_path, times=5, seed=5)


@pytest.mark.slow
def test_twenty_openings_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    kill_openings(tmp_path, times=20, seed=20)
