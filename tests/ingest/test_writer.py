"""One writer: a text and its vector are written together, whatever is killed or fails in between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect import EmbeddingError, InvalidInput, Memory, Mind
from recollect.ingest import writer as writing
from tests.store.faults import ROOT, Small

PREPARE = """
import json, os, signal, sys
from recollect import Mind
from recollect.store.sqlite.transaction import SqliteTransaction
from tests.store.faults import Small

path, action, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
mind = Mind(path, embedder=Small())
calls = 0

def counted(function):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == step:  # before this step of the write
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call

for name in ("remember", "revise", "undo", "embed", "finish", "row_with", "find", "link"):
    setattr(SqliteTransaction, name, counted(getattr(SqliteTransaction, name)))
if action == "edit":
    mind.edit("cup", text="The teapot is on the windowsill.")
elif action == "undo":
    mind.undo()
elif action == "supersede":
    mind.supersede("cup", "The teapot is on the windowsill.")
elif action == "import":
    mind.import_({"id": f"n{number}", "text": f"Note number {number} about apples."} for number in range(3))
print(calls)
"""


def run_until_step(path: Path, action: str, step: int) -> int | None:
    """Kill a write before one of its steps; when it has fewer, the number that it has."""
    command = [sys.executable, "-c", PREPARE, str(path), action, str(step)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def without_vector(path: Path) -> int:
    with Mind(path, embedder=None) as mind:
        return mind.status().store.without_vector


@pytest.mark.parametrize("action", ["edit", "undo", "supersede", "import"])
def test_a_write_that_is_killed_at_any_step_leaves_every_memory_with_the_vector_of_its_text(
    tmp_path: Path, action: str
) -> None:
    original = tmp_path / "original.db"
    with Mind(original, embedder=Small()) as mind:
        mind.remember("The cup is on the shelf.", id="cup")
        mind.remember("Trains to Lisbon leave at nine.", id="train")
        if action == "undo":
            mind.edit("cup", text="The lawn was mowed on Friday.")
    for step in range(1, 30):
        path = tmp_path / f"{step}.db"
        path.write_bytes(original.read_bytes())
        steps = run_until_step(path, action, step)
        assert without_vector(path) == 0
        with Mind(path, embedder=Small()) as mind:
            for memory in mind.list({"status": "active"}):
                best = mind.recall(memory.text, recipe="openclaw", vector_weight=1.0, text_weight=0.0, min_score=0.0)
                assert best[0].id == memory.id
                assert best[0].score == pytest.approx(1.0, abs=0.01)
        if steps is not None:
            assert step > steps > 2
            return
    raise AssertionError("the write never came to its end")


class Unreliable:
    """An embedder that works when it is told to, and counts the texts that it got."""

    name, dim = "unreliable", 2

    def __init__(self) -> None:
        self.works, self.texts = True, 0

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if not self.works:
            raise EmbeddingError("The service is down.")
        self.texts += len(texts)
        return [[1.0, float(len(text))] for text in texts]


def missing(mind: Mind) -> int:
    return mind.status().store.without_vector


def test_what_a_failing_embedder_left_out_is_embedded_by_the_next_write_that_works(tmp_path: Path) -> None:
    embedder = Unreliable()
    with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
        mind.remember("one", id="one")
        embedder.works = False
        mind.remember("two")
        mind.edit("one", text="another one")
        mind.import_([{"text": "three"}])
        assert (missing(mind), mind.recall("two")[0].text) == (3, "two")
        embedder.works = True
        mind.remember("four")
        assert missing(mind) == 0


def test_what_was_written_without_an_embedder_is_embedded_by_another_process_that_has_one(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many(f"number {number}" for number in range(writing.REPAIR_LIMIT + 5))
    with Mind(tmp_path / "memory.db", embedder=Unreliable()) as mind:
        mind.remember("and one")
        assert missing(mind) == 5
        mind.remember("and another")
        assert missing(mind) == 0


def test_a_memory_with_all_vectors_is_not_checked_again_and_again(tmp_path: Path) -> None:
    embedder = Unreliable()
    with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
        for number in range(3):
            mind.remember(f"number {number}")
        assert embedder.texts == 3


def test_an_edit_that_keeps_the_text_does_not_call_the_embedder(tmp_path: Path) -> None:
    embedder = Unreliable()
    with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
        mind.remember("one", id="one")
        embedder.works = False
        assert mind.edit("one", tags=["a"]).tags == ("a",)
        assert (missing(mind), embedder.texts) == (0, 1)


class Meddling(Unreliable):
    """While it embeds, another process edits the same memory."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.edits = path, 0

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if self.edits:
            self.edits -= 1
            with Mind(self.path, embedder=None) as other:
                other.edit("cup", title=f"edit {self.edits}")
        return super().embed(texts, query)


def test_an_edit_is_repeated_when_another_process_changed_the_memory_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    embedder = Meddling(path)
    with Mind(path, embedder=embedder) as mind:
        mind.remember("The cup is blue.", id="cup")
        embedder.edits = 2
        edited = mind.edit("cup", text="The cup is red.")
        assert (edited.text, edited.title) == ("The cup is red.", "edit 0")
        assert missing(mind) == 0


def test_remember_many_is_atomic_up_to_its_limit_and_one_operation_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ATOMIC_LIMIT", 4)
    with Mind(tmp_path / "memory.db", embedder=Unreliable()) as mind:
        mind.remember("before")
        seen: list[tuple[int, int]] = []
        summary = mind.remember_many([f"number {n}" for n in range(10)], progress=lambda *done: seen.append(done))
        assert (summary.added, len(summary.ids), seen[-1]) == (10, 10, (10, 10))
        undone = mind.undo()
        assert undone is not None
        assert (undone.removed, [memory.text for memory in mind.list()]) == (10, ["before"])


def test_remember_many_beyond_its_limit_has_one_batch_of_memories_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ATOMIC_LIMIT", 4)
    slices: list[slice] = []
    original = writing.CheckedItems.__getitem__

    def note(self: writing.CheckedItems, at: slice) -> list[Memory]:
        slices.append(at)
        return original(self, at)

    monkeypatch.setattr(writing.CheckedItems, "__getitem__", note)
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        with pytest.raises(InvalidInput, match="Item 9"):
            mind.remember_many([*(f"number {n}" for n in range(8)), " "])
        assert mind.list() == []
        assert mind.remember_many(f"number {n}" for n in range(10)).added == 10
    assert slices == [slice(0, 4), slice(4, 8), slice(8, 12)]


INTERRUPTED = """
import os, signal, sys
from recollect import Mind
def progress(done, total):
    print(done, total, flush=True)
    if done >= 1024:
        os.kill(os.getpid(), signal.SIGKILL)
with Mind(sys.argv[1], embedder=None) as mind:
    mind.import_from(sys.argv[2], progress=progress)
"""


def test_an_import_that_was_killed_keeps_what_its_progress_said_and_goes_on_from_there(tmp_path: Path) -> None:
    path, source = tmp_path / "memory.db", tmp_path / "notes.jsonl"
    source.write_text("".join(json.dumps({"text": f"Note number {number}"}) + "\n" for number in range(3000)))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, path, source], stdout=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()) == (-signal.SIGKILL, ["512 3000", "1024 3000"])
    with Mind(path, embedder=None) as mind:
        assert len(mind.list()) == 1024
        rest = mind.import_from(source)
        assert (rest.added, rest.same, len(mind.list())) == (1976, 1024, 3000)


def test_an_import_of_many_batches_is_undone_at_once(tmp_path: Path) -> None:
    source = tmp_path / "notes.jsonl"
    source.write_text("".join(json.dumps({"text": f"Note number {number}"}) + "\n" for number in range(1500)))
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("before")
        mind.import_from(source)
        undone = mind.undo()
        assert undone is not None
        assert (undone.verb, undone.removed, len(mind.list())) == ("import", 1500, 1)


def test_a_strict_import_that_fails_in_a_later_batch_writes_nothing(tmp_path: Path) -> None:
    records = [{"text": f"Note number {number}"} for number in range(1500)]
    link = {"type": "edge", "source": "none", "target": "such", "kind": "supports"}
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("The cup is blue.", id="cup")
        with pytest.raises(InvalidInput, match=r"Record 1502: .* Nothing was written"):
            mind.import_([{"id": "cup", "text": "The cup is red."}, *records, link])
        assert [memory.text for memory in mind.list()] == ["The cup is blue."]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
@pytest.mark.parametrize("strict", [True, False])
def test_no_import_revives_a_forgotten_memory(tmp_path: Path, name: str, strict: bool) -> None:
    source = tmp_path / name
    records = [{"id": "cup", "text": "The cup is blue."}, {"external_id": "x", "text": "The plate is white."}]
    match name:
        case "a.jsonl":
            source.write_text("\n".join(map(json.dumps, records)))
        case "a.json":
            source.write_text(json.dumps(records))
        case _:
            source.write_text("id,external_id,text\ncup,,The cup is blue.\n,x,The plate is white.\n")
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.import_from(source, strict=strict)
        mind.forget(*(memory.id for memory in mind.list()))
        again = mind.import_from(source, strict=strict)
        assert (again.added, again.changed, again.same, again.forgotten) == (0, 0, 0, 2)
        assert len(mind.list()) == 0
        assert mind.import_(mind.export()).same == 2  # they are forgotten there, too


def test_an_import_embeds_only_what_is_new(tmp_path: Path) -> None:
    embedder = Unreliable()
    with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
        records = [{"id": str(number), "text": f"Note number {number}"} for number in range(10)]
        mind.import_(records)
        mind.import_([*records, {"id": "10", "text": "One more"}])
        assert (embedder.texts, missing(mind)) == (11, 0)


def test_edges_may_come_before_their_memories(tmp_path: Path) -> None:
    edge = {"type": "edge", "source": "a", "target": "b", "kind": "supports"}
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.import_([edge, {"id": "a", "text": "A"}, {"id": "b", "text": "B"}])
        assert len(mind.edges()) == 1


def test_a_strict_import_that_fails_while_it_is_written_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Mind(path, embedder=None, collection="other") as other:
        other.remember("Not yours.", id="taken")
    with Mind(path, embedder=Unreliable(), collection="mine") as mind:
        mind.remember("The cup is blue.", id="cup")
        notes = [{"text": f"Note number {number}"} for number in range(600)]
        with pytest.raises(InvalidInput, match=r"Record 602: .* Nothing was written"):
            mind.import_([{"id": "cup", "text": "The cup is red."}, *notes, {"id": "taken", "text": "Mine."}])
        assert ([memory.text for memory in mind.list()], missing(mind)) == (["The cup is blue."], 0)


def test_a_text_that_is_remembered_again_is_one_memory_with_a_count(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=Unreliable()) as mind:
        first = mind.remember("The cup is blue.", tags=["kitchen"])
        again = mind.remember("The cup is blue.")
        mind.remember_many(["The cup is blue.", "The plate is white."])
        assert (again.id, again.mentions, again.tags) == (first.id, 2, ("kitchen",))
        assert {memory.text: memory.mentions for memory in mind.list()} == {
            "The cup is blue.": 3,
            "The plate is white.": 1,
        }
        assert missing(mind) == 0
        mind.undo()
        assert [memory.mentions for memory in mind.list()] == [2]


@pytest.mark.parametrize(
    "details",
    [
        {"session": "s"},
        {"session": "s", "position": 1},
        {"role": "user"},
        {"created": "2025-01-01"},
        {"external_id": "x"},
        {"kind": "perception"},
        {"user": "ann"},
        {"collection": "other"},
        {"tags": ["more"]},
    ],
)
def test_events_and_texts_that_say_more_are_memories_of_their_own(tmp_path: Path, details: dict[str, Any]) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("The cup is blue.")
        mind.remember("The cup is blue.", **details)
        assert [memory.mentions for memory in mind.list()] == [1, 1]


def test_a_forgotten_text_that_is_remembered_again_is_a_new_memory(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.forget(mind.remember("The cup is blue.").id)
        assert mind.remember("The cup is blue.").mentions == 1
        assert len(mind.list()) == 1


@pytest.mark.parametrize(
    "details",
    [{"expires": "2020-01-01"}, {"valid_to": "2020-01-01"}, {"classification": 50}, {"title": "Another title"}],
    ids=str,
)
def test_a_statement_is_not_counted_as_a_mention_of_one_that_is_shown_otherwise(
    tmp_path: Path, details: dict[str, Any]
) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        first = mind.remember("The door code is 1234.", **details)
        second = mind.remember("The door code is 1234.")
        assert first.id != second.id
        assert mind.remember("The door code is 1234.").id == second.id
        assert second.id in {result.id for result in mind.recall("door code")}


def test_an_import_of_edges_alone_is_one_operation(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many({"text": f"memory {number}", "id": f"m{number}"} for number in range(1200))
        edges = [{"type": "edge", "source": f"m{at}", "target": f"m{at + 1}", "kind": "k"} for at in range(1100)]
        mind.import_(edges)
        assert len(mind.edges()) == 1100
        mind.undo()
        assert mind.edges() == []
        mind.remember("elsewhere", id="x", collection="other")
        with pytest.raises(InvalidInput):
            mind.import_([*edges, {"type": "edge", "source": "m0", "target": "x", "kind": "k"}])
        assert mind.edges() == []
