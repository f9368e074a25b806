"""Many at once: threads on one mind, processes on one file, forks, and what happens after the end."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import InvalidInput, Mind, StoreError
from recollect.store.sqlite import checkpoints
from recollect.store.sqlite.checksums import connect
from tests.store import programs
from tests.store.looking import assert_whole, held, rare_word, texts

WRITES = 120


def go(*processes: subprocess.Popen[str]) -> None:
    """Wait until all are ready, then let them begin at once."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == '"ready"\n'
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def test_use_that_recalls_count_gets_from_the_log_into_the_file_in_a_thread(
    path: Path, mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "COPIED_PAGES", 10)
    mind.remember_many([f"cup {number}" for number in range(50)])
    connection = apsw.Connection(str(path))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    end = time.monotonic() + 60
    logged = written = 0
    while not written:
        assert time.monotonic() < end, f"none of {logged} pages"
        mind.recall("cup", k=50)
        logged, written = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    connection.close()
    mind.close()
    assert not Path(f"{path}-wal").exists()


def test_two_processes_that_write_at_once_both_write_everything(path: Path, mind: Mind) -> None:
    mind.remember("there from the beginning")
    with programs.start("write", path, "left", WRITES) as left, programs.start("write", path, "right", WRITES) as right:
        go(left, right)
        seen = [0]
        while left.poll() is None or right.poll() is None:  # and this process reads meanwhile
            answer = mind.recall("left right", k=1000)
            assert answer.trace.failures == []
            seen.append(len(answer))
        assert [process.communicate(timeout=60)[0] for process in (left, right)] == ['"done"\n'] * 2
    assert (left.returncode, right.returncode) == (0, 0)
    assert seen == sorted(seen), "something that had been there was not there later"
    wanted = {f"{label} {number}" for label in ("left", "right") for number in range(WRITES)}
    assert {memory.text for memory in mind.list()} == {"there from the beginning", *wanted}
    assert {result.text for result in mind.recall("left right", k=1000)} == wanted
    assert_whole(path)


def test_processes_that_open_a_new_file_at_once_all_succeed(path: Path) -> None:
    processes = [programs.start("open_at_once", path) for _ in range(4)]
    try:
        go(*processes)
        said = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert said == ['"opened"\n'] * 4
    with Mind(path, embedder=None) as mind:
        assert [memory.mentions for memory in mind.list()] == [4]


def test_a_reader_sees_in_its_next_recall_what_another_process_did(path: Path, mind: Mind) -> None:
    with programs.start("answer", path) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        question, said = reader.stdin, reader.stdout

        def ask(words: str) -> str:
            question.write(words + "\n")
            question.flush()
            return said.readline().strip()

        assert said.readline() == '"ready"\n'
        assert ask("cup") == "[]"
        cup = mind.remember("The cup is blue.")
        assert ask("cup") == '["The cup is blue."]'
        mind.edit(cup.id, text="The bowl is green.")
        assert ask("cup blue") == "[]"
        assert ask("bowl") == '["The bowl is green."]'
        mind.forget(cup.id)
        assert ask("bowl") == "[]"
        mind.undo()
        assert ask("bowl") == '["The bowl is green."]'
        mind.undo()
        assert ask("cup") == '["The cup is blue."]'
        mind.undo()
        assert ask("cup") == "[]"
        question.close()


def test_threads_on_one_mind_find_what_they_have_just_remembered(path: Path, mind: Mind) -> None:
    def work(worker: int) -> list[str]:
        missed = []
        for number in range(25):
            word = rare_word(worker * 1000 + number)
            kept = mind.remember(f"worker {worker} wrote {word}", tags=[f"worker{worker}"], session=f"s{number}")
            found = mind.recall(word, k=1, filter={"tags": [f"worker{worker}"], "session": f"s{number}"})
            if [result.memory.id for result in found] != [kept.id] or found.trace.failures:
                missed.append(word)
        return missed

    with ThreadPoolExecutor(8) as pool:
        assert [word for missed in pool.map(work, range(8)) for word in missed] == []
    assert len(mind.list()) == 200
    assert sum(memory.use.access_count for memory in mind.list()) == 200
    assert_whole(path)


def test_every_verb_at_once_leaves_a_memory_that_agrees_with_itself(path: Path, mind: Mind) -> None:
    def work(worker: int) -> None:
        for number in range(15):
            one = mind.remember(f"first {worker} {number}", external_id=f"{worker}-{number}")
            two = mind.remember(f"second {worker} {number}")
            mind.link(one.id, two.id)
            mind.edit(one.id, text=f"edited {worker} {number}", tags=["edited"])
            assert mind.recall(f"edited {worker} {number}", k=3)
            mind.forget(two.id)
            assert len(mind.list({"tags": ["edited"]})) > 0

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert sorted(memory.text for memory in mind.list()) == sorted(
        f"edited {w} {n}" for w in range(6) for n in range(15)
    )
    with Mind(path, embedder=None) as fresh:
        assert held(fresh) == held(mind)
        ours, theirs = (
            [(each.memory.id, each.score) for each in it.recall("edited 3", k=100, track=False, as_of="2100-01-01")]
            for it in (mind, fresh)
        )
        assert ours == theirs


USES: dict[str, Callable[[Any], Any]] = {
    "remember": lambda mind: mind.remember("more"),
    "remember_many": lambda mind: mind.remember_many(["more"]),
    "recall": lambda mind: mind.recall("cup"),
    "show": lambda mind: mind.show("abc"),
    "list": lambda mind: mind.list(),
    "edit": lambda mind: mind.edit("abc", text="else"),
    "forget": lambda mind: mind.forget("abc"),
    "link": lambda mind: mind.link("abc", "def"),
    "relate": lambda mind: mind.relate("alice", "knows", "bob"),
    "export": lambda mind: list(mind.export()),
    "import": lambda mind: mind.import_([{"text": "more"}]),
    "undo": lambda mind: mind.undo(),
    "status": lambda mind: mind.status(),
    "history": lambda mind: mind.history("abc"),
    "edges": lambda mind: mind.edges(),
}


@pytest.mark.parametrize("verb", USES)
def test_a_closed_mind_says_that_it_is_closed(path: Path, verb: str) -> None:
    mind = Mind(path, embedder=None)
    mind.remember("a cup")
    mind.close()
    with pytest.raises(StoreError, match=r"closed\. Open a new Mind"):
        USES[verb](mind)


def test_closing_twice_is_closing_once(mind: Mind) -> None:
    mind.remember("a cup")
    mind.close()
    mind.close()
    with Mind(mind.path, embedder=None) as again:
        assert [memory.text for memory in again.list()] == ["a cup"]


def test_one_collection_cannot_take_a_memory_from_another(path: Path) -> None:
    with Mind(path, embedder=None, collection="mine") as mine, Mind(path, embedder=None, collection="yours") as yours:
        mine.remember("of mine")
        with pytest.raises(InvalidInput, match="cannot be used here"):
            yours.import_(list(mine.export()))
        with pytest.raises(InvalidInput, match="bound to the collection 'yours'"):
            yours.remember("elsewhere", collection="mine")
        assert [memory.text for memory in mine.list()] == ["of mine"]
        assert not yours.list()


def test_closing_while_others_recall_ends_them_in_our_words(path: Path) -> None:
    mind = Mind(path, embedder=None)
    mind.remember_many(f"memory number {number}" for number in range(500))
    started, problems = threading.Barrier(5), []

    def work() -> None:
        mind.recall("number")
        started.wait()
        try:
            while True:
                mind.recall("memory number", k=200)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    time.sleep(0.05)
    mind.close()
    for thread in threads:
        thread.join(10)
    assert [type(problem) for problem in problems] == [StoreError] * 4, problems
    assert_whole(path)


def test_an_interrupted_bulk_write_leaves_nothing_of_itself(path: Path, mind: Mind) -> None:
    mind.remember("there from the beginning")
    with programs.start("write_many", path, "remember_many", 10_000) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline() != '"writing"\n':
            assert writer.poll() is None
        time.sleep(0.1)
        writer.send_signal(signal.SIGINT)
        assert writer.communicate(timeout=60)[0] == '"interrupted"\n', "it was done before it was interrupted"
    assert sorted(memory.text for memory in mind.list()) == [
        "still here after the interruption",
        "there from the beginning",
    ]
    assert texts(mind, "bulk number many") == []
    assert_whole(path)


def test_a_mind_serves_both_sides_of_a_fork(path: Path) -> None:
    assert programs.run("fork_and_share", path) == 0
    with Mind(path, embedder=None) as mind:
        wanted = ["before the fork", *(f"{side} {number}" for side in ("parent", "child") for number in range(20))]
        assert sorted(memory.text for memory in mind.list()) == sorted(wanted)
    assert_whole(path)


def test_what_a_forked_child_remembers_survives_that_its_parent_closes_first(path: Path) -> None:
    assert programs.run("fork_and_leave", path) == 0
    with Mind(path, embedder=None) as mind:
        assert sorted(memory.text for memory in mind.list()) == ["after the parent left", "before the fork"]
    assert_whole(path)


def test_a_mind_that_was_closed_before_a_fork_does_not_disturb_an_open_one(path: Path) -> None:
    assert programs.run("fork_after_closing", path) == 0
    with Mind(path, embedder=None) as mind:
        assert sorted(memory.text for memory in mind.list()) == ["before the fork", "from the child"]
    assert_whole(path)


@pytest.mark.parametrize("children", [20, pytest.param(360, marks=pytest.mark.slow)])
def test_no_child_keeps_a_connection_of_its_parent_though_closed_ones_are_still_referenced(
    path: Path, children: int
) -> None:
    assert programs.run("fork_with_closed_ones", path, children, timeout=300) == [0, children]
    assert_whole(path)


def test_a_fork_in_the_middle_of_a_write_harms_neither_side(path: Path) -> None:
    ends, problems, written = programs.run("fork_while_writing", path, timeout=90)
    assert problems == []
    assert ends == [0] * 4, "−14: the child hung"
    with Mind(path, embedder=None) as mind:
        assert mind.status().store.memories == {"active": 1 + written + 4}
    assert_whole(path)


def test_a_forked_child_can_ask_with_an_embedder(path: Path) -> None:
    assert programs.run("fork_and_embed", path) == 0, "−9: the child hung until it was killed"


def test_an_export_goes_on_while_others_undo(mind: Mind) -> None:
    mind.remember("one that stays")
    mind.remember_many(f"one that goes, number {number}" for number in range(600))
    records = mind.export()
    first = [next(records) for _ in range(10)]
    mind.undo()
    rest = list(records)
    assert first[1]["text"] == "one that stays"
    assert all(record["type"] == "memory" for record in rest)


def test_an_interrupt_ends_the_wait_for_another_process(path: Path, mind: Mind) -> None:
    mind.remember("there from the beginning")
    other = connect(str(path))
    other.execute("BEGIN IMMEDIATE")
    try:
        with programs.start("write_until_interrupted", path) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == '"writing"\n'
            time.sleep(0.3)
            writer.send_signal(signal.SIGINT)
            assert writer.stdout.readline() == '"interrupted"\n'
            writer.wait(10)
    finally:
        other.close()
    assert [memory.text for memory in mind.list()] == ["there from the beginning"]
