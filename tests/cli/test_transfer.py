"""export and import: nothing lost, nothing half done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from tests.cli.conftest import Command

Keep = Callable[..., str]


def test_an_export_imported_elsewhere_exports_the_same(recollect: Command, keep: Keep) -> None:
    a = keep("Die Tür ist zu. 门 🚪", "--tag", "x", "--context", '{"at": [1, 2]}', "--valid-to", "2030-01-01")
    b = keep("b", "--collection", "work")
    recollect("link", a, b, "--kind", "supports")
    recollect("relate", "alice", "works_with", "bob")
    recollect("recall", "Tür")
    recollect("forget", b)
    assert recollect("export", "out.jsonl", "--json").json["memories"] == 2
    exported = recollect("export").out
    assert recollect("--db", "copy.db", "import", "-", "--json", stdin=exported.encode()).json["added"] == 2
    assert recollect("--db", "copy.db", "export").out == exported
    assert Path("out.jsonl").read_text(encoding="utf-8") == exported
    assert recollect("import", "out.jsonl", "--json").json["same"] == 2


def test_plain_objects_are_imported(recollect: Command) -> None:
    assert recollect("import", "-", stdin=b'{"text": "a"}\r\n\n{"text": "b", "tags": ["t"]}').code == 0
    assert [each["text"] for each in recollect("list", "--json").json] == ["b", "a"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (b'{"text": "a"}\n\n{"text": oops}\n', "stdin, line 3, column 10 is not valid JSON"),
        (b'{"text": "a"}\n\n{"txt": "b"}\n', "stdin, line 3: there is no text (nor content) among its fields: txt"),
        (b'{"text": "a"}\n[1]\n', "stdin, line 2 must be a JSON object"),
        (b'{"text": "a"}\n\xff\xfe\n', "stdin, line 2 is not UTF-8 text: byte 0xff at column 1"),
        (b'{"text": ' + b"[" * 100_000, "stdin, line 1 cannot be read"),
        (
            b'{"text": "a", "id": "a"}\n\n{"type": "edge", "source": "a", "target": "x", "kind": "k"}\n{"text": "b"}',
            "stdin, line 3: There is no memory with the id 'x'.",
        ),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(recollect: Command, keep: Keep, lines: bytes, told: str) -> None:
    keep("before")
    outcome = recollect("import", "-", stdin=lines)
    assert outcome.code == 2
    assert told in outcome.err
    assert "Nothing was written." in outcome.err
    assert len(recollect("list", "--json").json) == 1


def test_a_missing_file_is_bad_input_and_makes_no_memory(recollect: Command, tmp_path: Path) -> None:
    assert recollect("import", "none.jsonl").code == 2
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_an_import_says_that_it_can_be_continued(
    recollect: Command, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(mind: Mind, *arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    keep("before")
    monkeypatch.setattr(Mind, "import_from", stopped)
    outcome = recollect("import", "-", "--json", stdin=b'{"text": "a"}\n')
    assert outcome.code == 130
    error = json.loads(outcome.err)
    assert (error["kind"], "the same import continues from here" in error["error"]) == ("Interrupted", True)


def test_the_memory_itself_is_never_exported_over(recollect: Command, keep: Keep) -> None:
    keep("x")
    assert recollect("export", "memory.db").code == 2
    assert len(recollect("list", "--json").json) == 1


def test_a_file_that_is_there_is_exported_over_only_by_force_or_when_agreed(recollect: Command, keep: Keep) -> None:
    keep("x")
    Path("out.jsonl").write_text("precious", encoding="utf-8")
    refused = recollect("export", "out.jsonl")
    assert (refused.code, "--force" in refused.err) == (2, True)
    kept = recollect("export", "out.jsonl", stdin=b"n\n", terminal=True)
    assert (kept.code, "Nothing was written." in kept.err) == (1, True)
    assert Path("out.jsonl").read_text(encoding="utf-8") == "precious"
    assert recollect("export", "out.jsonl", stdin=b"y\n", terminal=True).code == 0
    assert "precious" not in Path("out.jsonl").read_text(encoding="utf-8")
    assert recollect("export", "out.jsonl", "--force").code == 0
    assert recollect("export", "memory.db", "--force").code == 2
    assert recollect("export", "/dev/null").code == 0


def test_an_export_to_nowhere_is_bad_input(recollect: Command, keep: Keep) -> None:
    keep("x")
    assert recollect("export", "no/such/folder/x").code == 2


def test_migrate_copies_a_file_and_prints_what_is_in_it(recollect: Command) -> None:
    recollect("remember", "The blue cup is on the shelf.")
    done = recollect("migrate", "memory.db", "copy.db", "--json")
    assert done.code == 0, done.err
    assert (done.json["copied"], done.json["counts"]) == (1, {"memories": 1})
    assert list(done.json["checksums"]) == ["memories"]
    assert "The blue cup" in recollect("--db", "copy.db", "recall", "cup").out
    again = recollect("migrate", "memory.db", "copy.db")
    assert "Counts and checksums are the same in both." in again.out


def test_migrate_refuses_a_destination_that_is_not_empty(recollect: Command) -> None:
    recollect("remember", "One.")
    recollect("--db", "other.db", "remember", "Two.")
    refused = recollect("migrate", "memory.db", "other.db")
    assert refused.code == 2
    assert "is not empty" in refused.err
