"""What a write or a look-up reads of a big file: the rows that it is about, never all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import Mind
from recollect.store.sqlite import reading
from recollect.store.sqlite.statements import select_columns
from recollect.store.sqlite.token_sketches import SKETCHES
from tests.recall.kit import WOVEN, open_mind

COUNT = 3000
EDITED = 5


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a few thousand memories, each with words, a vector, a sketch, an edge and an earlier version."""
    path = tmp_path_factory.mktemp("big") / "memory.db"
    with open_mind(path, WOVEN) as mind:
        mind.remember_many(
            {"text": f"number {at} of many", "id": f"id-{at:04}", "external_id": str(at)} for at in range(COUNT)
        )
        edges = [
            {"type": "edge", "source": f"id-{at:04}", "target": f"id-{at + 1:04}", "kind": "supports"}
            for at in range(COUNT - 1)
        ]
        mind.import_(edges)
        mind.import_([{"text": f"number {at} of more", "id": f"id-{at:04}"} for at in range(COUNT)])
    return path


class Steps:
    """Counts the steps of SQLite's virtual machine, and those that go through a whole table or index."""

    def __init__(self) -> None:
        self.of_machine: dict[str, int] = {}
        self.of_scans: dict[str, int] = {}

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self.add, id=self)

    def add(self, event: dict[str, Any]) -> None:
        status = event["stmt_status"]
        for counts, name in ((self.of_machine, "VM_STEP"), (self.of_scans, "FULLSCAN_STEP")):
            counts[event["sql"]] = counts.get(event["sql"], 0) + status[f"SQLITE_STMTSTATUS_{name}"]

    def clear(self) -> None:
        self.of_machine.clear()
        self.of_scans.clear()

    def assert_few(self, count: int) -> None:
        """Fewer steps than there are memories: at most so many, for any statement."""
        assert self.of_machine, "nothing was counted"
        assert {sql: steps for sql, steps in self.of_scans.items() if steps > 10} == {}
        assert {sql: steps for sql, steps in self.of_machine.items() if steps > count} == {}


@pytest.fixture
def steps() -> Iterator[Steps]:
    counted = Steps()
    apsw.connection_hooks.append(counted.watch)
    yield counted
    apsw.connection_hooks.remove(counted.watch)


def plan(connection: apsw.Connection, sql: str, *values: Any) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


# Statements that update the index after a write.


def test_the_index_is_updated_by_what_has_changed(big: Path) -> None:
    connection = apsw.Connection(str(big), flags=apsw.SQLITE_OPEN_READONLY)
    since = connection.execute("SELECT max(version) - 1 FROM changes").get
    changed = plan(connection, reading.CHANGED_ROWS, since)
    columns = select_columns(connection, reading.COLUMNS)
    memories = plan(connection, reading.MEMORIES.format(columns=columns), "[1]")
    vectors = plan(connection, reading.VECTORS, "[1]", 1)
    told = plan(connection, reading.TOLD_TIMES, "[1]")
    sketches = plan(connection, SKETCHES.format(table="sketches"), "[1]")
    connection.close()
    assert changed == ["SEARCH memories USING COVERING INDEX memories_changed (changed>?)"]
    for steps in (memories, vectors, told, sketches):
        scans = [step for step in steps if "SCAN" in step and "spaces" not in step]
        assert scans == ["SCAN chosen VIRTUAL TABLE INDEX 1:"]
    assert "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)" in memories
    assert "SEARCH w USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN" in memories
    assert "SEARCH v USING INDEX vectors_row (row=? AND space=?)" in vectors
    assert "SEARCH k USING INDEX sketches_row (row>? AND row<?)" in sketches


def edit_some(mind: Mind) -> None:
    for at in range(EDITED):
        mind.edit(f"id-{at:04}", text=f"edited {at}")


WRITES: dict[str, Callable[[Mind], object]] = {
    "remember": lambda mind: mind.remember("a new one"),
    "remember a text that is stored": lambda mind: mind.remember("number 7 of more"),
    "remember an external id": lambda mind: mind.remember("another 7", external_id="7"),
    "remember an id": lambda mind: mind.remember("another 8", id="id-0008"),
    "import": lambda mind: mind.import_([{"text": "another 9", "id": "id-0009"}]),
    "edit": lambda mind: mind.edit("id-0100", text="edited"),
    "forget": lambda mind: mind.forget("id-0100"),
    "link": lambda mind: mind.link("id-0100", "id-0200"),
    "unlink": lambda mind: mind.unlink("id-0100", "id-0101"),
    "supersede": lambda mind: mind.supersede("id-0100", "a newer one"),
    "reinforce": lambda mind: mind.reinforce("id-0100", 0.1),
    "edit some": edit_some,
}


@pytest.fixture
def mind(big: Path, tmp_path: Path, steps: Steps) -> Iterator[Mind]:
    copy = tmp_path / "memory.db"
    copy.write_bytes(big.read_bytes())
    with open_mind(copy, WOVEN) as mind:
        mind.remember("the first write looks for missing vectors")
        mind.recall("number 7", track=False)
        yield mind


@pytest.mark.parametrize("verb", WRITES)
def test_a_write_and_the_snapshot_after_it_read_what_has_changed(mind: Mind, steps: Steps, verb: str) -> None:
    steps.clear()
    WRITES[verb](mind)
    with mind.store.snapshot():
        pass
    steps.assert_few(COUNT)


def test_the_undo_of_an_edit_reads_what_it_restores(mind: Mind, steps: Steps) -> None:
    mind.edit("id-0100", text="edited")
    steps.clear()
    mind.undo()
    with mind.store.snapshot():
        pass
    big = {sql: count for sql, count in steps.of_machine.items() if count > COUNT}
    assert list(big) == ["DELETE FROM edges WHERE born = ?"]  # edges have no index by transaction


# Look-ups.

LOOKUPS: dict[str, Callable[[Mind], object]] = {
    "by id": lambda mind: mind.store.get(["id-0100"]),
    "of a full id": lambda mind: mind.store.resolve(["id-0100"]),
    "by an unknown id": lambda mind: mind.store.get(["nonesuch"], missing_ok=True),
    "history": lambda mind: mind.store.history("id-0100"),
    "edges of some": lambda mind: mind.store.edges(["id-0100", "id-0200"]),
}


@pytest.mark.parametrize("what", LOOKUPS)
def test_a_look_up_reads_what_it_finds(mind: Mind, steps: Steps, what: str) -> None:
    steps.clear()
    assert LOOKUPS[what](mind) is not None
    steps.assert_few(COUNT)


def test_the_edges_of_rows_are_found_by_an_index(mind: Mind, steps: Steps) -> None:
    with mind.store.snapshot() as snapshot:
        rows = snapshot.page(snapshot.scope(None, ("active",), mind.clock()), "stored", 5)
        snapshot.edges(rows)  # the kinds of edges are looked up once a version
        steps.clear()
        assert len(snapshot.edges(rows).sources) == 5
        assert len(snapshot.memories(rows)) == 5
        assert snapshot.row("id-0100") is not None
    steps.assert_few(COUNT)


def test_the_beginning_of_an_id_is_found_by_an_index(mind: Mind, steps: Steps) -> None:
    mind.remember("one of its own", id="unique-0001")
    steps.clear()
    assert mind.store.resolve(["uniq"]) == ["unique-0001"]
    steps.assert_few(COUNT)
