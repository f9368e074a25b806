"""The index files beside a database: derived, deletable at any time, and never the reason for a wrong answer."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import stat
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import Memory, Mind
from recollect.store.base import Rows, Space
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.index import IndexLimits
from recollect.store.sqlite.index_folder import MANIFEST
from recollect.store.sqlite.reading import read_batches
from recollect.store.sqlite.segment_files import BLOCK, FORMAT
from tests.conftest import Clock

pytestmark = pytest.mark.contract("B23")

LIMITS = IndexLimits(min_saved=10, max_tail=5, max_segment=40)
COLOURS = "red green blue white black grey yellow brown pink violet".split()
THINGS = "cup lamp chair table shelf door window carpet plate spoon".split()


class ColourEmbedder:
    """A vector for each text, without a model."""

    name, dim = "colours", 8

    def embed(self, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        rows = [np.random.default_rng(len(text) * 31 + sum(map(ord, text))).standard_normal(self.dim) for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def sentence(number: int) -> str:
    return f"The {COLOURS[number % 10]} {THINGS[number // 10 % 10]} number {number} is here."


def open_mind(path: Path, limits: IndexLimits = LIMITS, readonly: bool = False) -> Mind:
    store = SqliteStore(str(path), Clock(), readonly, index_limits=limits)
    return Mind(store=store, embedder=ColourEmbedder(), clock=Clock())


def fill(path: Path, count: int = 60) -> Path:
    """A file with an index in files."""
    mind = open_mind(path)
    mind.remember_many([Memory(sentence(number), id=f"m{number}") for number in range(count)])
    mind.recall("the blue cup")
    mind.store.close()
    return path


def answers(path: Path, limits: IndexLimits = LIMITS, readonly: bool = False) -> list[tuple[str, float]]:
    mind = open_mind(path, limits, readonly)
    try:
        questions = ("the blue cup", "brown shelf number 47", "is the pink door here?")
        return [(each.id, each.score) for question in questions for each in mind.recall(question, 10, track=False)]
    finally:
        mind.store.close()


def index_of(path: Path) -> Path:
    return Path(f"{path}-index")


def segments(path: Path) -> list[Path]:
    return sorted(index_of(path).glob("*.segment"))


def in_memory(path: Path) -> list[tuple[str, float]]:
    """The answers of an index that is read from the rows."""
    copy = path.with_name("without-index.db")
    shutil.copy(path, copy)
    return answers(copy, IndexLimits(min_saved=10**9))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    return fill(tmp_path / "memory.db")


def test_the_answers_from_files_are_those_from_the_rows(filled: Path) -> None:
    assert segments(filled)
    assert answers(filled) == in_memory(filled)


def count_rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each later update of an index reads from its database."""
    counts: list[int] = []

    def read(connection: apsw.Connection, rows: Rows, space: tuple[int, Space] | None) -> Any:
        counts.append(len(rows))
        return read_batches(connection, rows, space)

    monkeypatch.setattr("recollect.store.sqlite.index.read_batches", read)
    return counts


def test_an_opened_file_is_not_read_again(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = count_rows_read(monkeypatch)
    answers(filled)
    assert read == [0]


def test_a_write_reads_only_what_it_changed(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = open_mind(filled)
    mind.recall("cup", track=False)
    read = count_rows_read(monkeypatch)
    mind.remember("The orange sofa is new.")
    assert mind.recall("orange sofa", 1, track=False)[0].text == "The orange sofa is new."
    mind.store.close()
    assert read == [1]


def test_a_copied_database_without_its_index_gets_one_of_its_own(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(filled, copy)
    assert answers(copy) == answers(filled)
    assert segments(copy)


def test_an_older_index_beside_a_newer_database_is_brought_up_to_date(filled: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(index_of(filled), older)
    mind = open_mind(filled)
    mind.remember_many([Memory(sentence(number), id=f"m{number}") for number in range(60, 100)])
    mind.edit("m20", text="The blue cup number 20 has moved.")
    mind.forget("m12")
    mind.recall("cup")
    mind.store.close()
    expected = answers(filled)
    shutil.rmtree(index_of(filled))
    shutil.copytree(older, index_of(filled))
    assert answers(filled) == expected == in_memory(filled)


def test_a_newer_index_beside_an_older_database_is_not_used(filled: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(filled, backup)
    expected = answers(filled)
    mind = open_mind(filled)
    mind.remember_many([f"The blue cup of the year {year} is newer." for year in range(2000, 2030)])
    mind.recall("cup")
    mind.store.close()
    shutil.copy(backup, filled)
    assert answers(filled) == expected


def test_the_index_of_another_database_is_not_used(tmp_path: Path) -> None:
    first = fill(tmp_path / "first.db", 60)
    second = fill(tmp_path / "second.db", 50)
    expected = answers(second)
    shutil.rmtree(index_of(second))
    shutil.copytree(index_of(first), index_of(second))
    assert answers(second) == expected


def test_copies_that_went_different_ways_do_not_share_an_index(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(filled, copy)
    for path, text in ((filled, "The blue cup is in the kitchen now."), (copy, "The blue cup broke.")):
        mind = open_mind(path)
        mind.remember_many([text, *(f"{text} Seen {number} times." for number in range(20))])
        mind.recall("cup")
        mind.store.close()
    expected = answers(copy)
    shutil.rmtree(index_of(copy))
    shutil.copytree(index_of(filled), index_of(copy))
    assert answers(copy) == expected


def test_a_segment_of_another_database_under_the_right_name_is_not_used(tmp_path: Path) -> None:
    first, second = fill(tmp_path / "first.db", 60), fill(tmp_path / "second.db", 60)
    mind = open_mind(second)
    mind.edit("m5", text="Something else.")
    mind.store.close()
    expected = answers(second)
    for mine, other in zip(segments(second), segments(first), strict=False):
        shutil.copy(other, mine)
    assert answers(second) == expected


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_segment_is_built_again(filled: Path, share: float) -> None:
    expected = answers(filled)
    segment = segments(filled)[0]
    segment.write_bytes(segment.read_bytes()[: int(segment.stat().st_size * share)])
    assert answers(filled) == expected


@pytest.mark.parametrize("content", [b"", b"{}", b"0\n{}", b"\xff" * 300])
def test_a_manifest_that_cannot_be_read_is_written_again(filled: Path, content: bytes) -> None:
    expected = answers(filled)
    (index_of(filled) / MANIFEST).write_bytes(content)
    assert answers(filled) == expected


def test_files_of_a_future_format_are_built_again(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.store.sqlite.index_folder as folder
    import recollect.store.sqlite.segment_files as files

    expected = answers(filled)
    for module in (folder, files):
        monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    assert answers(filled) == expected  # written in the newer format
    monkeypatch.undo()
    assert answers(filled) == expected


def test_damage_inside_a_segment_is_noticed_when_it_is_read(filled: Path) -> None:
    expected = answers(filled)
    for segment in segments(filled):
        content = bytearray(segment.read_bytes())
        for at in range(BLOCK + 5, len(content) - 200, BLOCK):
            content[at] ^= 1
        segment.write_bytes(bytes(content))
    assert answers(filled) == expected


def test_files_that_are_deleted_while_they_are_mapped_stay_readable(filled: Path) -> None:
    expected = answers(filled)
    mind = open_mind(filled)
    mind.recall("cup", track=False)
    shutil.rmtree(index_of(filled))
    questions = ("the blue cup", "brown shelf number 47", "is the pink door here?")
    found = [(each.id, each.score) for question in questions for each in mind.recall(question, 10, track=False)]
    mind.remember_many([f"Something new, number {number}." for number in range(30)])
    assert mind.recall("something new", 1, track=False)
    mind.store.close()
    assert found == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_that_cannot_be_written_is_answered_from_memory(filled: Path) -> None:
    expected = answers(filled)
    shutil.rmtree(index_of(filled))
    filled.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert answers(filled, readonly=True) == expected
    finally:
        filled.parent.chmod(stat.S_IRWXU)


def test_a_file_in_the_place_of_the_folder_leaves_the_index_in_memory(filled: Path) -> None:
    expected = answers(filled)
    shutil.rmtree(index_of(filled))
    index_of(filled).write_text("not a folder")
    assert answers(filled) == expected


def test_a_memory_that_is_opened_for_reading_uses_the_files_and_writes_none(filled: Path) -> None:
    expected = answers(filled)
    before = {each.name: each.stat().st_mtime_ns for each in index_of(filled).iterdir()}
    assert answers(filled, readonly=True) == expected
    assert {each.name: each.stat().st_mtime_ns for each in index_of(filled).iterdir()} == before


def test_a_full_disk_leaves_the_index_in_memory(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.store.disk import Disk

    expected = answers(filled)
    shutil.rmtree(index_of(filled))

    def put(self: Disk, file: object, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Disk, "put", put)
    assert answers(filled) == expected
    assert not segments(filled)
    assert not list(index_of(filled).glob(".partial-*"))


def test_a_kept_result_does_not_keep_an_index(filled: Path) -> None:
    mind = open_mind(filled)
    kept = mind.recall("the blue cup", track=False)
    updater = mind.store._file.updater  # type: ignore[attr-defined]
    index = weakref.ref(updater._index)
    mind.remember("The orange sofa is new.")
    mind.recall("sofa", track=False)
    gc.collect()
    assert index() is None
    assert kept[0].why.evaluate() == kept[0].score
    assert kept.why_not("m59").reason
    mind.store.close()


def test_an_old_snapshot_answers_from_its_version_while_files_are_replaced(filled: Path) -> None:
    reader, writer = open_mind(filled), open_mind(filled)
    with reader.store.snapshot() as snapshot:
        scope = snapshot.scope(None, ("active",), Clock()())
        before = snapshot.page(scope, "stored", 1000).tolist()
        for number in range(100, 160):
            writer.remember(sentence(number))
            writer.recall("cup", track=False)
        assert snapshot.page(scope, "stored", 1000).tolist() == before
        vector = ColourEmbedder().embed(["x"])[0]
        assert set(snapshot.nearest(vector, scope, 500).rows.tolist()) == set(before)
    assert len(reader.list()) == len(before) + 60
    for mind in (reader, writer):
        mind.store.close()


WRITER = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.store.test_index_folder import open_mind, sentence
mind = open_mind(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    mind.remember(sentence(number))
    mind.recall("the blue cup", track=False)
    print(number, flush=True)
"""


def run_writer(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", WRITER.format(root=root), str(path), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_that_build_at_once_leave_a_usable_index(filled: Path) -> None:
    processes = [run_writer(filled, first, first + 40) for first in (100, 200)]
    assert [process.wait(300) for process in processes] == [0, 0]
    assert answers(filled) == in_memory(filled)
    mind = open_mind(filled)
    assert mind.store.index_status().state == "usable"  # type: ignore[attr-defined]
    mind.store.close()


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_process_that_is_killed_while_it_writes_leaves_a_usable_index(filled: Path, after: int) -> None:
    process = run_writer(filled, 100, 100_000)
    assert process.stdout is not None
    for _ in range(after):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert answers(filled) == in_memory(filled)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_a_vector_of_zeros_or_nan_does_not_hide_the_others(filled: Path, value: float) -> None:
    damaged = np.full(8, value, dtype=np.float16).tobytes()
    mind = open_mind(filled)
    mind.store.connection.execute("UPDATE vectors SET vector = ? WHERE row = 3", (damaged,))  # type: ignore[attr-defined]
    mind.store.drop_index()  # type: ignore[attr-defined]
    for vector_search in ("exact", "approximate"):
        store = SqliteStore(str(filled), Clock(), index_limits=LIMITS, vector_search=vector_search)
        with store.snapshot() as snapshot:
            scope = snapshot.scope(None, ("active",), Clock()())
            rows = snapshot.nearest(ColourEmbedder().embed(["the blue cup"])[0], scope, 20).rows
        store.close()
        assert len(rows) >= 20
    mind.store.close()
