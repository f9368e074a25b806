"""The doctor: files are really damaged, and each finding is seen, explained and mended."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from recollect import Mind
from recollect.embed import Embedder
from recollect.store.sqlite.checksums import connect
from recollect.store.sqlite.migrations import APPLICATION_ID, MIGRATIONS
from recollect.systems.openclaw.workspace import Workspace
from recollect.upkeep.doctor import Doctor, DoctorReport
from tests.recall.kit import WOVEN
from tests.store.looking import held, sql, texts

ROOT = Path(__file__).parents[2]
TEXTS = ("The blue cup is on the top shelf.", "The dog barks at night.", "Invoices are due on Friday.")


class Letters:
    """A tiny model: how often each letter stands in a text."""

    name, dim = "letters", 26

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[text.lower().count(chr(97 + at)) + 0.01 for at in range(self.dim)] for text in texts]


class Turned(Letters):
    """The same name, and quite other vectors."""

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [[(-1.0) ** at * each for at, each in enumerate(row)] for row in super().embed(texts)]


class Broken(Letters):
    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        raise OSError("no such model")


@pytest.fixture
def path(path: Path) -> Path:
    """A sound file: three memories with vectors, a link, and a mark of use."""
    with Mind(path, embedder=Letters()) as mind:
        ids = mind.remember_many(TEXTS).ids
        mind.edit(ids[2], external_id="rule-7")
        mind.link(ids[0], ids[1])
        mind.recall("cup", 1)
    return path


def names(report: DoctorReport) -> list[str]:
    return [finding.name for finding in report.findings]


def test_a_sound_file_is_healthy_and_left_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    doctor = Doctor(path, Letters(), everything=True)
    assert doctor.diagnose() == DoctorReport(str(path), ())
    assert doctor.repair() == DoctorReport(str(path), ())
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*before*"))


def test_a_new_file_is_healthy(tmp_path: Path) -> None:
    Mind(tmp_path / "new.db", embedder=None).close()
    assert Doctor(tmp_path / "new.db").diagnose().healthy


FUTURE = int((datetime.now(UTC) + timedelta(days=400)).timestamp() * 1e6)
NAN = "zeroblob(50) || x'007e'"  # float16: 25 zeros and NaN

DAMAGES = {
    "unreadable details": "UPDATE memories SET tags = '{oops', context = '[]' WHERE row = 1",
    "words of no memory": "INSERT INTO words VALUES (99, x'')",
    "vectors of no memory": "INSERT INTO vectors (space, row, vector) SELECT space, 99, vector FROM vectors LIMIT 1",
    "use of no memory": "INSERT INTO use (row) VALUES (99)",
    "links to nowhere": "INSERT INTO edges VALUES (1, 99, 'supports', 1, 0, 1)",
    "vectors of a wrong size": "UPDATE vectors SET vector = x'003c003c' WHERE row = 1",
    "tokens of a wrong size": "INSERT INTO sketches SELECT space, 1, x'0102030405' FROM spaces",
    "which vectors to search": "UPDATE spaces SET active = 0",
    "a clock that was ahead": f"UPDATE changes SET at = {FUTURE} WHERE version = 1",
    "words that are not those of the text": "UPDATE words SET entries = (SELECT entries FROM words WHERE row = 2)",
    "stems of another stemmer": "UPDATE vocabulary SET stem = 'x' || stem",
    "invalid vectors": f"UPDATE vectors SET vector = CAST({NAN} AS BLOB) WHERE row = 2",
    "memories without a vector": "DELETE FROM vectors WHERE row = 3",
    "vectors of another text": "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE row = 2) WHERE row = 3",
    "missing index": "DROP INDEX memories_changed",
    "missing table": "DROP TABLE use",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_is_found_explained_and_mended(path: Path, name: str) -> None:
    with Mind(path, embedder=None) as mind:
        kept = held(mind, "use")
    sql(path, DAMAGES[name])
    damaged = path.read_bytes()
    report = Doctor(path, Letters()).diagnose()
    assert name in names(report)
    assert path.read_bytes() == damaged
    for finding in report.findings:
        assert finding.what
        assert finding.means
        assert finding.level in ("error", "warning", "note")
    treated = Doctor(path, Letters()).repair()
    assert treated.findings == ()
    assert name in [finding.name for finding in treated.mended]
    assert treated.backup
    assert Doctor(path, Letters(), everything=True).diagnose().healthy
    with Mind(path, embedder=Letters()) as mind:
        assert held(mind, "use") == kept
        assert texts(mind, "blue cup", k=1) == [TEXTS[0]]


def test_the_copy_from_before_is_the_file_as_it_was(path: Path) -> None:
    sql(path, "INSERT INTO use (row) VALUES (99)")
    backup = Doctor(path, Letters()).repair().backup
    assert backup is not None
    assert sql(Path(backup), "SELECT row FROM use WHERE row = 99") == [(99,)]
    assert sql(path, "SELECT row FROM use WHERE row = 99") == []


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A file that follows a folder of two notes."""
    for name in ("cup", "dog"):
        (tmp_path / "notes" / "memory").mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / "memory" / f"{name}.md").write_text(f"The {name} is blue.\n", encoding="utf-8")
    with Workspace(tmp_path / "notes", db=tmp_path / "notes.db", embedder=Letters()) as space:
        space.sync()
    return tmp_path / "notes.db"


def test_a_chunk_without_its_memory_is_read_again(workspace: Path) -> None:
    row = sql(workspace, "SELECT row FROM chunks WHERE file = (SELECT file FROM files WHERE path = 'memory/cup.md')")
    for table in ("memories", "words", "vectors"):
        sql(workspace, f"DELETE FROM {table} WHERE row = {row[0][0]}")
    assert names(Doctor(workspace, Letters()).diagnose()) == ["chunks that are not there"]
    assert Doctor(workspace, Letters()).repair().healthy
    with Workspace(workspace.parent / "notes", db=workspace, embedder=Letters()) as space:
        assert [each["path"] for each in space.search("cup", 1)["results"]] == ["memory/cup.md"]


def test_a_chunk_whose_file_is_unknown_is_forgotten(workspace: Path) -> None:
    sql(workspace, "DELETE FROM files WHERE path = 'memory/cup.md'")
    assert names(Doctor(workspace, Letters()).diagnose()) == ["chunks of no file"]
    assert Doctor(workspace, Letters()).repair().healthy
    assert sql(workspace, "SELECT status, count(*) FROM memories GROUP BY 1 ORDER BY 1") == [
        ("active", 1),
        ("forgotten", 1),
    ]


def test_a_folder_that_has_moved_is_told(workspace: Path) -> None:
    (workspace.parent / "notes").rename(workspace.parent / "elsewhere")
    (finding,) = Doctor(workspace, Letters()).diagnose().findings
    assert (finding.name, str(workspace.parent / "notes") in finding.what) == ("a folder that is not there", True)


def test_a_file_without_its_memories_is_not_mended_into_an_empty_one(path: Path) -> None:
    sql(path, "DROP TABLE memories")
    report = Doctor(path, Letters()).repair()
    assert [(finding.name, finding.fix) for finding in report.findings] == [("missing table", "")]
    assert sql(path, "SELECT count(*) FROM words") == [(3,)]


def test_memories_whose_words_are_gone_are_found_again(path: Path) -> None:
    sql(path, "DELETE FROM words")
    assert "words that are not those of the text" in names(Doctor(path).diagnose())
    assert Doctor(path).repair().findings == ()
    with Mind(path, embedder=None) as mind:
        assert texts(mind, "invoices") == [TEXTS[2]]


def test_one_external_id_of_two_memories_stays_with_the_newer(path: Path) -> None:
    sql(path, "DROP INDEX memories_external; UPDATE memories SET external_id = 'rule-7' WHERE row = 1")
    assert {"one external id twice", "missing index"} <= set(names(Doctor(path).diagnose()))
    assert Doctor(path).repair().findings == ()
    assert sql(path, "SELECT row, external_id FROM memories WHERE external_id <> ''") == [(3, "rule-7")]
    with Mind(path, embedder=None) as mind:
        assert mind.remember("Invoices are due on Monday.", external_id="rule-7").text == "Invoices are due on Monday."


def test_an_index_that_disagrees_with_its_table_is_built_anew(path: Path) -> None:
    connection = connect(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    hidden = connection.execute("SELECT * FROM sqlite_schema WHERE name = 'edges_target'").fetchall()
    connection.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'edges_target'")
    connection.close()
    sql(path, "UPDATE edges SET target = 3")  # behind the index's back
    connection = connect(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", hidden[0])
    connection.close()
    (finding,) = Doctor(path, Letters()).diagnose().findings
    assert (finding.name, finding.fix) == ("damage", "builds the indexes anew")
    assert Doctor(path, Letters()).repair().findings == ()
    assert sql(path, "SELECT target FROM edges INDEXED BY edges_target WHERE target = 3") == [(3,)]


def test_a_torn_page_is_an_error_that_cannot_be_mended_here(path: Path) -> None:
    (root,) = sql(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories'")[0]
    (size,) = sql(path, "PRAGMA page_size")[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * 64)
    before = path.read_bytes()
    report = Doctor(path, Letters()).repair()
    assert [(finding.level, finding.fix) for finding in report.findings] == [("error", "")]
    assert "No memory can be read from the other pages." in report.findings[0].means
    assert (path.read_bytes(), report.backup) == (before, None)


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look at" * 99)


def another_program(path: Path) -> None:
    path.unlink()
    sql(path, "CREATE TABLE bookmarks (title TEXT)")


def from_the_future(path: Path) -> None:
    sql(path, "INSERT INTO migrations VALUES ('9999_from_the_future', 0)")


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("ruin", [no_database, another_program, from_the_future, gone])
def test_what_is_no_memory_is_said_and_left_alone(path: Path, ruin: Callable[[Path], None]) -> None:
    ruin(path)
    before = path.read_bytes() if path.exists() else None
    report = Doctor(path, Letters()).repair()
    assert (names(report), report.backup) == (["it cannot be opened"], None)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("embedder", [None, WOVEN], ids=["without an embedder", "with one that has tokens"])
def test_an_older_shape_is_told_and_brought_up_to_date(path: Path, embedder: Embedder | None) -> None:
    path.unlink()
    first = connect(str(path))
    first.execute(f"PRAGMA application_id = {APPLICATION_ID}; CREATE TABLE migrations (name TEXT PRIMARY KEY, applied)")
    first.execute(MIGRATIONS["0001_memories"]).fetchall()
    first.execute("INSERT INTO migrations VALUES ('0001_memories', 0)")
    first.close()
    assert names(Doctor(path, embedder).diagnose()) == ["an older format"]
    assert Doctor(path, embedder).repair().healthy
    assert [name for (name,) in sql(path, "SELECT name FROM migrations ORDER BY name")] == sorted(MIGRATIONS)


def test_another_models_vectors_are_told_and_kept(path: Path) -> None:
    class Other(Letters):
        name = "other"

    report = Doctor(path, Other()).repair()
    assert names(report) == ["vectors of another model"]
    assert "recollect reembed" in report.findings[0].means
    assert sql(path, "SELECT count(*) FROM vectors") == [(3,)]


def test_an_embedder_that_changed_under_its_name_is_told(path: Path) -> None:
    (finding,) = Doctor(path, Turned()).repair().findings
    assert (finding.name, finding.fix) == ("an embedder that has changed", "")


def test_an_embedder_that_fails_is_told_with_its_reason(path: Path) -> None:
    (finding,) = Doctor(path, Broken()).diagnose().findings
    assert (finding.name, "no such model" in finding.what) == ("the embedder fails", True)


def test_what_can_be_mended_is_mended_though_the_embedder_fails(path: Path) -> None:
    sql(path, "INSERT INTO use (row) VALUES (99); DELETE FROM vectors WHERE row = 1")
    report = Doctor(path, Broken()).repair()
    assert names(report) == ["memories without a vector", "the embedder fails"]
    assert [finding.name for finding in report.mended] == ["use of no memory"]


def test_a_sample_is_compared_and_everything_on_demand(path: Path) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember_many([f"{'abcdefghij'[at % 10] * 9} number {at}" for at in range(300)])
    sql(path, "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE row = 1) WHERE row = 7")
    assert Doctor(path, Letters()).diagnose().healthy
    assert names(Doctor(path, Letters(), everything=True).diagnose()) == ["vectors of another text"]
    assert Doctor(path, Letters(), everything=True).repair().healthy


def test_mending_is_no_change_that_undo_takes_back(path: Path) -> None:
    sql(path, "INSERT INTO use (row) VALUES (99)")
    Doctor(path, Letters()).repair()
    with Mind(path, embedder=Letters()) as mind:
        undone = mind.undo()
    assert undone is not None
    assert undone.verb == "link"


def test_a_mind_that_is_open_meanwhile_sees_what_was_mended(path: Path) -> None:
    sql(path, "UPDATE words SET entries = x'' WHERE row = 3")
    with Mind(path, embedder=None) as mind:
        assert texts(mind, "invoices") == []
        assert Doctor(path).repair().healthy
        assert texts(mind, "invoices") == [TEXTS[2]]


def test_a_file_that_everybody_may_write_is_closed_to_them(path: Path) -> None:
    os.chmod(path, 0o666)
    (finding,) = Doctor(path).diagnose().findings
    assert (finding.name, "mode 666" in finding.what) == ("others may write", True)
    assert Doctor(path).repair().healthy
    assert path.stat().st_mode & 0o777 == 0o664


def test_what_lies_around_a_hopeless_file_is_mended_all_the_same(path: Path) -> None:
    from_the_future(path)
    os.chmod(path, 0o666)
    report = Doctor(path).repair()
    assert (names(report), [finding.name for finding in report.mended]) == (
        ["it cannot be opened"],
        ["others may write"],
    )
    assert report.backup is None


def test_a_long_log_is_written_into_the_file(path: Path) -> None:
    writer = connect(str(path))
    writer.execute("PRAGMA wal_autocheckpoint = 0; CREATE TABLE big (x); DROP TABLE big")
    writer.execute("BEGIN; CREATE TABLE big (x)")
    writer.execute("INSERT INTO big SELECT zeroblob(1 << 20) FROM json_each('[1,2,3,4,5,6,7,8]')")
    for _ in range(8):
        writer.execute("COMMIT; BEGIN; UPDATE big SET x = randomblob(1 << 20)")
    writer.execute("DROP TABLE big; COMMIT")
    report = Doctor(path).diagnose()
    assert names(report) == ["a long log"]
    assert Doctor(path).repair().healthy
    assert os.path.getsize(f"{path}-wal") == 0
    writer.close()


@pytest.mark.parametrize(
    "module", ["store/sqlite/integrity_rules.py", "store/sqlite/integrity.py", "upkeep/doctor.py", "cli/doctor.py"]
)
def test_every_finding_is_in_the_docs(module: str) -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    code = ast.parse((ROOT / "recollect" / module).read_text("utf-8"))
    named = [
        node.args[0].value
        for node in ast.walk(code)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("Finding", "Rule")
        and isinstance(node.args[0], ast.Constant)
    ]
    assert named
    assert [name for name in named if str(name) not in page] == []
