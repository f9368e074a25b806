"""Opening a file: ours, a newer one, another program's, or nothing that could be opened at all."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import apsw
import pytest

from recollect import InvalidInput, Mind, StoreError
from tests.store.looking import sql, texts


def test_what_was_remembered_is_there_when_the_file_is_opened_again(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        kept = mind.remember("The blue cup is on the top shelf.", tags=["kitchen"], context={"height": 1.8})
    with Mind(path, embedder=None) as mind:
        assert mind.show(kept.id) == kept
        assert texts(mind, "blue cup") == ["The blue cup is on the top shelf."]


def test_each_migration_is_applied_once_and_recorded_by_name(path: Path) -> None:
    Mind(path, embedder=None).close()
    first = sql(path, "SELECT name, applied FROM migrations")
    for _ in range(3):
        Mind(path, embedder=None).close()
    assert sql(path, "SELECT name, applied FROM migrations") == first
    assert [name for name, _ in first] == sorted({name for name, _ in first})
    assert first[0][0] == "0001_memories"


def test_the_file_says_whose_it_is(path: Path) -> None:
    Mind(path, embedder=None).close()
    assert sql(path, "PRAGMA application_id") == [(0x7265636F,)]


def test_the_file_is_in_wal_mode(path: Path) -> None:
    Mind(path, embedder=None).close()
    assert sql(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_closed_memory_is_one_file(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember("one")
        mind.recall("one")
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_from_a_newer_version_is_refused_and_left_as_it_is(path: Path, readonly: bool) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember("written by the future")
    sql(path, "INSERT INTO migrations VALUES ('9999_from_the_future', 0)")
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"newer version.*9999_from_the_future.*Use a newer version of Recollect"
    ) as refusal:
        Mind(path, embedder=None, readonly=readonly)
    assert str(path) in str(refusal.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_refused_and_left_as_it_is(path: Path, journal: str, readonly: bool) -> None:
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA journal_mode = {journal}")
    other.execute("CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, title TEXT)")
    other.execute("INSERT INTO moz_bookmarks (title) VALUES ('home')")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Mind(path, embedder=None, readonly=readonly)
    assert path.read_bytes() == before


def test_a_file_with_our_mark_but_without_our_tables_is_refused(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE something (x)")
    connection.execute(f"PRAGMA application_id = {0x7265636F}")
    connection.close()
    with pytest.raises(StoreError):
        Mind(path, embedder=None)
    assert sql(path, "SELECT name FROM sqlite_schema") == [("something",)]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("content", [b"# Shopping\n- milk\n", b"\0" * 5000, b"not a database " * 1000, b"xy"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes, readonly: bool) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=str(path)):
        Mind(path, embedder=None, readonly=readonly)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    with Mind(path, embedder=None) as mind:
        mind.remember("into the empty file")
        assert texts(mind, "empty") == ["into the empty file"]


def test_a_damaged_file_is_refused_in_our_words(path: Path) -> None:
    with Mind(path, embedder=None) as mind:
        mind.remember_many(f"memory number {number} with some words in it" for number in range(200))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match=str(path)), Mind(path, embedder=None) as mind:
        list(mind.export())


def test_a_directory_is_no_memory(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=str(tmp_path)):
        Mind(tmp_path, embedder=None)


def test_a_missing_file_cannot_be_opened_for_reading(path: Path) -> None:
    with pytest.raises(StoreError, match=f"There is no file {path}"):
        Mind(path, embedder=None, readonly=True)
    assert not path.exists()


def test_what_is_no_path_is_refused_in_our_words() -> None:
    with pytest.raises(InvalidInput, match="path must be the name of a file, not None"):
        Mind(None)  # type: ignore[arg-type]


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="folder"):
        Mind(tmp_path / "nowhere" / "memory.db", embedder=None)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["a?b=c#d.db", "100%.db", "%41.db", "mit Leerzeichen.db", "日本.db", "file:x?mode=ro"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Mind(tmp_path / name, embedder=None) as mind:
        mind.remember("kept under an odd name")
    assert [each.name for each in tmp_path.iterdir()] == [name]
    with Mind(tmp_path / name, embedder=None) as mind:
        assert texts(mind, "odd name") == ["kept under an odd name"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_a_memory_can_be_written_to(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "memory.db", tmp_path / "link.db"
    if exists:
        Mind(file, embedder=None).close()
    link.symlink_to(file)
    with Mind(link, embedder=None) as mind:
        mind.remember("The cup is blue.")
    with Mind(file, embedder=None) as mind:
        assert [each.text for each in mind.list()] == ["The cup is blue."]


def test_a_name_that_no_file_can_have_is_refused_in_our_words(tmp_path: Path) -> None:
    with pytest.raises((StoreError, InvalidInput)):
        Mind(f"{tmp_path}/not\0a\0name.db", embedder=None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_that_is_no_unicode_will_do_or_is_refused_in_our_words(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"latin-\xfc.db")
    try:
        Mind(odd, embedder=None).close()
    except (StoreError, InvalidInput):
        assert list(tmp_path.iterdir()) == []
    else:
        assert list(tmp_path.iterdir()) == [odd]


def test_a_memory_without_a_file_is_gone_when_it_is_closed() -> None:
    with Mind(":memory:", embedder=None) as mind:
        mind.remember("for a moment")
        folder = Path(mind.path).parent
        assert texts(mind, "moment") == ["for a moment"]
    assert not folder.exists()


def test_a_setting_that_is_none_is_refused_before_a_file_is_made(path: Path) -> None:
    with pytest.raises(InvalidInput, match="durability"):
        Mind(path, embedder=None, durability="paranoid")
    with pytest.raises(InvalidInput, match="embedder"):
        Mind(path, embedder="nonesuch")
    assert not path.exists()


def test_fast_durability_keeps_everything_too(path: Path) -> None:
    with Mind(path, embedder=None, durability="fast") as mind:
        mind.remember("kept fast")
    with Mind(path, embedder=None) as mind:
        assert texts(mind, "fast") == ["kept fast"]
