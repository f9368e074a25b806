"""recollect migrate: a copy of a whole memory is the same in everything, and a stopped one continues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import FolderSettings, Mind, Workspace
from recollect.errors import InvalidInput, StoreError
from recollect.store.base import Store
from recollect.store.reference import ReferenceStore
from recollect.store.registry import open_store
from recollect.store.sqlite import SqliteStore
from recollect.upkeep import copying
from recollect.upkeep.copying import copy_store, migrate
from tests.conftest import Clock


def fill(mind: Mind) -> None:
    """A bit of everything that a store can contain."""
    rent = mind.remember("The rent is 800 euros.", user="ida", tags=["home"]).id
    mind.edit(rent, text="The rent is 950 euros.")
    cup = mind.remember("The blue cup is on the top shelf.", context={"room": "kitchen"}, session="s1", position=1).id
    dock = mind.remember("The dock is in the hallway, since yesterday.", session="s1", position=2).id
    mind.link(cup, dock, "near", weight=0.5)
    mind.relate("Ida", "lives with", "Anna", user="ida")
    mind.forget(mind.remember("A mistake.").id)
    mind.erase(mind.remember("A secret.").id)
    mind.recall("Where is the cup?")
    mind.recall("rent")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "source.db"
    with Mind(path, embedder="local") as mind:
        fill(mind)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "keys.md").write_text("# Keys\n\nThe keys are in the drawer.\n\n# Spare\n\nAnna has one.\n")
    (folder / "empty.md").write_text("")
    with Workspace(folder, db=path, settings=FolderSettings(layout="vault")) as workspace:
        workspace.sync()
    store = open_store(str(path), lambda: datetime.now(UTC), readonly=True)
    yield store
    store.close()


def open_reference(folder: Path, clock: Clock) -> Store:
    return ReferenceStore(clock)


def open_file(folder: Path, clock: Clock) -> Store:
    return SqliteStore(str(folder / "copy.db"), clock)


OPEN: dict[str, Callable[[Path, Clock], Store]] = {"reference": open_reference, "sqlite": open_file}


@pytest.fixture(params=[*OPEN, "postgres"])
def destination(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    if request.param == "postgres":
        store = open_store(request.getfixturevalue("database").url, clock)
    else:
        store = OPEN[request.param](tmp_path, clock)
    yield store
    store.close()


def test_a_copy_has_everything_and_a_copy_of_the_copy_too(source: Store, destination: Store, tmp_path: Path) -> None:
    copied = copy_store(source, destination)
    back = SqliteStore(str(tmp_path / "back.db"), lambda: datetime.now(UTC))
    again = copy_store(destination, back)
    assert copied.counts == again.counts
    assert copied.checksums == again.checksums
    assert set(copied.counts) == {
        *("memories", "versions", "vectors", "sketches", "uses", "edges", "relations", "receipts"),
        *("folders", "files", "chunks", "models"),
    }
    assert copied.counts["memories"] == copied.copied == 5
    back.close()


def test_a_copy_gives_the_same_answers(source: Store, destination: Store) -> None:
    copy_store(source, destination)
    now = datetime.now(UTC)
    before, after = (Mind(store=each, clock=lambda: now, embedder="local") for each in (source, destination))
    with before, after:
        for query in ("Where is the cup?", "What does Ida pay?", "keys", "what was yesterday?"):
            expected, found = before.recall(query), after.recall(query)
            assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected]
        (rent,) = (hit.id for hit in after.recall("rent", k=1))
        assert [memory.text for _, memory in after.history(rent)] == ["The rent is 800 euros."]


def test_what_a_copy_wrote_cannot_be_undone(source: Store, destination: Store) -> None:
    copy_store(source, destination)
    mind = Mind(store=destination, embedder=None)
    with pytest.raises(InvalidInput, match="There is no earlier change that could be undone"):
        mind.undo()


def test_a_second_copy_changes_nothing(source: Store, destination: Store) -> None:
    first = copy_store(source, destination)
    second = copy_store(source, destination)
    assert (second.copied, second.checksums) == (0, first.checksums)


def test_a_stopped_copy_is_continued(source: Store, destination: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_SIZE", 2)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(source, destination, stop)
    assert sum(destination.status().memories.values()) == 2
    assert copy_store(source, destination).copied == 3


def test_what_was_changed_in_the_source_since_is_copied_again(tmp_path: Path, destination: Store) -> None:
    with Mind(tmp_path / "live.db", embedder=None) as mind:
        fill(mind)
        copy_store(mind._store, destination)
        (cup,) = (hit.id for hit in mind.recall("cup", k=1))
        mind.edit(cup, text="The blue cup is in the sink.")
        mind.remember("A new one.")
        done = copy_store(mind._store, destination)
        assert done.copied == 2
        assert destination.get([cup])[0].text == "The blue cup is in the sink."


def test_a_destination_with_other_memories_is_refused(source: Store, destination: Store) -> None:
    with Mind(store=destination, embedder=None) as mind:
        mind.remember("Something else.")
    with pytest.raises(InvalidInput, match=r"is not empty: it has 1 memories that .*source.db does not have"):
        copy_store(source, destination)


def test_a_destination_that_went_its_own_way_is_refused(source: Store, destination: Store) -> None:
    copy_store(source, destination)
    with Mind(store=destination, embedder=None) as mind:
        (rent,) = (hit.id for hit in mind.recall("rent", k=1))
        mind.edit(rent, text="The rent is 1,000 euros.")
    with pytest.raises(InvalidInput, match=f"the memory {rent} is another one there"):
        copy_store(source, destination)
    assert destination.get([rent])[0].text == "The rent is 1,000 euros."


def test_a_copy_that_differs_is_an_error(source: Store, destination: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying.StoreCopier, "_copy_relations", lambda self: None)
    with pytest.raises(StoreError, match=r"differs from .*source.db in: relations \(1 and 0\)"):
        copy_store(source, destination)


def test_the_source_itself_is_refused_as_the_destination(source: Store, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(source.path)
    for same in (source.path, str(tmp_path / "link.db")):
        with pytest.raises(InvalidInput, match="The source and the destination are both"):
            migrate(source.path, same)


def test_a_missing_source_is_an_error_and_no_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        migrate(str(tmp_path / "missing.db"), str(tmp_path / "copy.db"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_copy_that_was_killed_again_and_again_is_complete_in_the_end(tmp_path: Path) -> None:
    path, copy = tmp_path / "large.db", tmp_path / "copy.db"
    with Mind(path, embedder=None) as mind:
        mind.remember_many({"text": f"Fact {number} about room {number % 17}."} for number in range(6000))
    program = "import sys; from recollect.upkeep.copying import migrate; migrate(*sys.argv[1:])"
    kills = 0
    for delay in (0.4, 0.6, 0.8, 1.0, 1.2):
        process = subprocess.Popen([sys.executable, "-c", program, str(path), str(copy)])
        time.sleep(delay)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 3
    done = migrate(str(path), str(copy))
    assert done.counts == {"memories": 6000}
    assert done.copied < 6000
