"""The commands of docs/systems: every part of the five documents can be tried, and gives what its page says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from .conftest import Command

ROOT = Path(__file__).parents[2]
PAGES = ("robotmem", "openclaw", "abmind", "openmem", "jeffsbrain")
EXIT_WITHOUT_RESULTS = {'recollect --embedder none recall "qqqq" -r jeffsbrain --json'}  # as the document: none


def rows(page: str) -> list[list[str]]:
    text = (ROOT / "docs" / "systems" / f"{page}.md").read_text("utf-8")
    table = text.partition("| part of the document | here | in the code | try it |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def commands(page: str) -> list[str]:
    return [
        row[3][1:-1]
        for row in rows(page)
        if row[3].startswith("`recollect ") and "…" not in row[3] and "(" not in row[3][-20:]
    ]


@pytest.fixture
def demo(recollect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The example memory of docs/systems/README.md, made by its commands."""
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "local")
    monkeypatch.setenv("RECOLLECT_DB", "demo.db")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    setup = re.findall(r"^\$ (recollect .*)$", (ROOT / "docs/systems/README.md").read_text("utf-8"), re.MULTILINE)
    chosen = [line for line in setup if line.split()[1] in ("import", "link", "relate", "contradict", "sync")]
    assert len(chosen) == 6
    for line in chosen:
        assert recollect(*shlex.split(line)[1:]).code == 0, line
    return recollect


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_runs(demo: Command, page: str) -> None:
    tried = commands(page)
    assert len(tried) >= 14
    for line in tried:
        outcome = demo(*shlex.split(line)[1:])
        assert outcome.code == (1 if line in EXIT_WITHOUT_RESULTS else 0), f"{line}: {outcome.out}{outcome.err}"


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_a_page_is_in_the_code(page: str) -> None:
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "recollect").rglob("*.py"))
    names = [name for row in rows(page) for name in re.findall(r"`([A-Za-z_][\w.]*)", row[2])]
    assert len(names) >= 14
    missing = [name for name in names if name.split(".")[-1] not in code]
    assert missing == []
    paths = [path for row in rows(page) for path in re.findall(r"`([\w/]+(?:/|\.py))`", row[2])]
    assert [path for path in paths if not (ROOT / "recollect" / path).exists()] == []


def test_the_parts_give_what_the_documents_say(demo: Command) -> None:
    def lines(command: str) -> str:
        return demo(*shlex.split(command)).out

    robot = demo("recall", "*", "-r", "robotmem", "--set", "session_id=abc-123", "--json").json
    assert [each["id"] for each in robot["results"]] == ["grasp", "slip"]
    near = "recall cup -r robotmem --json --where '{\"task.success\": true}'"
    assert [each["id"] for each in demo(*shlex.split(near)).json["results"]] == ["grasp"]
    assert "zh" in lines("recall 如何抓取杯子 -r robotmem")
    assert "Stage S6: 1 hit" in lines("recall migrated -r abmind --set notes=examples/systems/notes")
    assert "alice —[works_with]→ bob" in lines('recall "what does alice do" -r abmind')
    assert "⚠️ Conflicts with another result" in lines('recall "project database" -r abmind')
    assert "hop 2, from backup" in lines("why SQLite restore -r openmem --full")
    ladder = demo("recall", "tickts", "-r", "jeffsbrain", "--json", "--embedder", "none").json
    assert ladder["results"][0]["id"] == "rollup"
    assert "We decided to use JWT" in lines("get MEMORY.md --from 3 --lines 3")
