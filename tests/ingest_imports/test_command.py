"""import and export on the command line: what was recognised, what came of it, what was left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.ingest_imports.kit import claude_talk, openmem, written


def test_it_says_what_it_recognised_and_what_came_of_it(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk()])
    first = recollect("import", "conversations.json")
    assert (first.code, "Detected: conversations with Claude" in first.err) == (0, True)
    assert first.out == "Imported: 2 added, 0 changed, 0 the same.\n"
    assert recollect("import", "conversations.json").out == "Imported: 0 added, 0 changed, 2 the same.\n"


def test_what_was_left_out_is_listed_and_the_exit_code_says_so(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk(), *range(12)])
    outcome = recollect("import", "conversations.json")
    assert (outcome.code, outcome.out) == (1, "Imported: 2 added, 0 changed, 0 the same.\n")
    assert "12 records were left out:" in outcome.err
    assert "conversations.json, conversation 2 is not a JSON object but int." in outcome.err
    assert "… and 2 more" in outcome.err


def test_json_tells_the_same(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk(), 7])
    outcome = recollect("import", "conversations.json", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    told = outcome.json
    assert (told["kind"], told["added"], told["failed"]) == ("claude", 2, 1)
    assert told["problems"] == ["conversations.json, conversation 2 is not a JSON object but int."]


def test_strict_writes_nothing_when_one_is_bad(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk(), 7])
    outcome = recollect("import", "conversations.json", "--strict")
    assert (outcome.code, "Nothing was written." in outcome.err) == (2, True)
    assert recollect("list", "--json").json == []


def test_lenient_goes_on_past_bad_lines(recollect: Command) -> None:
    outcome = recollect("import", "-", "--lenient", stdin=b'{"text": "a"}\noops\n{"text": "b"}\n')
    assert (outcome.code, "stdin, line 2, column 1 is not valid JSON" in outcome.err) == (1, True)
    assert len(recollect("list", "--json").json) == 2


def test_a_dry_run_counts_shows_three_and_makes_no_file(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk("c-1"), claude_talk("c-2")])
    outcome = recollect("import", "conversations.json", "--dry-run")
    assert outcome.code == 0
    assert [line.split() for line in outcome.out.splitlines()[:2]] == [["memories", "4"], ["sessions", "2"]]
    assert outcome.out.count("Graça") == 3
    assert "Nothing was written." in outcome.err
    assert not (tmp_path / "memory.db").exists()
    told = recollect("import", "conversations.json", "-n", "--json").json
    assert (told["memories"], told["sessions"], len(told["samples"])) == (4, 2, 3)
    assert told["samples"][0]["text"] == "Which tram goes up to Graça?"


def test_an_unknown_kind_and_a_missing_file_make_no_memory(recollect: Command, tmp_path: Path) -> None:
    openmem(tmp_path / "o.db")
    assert recollect("import", "o.db", "--from", "xml").code == 2
    assert recollect("import", "none.zip", "--from", "claude").code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["o.db"]


def test_markdown_is_written_into_a_folder(recollect: Command, tmp_path: Path) -> None:
    written(tmp_path / "conversations.json", [claude_talk()])
    recollect("import", "conversations.json")
    first = recollect("export", "notes", "--format", "markdown")
    assert first.out == "Exported 2 memories on 1 page to notes; 1 new.\n"
    (page,) = (tmp_path / "notes").rglob("*.md")
    assert "Tram 28 goes up to Graça." in page.read_text(encoding="utf-8")
    assert recollect("export", "notes", "--format", "markdown", "--json").json["changed"] == []
    page.write_text("mine now", encoding="utf-8")
    refused = recollect("export", "notes", "--format", "markdown")
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert page.read_text(encoding="utf-8") == "mine now"
    assert recollect("export", "notes", "--format", "markdown", "--force").code == 0
    assert recollect("export", "--format", "markdown").code == 2


@pytest.mark.parametrize("format", ["json", "html"])
def test_an_unknown_format_is_a_usage_error(recollect: Command, format: str) -> None:
    assert recollect("export", "--format", format).code == 2


def test_an_import_on_stdin_may_say_its_kind(recollect: Command) -> None:
    talk = json.dumps([claude_talk()]).encode()
    assert recollect("import", "-", "--from", "claude", "--json", stdin=talk).json["added"] == 2


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("cat.png", b"\x89PNG\r\n\x1a\n\0\0\0", "a PNG picture"),
        ("paper.pdf", b"%PDF-1.7\n", "a PDF document"),
        ("all.jsonl.gz", b"\x1f\x8b\x08\0", "a gzip file (unpack it first)"),
        ("all.jsonl", '{"text": "a"}'.encode("utf-16"), "text in UTF-16 (save it as UTF-8)"),
        ("program", b"\x7fELF\0\0", "a binary file"),
        ("notes.txt", b"Buy milk.\n", "plain text ('recollect remember --lines-from FILE'"),
    ],
)
def test_a_file_that_is_something_else_is_called_what_it_looks_like(
    recollect: Command, name: str, content: bytes, looks: str
) -> None:
    Path(name).write_bytes(content)
    outcome = recollect("import", name)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {name} looks like {looks}")
    assert "JSON lines (jsonl), " in outcome.err
    assert "robotmem database (robotmem)." in outcome.err
