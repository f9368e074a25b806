"""The commands in the console blocks of the docs exist, and those of the main pages print what is shown."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from recollect import Mind
from recollect.cli.app import app

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console\n(.*?)```", re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)  # a line, and what it prints
ID = re.compile(r"\b[a-z2-7]{16}\b")
Commands = list[tuple[str, str]]
CONSOLE: dict[Path, Commands] = {
    page: [command for block in BLOCK.findall(text) for command in COMMAND.findall(block.replace("\\\n", ""))]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if BLOCK.search(text := page.read_text("utf-8"))
}
SHOWN = [
    *("README.md", "docs/install.md", "docs/start/notes.md"),
    *(pytest.param(page, marks=pytest.mark.slow) for page in ("docs/index.md", "docs/start/operators.md")),
]
FILLED = ("docs/boundaries.md", "docs/explanations.md", "docs/operating.md", "docs/time.md", "docs/systems/README.md")


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", CONSOLE, ids=page_id)
def test_the_commands_of_a_page_and_their_options_exist(page: Path) -> None:
    group: Any = typer.main.get_command(app)
    for line, _ in CONSOLE[page]:
        words = shlex.split(line, comments=True)
        if words[0] != "recollect":
            continue
        words = words[1 : next((at for at, word in enumerate(words) if word in ("|", ">", "&")), None)]
        context = group.make_context("recollect", words)
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        command.make_context(name, rest, parent=context)  # an unknown option or a missing argument is an error


@pytest.fixture
def servers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Commands that a page starts in the background."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for each in started:
        each.terminate()
        each.wait(timeout=30)


@pytest.mark.parametrize("page", SHOWN)
def test_the_commands_of_a_page_print_what_it_shows(
    page: str, tmp_path: Path, servers: list[subprocess.Popen[bytes]]
) -> None:
    ids: dict[str, str] = {}  # by an id that is shown: the one that was made
    port = free_port()
    for line, shown in CONSOLE[ROOT / page]:
        line = line.replace("8765", port)
        for old, new in ids.items():
            line = re.sub(rf"\b{old[:5]}\w*", new, line)
        if line.endswith(" &"):
            servers.append(start_command(line.removesuffix(" &"), tmp_path))
            continue
        printed = run_command(line, tmp_path)
        if shown:
            assert shape(printed.stdout + printed.stderr) == shape(shown), line
            ids.update(zip(ID.findall(shown), ID.findall(printed.stdout), strict=False))
        assert printed.returncode == 0 or "error:" in shown, printed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", FILLED)
def test_the_commands_of_a_page_run_on_a_file_with_memories(page: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # the pages are read in a clone
    with Mind(tmp_path / "memory.db") as mind:
        mind.remember("The blue cup is on the top shelf.", id="mtptw7y6rllqajo4", tags=["kitchen"])
        mind.remember("Anna is allergic to peanuts.", id="g4kgzjlnz2pt3tom")
        mind.remember("We plan to paint the kitchen.", created="2020-01-01")
    for line, _ in CONSOLE[ROOT / page]:
        finished = run_command(line, tmp_path)
        assert finished.returncode in (0, 1), f"{line}\n{finished.stderr}"  # 1: nothing found


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def run_command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One line in bash, in a folder that is also the home of the user; variables that it exports stay for the next."""
    script = f". ./.exported; {line}\ncode=$?; export -p | grep RECOLLECT_ > .exported; exit $code"
    command = ["bash", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True)


def start_command(line: str, folder: Path) -> subprocess.Popen[bytes]:
    """One line in the background."""
    return subprocess.Popen(["bash", "-c", f". ./.exported; exec {line}"], cwd=folder, env=environment(folder))


def environment(folder: Path) -> dict[str, str]:
    names = {"RECOLLECT_DB", "RECOLLECT_EMBEDDER", "RECOLLECT_CONFIG", "XDG_CONFIG_HOME"}
    (folder / ".exported").touch()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ours = {"HOME": str(folder), "COLUMNS": "100", "PATH": path}
    return {name: value for name, value in os.environ.items() if name not in names} | ours


def shape(text: str) -> str:
    """The text without what differs from run to run: decimals, times, ids, folders, the order of near-equal words."""
    text = re.sub(r"\s+", " ", ID.sub("ID", text)).strip()
    text = re.sub(r"\(([\w, ]+)\)", lambda words: f"({', '.join(sorted(words[1].split(', ')))})", text)
    text = re.sub(r"just now|\d+ (s|min) ago", "recently", re.sub(r"/\S+/(?=\w+[: ])", "", text))
    return re.sub(r"\d+\.\d+|\d+ (?=ms)", "#", text)
