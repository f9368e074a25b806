"""The command as a process of its own: pipes, encodings, completion, and how fast the help is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from recollect import Mind
from tests.cli.conftest import Command

PROGRAM = [sys.executable, "-m", "recollect"]


def start(
    folder: Path, *words: str | bytes, env: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command: Sequence[str | bytes] = [*PROGRAM, *words]
    around = {**os.environ, "RECOLLECT_EMBEDDER": "none", "PYTHONPATH": str(Path(__file__).parents[2]), **(env or {})}
    return subprocess.run(command, cwd=folder, env=around, input=stdin, capture_output=True, timeout=60)


def test_remember_and_recall_in_processes_of_their_own_with_the_local_model(tmp_path: Path) -> None:
    env = {"RECOLLECT_EMBEDDER": "local"}
    assert start(tmp_path, "remember", "The blue cup is on the top shelf.", env=env).returncode == 0
    told = start(tmp_path, "recall", "where is the mug?", env=env)
    assert b"The blue cup is on the top shelf." in told.stdout
    assert b"vectors" in told.stdout


def test_commands_that_need_no_model_load_none(tmp_path: Path) -> None:
    local = {"RECOLLECT_EMBEDDER": "local"}
    ids = [start(tmp_path, "remember", text, env=local).stdout.split()[-1].decode() for text in ("A cup.", "A mug.")]
    commands = [
        *(["show", ids[0]], ["list"], ["status"], ["recipes"], ["config", "show"], ["export", "all.jsonl"]),
        *(["link", *ids], ["unlink", *ids], ["contradict", *ids], ["relate", "ann", "knows", "bob"], ["decay"]),
        *(["reinforce", ids[0]], ["edit", ids[0], "--tag", "a"], ["forget", ids[0]], ["undo"], ["eval", "--template"]),
    ]
    script = "import sys; from recollect.cli.app import run\n"
    script += f"for words in {commands!r}: print(run(words), 'onnxruntime' in sys.modules, words, file=sys.stderr)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **local}
    told = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True)
    lines = told.stderr.splitlines()
    assert len(lines) == len(commands), told.stderr
    assert [line for line in lines if line.split()[1] == "True"] == []
    assert all(line[0] in "01" for line in lines), told.stderr


@pytest.fixture(scope="module")
def folder_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with more memories than the buffer of a pipe takes."""
    folder = tmp_path_factory.mktemp("many")
    with Mind(folder / "memory.db", embedder=None) as mind:
        mind.remember_many([f"Text number {number}. " + "x" * 500 for number in range(1_000)])
    return folder


@pytest.mark.parametrize("words", [["list", "--limit", "1000"], ["export", "-"], ["list", "--json", "--limit", "1000"]])
def test_a_pipe_that_is_closed_ends_a_command_without_a_traceback(folder_of_many: Path, words: list[str]) -> None:
    around = {**os.environ, "RECOLLECT_EMBEDDER": "none", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = subprocess.Popen(
        [*PROGRAM, *words], cwd=folder_of_many, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.read(10)
    command.stdout.close()
    told = command.stderr.read()
    command.wait(60)
    assert b"Traceback" not in told
    assert b"BrokenPipe" not in told


def test_a_pipe_gets_no_colours_and_whole_ids(tmp_path: Path) -> None:
    id = start(tmp_path, "remember", "cup").stdout.split()[-1]
    for words in (["list"], ["recall", "cup", "--explain"], ["status"], ["--help"], ["list", "--nope"]):
        told = start(tmp_path, *words)
        assert b"\x1b" not in told.stdout + told.stderr
    assert id in start(tmp_path, "list").stdout


def test_forced_colours_are_there(tmp_path: Path) -> None:
    start(tmp_path, "remember", "cup")
    assert b"\x1b[" in start(tmp_path, "list", env={"FORCE_COLOR": "1"}).stdout


def test_bytes_that_are_no_text_and_a_poor_terminal_do_not_crash(tmp_path: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert start(tmp_path, "remember", b"caf\xe9 cup", "Tür 门", env=ascii_only).returncode == 0
    for words in (["recall", "cup", "--explain"], ["list"], ["list", "--json"], ["export"]):
        told = start(tmp_path, *words, env=ascii_only)
        assert (told.returncode, told.stderr) == (0, b"")


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path) -> None:
    start(tmp_path, "remember", "--lines-from", "-", stdin=b"a cup of something\n" * 5000)
    process = subprocess.Popen(
        [*PROGRAM, "export"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() in (0, 1, -signal.SIGPIPE)
    process.stderr.close()


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    start(tmp_path, "remember", "cup")
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        shell = ["sh", "-c", f'"$@" list {closed}', "sh", *PROGRAM]
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(shell, cwd=tmp_path, env=env, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_completion_script_is_shown_and_recipes_are_completed(tmp_path: Path) -> None:
    shown = start(tmp_path, env={"_RECOLLECT_COMPLETE": "source_bash"})
    assert b"_recollect_completion" in shown.stdout
    words = {"COMP_WORDS": "recollect recall cup --recipe def", "COMP_CWORD": "4"}
    completed = start(tmp_path, env={"_RECOLLECT_COMPLETE": "complete_bash", **words})
    assert completed.stdout.split() == [b"default"]


def test_the_version_is_told(recollect: Command) -> None:
    assert recollect("--version").out.startswith("recollect 0.")


def test_no_words_at_all_show_the_help_with_verbs_and_exit_codes(recollect: Command) -> None:
    told = recollect()
    assert told.code == 0
    for part in ("remember", "why-not", "--embedder", "Exit codes", "130"):
        assert part in told.out


def test_every_verb_explains_itself(recollect: Command) -> None:
    verbs = "remember recall why why-not show list edit link unlink relate forget undo status export import reembed"
    for verb in [*verbs.split(), "recipes"]:
        told = recollect(verb, "--help")
        assert told.code == 0
        assert "--json" in told.out
        assert "--db" in told.out


def test_the_help_shows_forms_that_work_and_no_types_that_say_nothing(
    recollect: Command, keep: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("cup", "--context", '{"spatial": {"position": [1, 2, 0.4]}}')
    assert recollect("list", "--near", "spatial.position:1,2,0.5:0.3").code == 0
    assert recollect("recall", "cup", "--recipe", "openmem", "--set", "max_hops=3").code == 0
    monkeypatch.setenv("COLUMNS", "80")
    told = recollect("recall", "--help").out
    assert "'spatial.position:1,2,0.5:0.3'" in told
    assert "--set max_hops=3" in " ".join(told.replace("│", " ").split())
    for verb in ("list", "link", "export", "status"):
        assert not {"<bool>", "<list[str]>"} & set(recollect(verb, "--help").out.split())


def test_a_mistyped_verb_is_met_with_a_suggestion(recollect: Command) -> None:
    told = recollect("recal", "cup")
    assert (told.code, "'recall'" in told.err) == (2, True)
