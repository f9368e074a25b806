"""Where writing is not allowed: reading goes on, nothing is noted, and a write says why it cannot be."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind, StoreError, restore
from recollect.serve.idempotency import IdempotencyKeys
from recollect.serve.tokens import TokenFile
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache
from recollect.store.sqlite.index import IndexLimits
from recollect.upkeep.doctor import Doctor
from tests.recall.kit import WOVEN
from tests.store import programs
from tests.store.looking import held, texts

NOW = datetime(2030, 1, 1, tzinfo=UTC)
nobody = pytest.mark.skipif(os.geteuid() != 0, reason="NOT RUN: only root can become a user without rights")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A memory in a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-"))
    folder.chmod(0o755)
    with Mind(folder / "memory.db", embedder=None) as mind:
        mind.remember("The blue cup is on the top shelf.")
    (folder / "memory.db").chmod(0o644)
    yield folder / "memory.db"
    shutil.rmtree(folder)


@nobody
@pytest.mark.parametrize(
    ("file", "folder"),
    [(0o444, 0o755), (0o444, 0o777), (0o666, 0o755)],
    ids=["neither", "file unwritable", "folder unwritable"],
)
def test_without_the_right_to_write_recall_works_and_leaves_no_trace(shared: Path, file: int, folder: int) -> None:
    shared.chmod(file)
    shared.parent.chmod(folder)
    before = shared.read_bytes()
    seen = programs.run("look_as_nobody", shared)
    assert seen["found"] == seen["found again"] == ["The blue cup is on the top shelf."]
    assert seen["refusal"][0] == "StoreError"
    assert "read-only" in seen["refusal"][1]
    assert seen["readonly"] is True
    assert shared.read_bytes() == before
    with Mind(shared, embedder=None) as mind:
        assert [memory.use.access_count for memory in mind.list()] == [0]


@nobody
def test_a_reader_without_rights_sees_what_a_writer_beside_it_has_just_written(shared: Path) -> None:
    with Mind(shared, embedder=None) as writer:
        writer.remember("The second cup is in the sink.")
        seen = programs.run("look_as_nobody", shared)
    assert sorted(seen["found"]) == ["The blue cup is on the top shelf.", "The second cup is in the sink."]


@nobody
@pytest.mark.parametrize("lost", ["", "-shm"], ids=["all files", "without -shm"])
def test_what_a_dead_writer_left_in_its_log_is_not_silently_left_out(shared: Path, lost: str) -> None:
    with programs.start("write_and_die", shared, "The second cup is in the sink.") as writer:
        writer.wait(timeout=30)
    if lost:
        shared.with_name(shared.name + lost).unlink()
    seen = programs.run("look_as_nobody", shared)
    if "closed door" in seen:  # a refusal in our words will do
        assert seen["closed door"][0] == "StoreError"
    else:
        assert sorted(seen["found"]) == ["The blue cup is on the top shelf.", "The second cup is in the sink."]


@nobody
def test_a_file_that_may_not_be_read_is_refused_in_our_words(shared: Path) -> None:
    shared.chmod(0o600)
    seen = programs.run("look_as_nobody", shared)
    assert seen["closed door"][0] == "StoreError"
    assert str(shared) in seen["closed door"][1]


@nobody
def test_a_new_file_in_a_folder_without_rights_is_refused_in_our_words(shared: Path) -> None:
    shared.unlink()
    seen = programs.run("look_as_nobody", shared)
    assert seen["closed door"][0] == "StoreError"
    assert str(shared) in seen["closed door"][1]


WRITES: dict[str, Callable[[Any, str, str], Any]] = {
    "remember": lambda mind, a, b: mind.remember("more"),
    "remember_many": lambda mind, a, b: mind.remember_many(["more"]),
    "edit": lambda mind, a, b: mind.edit(a, text="else"),
    "forget": lambda mind, a, b: mind.forget(a),
    "link": lambda mind, a, b: mind.link(a, b),
    "unlink": lambda mind, a, b: mind.unlink(a, b),
    "relate": lambda mind, a, b: mind.relate("alice", "knows", "bob"),
    "import": lambda mind, a, b: mind.import_([{"text": "more"}]),
    "undo": lambda mind, a, b: mind.undo(),
}


@pytest.mark.parametrize("verb", WRITES)
def test_a_mind_opened_for_reading_refuses_to_write(path: Path, verb: str) -> None:
    with Mind(path, embedder=None) as mind:
        a, b = mind.remember("a cup").id, mind.remember("a plate").id
        mind.link(a, b, kind="depends_on")
    before = path.read_bytes()
    with Mind(path, embedder=None, readonly=True) as reader:
        with pytest.raises(StoreError, match="read-only"):
            WRITES[verb](reader, a, b)
        assert texts(reader, "cup") == ["a cup", "a plate"]  # the other by their link
        assert reader.show(a).use.access_count == 0
        assert reader.status().store.readonly
    assert path.read_bytes() == before


def test_a_mind_opened_for_reading_follows_what_others_write(path: Path, mind: Mind) -> None:
    with Mind(path, embedder=None, readonly=True) as reader:
        assert texts(reader, "cup") == []
        cup = mind.remember("a cup")
        assert texts(reader, "cup") == ["a cup"]
        mind.forget(cup.id)
        assert texts(reader, "cup") == []
        assert held(reader) == held(mind)


def test_opening_for_reading_makes_no_file(path: Path) -> None:
    with pytest.raises(StoreError, match=str(path)):
        Mind(path, embedder=None, readonly=True)
    assert not path.exists()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_what_is_created_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "memory.db"
        with Mind(path, embedder=WOVEN, embedding_cache=True) as mind:
            mind.remember("The blue cup is on the top shelf.")
            mind.backup(tmp_path / "backups")
            assert Path(f"{path}-wal").exists()
            TokenFile.beside(path).create("laptop")
            found = modes(tmp_path)
        with closing(
            SqliteStore(str(path), lambda: NOW, index_limits=IndexLimits(min_saved=2, max_tail=10, max_segment=40))
        ) as store:
            mind = Mind(store=store, embedder=WOVEN)
            mind.remember_many(f"cup {number}" for number in range(30))
            mind.recall("cup")
        assert (Path(f"{path}-index") / "manifest.json").exists()
        restore(tmp_path / "backups", tmp_path / "restored.db")
        Doctor(path, WOVEN).rebuild()
        found |= modes(tmp_path) | modes(Path(f"{path}-index")) | modes(tmp_path / "backups" / "manifests")
    finally:
        os.umask(before)
    del found["backups"]  # its files are its owner's, whatever they are called
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}


def test_a_file_that_others_may_read_is_so_after_a_restore_and_one_that_they_may_not_is_not(tmp_path: Path) -> None:
    for mode in (0o600, 0o640):
        path = tmp_path / f"{mode}.db"
        with Mind(path, embedder=None) as mind:
            mind.remember("The blue cup is on the top shelf.")
            mind.backup(tmp_path / f"backups{mode}")
        path.chmod(mode)
        restore(tmp_path / f"backups{mode}", path, in_place=True)
        assert modes(tmp_path)[path.name] == mode


@nobody
def test_what_another_user_put_beside_a_memory_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Mind(path, embedder=None) as mind:
        mind.remember("The blue cup is on the top shelf.")
    planted = TokenFile.beside(path)
    token, _ = planted.create("stranger", "admin")
    (tmp_path / "memory.db-index").mkdir()
    (tmp_path / "memory.db-vectors").touch()
    requests = tmp_path / "memory.db-requests.jsonl"
    requests.touch()
    for each in ("tokens.json", "index", "vectors", "requests.jsonl"):
        os.chown(tmp_path / f"memory.db-{each}", 65534, 65534)
    with pytest.raises(StoreError, match="belongs to another user"):
        TokenFile.beside(path).verify(token, NOW)
    assert IdempotencyKeys(requests).path is None
    with pytest.raises(StoreError, match="belongs to another user"):
        SqliteEmbeddingCache(tmp_path / "memory.db-vectors")
    with closing(SqliteStore(str(path), lambda: NOW, index_limits=IndexLimits(min_saved=2, max_tail=10))) as store:
        mind = Mind(store=store, embedder=None)
        mind.remember_many(f"cup {number}" for number in range(30))
        assert len(mind.recall("cup")) == 10
    assert list((tmp_path / "memory.db-index").iterdir()) == []
    requests.unlink()
    requests.symlink_to(tmp_path / "other.jsonl")  # a link leads to a file of ours, or to one that would be created
    os.chown(requests, 65534, 65534, follow_symlinks=False)
    assert IdempotencyKeys(requests).path is None
    os.chown(path, 65534, 65534)  # what belongs to the owner of the memory is as trusted as the memory
    assert TokenFile.beside(path).verify(token, NOW).scope == "admin"
