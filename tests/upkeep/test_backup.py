"""Backup and restore (B9): while others write, with every write of the disk failing, encrypted, and to a moment."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import InvalidInput, Mind, NotFound, StoreError
from recollect.store.disk import COPIES, Disk
from recollect.store.sqlite import SqliteStore
from recollect.upkeep import backup as backups
from recollect.upkeep.backup import list_backups, restore, verify_backups
from recollect.upkeep.backup_folder import PlainSeal
from recollect.upkeep.doctor import Doctor
from tests.conftest import Clock
from tests.recall.kit import WOVEN
from tests.store import programs
from tests.store.looking import assert_whole, held, rare_word, texts
from tests.store.test_without_rights import nobody
from tests.upkeep.failing_disk import FailingDisk

pytestmark = pytest.mark.contract("B9")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def mind(path: Path, clock: Clock) -> Iterator[Mind]:
    with Mind(path, embedder=WOVEN, clock=clock) as mind:
        mind.remember_many(f"number {n} of many {rare_word(n)}" for n in range(100))
        yield mind


def stored_bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def answers(path: Path, clock: Clock) -> Any:
    with Mind(path, embedder=WOVEN, clock=clock) as mind:
        found = [mind.recall(query, track=False) for query in (rare_word(7), "number 12", "many")]
        return held(mind), [[(each.memory.id, each.score) for each in recall] for recall in found]


def test_a_restored_file_answers_as_the_one_that_was_backed_up(mind: Mind, folder: Path, clock: Clock) -> None:
    mind.recall("many")
    done = mind.backup(folder)
    assert (done.memories, done.new_blocks) == (100, done.blocks)
    to = folder.with_name("restored.db")
    assert recollect.restore(folder, to).backup.id == done.id
    assert answers(to, clock) == answers(Path(mind.path), clock)
    assert_whole(to)
    assert Doctor(to, WOVEN).diagnose().healthy


def test_a_repeated_backup_costs_what_changed(mind: Mind, folder: Path, clock: Clock) -> None:
    first = mind.backup(folder)
    clock.advance(hours=1)
    same = mind.backup(folder)
    clock.advance(hours=1)
    mind.remember("one more")
    third = mind.backup(folder)
    assert same.new_blocks <= 2, "the file itself knows when it was backed up"
    assert third.new_blocks < first.blocks
    assert [each.memories for each in list_backups(folder)] == [100, 100, 101]
    assert verify_backups(folder).problems == ()


def test_a_backup_is_of_one_moment_while_another_process_writes(path: Path, folder: Path) -> None:
    with Mind(path, embedder=None) as mind:
        stop, problems = threading.Event(), []

        def write() -> None:
            number = 0
            try:
                while not stop.is_set():
                    mind.remember_many({"text": f"five {number} {n}", "topic": str(number)} for n in range(5))
                    number += 1
            except Exception as error:
                problems.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                mind.backup(folder)
        finally:
            stop.set()
            writer.join()
    assert problems == []
    for each in list_backups(folder):
        to = folder.with_name(f"{each.id}.db")
        restore(folder, to, at=each.at)
        with Mind(to, embedder=None) as restored:
            topics = [memory.topic for memory in restored.list()]
            assert {topics.count(topic) for topic in topics} <= {5}


def test_backups_that_are_not_to_be_kept_leave_nothing_behind(mind: Mind, folder: Path, clock: Clock) -> None:
    for number in range(4):
        mind.edit(
            mind.list()[0].id,
            text=f"changed {number} " + " ".join(map(rare_word, range(number * 300, number * 300 + 300))),
        )
        done = mind.backup(folder, keep=2)
        clock.advance(days=1)
    assert [each.id for each in list_backups(folder)][-1] == done.id
    assert len(list_backups(folder)) == 2
    assert len(done.removed) == 1
    clock.advance(days=10)
    assert len(mind.backup(folder, keep_days=11.5).removed) == 1
    size = stored_bytes(folder)
    mind.backup(folder.with_name("fresh"))
    assert size < 2.2 * stored_bytes(folder.with_name("fresh"))
    assert verify_backups(folder).problems == ()


def test_a_moment_is_restored_by_undoing_what_came_after_it(mind: Mind, folder: Path, clock: Clock) -> None:
    id = mind.list()[0].id
    before = clock.advance(hours=1)
    clock.advance(hours=1)
    mind.edit(id, text="changed after the moment")
    mind.remember("added after the moment")
    mind.forget(mind.list()[5].id)
    clock.advance(hours=1)
    mind.backup(folder)
    to = folder.with_name("restored.db")
    done = restore(folder, to, at=before, clock=clock)
    assert (done.undone, done.not_undone) == (3, ())
    with Mind(to, embedder=WOVEN, clock=clock) as restored:
        assert len(restored.list()) == 100
        assert "after the moment" not in restored.show(id).text


def test_of_several_backups_the_first_after_the_moment_is_taken(mind: Mind, folder: Path, clock: Clock) -> None:
    made = []
    for _ in range(3):
        made.append(mind.backup(folder))
        clock.advance(days=1)
        mind.remember(f"on {clock.now}")
    for wanted, moment in ((0, made[0].at - timedelta(days=9)), (1, made[1].at), (2, made[2].at - timedelta(hours=1))):
        done = restore(folder, folder.with_name(f"{wanted}.db"), at=moment)
        assert done.backup.id == made[wanted].id
    assert restore(folder, folder.with_name("newest.db"), at=clock.now).backup.id == made[2].id


def test_what_was_erased_is_erased_again_by_a_restore(mind: Mind, folder: Path, path: Path) -> None:
    secret = mind.remember("the password is xyzzyplugh")
    mind.backup(folder)
    mind.erase(secret.id)
    elsewhere = folder.with_name("elsewhere.db")
    restored = restore(folder, elsewhere)
    assert (restored.erased, restored.warnings) == (1, ())
    assert b"xyzzyplugh" not in elsewhere.read_bytes()
    mind.close()
    done = restore(folder, path, in_place=True)
    assert done.erased == 1
    assert done.replaced is not None
    for each in (path, Path(f"{path}-wal")):
        assert not each.exists() or b"xyzzyplugh" not in each.read_bytes()


def test_a_restore_warns_where_the_file_that_was_backed_up_cannot_tell_what_was_erased(
    mind: Mind, folder: Path, path: Path
) -> None:
    secret = mind.remember("the password is xyzzyplugh")
    mind.backup(folder)
    mind.erase(secret.id)
    mind.close()
    path.rename(path.with_name("moved.db"))
    restored = restore(folder, folder.with_name("elsewhere.db"))
    assert restored.erased == 0
    (warning,) = restored.warnings
    assert warning.startswith("Memories that were erased since the newest backup may be there again")
    assert f"There is no file {path}" in warning


def test_nothing_is_left_of_what_was_erased_after_the_moment_that_is_restored(
    mind: Mind, folder: Path, tmp_path: Path, clock: Clock
) -> None:
    clock.advance(hours=1)
    moment = clock()
    clock.advance(hours=1)
    mind.remember("Quentin's blood group is Xyzzy.", user="quentin")
    mind.backup(folder)
    mind.erase(user="quentin")
    done = restore(folder, to=tmp_path / "restored.db", at=moment)
    assert (done.undone, done.not_undone, done.erased) == (1, (), 1)
    left = b"".join(each.read_bytes() for each in tmp_path.glob("restored.db*")).lower()
    assert b"xyzzy" not in left
    assert b"quentin" not in left


@pytest.mark.parametrize("backed_up", ["before the move", "after the move"])
@pytest.mark.parametrize("whole", [False, True])
def test_nothing_comes_back_of_a_former_owner_whose_data_was_erased(
    mind: Mind, folder: Path, tmp_path: Path, clock: Clock, backed_up: str, whole: bool
) -> None:
    """A memory belonged to Quentin, and belongs to Anna now; another one was undone."""
    clock.advance(hours=1)
    mind.remember("Quentin's blood group is Xyzzy.", id="moved", user="quentin")
    clock.advance(hours=1)
    moment = clock()
    if backed_up == "before the move":
        mind.remember("Quentin fears the frumious bandersnatch.", user="quentin")
        mind.backup(folder)
        mind.undo()
    clock.advance(hours=1)
    mind.edit("moved", user="anna", text="The cup is here.")
    clock.advance(hours=1)
    if backed_up == "after the move":
        mind.backup(folder)
    clock.advance(hours=1)
    mind.erase(user="quentin")
    to = tmp_path / "restored.db"
    done = restore(folder, to, at=None if whole else moment)
    assert done.warnings == ()
    left = b"".join(each.read_bytes() for each in tmp_path.glob("restored.db*")).lower()
    assert [word for word in (b"xyzzy", b"frumious", b"bandersnatch", b"quentin") if word in left] == []
    with Mind(to, embedder=WOVEN, clock=clock) as restored:
        moved = [memory.user for memory in restored.list() if memory.id == "moved"]
        assert moved == (["anna"] if backed_up == "after the move" else [])
        assert len(restored.list()) == 100 + len(moved)


def left_of(path: Path, *words: str) -> list[str]:
    """Which of these words are in any byte of a file."""
    found = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*")).lower()
    return [word for word in words if word.encode() in found]


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
@pytest.mark.parametrize("by", ["id", "user"])
def test_a_restored_file_knows_what_was_erased_from_the_one_that_it_replaced(
    mind: Mind, path: Path, folder: Path, clock: Clock, by: str, passphrase: str | None
) -> None:
    """The first restore has nothing to erase, but the second one does."""
    first = clock.advance(hours=1)
    mind.backup(folder, passphrase=passphrase)
    clock.advance(hours=1)
    mind.remember("Quentin's blood group is Xyzzy.", id="blood", user="quentin")
    clock.advance(hours=1)
    mind.backup(folder, passphrase=passphrase)
    receipt = mind.erase("blood").receipt if by == "id" else mind.erase(user="quentin").receipt
    mind.close()
    for moment, erased in ((first, 0), (None, 1), (None, 1)):
        clock.advance(hours=1)
        done = restore(folder, path, at=moment, in_place=True, passphrase=passphrase, clock=clock)
        assert (done.erased, done.warnings) == (erased, ())
        assert done.replaced is not None
        Path(done.replaced).unlink()
        assert left_of(path, "xyzzy", "quentin") == []
        with Mind(path, embedder=WOVEN, clock=clock) as restored:
            assert receipt in restored.receipts()
            assert len(restored.list()) == 100


def test_a_restore_erases_a_user_of_whom_the_file_had_nothing_any_more(
    mind: Mind, tmp_path: Path, folder: Path, clock: Clock
) -> None:
    clock.advance(hours=1)
    kept = mind.remember("Quentin has a cup.", user="quentin").id
    mind.remember("Quentin fears the frumious bandersnatch.", user="quentin")
    mind.backup(folder)
    mind.undo()
    mind.erase(kept)
    clock.advance(hours=1)
    erased = mind.erase(user="quentin")
    assert not any(erased.removed.values())
    to = tmp_path / "restored.db"
    assert restore(folder, to).erased == 2
    assert left_of(to, "frumious", "quentin") == []


def test_a_warning_says_that_what_was_erased_from_another_memory_is_erased_again(
    mind: Mind, tmp_path: Path, path: Path, folder: Path, clock: Clock
) -> None:
    """Another memory is where the one was that was backed up: its receipts may be about names of both."""
    mind.backup(folder)
    mind.close()
    os.rename(path, tmp_path / "kept.db")
    clock.advance(hours=1)
    with Mind(path, embedder=WOVEN, clock=clock) as other:
        other.remember("something else")
        assert restore(folder, tmp_path / "one.db", clock=clock).warnings == ()
        other.erase(collection="main")
    done = restore(folder, tmp_path / "two.db", clock=clock)
    assert done.erased == 100
    assert "another memory" in done.warnings[0]
    assert str(path) in done.warnings[0]
    os.rename(path, tmp_path / "moved-away.db")
    assert restore(folder, tmp_path / "three.db", clock=clock).erased == 0


def test_a_pipe_in_place_of_the_file_that_was_backed_up_is_not_read(
    mind: Mind, tmp_path: Path, path: Path, folder: Path
) -> None:
    mind.backup(folder)
    mind.close()
    path.unlink()
    os.mkfifo(path)  # opening it would wait for ever
    (warning,) = restore(folder, tmp_path / "restored.db").warnings
    assert f"There is no file {path}." in warning


def test_what_an_import_says_of_the_future_does_not_survive_an_erasure(
    mind: Mind, tmp_path: Path, folder: Path, clock: Clock
) -> None:
    text = "Quentin's blood group is Xyzzy."
    mind.import_([{"type": "memory", "text": text, "user": "quentin", "updated": "2090-01-01T00:00:00Z"}])
    clock.advance(hours=1)
    mind.backup(folder)
    clock.advance(hours=1)
    mind.erase(user="quentin")
    to = tmp_path / "restored.db"
    assert restore(folder, to, clock=clock).erased == 1
    assert left_of(to, "xyzzy", "quentin") == []


def test_a_later_backup_tells_an_earlier_one_what_was_erased(mind: Mind, folder: Path, clock: Clock) -> None:
    secret = mind.remember("the password is xyzzyplugh")
    first = mind.backup(folder)
    clock.advance(hours=1)
    mind.erase(secret.id)
    mind.backup(folder)
    to = folder.with_name("restored.db")
    assert restore(folder, to, at=first.at).erased == 1
    assert b"xyzzyplugh" not in to.read_bytes()


def test_a_file_is_replaced_only_when_nobody_has_it_open(mind: Mind, folder: Path, path: Path) -> None:
    mind.backup(folder)
    mind.remember("after the backup")
    with pytest.raises(InvalidInput, match="in_place=True"):
        restore(folder, path)
    with pytest.raises(StoreError, match="open elsewhere"):
        restore(folder, path, in_place=True)
    assert len(mind.list()) == 101
    mind.close()
    done = restore(folder, path, in_place=True)
    with Mind(path, embedder=None) as restored:
        assert len(restored.list()) == 100
    assert done.replaced is not None
    with Mind(done.replaced, embedder=None) as aside:
        assert len(aside.list()) == 101


def test_a_damaged_file_is_replaced_in_place(mind: Mind, folder: Path, path: Path) -> None:
    mind.backup(folder)
    mind.close()
    path.write_bytes(b"\xff" * path.stat().st_size)
    restore(folder, path, in_place=True)
    with Mind(path, embedder=None) as restored:
        assert len(restored.list()) == 100


@pytest.mark.parametrize("what", ["blocks", "manifests"])
@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_damaged_backup_is_noticed(mind: Mind, folder: Path, what: str, passphrase: str | None) -> None:
    mind.backup(folder, passphrase=passphrase)
    victim = sorted(each for each in (folder / what).rglob("*") if each.is_file())[0]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    assert str(victim) in verify_backups(folder, passphrase).problems[0]
    to = folder.with_name("restored.db")
    with pytest.raises(StoreError, match="cannot be used"):
        restore(folder, to, passphrase=passphrase)
    assert [each.name for each in folder.parent.iterdir() if "restor" in each.name] == []
    assert not list(folder.parent.glob(f"{COPIES}*"))


def damage(file: Path) -> Path:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return file


def test_a_backup_that_cannot_be_used_is_named_and_the_others_are_used(
    mind: Mind, folder: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    made = []
    for number in range(3):
        made.append(mind.backup(folder))
        clock.advance(days=1)
        mind.remember(f"after {number} " + rare_word(number) * 500)
    victim = damage(folder / "manifests" / made[1].id)
    assert [each.id for each in list_backups(folder)] == [made[0].id, made[2].id]
    assert str(victim) in caplog.text
    (problem,) = verify_backups(folder).problems
    assert str(victim) in problem
    blocks = sorted((folder / "blocks").rglob("*"))
    again = mind.backup(folder, keep=1)
    assert again.removed == (made[0].id, made[2].id)
    assert str(victim) in again.warnings[0]
    assert set(blocks) <= set((folder / "blocks").rglob("*")), "which of them are its own is not known"
    restored = restore(folder, folder.with_name("restored.db"))
    assert restored.backup.id == again.id
    assert str(victim) in restored.warnings[0]
    assert "Erasures that only it knows of" in restored.warnings[0]


def test_verifying_an_encrypted_backup_writes_nothing_anywhere(mind: Mind, folder: Path) -> None:
    mind.backup(folder, passphrase="correct horse")
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args)) if event == "open" and recording else None)
    recording = True
    assert verify_backups(folder, "correct horse").problems == ()
    recording = False
    assert opened
    assert not [each for each in opened if "'w" in each or "'a" in each or "'x" in each or "+" in each]


@pytest.mark.parametrize("change", ["salt", "scrypt", "proof", {"salt": 7}, {"scrypt": {"n": 1 << 40, "r": 8, "p": 1}}])
def test_a_header_that_is_damaged_is_named(mind: Mind, folder: Path, change: str | dict[str, Any]) -> None:
    mind.backup(folder, passphrase="correct horse")
    header = folder / "recollect-backup.json"
    record = json.loads(header.read_text())
    if isinstance(change, str):
        del record["encryption"][change]
    else:
        record["encryption"].update(change)
    header.write_text(json.dumps(record))
    with pytest.raises(StoreError, match=f"{header} is damaged"):
        list_backups(folder, "correct horse")


def test_what_a_killed_backup_left_is_removed_by_the_next_one(mind: Mind, folder: Path, tmp_path: Path) -> None:
    with programs.start("back_up_slowly", mind.path, tmp_path / "others") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == '"copying"\n'
        (left,) = tmp_path.glob(f"{COPIES}*")
        os.utime(left, (0, 0))
        mind.backup(folder)  # it is in use
        assert (left / "copy.db").exists()
        killed.kill()
        killed.communicate(timeout=30)
    mind.backup(folder)
    assert not list(tmp_path.glob(f"{COPIES}*"))


@nobody
def test_a_folder_without_the_right_to_write_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:
        shared = Path(name)
        with Mind(shared / "memory.db", embedder=None) as mind:
            mind.remember("a cup")
            mind.backup(shared / "backups")
        for each in (shared, *shared.rglob("*")):
            each.chmod(0o755 if each.is_dir() else 0o644)
        (shared / "open").mkdir()
        (shared / "open").chmod(0o777)
        seen = programs.run("back_up_as_nobody", shared)
    for verb, target in (("backup", shared / "new"), ("restore", shared)):
        kind, message = seen[verb]
        assert kind == "StoreError"
        assert f"The {verb} failed: Permission denied" in message
        assert str(target) in message
    assert seen["restored"] == ["a cup"], "a folder of backups need not be writable"


def test_a_restore_says_what_may_not_be_as_expected(mind: Mind, folder: Path, path: Path, clock: Clock) -> None:
    begun = clock.now
    mind.remember("the password is xyzzyplugh", id="secret")
    clock.advance(days=1)
    mind.backup(folder)
    clock.advance(days=1)
    mind.erase("secret")
    mind.close()
    empty = restore(folder, folder.with_name("empty.db"), at=begun - timedelta(days=1))
    assert "there was nothing yet: the first change is of" in empty.warnings[0]
    late = restore(folder, folder.with_name("late.db"), at=clock.now)
    assert "The newest backup is of" in late.warnings[0]
    path.write_bytes(b"\xff" * path.stat().st_size)
    (warning,) = restore(folder, path, in_place=True).warnings
    assert "erased since the newest backup may be there again" in warning
    assert str(path) in warning


@pytest.mark.parametrize("erased", [1, 300], ids=["one receipt on a page", "a receipt over many pages"])
@pytest.mark.parametrize("damage", ["header", "schema", "every third page"])
def test_receipts_in_a_file_that_is_too_damaged_to_read_are_applied(
    mind: Mind, folder: Path, path: Path, clock: Clock, damage: str, erased: int
) -> None:
    mind.remember_many({"id": f"erased-{n}", "text": f"the password is {rare_word(n)}"} for n in range(erased))
    mind.remember("of another day", id="again")
    clock.advance(days=1)
    mind.erase("again")
    clock.advance(days=1)
    mind.remember("written after the erasure", id="again")
    clock.advance(days=1)
    mind.backup(folder)
    clock.advance(days=1)
    mind.erase(*(f"erased-{n}" for n in range(erased)))
    mind.close()
    content = bytearray(path.read_bytes())
    starts = {"header": [0], "schema": [100], "every third page": range(0, len(content), 3 * 4096)}[damage]
    for start in starts:
        content[start : start + 90] = b"\xff" * 90
    path.write_bytes(content)
    done = restore(folder, path, in_place=True)
    assert "were found in its bytes" in done.warnings[0]
    with Mind(path, embedder=None) as restored:
        left = [memory.id for memory in restored.list() if memory.id.startswith("erased-")]
        assert len(left) <= (erased // 2 if damage == "every third page" else 0)
        assert done.erased == erased - len(left)
        assert restored.show("again").text == "written after the erasure"


def test_an_encrypted_backup_tells_nothing_and_needs_its_passphrase(mind: Mind, folder: Path) -> None:
    mind.remember("the word is xyzzyplugh", topic="xyzzyplugh")
    mind.backup(folder, passphrase="correct horse")
    for each in folder.rglob("*"):
        assert not each.is_file() or b"xyzzyplugh" not in each.read_bytes()
        assert not each.is_file() or b"SQLite" not in each.read_bytes()
    for wrong in ("battery staple", None, ""):
        with pytest.raises(InvalidInput):
            restore(folder, folder.with_name("no.db"), passphrase=wrong)
    to = folder.with_name("restored.db")
    restore(folder, to, passphrase="correct horse")
    with Mind(to, embedder=None) as restored:
        assert texts(restored, "xyzzyplugh") == ["the word is xyzzyplugh"]


def test_two_blocks_that_are_exchanged_are_noticed(mind: Mind, folder: Path) -> None:
    mind.backup(folder, passphrase="correct horse")
    first, second = sorted(each for each in (folder / "blocks").rglob("*") if each.is_file())[:2]
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    assert len(verify_backups(folder, "correct horse").problems) == 2


def test_what_is_no_folder_of_backups_is_left_alone(mind: Mind, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no backups"):
        restore(folder, tmp_path / "restored.db")
    folder.mkdir()
    (folder / "holiday.jpg").touch()
    with pytest.raises(InvalidInput, match="neither empty nor"):
        mind.backup(folder)
    with Mind(tmp_path / "other.db", embedder=None) as other:
        other.backup(tmp_path / "others")
    with pytest.raises(InvalidInput, match="another memory"):
        mind.backup(tmp_path / "others")
    with Mind(mind.path, embedder=None, user="mara") as within, pytest.raises(InvalidInput, match="bound"):
        within.backup(tmp_path / "bound")


def test_status_and_doctor_know_the_last_backup(mind: Mind, folder: Path, clock: Clock) -> None:
    assert mind.status().store.last_backup is None
    mind.backup(folder)
    known = mind.status().store.last_backup
    assert known is not None
    assert (known.at, known.folder) == (clock.now, str(folder))
    assert Doctor(mind.path, WOVEN).diagnose().last_backup == known


# Every write, sync, rename and delete of the disk fails in turn.


def fail_at_every_step(run: Callable[[Disk], object], check: Callable[[int], None]) -> int:
    for number in range(1, 2000):
        disk = FailingDisk(number, errno.ENOSPC if number % 2 else errno.EIO)
        try:
            run(disk)
        except StoreError:
            check(number)
        else:
            assert disk.left > 0
            return number - 1
    raise AssertionError("it never came to its end")


def test_a_backup_that_fails_anywhere_leaves_the_earlier_ones_whole(path: Path, folder: Path, clock: Clock) -> None:
    with Mind(path, embedder=None, clock=clock) as mind:
        mind.remember_many(f"number {n} {rare_word(n)}" for n in range(30))
        mind.backup(folder)
        store = mind._store
        assert isinstance(store, SqliteStore)

        def run(disk: Disk) -> None:
            clock.advance(minutes=1)
            mind.remember(f"at {clock.now} " + rare_word(clock.now.minute) * 9)
            backups.backup(store, folder, clock, keep=2, disk=disk)

        def check(number: int) -> None:
            assert verify_backups(folder).problems == (), f"after operation {number} failed"
            assert list_backups(folder)[0].memories >= 30

        steps = fail_at_every_step(run, check)
        assert steps > 10
        mind.backup(folder, keep=1)
        assert verify_backups(folder).backups == 1
        assert not list((folder / "blocks").rglob(".partial*"))


def test_a_restore_that_fails_anywhere_leaves_the_file_as_it_was(path: Path, folder: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(f"number {n} {rare_word(n)}" for n in range(30))
        mind.backup(folder)
        mind.remember("after the backup")
    before = path.read_bytes()

    def check(number: int) -> None:
        assert path.read_bytes() == before, f"after operation {number} failed"
        assert not [each.name for each in path.parent.iterdir() if "restor" in each.name or COPIES in each.name]

    steps = fail_at_every_step(lambda disk: restore(folder, path, in_place=True, disk=disk), check)
    assert steps > 3
    with Mind(path, embedder=None) as mind:
        assert len(mind.list()) == 30


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A manifest that says what a stranger wants it to."""
    (path,) = (folder / "manifests").iterdir()
    seal = PlainSeal()
    record = json.loads(zlib.decompress(seal.open(path.name, path.read_bytes())))
    change(record)
    path.write_bytes(seal.close(path.name, zlib.compress(json.dumps(record).encode())))


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(id="../../precious"),
        lambda record: record.update(blocks=["../../../precious"]),
        lambda record: record.update(blocks=[7]),
        lambda record: record.update(at="never"),
    ],
)
def test_a_forged_backup_reaches_nothing_outside_of_its_folder(
    mind: Mind, folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("not yours")
    mind.backup(folder)
    forge(folder, change)
    with pytest.raises(StoreError, match="no complete backup"):
        restore(folder, tmp_path / "restored.db")
    mind.remember("another one")
    mind.backup(folder, keep=1)
    assert precious.read_text() == "not yours"


def test_removing_blocks_follows_no_link_and_leaves_other_files(mind: Mind, folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ("ab" * 32)).write_text("not yours")
    mind.backup(folder)
    (folder / "blocks" / "zz").symlink_to(elsewhere)
    (folder / "blocks" / "notes.txt").write_text("mine")
    mind.remember("another one")
    assert len(mind.backup(folder, keep=1).removed) == 1
    assert (elsewhere / ("ab" * 32)).exists()
    assert (folder / "blocks" / "notes.txt").exists()


@pytest.mark.parametrize(
    "name", ["blocks", "manifests", "lock", "recollect-backup.json", "one of the folders of blocks"]
)
@pytest.mark.parametrize("exists", [True, False], ids=["a link", "a link to nothing"])
def test_a_link_in_a_folder_of_backups_is_refused_by_name(
    mind: Mind, folder: Path, tmp_path: Path, name: str, exists: bool
) -> None:
    mind.backup(folder)
    planted = next((folder / "blocks").iterdir()) if name.startswith("one") else folder / name
    elsewhere = tmp_path / "elsewhere"
    planted.rename(elsewhere)
    planted.symlink_to(elsewhere if exists else tmp_path / "nowhere")
    before = {each: each.stat() for each in [elsewhere, *elsewhere.rglob("*")]}
    mind.remember_many(f"further {n} {rare_word(1000 + n)}" for n in range(100))
    for use in (lambda: mind.backup(folder, keep=1), lambda: restore(folder, tmp_path / "restored.db")):
        with pytest.raises(StoreError, match=f"{planted} is a link"):
            use()
    assert {each: each.stat() for each in [elsewhere, *elsewhere.rglob("*")]} == before
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "restored.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["a link", "a pipe", "too large"])
def test_a_block_or_manifest_that_is_no_plain_file_is_not_read(
    mind: Mind, folder: Path, tmp_path: Path, kind: str
) -> None:
    mind.backup(folder)
    block = next(each for each in (folder / "blocks").rglob("*") if each.is_file())
    (manifest,) = (folder / "manifests").iterdir()
    for path in (block, manifest):
        content = path.read_bytes()
        path.unlink()
        if kind == "a link":
            path.symlink_to("/dev/zero")
        elif kind == "a pipe":
            os.mkfifo(path)
        else:
            with path.open("wb") as file:
                file.truncate(2 << 30)
        (problem,) = verify_backups(folder).problems
        assert str(path) in problem
        with pytest.raises(StoreError, match=str(path)):
            restore(folder, tmp_path / "restored.db")
        path.unlink()
        path.write_bytes(content)
    assert verify_backups(folder).problems == ()


def test_a_planted_temporary_folder_that_is_a_link_is_left_alone(mind: Mind, folder: Path, path: Path) -> None:
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("not yours")
    os.utime(elsewhere, (0, 0))
    (path.parent / f"{COPIES}planted").symlink_to(elsewhere)
    mind.backup(folder)
    assert [each.name for each in elsewhere.iterdir()] == ["precious"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_only_the_owner_may_use_what_a_backup_creates(mind: Mind, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        mind.backup(tmp_path / "new" / "backups")
    finally:
        os.umask(before)
    created = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    modes = {(each.is_dir(), stat.S_IMODE(each.stat().st_mode)) for each in created}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_block_that_unpacks_to_more_than_a_block_is_refused(mind: Mind, folder: Path, tmp_path: Path) -> None:
    mind.backup(folder)
    bomb, seal = b"\0" * (8 << 20), PlainSeal()
    name = seal.name(bomb)
    (folder / "blocks" / name[:2]).mkdir(exist_ok=True)
    (folder / "blocks" / name[:2] / name).write_bytes(seal.close(name, zlib.compress(bomb)))
    forge(folder, lambda record: record.update(blocks=[name]))
    with pytest.raises(StoreError, match="larger than it may be"):
        restore(folder, tmp_path / "restored.db")
