"""A terminal for tests: commands run in a folder of their own, by words alone unless a test says otherwise."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.app import run


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


class Stdin(io.TextIOWrapper):
    """What is typed or piped in."""

    def __init__(self, given: bytes, terminal: bool) -> None:
        super().__init__(io.BytesIO(given), encoding="utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def recollect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """``recollect("recall", "cup", stdin=b"…")``, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.delenv("RECOLLECT_DB", raising=False)
    monkeypatch.delenv("RECOLLECT_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)

    def command(*words: str, stdin: bytes = b"", terminal: bool = False) -> Outcome:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin, terminal))
        capsys.readouterr()
        code = run(words)
        told = capsys.readouterr()
        return Outcome(code, told.out, told.err)

    return command


@pytest.fixture
def keep(recollect: Command) -> Callable[..., str]:
    """Remember a text and get its id."""

    def remember(text: str, *options: str) -> str:
        outcome = recollect("remember", text, *options, "--json")
        assert outcome.code == 0, outcome.err
        return str(outcome.json["id"])

    return remember
