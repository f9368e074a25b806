"""Watching: real files, real events; and places that vanish and come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.ingest.folder import FolderSettings
from recollect.ingest.sync import SyncReport
from recollect.systems.openclaw.workspace import Workspace
from tests.ingest.kit import VAULT, chunks, write

PATIENCE = 20.0  # seconds that a loaded machine is given; usually it takes a fraction of one
QUICK = replace(VAULT, debounce=0.1, on_search=False)


class Watched:
    """A workspace under watch, with what its syncs reported."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.reports: list[SyncReport] = []
        self.watch = space.watch(self.reports.append)
        self.until(lambda: self.reports)

    def until(self, happened: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, f"nothing happened; reports: {self.reports}"
            time.sleep(0.02)

    def texts(self) -> set[str]:
        return {text for held in chunks(self.space).values() for _, text in held}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, **{"a.md": "Otters swim."})
    return root


@pytest.fixture
def watched(root: Path, path: Path) -> Iterator[Watched]:
    with Workspace(root, db=path, embedder=None, settings=QUICK) as space:
        watched = Watched(space)
        yield watched
        watched.watch.close()
        assert watched.watch.wait(0)


def test_watching_begins_with_a_sync(watched: Watched) -> None:
    assert watched.reports[0].added == ["a.md"]


def test_a_written_file_is_found(root: Path, watched: Watched) -> None:
    write(root, **{"a.md": "Badgers dig.", "new/b.md": "Cranes fly."})
    watched.until(lambda: watched.texts() == {"Badgers dig.", "Cranes fly."})
    write(root, **{"new/c.md": "Ducks dive."})  # in a folder that came after the watch
    watched.until(lambda: "Ducks dive." in watched.texts())


def test_deleted_and_renamed_files_leave_no_chunk_behind(root: Path, watched: Watched) -> None:
    write(root, **{"b.md": "Badgers dig."})
    watched.until(lambda: len(watched.texts()) == 2)
    (root / "a.md").unlink()
    (root / "b.md").rename(root / "c.md")
    watched.until(lambda: set(chunks(watched.space)) == {"c.md"})


def test_a_folder_that_vanishes_and_comes_back_is_followed_again(root: Path, watched: Watched) -> None:
    root.rename(root.parent / "away")
    watched.until(lambda: str(root) in watched.reports[-1].skipped)
    assert watched.texts() == {"Otters swim."}
    write(root, **{"b.md": "Badgers dig."})
    watched.until(lambda: watched.texts() == {"Badgers dig."})
    write(root, **{"b.md": "Badgers sleep."})
    watched.until(lambda: watched.texts() == {"Badgers sleep."})


def test_a_change_in_what_is_hidden_makes_nobody_look(root: Path, watched: Watched) -> None:
    seen = len(watched.reports)
    write(root, **{".obsidian/workspace.json": "{}", ".git/x.md": "no", "note.txt": "no"})
    time.sleep(0.5)
    assert len(watched.reports) == seen
    write(root, **{"a.md": "Seen."})
    watched.until(lambda: "Seen." in watched.texts())


def test_a_workspace_is_followed_before_its_files_are_there(tmp_path: Path, path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    with Workspace(root, db=path, embedder=None, settings=replace(QUICK, layout="workspace")) as space:
        watched = Watched(space)
        write(root, **{"MEMORY.md": "Facts.", "README.md": "Not memory."})
        watched.until(lambda: watched.texts() == {"Facts."})
        write(root, **{"memory/2025/day.md": "A day."})
        watched.until(lambda: watched.texts() == {"Facts.", "A day."})
        write(root, **{"MEMORY.md": "New facts."})
        watched.until(lambda: watched.texts() == {"New facts.", "A day."})
        watched.watch.close()


def test_while_it_is_watched_dirty_means_that_something_changed(root: Path, watched: Watched) -> None:
    time.sleep(0.3)  # longer than the debounce, after which it would be a guess
    assert watched.space.dirty is False


def test_an_interval_syncs_without_being_told_of_changes(root: Path, path: Path) -> None:
    settings = replace(QUICK, watch=False, interval=0.2)
    with Workspace(root, db=path, embedder=None, settings=settings) as space:
        reports: list[SyncReport] = []
        with space.watch(reports.append):
            end = time.monotonic() + PATIENCE
            while len(reports) < 3 and time.monotonic() < end:
                time.sleep(0.02)
        assert len(reports) >= 3


def test_a_failing_sync_does_not_end_the_watch(root: Path, path: Path) -> None:
    with Workspace(root.parent, db=path, embedder=None, collection="taken", settings=QUICK) as first:
        first.sync()
    with Workspace(root, db=path, embedder=None, collection="taken", settings=QUICK) as space, space.watch() as watch:
        write(root, **{"b.md": "text"})  # every sync is refused: the collection already indexes the folder
        assert watch.wait(0.5) is False


def test_the_defaults_are_those_of_the_document() -> None:
    assert (FolderSettings().debounce, FolderSettings().watch, FolderSettings().interval) == (1.5, True, None)


def test_a_folder_with_a_dot_in_its_name_is_followed_in_and_out(root: Path, path: Path, tmp_path: Path) -> None:
    write(tmp_path, **{"elsewhere/b.md": "Badgers dig."})
    with Workspace(root, db=path, embedder=None, settings=QUICK) as space:
        watched = Watched(space)
        with watched.watch:
            (tmp_path / "elsewhere").rename(root / "v1.2")
            watched.until(lambda: "Badgers dig." in watched.texts())
            (root / "v1.2").rename(tmp_path / "elsewhere")
            watched.until(lambda: "Badgers dig." not in watched.texts())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_watch_that_dies_of_its_caller_leaves_the_search_to_look_for_changes(root: Path, path: Path) -> None:
    def fail(report: SyncReport) -> None:
        raise KeyError("the caller's own")

    with Workspace(root, db=path, embedder=None, settings=QUICK) as space:
        assert space.watch(fail).wait(PATIENCE)
        assert space.dirty
