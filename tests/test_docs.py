"""The Python code in the README and the docs runs and prints what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.embed.test_onnx_folder import write as write_onnx_folder
from tests.ingest_imports.kit import claude_talk, zipped

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMPLETE = (
    *("README", "verbs", "agents", "robots", "filters", "time", "changing-facts", "boundaries", "explanations"),
    *("openmem", "abmind"),
)
CODE = re.compile(r"```python\n(.*?)```(?:\n\nprints\n\n```text\n(.*?)```)?", re.S)
ELSEWHERE = ("integrations",)  # needs the frameworks: tests/integrations/test_examples.py runs its code
OTHERS = [p for p in PAGES if p.stem not in (*COMPLETE, *ELSEWHERE) and CODE.search(p.read_text("utf-8"))]
BLOCKS = [  # every block of a complete page; of the others, those that show what they print
    pytest.param(*block, id=f"{page.relative_to(ROOT)} {number}")
    for page in PAGES
    for number, block in enumerate(CODE.findall(page.read_text("utf-8")), 1)
    if block[1] or page.stem in COMPLETE
]


def shape(text: str) -> str:
    """The text without its decimals: those of a model differ a little from processor to processor."""
    return re.sub(r"\d+\.\d+", "#", text)


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_the_python_of_a_page_runs_and_prints_what_it_says(code: str, printed: str, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
    )
    assert finished.returncode == 0, finished.stderr
    if printed:
        assert shape(finished.stdout) == shape(printed)


BEFORE_EACH = """
from recollect import Mind, Workspace
mind, workspace = Mind("memory.db"), Workspace("~/agent", db="notes.db")
"""
SEED = """
mind.remember("The blue cup is in the kitchen.", external_id="cup", created="2026-01-01")
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    """Blocks that continue each other, on files and services as the page assumes them; no service is called."""
    write_onnx_folder(tmp_path / "models" / "bge-small-en-v1.5")
    zipped(tmp_path / "claude-export.zip", conversations=[claude_talk()])
    questions = [f'{{"query": "where is cup {number}?", "relevant": ["cup"]}}' for number in range(24)]
    (tmp_path / "questions.jsonl").write_text("\n".join(questions))
    (tmp_path / "agent" / "memory").mkdir(parents=True)
    (tmp_path / "agent" / "memory" / "2024-01.md").write_text("We decided to use JWT.\n" * 60)
    seed = "" if page.stem == "embedders" else SEED  # a file with vectors refuses other embedders
    code = "\n".join(BEFORE_EACH + seed + block for block, _ in CODE.findall(page.read_text("utf-8")))
    services = {"HOME": str(tmp_path), "OPENAI_API_KEY": "none", "GEMINI_API_KEY": "none"}
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, cwd=tmp_path, env=os.environ | services, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_the_demo_answers_five_questions(tmp_path: Path) -> None:
    wide = {**os.environ, "COLUMNS": "120"}
    demo = [sys.executable, "examples/demo.py", str(tmp_path / "demo.db")]
    finished = subprocess.run(demo, cwd=ROOT, capture_output=True, text=True, env=wide)
    assert finished.returncode == 0, finished.stderr
    answers = re.findall(r"^1 \d.*$", finished.stdout, re.MULTILINE)
    expected = (
        *("on the top shelf", "Wine glasses break above 6 N", "the charging dock is now in the hallway"),
        *("she lives at 4 Harbour Street now", "The dishwasher leaked yesterday"),
    )
    assert [text in answer for text, answer in zip(expected, answers, strict=True)] == [True] * len(expected)
    again = subprocess.run(demo, cwd=ROOT, capture_output=True, text=True, env=wide)
    assert (again.returncode, "exists already" in again.stderr) == (1, True)  # a user's file is never overwritten


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8")):
        file = (page.parent / target) if target else page
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.M)
            slugs = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]
            assert heading in slugs, f"{target}#{heading}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_and_names_only_what_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    for module, names in re.findall(r"^from (recollect[\w.]*) import (.+)$", text, re.M):
        if module.startswith("recollect.integrations."):
            continue  # needs its framework: tests/integrations/test_examples.py runs the code
        for name in names.split(", "):
            assert hasattr(import_module(module), name), f"{module}.{name}"
    for path in re.findall(r"`((?:recollect|tests|bench|examples)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
