"""Progress bars: how many are done, how many a second, and how long it will take."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.cli.app import run


class Terminal(io.StringIO):
    """A stderr that looks like a terminal of 120 columns."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command and returns what it displayed, without the codes for colours and for the cursor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "local")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")

    def command(*words: str) -> str:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert run(words) == 0
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())

    return command


TEXTS = [f"Note {number}: the gripper of arm {number} needs oil." for number in range(150)]


def test_lines_that_are_remembered(display: Callable[..., str]) -> None:
    Path("lines.txt").write_text("\n".join(TEXTS))
    assert re.search(
        r"Remembering .*150/150 +\d[\d,.]* texts/s +0:00:00", display("remember", "--lines-from", "lines.txt")
    )


def test_an_import_that_may_skip_records_counts_them_first(display: Callable[..., str]) -> None:
    Path("notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    assert re.search(r"Importing .*150/150 +\d[\d,.]* texts/s +0:00:00", display("import", "notes.jsonl", "--lenient"))


def test_vectors_that_are_made_again(display: Callable[..., str]) -> None:
    Path("lines.txt").write_text("\n".join(TEXTS))
    display("remember", "--lines-from", "lines.txt", "--embedder", "none")
    assert re.search(r"Embedding .*150/150 +\d[\d,.]* texts/s +0:00:00", display("reembed"))


def test_a_sync_counts_files_and_shows_texts_a_second(display: Callable[..., str]) -> None:
    Path("notes").mkdir()
    for number in range(3):
        sections = (f"# Part {part}\n\n{'The gripper needs oil. ' * 60}{part}\n" for part in range(4))
        (Path("notes") / f"{number}.md").write_text("\n".join(sections))
    assert re.search(r"Reading notes .*3/3 +\d[\d,.]* texts/s", display("sync", "notes"))


def test_a_pipe_gets_no_progress_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    Path("lines.txt").write_text("\n".join(TEXTS[:3]))
    assert run(["remember", "--lines-from", "lines.txt", "--embedder", "none"]) == 0
    assert error.getvalue() == ""
