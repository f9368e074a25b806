"""Damage is noticed (B26): bits are flipped, and files are replaced, emptied and cut off under a live process."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import InvalidInput, Mind, RecollectError, StoreError
from recollect.errors import DamagedFile
from recollect.store.sqlite.checksums import connect
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache
from recollect.upkeep.doctor import Doctor
from recollect.upkeep.salvage import SalvageReport
from tests.recall.kit import WOVEN
from tests.store.looking import assert_whole, held, rare_word, sql, texts

pytestmark = pytest.mark.contract("B26")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
QUERIES = ("blue cup shelf", "number 17 of many", rare_word(33), "who waters the garden?", "invoice")


def fill(path: Path) -> None:
    """A file of about a hundred pages: texts of several pages, history, links, use, vectors."""
    with Mind(path, embedder=WOVEN) as mind:
        ids = mind.remember_many(
            f"number {n} of many {rare_word(n)} " + "the blue cup " * (n % 40) for n in range(120)
        ).ids
        mind.remember("Mara waters the garden on Fridays. " * 200, topic="garden", tags=["plants"])
        mind.edit(ids[3], text="The invoice of the roofer is due.")
        mind.link(ids[0], ids[1])
        mind.relate("Mara", "waters", "garden")
        mind.forget(ids[5])
        mind.recall("cup", 3)


@dataclass(frozen=True)
class Observed:
    """All that a user can see of a file."""

    held: list[dict[str, Any]]
    answers: list[list[tuple[str, float]]]
    counts: dict[str, int]


def observe(path: Path) -> Observed:
    with Mind(path, embedder=WOVEN, clock=lambda: NOW) as mind:
        answers = [[(each.memory.id, each.score) for each in mind.recall(query, track=False)] for query in QUERIES]
        return Observed(held(mind), answers, mind.status().store.memories)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    fill(path)
    return path


def flip_bits(sound: Path, folder: Path, files: int, seed: int) -> dict[str, int]:
    """Flip a bit in a copy of the file, and look at it; how often which outcome was seen."""
    chance = random.Random(seed)
    whole = sound.read_bytes()
    before = observe(shutil.copyfile(sound, folder / "before.db"))
    outcomes: dict[str, int] = {}
    for number in range(files):
        flipped = bytearray(whole)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            # Every fourth file is hit in its first page, where the header and the schema are.
            at = chance.randrange(4096 if number % 4 == 0 else len(whole))
            flipped[at] ^= 1 << chance.randrange(8)
        path = folder / f"{number}.db"
        path.write_bytes(flipped)
        report = Doctor(path, WOVEN).diagnose()  # must never crash
        try:
            outcome = "right" if observe(path) == before else "wrong"
        except RecollectError as error:
            outcome = "reported" if str(path) in str(error) and report.findings else f"{error}, {report.findings}"
        assert outcome in ("right", "reported"), f"file {number} of seed {seed}: {outcome}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome == "reported":
            outcomes["salvaged"] = outcomes.get("salvaged", 0) + salvaged_rightly(path, before)
        for each in folder.glob(f"{number}.db*"):
            each.unlink()
    return outcomes


def salvaged_rightly(path: Path, before: Observed) -> bool:
    """Salvage a damaged file; whether nearly all memories are there. All that are not named as unverified are right."""
    new = path.with_name(f"{path.name}-salvaged")
    report = Doctor(path, None).salvage(new)
    texts = {record["id"]: record["text"] for record in before.held if record["type"] == "memory"}
    with Mind(new, embedder=None) as mind:
        found = {record["id"]: record["text"] for record in held(mind) if record["type"] == "memory"}
    assert {id: text for id, text in found.items() if texts.get(id) != text}.keys() <= {*report.unverified}
    return len(found) >= 0.9 * len(texts)


def test_twenty_files_with_flipped_bits_are_reported_or_right(sound: Path, tmp_path: Path) -> None:
    outcomes = flip_bits(sound, tmp_path, files=20, seed=26)
    assert outcomes["reported"] >= 15
    assert outcomes["salvaged"] >= 0.9 * outcomes["reported"]


@pytest.mark.slow
def test_four_hundred_files_with_flipped_bits_are_reported_or_right(sound: Path, tmp_path: Path) -> None:
    outcomes = flip_bits(sound, tmp_path, files=400, seed=400)
    assert outcomes["reported"] >= 300
    assert outcomes["salvaged"] >= 0.9 * outcomes["reported"]


def salvage(path: Path) -> tuple[SalvageReport, dict[str, dict[str, Any]]]:
    """Write what can be read to a new file; the report, and the memories that are there."""
    new = path.with_name("salvaged.db")
    report = Doctor(path, WOVEN).salvage(new)
    assert Doctor(new, WOVEN).diagnose().healthy
    with Mind(new, embedder=WOVEN) as mind:
        return report, {record["id"]: record for record in held(mind) if record["type"] == "memory"}


def test_what_can_be_read_of_a_file_beyond_repair_is_written_to_a_new_one(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    with Mind(path, embedder=WOVEN) as mind:
        before = {record["id"]: record for record in held(mind) if record["type"] == "memory"}
        links = (len(mind.edges()), len(mind.entity_edges()))
    with closing(connect(str(path))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        sql_of_leaves = "SELECT pageno FROM dbstat WHERE name = 'memories' AND pagetype = 'leaf'"
        torn = [page for (page,) in connection.execute(sql_of_leaves)][3]
        schema_and_torn = {1, torn}
    with path.open("r+b") as file:
        for page in schema_and_torn:  # the schema, and some memories
            file.seek((page - 1) * 4096)
            file.write(os.urandom(4096))
    damaged = path.read_bytes()
    (finding,) = Doctor(path, WOVEN).repair().findings
    assert finding.fix == ""
    assert "doctor --salvage NEW.db" in finding.means
    report, after = salvage(path)
    assert len(before) - 40 < len(after) < len(before), "all but those on one page"
    assert f"memories that can still be read: {len(after)}" in finding.means
    same = ("text", "created", "topic", "tags", "status", "collection")
    assert all(
        {name: before[id].get(name) for name in same} == {name: after[id].get(name) for name in same} for id in after
    )
    assert (report.memories, report.links) == (len(after), sum(links))
    assert report.damaged_pages == 2
    assert "deleted" in " ".join(report.problems), "the list of free pages begins on the first one"
    assert path.read_bytes() == damaged
    with pytest.raises(InvalidInput, match="exists already"):
        Doctor(path, WOVEN).salvage(tmp_path / "salvaged.db")


def test_memories_from_damaged_pages_are_named(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    content = path.read_bytes()
    at = content.index(b"Mara waters the garden")
    path.write_bytes(content[:at] + b"N" + content[at + 1 :])
    report, after = salvage(path)
    assert 0 < len(report.unverified) < 40
    (changed,) = [id for id, record in after.items() if "Nara waters" in record["text"]]
    assert changed in report.unverified


def test_what_was_committed_to_the_log_only_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Mind(path, embedder=WOVEN) as mind:
        mind.remember("in the file")
        checkpoint(path)
        mind.remember("in the log only")
        for suffix in ("", "-wal"):
            copy_by_another_process(Path(f"{path}{suffix}"), Path(f"{path.with_name('torn.db')}{suffix}"))
    torn = path.with_name("torn.db")
    with torn.open("r+b") as file:
        file.write(bytes(100))  # no header
    log = Path(f"{torn}-wal")
    content = log.read_bytes()
    report, after = salvage(torn)
    assert {record["text"] for record in after.values()} == {"in the file", "in the log only"}
    assert (report.unverified, report.damaged_pages) == ((), 1)
    log.write_bytes(content.replace(b"in the log only", b"in the fog only"))
    torn.with_name("salvaged.db").unlink()
    report, after = salvage(torn)
    (changed,) = [id for id, record in after.items() if "fog" in record["text"]]
    assert changed in report.unverified
    assert report.damaged_pages > 1


def test_what_was_deleted_in_the_log_only_is_not_salvaged(tmp_path: Path) -> None:
    path, torn = tmp_path / "memory.db", tmp_path / "torn.db"
    with Mind(path, embedder=None) as mind:
        mind.remember_many(f"number {n} of many " + "the blue cup " * 40 for n in range(60))
    with closing(connect(str(path))) as connection:
        connection.execute("DELETE FROM memories WHERE row > 3")
        connection.execute("VACUUM")  # the file becomes shorter when the log is carried over to it
        for suffix in ("", "-wal"):
            copy_by_another_process(Path(f"{path}{suffix}"), Path(f"{torn}{suffix}"))
    report = Doctor(torn, None).salvage(tmp_path / "salvaged.db")
    assert (report.memories, report.damaged_pages, report.problems) == (3, 0, ())


def test_what_was_deleted_or_erased_is_not_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Mind(path, embedder=WOVEN) as mind:
        ids = mind.remember_many(f"number {n} of many " + "the blue cup " * 40 for n in range(60)).ids
        mind.erase(ids[7])
        mind.undo(past_erasure=True)  # of the others: deleted, their pages are free
        mind.remember("the only one that is left")
    damage_table(path, "vectors")
    _, after = salvage(path)
    assert [record["text"] for record in after.values()] == ["the only one that is left"]
    with Mind(path.with_name("salvaged.db"), embedder=WOVEN) as mind:
        assert mind.store.receipts()[0].matching(ids) == [ids[7]]


def test_nothing_is_salvaged_from_a_file_of_another_program(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(StoreError, match="No memory can be read"):
        Doctor(other).salvage(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_cue_that_meets_a_damaged_page_fails_the_whole_recall(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path)
    damage_table(path, "vocabulary_stem")
    with Mind(path, embedder=WOVEN) as mind, pytest.raises(DamagedFile, match=str(path)):
        mind.recall("garden", track=False)


def damage_table(path: Path, table: str) -> None:
    """Flip a bit on every page of a table, on disk."""
    with closing(connect(str(path))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        pages = [page for (page,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,))]
        size = connection.pragma("page_size")
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * size - 100)
            byte = file.read(1)
            file.seek(page * size - 100)
            file.write(bytes([byte[0] ^ 4]))


# Files of other programs and of earlier versions.


def test_a_write_by_another_program_is_told_and_the_doctor_accepts_it(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    with closing(sqlite3.connect(path)) as other:  # reading does no harm
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (121,)
    assert observe(path)
    with closing(apsw.Connection(str(path))) as other:  # without checksums
        other.execute("UPDATE memories SET text = 'Anna waters the garden.' WHERE topic = 'garden'")
    with pytest.raises(DamagedFile, match="doctor --fix"), Mind(path, embedder=WOVEN) as mind:
        list(mind.export())
    doctor = Doctor(path, WOVEN)
    (finding,) = doctor.diagnose().findings
    assert (finding.name, finding.level) == ("wrong checksums", "error")
    assert 0 < len(finding.examples) < 5, "only those on the pages that were written"
    report = doctor.repair()
    assert (report.findings, [each.name for each in report.mended]) == ((), ["wrong checksums"])
    assert report.backup is not None
    assert [each.name for each in Doctor(report.backup).diagnose().findings] == ["wrong checksums"], (
        "the copy is as it was"
    )
    with Mind(path, embedder=WOVEN) as mind:
        assert texts(mind, "who waters the garden?", k=1) == ["Anna waters the garden."]
    assert_whole(path)


def test_damaged_vectors_are_made_again_and_answer_as_before(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    before = observe(path)
    damage_table(path, "vectors")
    assert Doctor(path, WOVEN).repair().findings == ()
    assert observe(path) == before


def test_everything_that_is_derived_can_be_rebuilt_and_answers_stay_the_same(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(sound, tmp_path / "memory.db"))
    with Mind(path, embedder=WOVEN) as live:  # another process would have the numbers of words in memory, too
        live.remember("live before the rebuild")
        before = observe(path)
        report = Doctor(path, WOVEN).rebuild()
        assert report.healthy
        assert observe(path) == before
        live.remember("zebra crossing after the rebuild")
        assert texts(live, "zebra", k=1) == ["zebra crossing after the rebuild"]
    assert Doctor(path, WOVEN, everything=True).diagnose().healthy


def test_a_file_gets_its_checksums_when_nobody_else_has_it_open(path: Path) -> None:
    shutil.copyfile(Path(__file__).parents[1] / "fixtures" / "v0_1.db", path)
    with closing(apsw.Connection(str(path))) as other:
        other.execute("SELECT count(*) FROM memories").fetchall()
        with Mind(path, embedder=None) as mind:
            mind.remember("written without a checksum")
            assert reserved(path) == 0
        assert [each.name for each in Doctor(path).diagnose().findings if each.level == "note"] == ["no checksums"]
    with Mind(path, embedder=None) as mind:
        assert reserved(path) == 8
        assert texts(mind, "checksum", k=1) == ["written without a checksum"]
    assert sql(path, "PRAGMA checksum_verification") == [("1",)]
    assert_whole(path)


def reserved(path: Path) -> int:
    """How many bytes the header reserves at the end of each page."""
    with closing(connect(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.read("main", 0, 20, 1)[1][0]


# What happens to a file that is open.


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    Mind(other, embedder=None).close()
    os.replace(other, path)


def overwritten(path: Path) -> None:
    """As cp does: the same file for the system, with other content."""
    other = path.with_name("other.db")
    with Mind(other, embedder=None) as mind:
        mind.remember_many(f"another {n} of many" for n in range(400))
    copy_by_another_process(other, path)


def copy_by_another_process(source: Path, to: Path) -> None:
    """A process that opens and closes a file loses the locks that SQLite has on it."""
    subprocess.run([sys.executable, "-c", f"import shutil; shutil.copyfile({str(source)!r}, {str(to)!r})"], check=True)


def overwritten_by_an_older_copy(path: Path) -> None:
    copy_by_another_process(path.with_name("older.db"), path)


def overwritten_by_a_text(path: Path) -> None:
    text = path.with_name("text")
    text.write_text("A cup. " * path.stat().st_size)
    copy_by_another_process(text, path)


def deleted(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def cut_off(path: Path) -> None:
    with closing(connect(str(path))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    os.truncate(path, path.stat().st_size // 2)


def checkpoint(path: Path) -> None:
    with closing(connect(str(path))) as connection:
        connection.execute("SELECT count(*) FROM memories").fetchall()  # until then it does not know of the log
        assert connection.wal_checkpoint()[1] > 0


def without_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@pytest.mark.parametrize(
    ("ruin", "message"),
    [
        (replaced, "replaced by another file"),
        (overwritten, "overwritten by another file|cut off"),
        (overwritten_by_an_older_copy, "overwritten by another file|cut off"),
        (overwritten_by_a_text, "overwritten by another file"),
        (deleted, "deleted or moved"),
        (emptied, "emptied while it was open"),
        (cut_off, "cut off|malformed"),
        (without_log, "-wal.*was deleted"),
    ],
)
def test_no_write_is_acknowledged_after_the_file_was(path: Path, ruin: Callable[[Path], None], message: str) -> None:
    mind = Mind(path, embedder=None)
    mind.remember_many(f"number {n} of many" for n in range(300))
    checkpoint(path)
    copy_by_another_process(path, path.with_name("older.db"))
    mind.remember_many(f"more {n} of many" for n in range(20))
    mind.recall("number")
    mind.remember("the last one that was acknowledged")
    checkpoint(path)
    mind.list()  # as large as it is now
    ruin(path)
    for _ in range(100):
        with pytest.raises(StoreError, match=message) as refused:
            mind.remember("acknowledged to nobody")
        assert str(path) in str(refused.value)
    mind.close()


@pytest.mark.parametrize("ruin", [replaced, overwritten, overwritten_by_a_text, deleted, emptied])
def test_no_question_is_answered_from_a_file_that_was(path: Path, ruin: Callable[[Path], None]) -> None:
    mind = Mind(path, embedder=None)
    mind.remember("The cup is on the shelf.")
    mind.recall("cup")
    ruin(path)
    with pytest.raises(StoreError, match=str(path)):
        mind.recall("cup")
    mind.close()


def test_a_damaged_embedding_cache_is_named_and_the_doctor_deletes_it(path: Path) -> None:
    cache = Path(f"{path}-vectors")
    with closing(SqliteEmbeddingCache(cache)) as entries:
        entries.put(("a", "b", "c"), {bytes([n]) * 32: os.urandom(1500) for n in range(50)})
    Mind(path, embedder=None).close()
    assert Doctor(path).diagnose().healthy
    damage_table(cache, "vectors")
    with closing(SqliteEmbeddingCache(cache)) as entries, pytest.raises(DamagedFile, match=str(cache)):
        entries.get(("a", "b", "c"), [bytes([n]) * 32 for n in range(50)])
    assert [each.name for each in Doctor(path).repair().mended] == ["a damaged embedding cache"]
    assert not cache.exists()
