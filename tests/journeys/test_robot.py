"""A robot's journeys: the example learns, and the page about it tells the truth."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/systems/robotmem.md").read_text("utf-8")


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_arm_that_remembers_gets_better_and_the_one_that_guesses_does_not(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/pick_and_place.py", tmp_path)
    printed = run("pick_and_place.py", folder=tmp_path)
    rates = {
        name: [int(rate) for rate in re.findall(r"(\d+)%", line)]
        for line in printed.splitlines()
        for name in ("guessing", "remembering")
        if line.startswith(name)
    }
    assert sum(rates["remembering"][-3:]) >= sum(rates["remembering"][:1]) * 3 + 60
    assert max(rates["guessing"]) < min(rates["remembering"][-3:])
    assert [*tmp_path.glob("pick_and_place.png")] or [*tmp_path.glob("pick_and_place.txt")]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.S), ids=["mind", "robot"])
def test_the_python_of_the_page_runs(code: str, tmp_path: Path) -> None:
    printed = run("-c", code, folder=tmp_path)
    if "duplicate" in code:
        assert printed == "True\n"
    else:
        assert "mode: hybrid" in printed
