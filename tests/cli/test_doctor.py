"""doctor and the probes, in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.store.looking import sql

Keep = Callable[..., str]


def test_a_healthy_file_exits_with_0(recollect: Command, keep: Keep) -> None:
    keep("The cup is blue.")
    outcome = recollect("doctor")
    assert (outcome.code, outcome.out) == (0, "Healthy: memory.db\n")
    assert recollect("doctor", "--json").json == {
        "path": "memory.db",
        "healthy": True,
        "findings": [],
        "mended": [],
        "backup": None,
        "last_backup": None,
    }


def test_a_finding_says_what_it_means_and_what_fix_does_and_exits_with_1(
    recollect: Command, keep: Keep, tmp_path: Path
) -> None:
    keep("The cup is blue.")
    sql(tmp_path / "memory.db", "INSERT INTO use (row) VALUES (99)")
    outcome = recollect("doctor")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "warning  use of no memory: Marks of use that belong to no memory: 1.",
        "    They take up room; nothing reads them.",
        "    such as 99",
        "    --fix removes them.",
        "1 finding in memory.db",
    ]
    (finding,) = recollect("doctor", "--json").json["findings"]
    assert (finding["name"], finding["level"], finding["examples"]) == ("use of no memory", "warning", ["99"])


def test_a_mistake_in_a_followed_folders_configuration_is_a_finding(recollect: Command, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for collection in ("notes", "twin"):
        assert recollect("sync", "notes", "--collection", collection).code == 0
    assert recollect("doctor").code == 0
    (notes / "recollect.yaml").write_text("recollect: {k: 0}\n", encoding="utf-8")
    outcome = recollect("doctor", "--json")
    (finding,) = outcome.json["findings"]
    assert (outcome.code, finding["name"]) == (1, "a problem in the configuration")
    assert finding["what"].startswith(f"{notes}/recollect.yaml:1: recollect.k: must be")


def test_fix_mends_reports_and_keeps_a_copy(recollect: Command, keep: Keep, tmp_path: Path) -> None:
    keep("The cup is blue.")
    sql(tmp_path / "memory.db", "UPDATE words SET entries = x''")
    assert recollect("recall", "cup").code == 1
    outcome = recollect("doctor", "--fix")
    assert outcome.code == 0
    assert "repaired  words that are not those of the text" in outcome.out
    (copy,) = tmp_path.glob("memory.db.before-doctor-*")
    assert copy.name in outcome.out
    assert recollect("recall", "cup").code == 0


def test_what_cannot_be_mended_stays_a_finding(recollect: Command, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database at all, and long enough to look at" * 50)
    outcome = recollect("doctor", "--fix")
    assert outcome.code == 1
    assert "it cannot be opened" in outcome.out
    assert "--fix cannot help here." in outcome.out


def test_the_configuration_is_examined_too(recollect: Command, keep: Keep, tmp_path: Path) -> None:
    keep("The cup is blue.")
    file = tmp_path / "mine.yaml"
    file.write_text(
        "agents: {defaults: {memorySearch: {extraPaths: [gone], remote: {apiKey: s3cret}}}}\nrecollect: {k: 0}\n",
        encoding="utf-8",
    )
    file.chmod(0o644)
    outcome = recollect("doctor", "--config", "mine.yaml", "--json")
    assert outcome.code == 1
    assert [finding["name"] for finding in outcome.json["findings"]] == [
        "a problem in the configuration",
        "an extra path that does not exist",
        "a key that others can read",
    ]
    assert "s3cret" not in outcome.out
    file.chmod(0o600)
    names = [finding["name"] for finding in recollect("doctor", "--config", "mine.yaml", "--json").json["findings"]]
    assert "a key that others can read" not in names


def test_missing_vectors_are_made_by_fix(recollect: Command, keep: Keep) -> None:
    keep("The cup is blue.")
    outcome = recollect("doctor", "--embedder", "local")
    assert (outcome.code, "memories without a vector" in outcome.out) == (1, True)
    assert recollect("doctor", "--embedder", "local", "--fix").code == 0
    assert recollect("status", "--json").json["without_vector"] == 0


def test_tokens_that_an_older_version_did_not_keep_are_made_by_fix(recollect: Command, tmp_path: Path) -> None:
    recollect("remember", "The cup is blue.", "--embedder", "local")
    sql(tmp_path / "memory.db", "DELETE FROM sketches")
    (finding,) = recollect("doctor", "--embedder", "local", "--json").json["findings"]
    assert (finding["name"], finding["level"]) == ("vectors without tokens", "note")
    assert recollect("doctor", "--embedder", "local", "--fix").code == 0
    assert sql(tmp_path / "memory.db", "SELECT length(sketch) > 0 FROM sketches") == [(1,)]


def test_a_key_in_a_file_that_others_can_read_is_told_but_not_one_from_the_environment(
    recollect: Command, keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("The cup is blue.")
    monkeypatch.setenv("MY_KEY", "sk-secret-1234")
    file = tmp_path / "home" / "recollect" / "config.yaml"
    file.parent.mkdir(parents=True)
    for key, told in (("${MY_KEY}", False), ("sk-secret-1234", True)):
        file.write_text(f"agents: {{defaults: {{memorySearch: {{remote: {{apiKey: '{key}'}}}}}}}}")
        file.chmod(0o644)
        outcome = recollect("doctor")
        assert ("a key that others can read" in outcome.out) is told
        assert "sk-secret-1234" not in outcome.out


def test_status_says_why_auto_chose_a_model(recollect: Command, keep: Keep) -> None:
    keep("The cup is blue.")
    assert "auto: the local model is installed" in recollect("--embedder", "auto", "status").out
    assert "--embedder names it" in recollect("--embedder", "none", "status").out


def test_a_file_beyond_repair_is_salvaged_into_a_new_one(recollect: Command, keep: Keep, tmp_path: Path) -> None:
    id = keep("The cup is blue.")
    with (tmp_path / "memory.db").open("r+b") as file:
        file.write(bytes(4096))  # its first page
    outcome = recollect("doctor", "--fix")
    assert outcome.code == 1
    assert "memories that can still be read: 1." in outcome.out
    assert "'recollect --db memory.db doctor --salvage NEW.db' writes them to a new file." in outcome.out
    outcome = recollect("doctor", "--salvage", "new.db")
    assert outcome.code == 0
    assert outcome.out.splitlines()[0] == (
        "Salvaged: 1 memory and 0 links in new.db. Damaged pages: 1. History, use and folders were not carried over."
    )
    assert recollect("--db", "new.db", "recall", "cup", "--json").json["results"][0]["id"] == id
    assert recollect("doctor", "--salvage", "new.db").err.startswith("error: new.db exists already")
    assert recollect("doctor", "--salvage", "third.db", "--fix").code != 0
    assert recollect("doctor", "--salvage", "third.db", "--json").json["memories"] == 1


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be set")
def test_what_is_rebuilt_salvaged_or_copied_tells_of_the_same_days(
    recollect: Command, keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(name: str) -> list[bytes]:
        return [bytes(times) for (times,) in sql(tmp_path / name, "SELECT times FROM told_times")]

    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        keep("Yesterday we saw the blue cup.")
        before = told("memory.db")
        assert recollect("migrate", "memory.db", "copy.db").code == 0
        assert recollect("doctor", "--salvage", "salvaged.db").code == 0
        assert recollect("doctor", "--rebuild").code == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [told(name) for name in ("memory.db", "copy.db", "salvaged.db")] == [before] * 3
