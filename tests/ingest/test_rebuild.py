"""When the way of cutting or the model changes: the new index is built beside the old one, which serves until then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Mind
from recollect.ingest.folder import FolderSettings
from recollect.ingest.sync import SyncEvent
from recollect.systems.openclaw.workspace import Workspace
from tests.conftest import Clock
from tests.ingest.kit import VAULT, Counting, assert_exact, chunks, write
from tests.store.looking import sql

pytestmark = pytest.mark.contract("B5")
COARSE = replace(VAULT, tokens=400, overlap=0)
FINE = replace(VAULT, tokens=40, overlap=0)
TEXT = "\n\n".join(f"Paragraph {number} is about otters. " * 4 for number in range(6))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, **{f"{name}.md": f"{name}\n\n{TEXT}" for name in "abcdef"})
    return root


def index(root: Path, path: Path, settings: FolderSettings) -> dict[str, int]:
    with Workspace(root, db=path, embedder=Counting(), settings=settings) as space:
        space.sync()
        return {name: len(held) for name, held in chunks(space).items()}


def test_other_sizes_of_chunks_make_a_new_index(root: Path, path: Path) -> None:
    coarse = index(root, path, COARSE)
    with Workspace(root, db=path, embedder=Counting(), settings=FINE) as space:
        report = space.sync()
        assert report.rebuilt
        assert all(len(held) > coarse[name] for name, held in chunks(space).items())
        assert_exact(space)
        assert space.sync().rebuilt is False


def test_the_old_index_serves_while_the_new_one_is_built(root: Path, path: Path, clock: Clock) -> None:
    index(root, path, COARSE)
    with (
        Workspace(root, db=path, embedder=Counting(), settings=replace(FINE, on_search=False)) as space,
        Mind(path, embedder=None, clock=clock) as other,
    ):
        before, answer = chunks(space), space.recall("paragraph otters", 50, 0.0, track=False)
        everywhere = [(each.memory.id, each.score) for each in other.recall("paragraph otters", 50, track=False)]
        seen = []

        def search(event: SyncEvent) -> None:
            seen.append(event.what)
            if event.what != "switched":
                assert chunks(space) == before
                now = space.recall("paragraph otters", 50, 0.0, track=False)
                assert [each.memory.id for each in now] == [each.memory.id for each in answer]
                scores = [each.score for each in answer]  # but for recency: the clock of the folder goes on
                assert [each.score for each in now] == pytest.approx(scores)
                again = other.recall("paragraph otters", 50, track=False)
                assert [(each.memory.id, each.score) for each in again] == everywhere

        space.sync(search)
        assert seen == ["added"] * 6 + ["switched"]
        assert chunks(space) != before
        assert not {id for id, _ in everywhere} & {each.memory.id for each in other.recall("paragraph otters", 50)}


def test_nothing_of_the_old_index_is_left(root: Path, path: Path) -> None:
    index(root, path, COARSE)
    made = sum(index(root, path, FINE).values())
    for table in ("memories", "words", "vectors", "chunks"):
        assert sql(path, f"SELECT count(*) FROM {table}") == [(made,)]
    assert sql(path, "SELECT count(*) FROM files") == [(6,)]
    assert sql(path, "SELECT DISTINCT collection, status FROM memories") == [("vault", "active")]
    assert sql(path, "SELECT collection FROM folders") == [("vault",)]


def test_a_chunk_that_is_the_same_in_both_is_not_embedded_again(root: Path, path: Path) -> None:
    write(root, **{"small.md": "A small note."})
    index(root, path, COARSE)
    model = Counting()
    with Workspace(root, db=path, embedder=model, settings=FINE) as space:
        space.sync()
    assert "A small note." not in model.texts


def test_two_that_build_anew_at_once_lose_nothing(root: Path, path: Path) -> None:
    write(root, **{f"{name}.md": f"{name}\n\n" + f"{TEXT}\n\n" * 50 for name in "abc"})  # not in one transaction
    index(root, path, COARSE)
    with (
        Workspace(root, db=path, embedder=Counting(), settings=FINE) as slow,
        Workspace(root, db=path, embedder=Counting(), settings=FINE) as fast,
    ):
        done: list[str] = []

        def meanwhile(event: SyncEvent) -> None:
            if not done:
                done.append(event.path)
                write(root, **{"new.md": "A file that only one of them has seen."})
                assert fast.sync().rebuilt

        slow.sync(meanwhile)
        assert done
        assert_exact(slow)
    assert sql(path, "SELECT DISTINCT collection FROM files") == [("vault",)]
    assert sql(path, "SELECT DISTINCT status FROM memories") == [("active",)]


def test_nothing_is_built_anew_while_the_folder_is_away(root: Path, path: Path) -> None:
    coarse = index(root, path, COARSE)
    root.rename(root.parent / "away")
    with Workspace(root, db=path, embedder=Counting(), settings=FINE) as space:
        assert space.sync().rebuilt is False
        assert {name: len(held) for name, held in chunks(space).items()} == coarse
        (root.parent / "away").rename(root)
        assert space.sync().rebuilt is True
        assert_exact(space)


KILLED = """
import os, signal, sys
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
done = []
def die(event):
    done.append(event)
    if len(done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
settings = FolderSettings(layout="vault", tokens=40, overlap=0)
import recollect.ingest.sync
recollect.ingest.sync.GROUP_BYTES = 1  # a transaction for each file
with Workspace(sys.argv[1], db=sys.argv[2], embedder=None, settings=settings) as space:
    space.sync(die)
"""


def killed(root: Path, path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_crash_leaves_the_old_index_and_the_next_sync_goes_on_from_there(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=COARSE) as space:
        for file in root.glob("*.md"):  # as if written a while ago
            os.utime(file, (1_700_000_000, 1_700_000_000))
        space.sync()
        before = chunks(space)
    killed(root, path)
    assert sql(path, "SELECT count(DISTINCT collection) FROM files") == [(2,)]
    with Workspace(root, db=path, embedder=None, settings=replace(FINE, on_search=False)) as space:
        assert chunks(space) == before
        assert space.search("paragraph otters")["results"]
        report = space.sync()
        assert (report.unchanged, len(report.added), report.rebuilt) == (3, 3, True)
        assert_exact(space)
    assert sql(path, "SELECT count(DISTINCT collection) FROM files") == [(1,)]


def test_what_a_crash_left_is_cleaned_away_when_nobody_wants_it(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=COARSE) as space:
        space.sync()
    killed(root, path)
    with Workspace(root, db=path, embedder=None, settings=COARSE) as space:
        assert space.sync().rebuilt is False
        assert_exact(space)
    assert sql(path, "SELECT count(DISTINCT collection) FROM files") == [(1,)]
    assert sql(path, "SELECT DISTINCT status FROM memories") == [("active",)]


class Later(Counting):
    """Another model, of another dimension."""

    name, dim = "later-v1", 2

    def embed(self, texts, query=False):  # type: ignore[no-untyped-def]
        return [[each[0], each[2]] for each in super().embed(texts, query)]


def test_another_model_takes_over_when_its_vectors_are_made(root: Path, path: Path) -> None:
    index(root, path, COARSE)
    with (
        Mind(path, embedder=Counting()) as old,
        Workspace(root, db=path, embedder=Later(), settings=replace(COARSE, on_search=False)) as space,
    ):
        assert space.dirty
        assert space.search("otters")["results"]  # by words, until then
        assert space.search("otters")["model"] is None
        seen = []

        def meanwhile(event: SyncEvent) -> None:
            seen.append(event)
            ran = {step.name: step.outcome for step in old.recall("otters", recipe="openclaw").trace.steps}
            assert ran["vectors"] == "ran"  # whoever has the old model searches its vectors

        space.sync(meanwhile)
        assert [event.what for event in seen] == ["embedded"]
        assert space.search("otters")["model"] == "later-v1"
        assert space.dirty is False
    assert sql(path, "SELECT name, dim, active FROM spaces") == [("later-v1", 2, 1)]
    assert sql(path, "SELECT DISTINCT length(vector) FROM vectors") == [(4,)]


def test_when_the_new_model_fails_the_former_serves_on(root: Path, path: Path) -> None:
    index(root, path, COARSE)
    model = Later()
    model.down = True
    with Workspace(root, db=path, embedder=model, settings=COARSE) as space:
        space.sync()
        assert space.search("otters")["results"]
        assert sql(path, "SELECT name FROM spaces WHERE active") == [("counting-v1",)]
        model.down = False
        space.sync()
        assert space.search("otters")["model"] == "later-v1"
