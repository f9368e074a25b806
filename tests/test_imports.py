"""What is loaded when: importing Mind and asking for help load none of the large libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LARGE = ("numpy", "apsw", "onnxruntime", "tokenizers", "typer", "rich", "pydantic", "httpx2", "yaml", "watchfiles")


def loaded_after(code: str, cwd: Path) -> set[str]:
    """Which of the large libraries a new process has loaded at the end of the code."""
    script = f"{code}\nimport sys; print(*(name for name in {LARGE!r} if name in sys.modules), file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "RECOLLECT_EMBEDDER": "local"}
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "names", ["Mind", "Memory, Filter, Near, Not, Edge, Use", "InvalidInput, NotFound, StoreError", "open"]
)
def test_importing_the_basic_names_loads_no_large_library(tmp_path: Path, names: str) -> None:
    assert loaded_after(f"from recollect import {names}", tmp_path) == set()


def test_words_alone_load_no_model(tmp_path: Path) -> None:
    code = "from recollect import Mind\nwith Mind('m.db', embedder=None) as mind: mind.remember('A cup.')"
    assert loaded_after(code, tmp_path) == {"numpy", "apsw"}


def test_a_mind_loads_its_model_with_the_first_text(tmp_path: Path) -> None:
    code = "from recollect import Mind\nwith Mind('m.db') as mind: mind.status()"
    assert "onnxruntime" not in loaded_after(code, tmp_path)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["recall", "--help"]])
def test_help_pages_load_neither_numpy_nor_a_store(tmp_path: Path, arguments: list[str]) -> None:
    code = f"from recollect.cli.app import run\nrun({arguments!r})"
    assert loaded_after(code, tmp_path) & {"numpy", "apsw", "onnxruntime", "tokenizers"} == set()


def test_a_command_loads_only_its_own_module(tmp_path: Path) -> None:
    code = "from recollect.cli.app import run\nrun(['recipes'])\nimport sys\n"
    code += (
        "assert not {f'recollect.cli.{name}' for name in ('write', 'folders', 'transfer', 'doctor')} & {*sys.modules}"
    )
    loaded_after(code, tmp_path)
