"""The examples of the adapters, and the code of docs/integrations.md, run offline and print what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.kit import COMMAND

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations.md"
CODE = re.compile(r"```python\n(.*?)```(?:\n\n[Pp]rints:?\n\n```text\n(.*?)```)?", re.S)
EXAMPLES = {  # a line that each prints
    "google_adk_memory.py": "ada: Bob has the key of the boathouse.",
    "gymnasium_cartpole.py": "10 episodes; the longest: Episode 6 of CartPole-v1: 39 steps, return 39.0, terminated.",
    "langchain_chain.py": "Page 9: The kiln is serviced every October.",
    "langgraph_store.py": "  Ada is allergic to nuts.",
    "llamaindex_memory.py": "The prompt has the old message: True",
    "mem0_client.py": "Found: Ada is allergic to nuts.",
    "openai_agents_session.py": "who can open the boathouse? I remember: Bob has the key of the boathouse.",
}


def run(code: str, folder: Path) -> str:
    """The output of a program; it is skipped when it needs a framework that is not installed."""
    for adapter in re.findall(r"^from (recollect\.integrations\.\w+) import", code, re.M):
        pytest.importorskip(
            adapter, reason=f"SKIPPED: {adapter} needs its framework; run: {COMMAND}", exc_type=ImportError
        )
    environment = {**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tried() -> None:
    assert {file.name for file in (ROOT / "examples" / "integrations").glob("*.py")} == {*EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_should(name: str, tmp_path: Path) -> None:
    assert EXAMPLES[name] in run((ROOT / "examples" / "integrations" / name).read_text("utf-8"), tmp_path).splitlines()


@pytest.mark.parametrize(("code", "printed"), CODE.findall(PAGE.read_text("utf-8")), ids=lambda text: text[:40])
def test_the_code_of_the_page_prints_what_it_says(code: str, printed: str, tmp_path: Path) -> None:
    assert printed
    assert run(code, tmp_path) == printed
