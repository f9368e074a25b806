"""Databases of OpenMem and robotmem: nothing lost but the vectors, nothing changed in them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from recollect.ingest.imports import detect_format
from recollect.systems.robotmem.robot import Robot
from tests.ingest_imports import kit

PEERS = Path(os.environ.get("RECOLLECT_BENCH_CACHE", Path.home() / ".cache" / "recollect-bench"))


def peer(name: str) -> str:
    """The Python of an environment that has the real package, as bench/ makes it."""
    python = PEERS / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not installed: no {python}")
    return str(python)


def test_openmem_memories_come_with_ids_worth_use_and_links(mind: Mind, tmp_path: Path) -> None:
    done = mind.import_from(kit.openmem(tmp_path / "o.db"))
    assert (done.kind, done.added, done.links, done.problems) == ("openmem", 2, 1, [])
    kitchen, hall = mind.show("k1"), mind.show("h1")
    assert (kitchen.kind, kitchen.entities, kitchen.strength, kitchen.confidence) == ("decision", ("dock",), 0.75, 0.5)
    assert kitchen.created == datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)
    assert (kitchen.use.access_count, kitchen.source) == (3, "openmem")
    assert (hall.status, hall.summary) == ("superseded", "dock: hallway")
    (edge,) = mind.edges()
    assert (edge.source, edge.target, edge.kind, edge.weight) == ("k1", "h1", "same_as", 0.25)


def test_robotmem_experience_comes_with_context_tags_and_use(mind: Mind, tmp_path: Path) -> None:
    done = mind.import_from(kit.robotmem(tmp_path / "r.db"))
    assert (done.kind, done.added, done.problems) == ("robotmem", 6, [])
    (grip,) = mind.list({"tags": ["grasping"]})
    assert (grip.text, grip.session, grip.topic, grip.entities) == (
        "Grip mugs with 12.5 N.",
        "ep1",
        "constraint",
        ("mug",),
    )
    assert grip.context == {"params": {"force": {"value": 12.5}}, "task": {"success": True}}
    assert (grip.collection, grip.confidence, grip.summary) == ("main", 0.9, "")
    assert (grip.use.access_count, grip.use.return_count) == (2, 1)
    assert grip.created == datetime(2026, 1, 1, 10, 0, 0, 123_000, tzinfo=UTC)


def test_robotmem_perceptions_are_those_of_a_robot(mind: Mind, tmp_path: Path) -> None:
    mind.import_from(kit.robotmem(tmp_path / "r.db"))
    held = {memory.text: memory.context["perception"] for memory in mind.list({"kind": "perception"})}
    assert held == {
        "Grasp, 30 steps.": {"type": "procedural", "data": [[1, 2]]},
        "A picture.": {"type": "visual", "data": {"base64": "iVBORw=="}},
    }


def test_robotmem_memories_keep_what_became_of_them(mind: Mind, tmp_path: Path) -> None:
    mind.import_from(kit.robotmem(tmp_path / "r.db"))
    (gone,) = mind.list({"status": "forgotten"})
    assert (gone.text, gone.context["invalidated_reason"]) == ("The dock is in the hall.", "moved")
    (old,) = mind.list({"status": "superseded"})
    (edge,) = mind.edges()
    assert (mind.show(edge.source).text, edge.kind, edge.target) == ("Grip mugs with 12.5 N.", "supersedes", old.id)


def test_a_robot_goes_on_where_robotmem_ended(mind: Mind, tmp_path: Path) -> None:
    mind.import_from(kit.robotmem(tmp_path / "r.db"))
    robot = Robot(mind)
    assert robot.learn("Grip mugs with 12.5 N.", {"task": {"success": True}}).duplicate
    found = robot.recall("grip mugs", min_confidence=0.0, context_filter={"params.force.value": {"$lt": 15}})
    assert found[0].text == "Grip mugs with 12.5 N."
    (record,) = mind.list({"kind": "session"})
    assert record.context["session"]["outcome_score"] == 0.8


@pytest.mark.parametrize("make", [kit.openmem, kit.robotmem])
def test_a_database_is_read_and_not_touched(mind: Mind, tmp_path: Path, make: object) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = make(folder / "x.db")  # type: ignore[operator]
    before = path.read_bytes()
    mind.import_from(path)
    again = mind.import_from(path)
    assert (again.added, again.changed, again.failed) == (0, 0, 0)
    assert path.read_bytes() == before
    assert [each.name for each in folder.iterdir()] == ["x.db"]


def test_a_database_is_read_while_its_owner_writes(mind: Mind, tmp_path: Path) -> None:
    owner = sqlite3.connect(kit.openmem(tmp_path / "o.db"), isolation_level=None)
    owner.execute("PRAGMA journal_mode = wal")
    owner.execute("INSERT INTO memories (id, text, created_at, updated_at) VALUES ('n1', 'Committed.', 1, 1)")
    owner.execute("BEGIN IMMEDIATE")
    owner.execute("INSERT INTO memories (id, text, created_at, updated_at) VALUES ('n2', 'Not yet.', 1, 1)")
    assert mind.import_from(tmp_path / "o.db").added == 3
    assert mind.show("n1").text == "Committed."
    owner.close()


def test_a_row_that_makes_no_memory_is_told_and_the_others_come(mind: Mind, tmp_path: Path) -> None:
    path = kit.openmem(tmp_path / "o.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE memories SET confidence = 7 WHERE id = 'h1'")
    done = mind.import_from(path)
    assert (done.added, done.links, done.failed) == (1, 0, 2)
    assert done.problems == [
        f"{path}, memory h1: confidence must be between 0 and 1, not 7.0.",
        f"{path}, edge e1: There is no memory with the id 'h1'.",
    ]


def test_a_database_of_neither_is_refused_by_its_tables(tmp_path: Path) -> None:
    path = kit.database(tmp_path / "x.db", "CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(InvalidInput, match=r"not a database of OpenMem or robotmem \(its tables: bookmarks\)"):
        detect_format(path)


def test_our_own_file_is_recognised(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="is a memory of Recollect already: use it with --db"):
        detect_format(mind.path)


def test_a_damaged_database_is_invalid_input(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    with pytest.raises(InvalidInput, match="cannot be read as a database"):
        detect_format(path)


def test_a_file_of_the_real_openmem_is_read(mind: Mind, tmp_path: Path) -> None:
    program = """
from openmem import MemoryEngine
engine = MemoryEngine("openmem.db")
old = engine.add("The dock is in the hallway", type="fact", entities=["dock"])
new = engine.add("The dock moved to the kitchen", type="decision")
engine.link(new.id, old.id, "contradicts", 0.7)
engine.supersede(old.id, new.id)
engine.recall("dock")
"""
    subprocess.run([peer("openmem-engine-0.4.0"), "-c", program], cwd=tmp_path, check=True, capture_output=True)
    done = mind.import_from(tmp_path / "openmem.db")
    assert (done.kind, done.added, done.problems) == ("openmem", 2, [])
    assert {(each.text, each.status) for each in mind.list()} == {
        ("The dock is in the hallway", "superseded"),
        ("The dock moved to the kitchen", "active"),
    }
    assert ("contradicts", 0.7) in {(edge.kind, edge.weight) for edge in mind.edges()}


def test_a_file_of_the_real_robotmem_is_read(mind: Mind, tmp_path: Path) -> None:
    program = """
from robotmem.sdk import RobotMemory
memory = RobotMemory(db_path="robotmem.db", embed_backend="none")
session = memory.start_session()
memory.learn("Grip mugs with 12.5 N", context={"params": {"force": {"value": 12.5}}}, session_id=session)
memory.save_perception("Grasp, 30 steps", perception_type="procedural", data="[[1, 2]]", session_id=session)
memory.forget(memory.learn("The charger is in the hall")["memory_id"], reason="moved")
memory.end_session(session, outcome_score=0.8)
"""
    subprocess.run([peer("robotmem-0.1.3"), "-c", program], cwd=tmp_path, check=True, capture_output=True)
    done = mind.import_from(tmp_path / "robotmem.db")
    assert (done.kind, done.added, done.problems) == ("robotmem", 4, [])
    held = {each.text: each for each in mind.list()}
    assert held["Grip mugs with 12.5 N"].context["params"] == {"force": {"value": 12.5}}
    assert held["Grasp, 30 steps"].context["perception"]["data"] == [[1, 2]]
    assert [each.text for each in mind.list({"status": "forgotten"})] == ["The charger is in the hall"]
    assert json.dumps(mind.list({"kind": "session"})[0].context["session"]["outcome_score"]) == "0.8"


def test_a_robotmem_memory_of_bytes_is_told_and_the_others_come(mind: Mind, tmp_path: Path) -> None:
    path = kit.robotmem(tmp_path / "r.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE memories SET content = x'00ff' WHERE id = 1")
    done = mind.import_from(path)
    assert f"{path}, memory 1: text must be a string" in done.problems[0]
    assert done.added > 1
