"""The public interface: commands and options, public names and signatures, and the keys of the JSON output.

They are compared with ``interface_snapshot.json``, so that a change of the interface is deliberate. After one:

    python -m tests.cli.test_interface_snapshot
"""

from __future__ import annotations

import inspect
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer

import recollect
from recollect import aio
from recollect.cli.app import app, run

FILE = Path(__file__).with_name("interface_snapshot.json")
ASYNC_MIND: type = vars(aio).get("AsyncMind") or vars(aio)["Mind"]
CLASSES = {"Mind": recollect.Mind, "AsyncMind": ASYNC_MIND, "Robot": recollect.Robot, "Workspace": recollect.Workspace}
SECTIONS = ("commands", "names", "signatures", "json_keys")


def describe_commands() -> dict[str, list[str]]:
    group: Any = typer.main.get_command(app)
    return {name: [_parameter(each) for each in command.params] for name, command in sorted(group.commands.items())} | {
        "recollect": [_parameter(each) for each in group.params]
    }


def _parameter(parameter: Any) -> str:
    """Such as ``--tag -t VALUE …`` or ``TEXT (required)``; without types, which Typer stores as it likes."""
    is_option = parameter.param_type_name == "option"
    shown = " ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else str(parameter.name).upper()
    value = " VALUE" if is_option and not parameter.is_flag else ""
    several = " …" if parameter.multiple or parameter.nargs == -1 else ""
    required = " (required)" if parameter.required else ""
    default = parameter.default if isinstance(parameter.default, (int, float, str)) else None
    return shown + value + several + required + ("" if default in (None, False) else f" = {default}")


def describe_signatures() -> dict[str, list[str]]:
    """The parameters of the public methods with their defaults; types may have other names without notice."""
    return {name: [*_methods(each)] for name, each in CLASSES.items()}


def _methods(owner: type) -> Iterator[str]:
    for name in sorted(dir(owner)):
        value = inspect.getattr_static(owner, name)
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(value, property):
            yield f"{name} (property)"
        elif callable(getattr(owner, name)):
            signature = inspect.signature(getattr(owner, name))
            plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
            prefix = "async " if inspect.iscoroutinefunction(getattr(owner, name)) else ""
            yield f"{prefix}{name}{inspect.Signature(plain)}"


def describe_json() -> dict[str, list[str]]:
    """The keys of each command's --json, as paths such as ``results[].memory.text``."""
    environment = {"RECOLLECT_EMBEDDER": "none", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), mock.patch.dict(os.environ, environment):
        os.environ.pop("RECOLLECT_DB", None)
        os.environ.pop("RECOLLECT_CONFIG", None)
        return dict(_json_outputs(Path(folder)))


def _json_outputs(folder: Path) -> Iterator[tuple[str, list[str]]]:
    details = (
        "--title Kitchen --tag a --user ann --session s --speaker ann --topic t --position 1 --path a.md --lines 1-2"
    )
    first = _run("remember", "The blue cup is on the shelf.", *details.split(), "--context", '{"n": 1}')
    second = _run("remember", "The red cup is in the sink.", "--valid-from", "2025-01-01")
    ids = first["id"], second["id"]
    yield "remember", _keys(first)
    (folder / "lines.txt").write_text("One line.\nAnother line.\n")
    yield "remember --lines-from", _keys(_run("remember", "--lines-from", "lines.txt"))
    yield "edit", _keys(_run("edit", ids[0], "--text", "The blue cup is on the table."))
    yield "link", _keys(_run("link", *ids))
    yield "unlink", _keys(_run("unlink", *ids))
    yield "relate", _keys(_run("relate", "ann", "knows", "bob"))
    yield "contradict", _keys(_run("contradict", *ids))
    yield "reinforce", _keys(_run("reinforce", ids[0]))
    yield "decay", _keys(_run("decay"))
    yield "supersede", _keys(_run("supersede", ids[1], "The red cup is clean."))
    yield "forget", _keys(_run("forget", ids[1]))
    yield "undo", _keys(_run("undo"))
    yield "recall", _keys(_run("recall", "blue cup"))
    yield "recall --explain", _keys(_run("recall", "blue cup", "--explain"))
    yield "context", _keys(_run("context", "blue cup"))
    yield "why", _keys(_run("why", "blue cup", ids[0]))
    yield "why-not", _keys(_run("why-not", "sink", ids[0], "-k", "1"))
    yield "compare", _keys(_run("compare", "blue cup", "-r", "default", "-r", "openmem"))
    yield "recipes", _keys(_run("recipes"))
    yield "list", _keys(_run("list"))
    yield "show", _keys(_run("show", ids[0]))
    yield "status", _keys(_run("status"))
    yield "status --probe", _keys(_run("status", "--probe"))
    yield "doctor", _keys(_run("doctor"))
    yield "config show", _keys(_run("config", "show"))
    yield (
        "config check",
        _keys(_run("config", "check", "--config", _write(folder / "wrong.yaml", "memory: {backend: x}"))),
    )
    yield "config path", _keys(_run("config", "path"))
    yield "export FILE", _keys(_run("export", "all.jsonl"))
    records: dict[str, list[Any]] = {}
    for line in (folder / "all.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        records.setdefault(record["type"], []).append(record)
    for kind, found in records.items():
        yield f"export, a record of type {kind}", _keys(found)
    yield "export --format markdown", _keys(_run("export", "--format", "markdown", "pages"))
    yield "import", _keys(_run("import", "all.jsonl", "--db", "other.db"))
    yield "import --dry-run", _keys(_run("import", "all.jsonl", "--db", "other.db", "--dry-run"))
    _write(folder / "questions.jsonl", json.dumps({"query": "blue cup", "relevant": [ids[0]]}) + "\n")
    yield "eval", _keys(_run("eval", "questions.jsonl"))
    (folder / "notes").mkdir()
    _write(folder / "notes" / "plan.md", "# Plan\n\nFeed the walrus.\n")
    yield "sync", _keys(_run("sync", "notes", "--db", "notes.db"))
    yield "search", _keys(_run("search", "walrus", "--min-score", "0", "--db", "notes.db"))
    yield "get", _keys(_run("get", "plan.md#L1-L3", "--db", "notes.db"))
    yield "sync --unfollow", _keys(_run("sync", "notes", "--unfollow", "--db", "notes.db"))
    yield "an error, on stderr", _keys(_run("show", "nosuchid", stream="err"))


def _write(file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    return str(file)


def _run(*words: str, stream: str = "out") -> Any:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        run([*words, "--json"])
    text = (out if stream == "out" else err).getvalue()
    assert text, f"{' '.join(words)}: {err.getvalue()}"
    return json.loads(text)


def _keys(value: Any) -> list[str]:
    return sorted(set(_paths(value, "")))


def _paths(value: Any, prefix: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _paths(each, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list) and value:
        for each in value:
            yield from _paths(each, f"{prefix}[]")
    else:
        yield prefix


def describe() -> dict[str, Any]:
    return {
        "commands": describe_commands(),
        "names": sorted(recollect.__all__),
        "signatures": describe_signatures(),
        "json_keys": describe_json(),
    }


@pytest.fixture(scope="module")
def current() -> dict[str, Any]:
    return describe()


@pytest.mark.parametrize("section", SECTIONS)
def test_the_interface_is_as_the_snapshot_says(section: str, current: dict[str, Any]) -> None:
    recorded = json.loads(FILE.read_text("utf-8"))
    assert current[section] == recorded[section], "If this is deliberate: python -m tests.cli.test_interface_snapshot"


if __name__ == "__main__":
    FILE.write_text(json.dumps(describe(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
