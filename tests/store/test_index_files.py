"""Files of the index beside a database: damaged, foreign, cut off, half written. Answers are right all the same."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from recollect.service.operations import Service
from recollect.store.disk import Disk
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.index import IndexLimits
from recollect.upkeep.doctor import Doctor
from tests.recall.kit import WOVEN
from tests.store import programs
from tests.store.looking import assert_whole, rare_word
from tests.upkeep.failing_disk import FailingDisk

pytestmark = pytest.mark.contract("B26")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
LIMITS = IndexLimits(min_saved=2, max_tail=10, max_segment=40)  # several files for some dozen memories
QUERIES = ("blue cup shelf", "number 17 of many", rare_word(33), "who waters the garden?", "invoice")


@contextmanager
def open_mind(path: Path, limits: IndexLimits | None = LIMITS, disk: Disk | None = None) -> Iterator[Mind]:
    with closing(SqliteStore(str(path), lambda: NOW, durability="fast", index_limits=limits, disk=disk)) as store:
        yield Mind(store=store, embedder=WOVEN, clock=lambda: NOW)


def fill(path: Path) -> None:
    """A database with several segments, of which some slots are dead."""
    with open_mind(path) as mind:
        for start in range(0, 90, 15):
            mind.remember_many(
                {"id": f"m{n}", "text": f"number {n} of many {rare_word(n)} " + "the blue cup " * (n % 9)}
                for n in range(start, start + 15)
            )
            mind.recall("cup", 3, track=False)
        mind.remember("Mara waters the garden on Fridays.", id="garden", topic="garden", tags=["plants"])
        mind.edit("m3", text="The invoice of the roofer is due.")
        mind.forget("m5")
        mind.recall("cup", 3, track=False)
    assert len(segments(path)) >= 2
    assert not Path(f"{path}-wal").exists()


def folder_of(path: Path) -> Path:
    return Path(f"{path}-index")


def segments(path: Path) -> list[Path]:
    return sorted(folder_of(path).glob("*.segment"))


def observe(mind: Mind) -> tuple[Any, ...]:
    answers = [[(each.memory.id, each.score) for each in mind.recall(query, 8, track=False)] for query in QUERIES]
    return answers, sorted(memory.id for memory in mind.list()), [each.id for each in mind.list({"tags": ["plants"]})]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    fill(path)
    return path


@pytest.fixture(scope="module")
def right(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """What a database without an index beside it answers."""
    path = Path(shutil.copyfile(sound, tmp_path_factory.mktemp("plain") / "memory.db"))
    with open_mind(path, limits=None) as mind:
        return observe(mind)


def copy_with_index(source: Path, to: Path) -> Path:
    shutil.copyfile(source, to)
    shutil.rmtree(folder_of(to), ignore_errors=True)
    shutil.copytree(folder_of(source), folder_of(to))
    return to


# Damage.


def flip_bits(sound: Path, right: tuple[Any, ...], folder: Path, files: int, seed: int) -> int:
    """Flip bits in one file of the index; how often the index was built again."""
    chance, rebuilt = random.Random(seed), 0
    for number in range(files):
        path = copy_with_index(sound, folder / f"{number}.db")
        target = chance.choice([*segments(path), folder_of(path) / "manifest.json"])
        content = bytearray(target.read_bytes())
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            edge = chance.choice((0, 0, 0, 1))  # every fourth flip is in the head or in the table at the end
            at = chance.randrange(len(content)) if not edge else chance.choice((8, -300)) + chance.randrange(40)
            content[at % len(content)] ^= 1 << chance.randrange(8)
        if chance.random() < 0.1:
            del content[chance.randrange(len(content)) :]
        target.write_bytes(content)
        names = {each.name for each in segments(path)}
        with open_mind(path) as mind:
            assert observe(mind) == right, f"file {number} of seed {seed}: {target.name}"
        assert [each for each in Doctor(path, WOVEN).diagnose().findings if each.level == "error"] == []
        rebuilt += names != {each.name for each in segments(path)}
        shutil.rmtree(folder_of(path))
        path.unlink()
    return rebuilt


def test_flipped_bits_in_files_of_the_index_never_change_an_answer(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    assert flip_bits(sound, right, tmp_path, files=10, seed=15) >= 4


@pytest.mark.parametrize(
    "read",
    [
        lambda mind: [each.id for each in mind.list({"tags": ["plants"]})],
        lambda mind: len(list(mind.export())),
        lambda mind: mind.usage().memories,
        lambda mind: len(mind.audit()),
        lambda mind: mind.context("garden", budget=200).text,
        lambda mind: mind.why_not("garden", "m3").reason,
        lambda mind: mind.erase(user="nobody", dry_run=True).removed,
        lambda mind: Service(mind).call("list", {"filter": {"tags": ["plants"]}}),
        lambda mind: Service(mind).call("timeline", {}),
    ],
)
def test_whatever_reads_a_damaged_index_first_is_answered(
    sound: Path, tmp_path: Path, read: Callable[[Mind], Any]
) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    with open_mind(Path(shutil.copyfile(path, tmp_path / "plain.db")), limits=None) as mind:
        right = read(mind)
    for each in segments(path):
        content = bytearray(each.read_bytes())
        for at in range(4096 + 10, len(content) - 4096, 4096):  # every block but the first and the table
            content[at] ^= 1
        each.write_bytes(content)
    with open_mind(path) as mind:
        assert read(mind) == right


@pytest.mark.slow
def test_four_hundred_indexes_with_flipped_bits_never_change_an_answer(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    assert flip_bits(sound, right, tmp_path, files=400, seed=401) >= 200


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_segment_that_is_cut_off_under_a_live_process_is_noticed(
    sound: Path, right: tuple[Any, ...], tmp_path: Path, size: int
) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    with open_mind(path) as mind:
        assert mind.recall("cup", 1, track=False)
        for each in segments(path):
            os.truncate(each, size)
        assert observe(mind) == right


def test_a_deleted_index_under_a_live_process_changes_nothing(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    with open_mind(path) as mind:
        assert mind.recall("cup", 1, track=False)
        shutil.rmtree(folder_of(path))
        assert observe(mind) == right
        mind.remember_many(f"another {rare_word(500 + n)}" for n in range(30))
        assert [each.text for each in mind.recall(rare_word(510), 1)] == [f"another {rare_word(510)}"]
    assert_whole(path)


# Indexes of others.


def diverge(path: Path, word: str) -> None:
    with open_mind(path) as mind:
        mind.remember_many(f"only here {word} {rare_word(n)}" for n in range(40))
        mind.edit("m7", text=f"number seven is {word} now")
        mind.recall("cup", 3, track=False)


def answers_alone(path: Path, folder: Path) -> tuple[Any, ...]:
    copy = Path(shutil.copyfile(path, folder / "alone.db"))
    with open_mind(copy, limits=None) as mind:
        found = observe(mind)
    copy.unlink()
    return found


def test_copies_that_went_different_ways_do_not_use_the_index_of_each_other(sound: Path, tmp_path: Path) -> None:
    first, second = (copy_with_index(sound, tmp_path / name) for name in ("first.db", "second.db"))
    diverge(first, "quokka")
    diverge(second, "zanzibar")
    expected = {path: answers_alone(path, tmp_path) for path in (first, second)}
    shutil.move(folder_of(first), tmp_path / "aside")
    shutil.move(folder_of(second), folder_of(first))
    shutil.move(tmp_path / "aside", folder_of(second))
    for path in (first, second):
        with open_mind(path) as mind:
            assert observe(mind) == expected[path]


def test_a_database_beside_the_index_of_an_unrelated_one_answers_from_itself(sound: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with open_mind(other) as mind:
        mind.remember_many({"id": f"m{n}", "text": f"unrelated {rare_word(700 + n)}"} for n in range(60))
        mind.recall("unrelated", track=False)
    expected = answers_alone(other, tmp_path)
    shutil.rmtree(folder_of(other))
    shutil.copytree(folder_of(sound), folder_of(other))
    with open_mind(other) as mind:
        assert observe(mind) == expected


def test_an_older_copy_beside_a_newer_index_answers_from_itself(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    older = shutil.copyfile(path, tmp_path / "older.db")
    diverge(path, "quokka")
    os.replace(older, path)
    for name in ("memory.db-wal", "memory.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with open_mind(path) as mind:
        assert observe(mind) == right


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_in_place_of_the_index_is_neither_read_nor_emptied(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name in ("thesis.txt", "manifest.json", "0123456789abcdef.segment"):
        (documents / name).write_text("years of work", "utf-8")
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    folder_of(path).symlink_to(documents)
    with open_mind(path) as mind:
        assert observe(mind) == right
        assert mind.erase("m1").pending == ()
    assert {each.name: each.read_text("utf-8") for each in documents.iterdir()} == dict.fromkeys(
        ("thesis.txt", "manifest.json", "0123456789abcdef.segment"), "years of work"
    )


def test_files_that_are_not_of_the_index_stay_in_its_folder(sound: Path, tmp_path: Path) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    (folder_of(path) / "thesis.txt").write_text("years of work", "utf-8")
    diverge(path, "quokka")
    with open_mind(path) as mind:
        mind.erase("m1")
    assert [each.name for each in folder_of(path).iterdir() if each.name != "lock"] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_leaves_the_index_in_memory(
    sound: Path, right: tuple[Any, ...], tmp_path: Path
) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    folder_of(path).write_text("a note", "utf-8")
    with open_mind(path) as mind:
        assert observe(mind) == right
        mind.erase("m1")
    assert folder_of(path).read_text("utf-8") == "a note"


# Disks that fail, and processes that are killed.


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_an_index_whose_writing_fails_anywhere_answers_as_before(sound: Path, tmp_path: Path, step: int) -> None:
    expected: tuple[Any, ...] | None = None
    for number in range(1, 500, step):
        path = copy_with_index(sound, tmp_path / f"{number}.db")
        disk = FailingDisk(number, errno.ENOSPC if number % 2 else errno.EIO)
        with open_mind(path, disk=disk) as mind:
            mind.remember_many({"id": f"n{n}", "text": f"another cup {rare_word(800 + n)}"} for n in range(60))
            expected = expected or observe(mind)
            assert observe(mind) == expected, f"operation {number}"
        with open_mind(path) as mind:
            assert observe(mind) == expected, f"operation {number}, opened again"
        shutil.rmtree(folder_of(path))
        if disk.left > 0:
            break
    assert number > 10


def kill_builders(path: Path, times: int, seed: int) -> None:
    """Processes that write and build the index are killed; each next one sees what was acknowledged."""
    chance = random.Random(seed)
    for round in range(times):
        with programs.start("build_index_until_killed", path, round) as builder:
            assert builder.stdout is not None
            assert builder.stdout.readline() == '"ready"\n'
            time.sleep(chance.uniform(0.0, 0.15))
            builder.send_signal(signal.SIGKILL)
            acknowledged = builder.stdout.read().splitlines()  # communicate() would lose what was read ahead
        if round % 5 == 2:
            with open_mind(path) as mind, open_mind(path, limits=None) as plain:
                assert observe(mind) == observe(plain)
                for line in acknowledged[-3:]:
                    word = line.strip('"')
                    assert [each.text for each in mind.recall(word, 1, track=False)] == [f"built {word}"]


def test_processes_that_are_killed_while_they_build_the_index_leave_right_answers(sound: Path, tmp_path: Path) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    kill_builders(path, times=3, seed=1)
    assert_whole(path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_killed_builders_of_the_index_leave_right_answers(sound: Path, tmp_path: Path, seed: int) -> None:
    path = copy_with_index(sound, tmp_path / "memory.db")
    kill_builders(path, times=25, seed=100 + seed)
    assert_whole(path)
    with open_mind(path) as mind:
        mind.remember_many(f"at last {rare_word(9000 + n)}" for n in range(60))
        mind.recall("cup", 1)
    assert [each.name for each in folder_of(path).iterdir() if each.name.startswith(".partial-")] == []
