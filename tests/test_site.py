"""The documentation site: all pages are in its contents, no warnings, nothing is requested from outside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.cli.manual import as_man_page, describe_commands

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.S)

OUTSIDE = re.compile(  # an asset or a request, not a link for a reader
    r"""(?:\bsrc(?:set)?\s*=\s*|<link\b[^>]*\bhref\s*=\s*|@import\s+|url\(\s*|\b(?:fetch|import|open)\(\s*)"""
    r"""["']?(?:https?:)?//"""
)


def contents() -> list[str]:
    """The entries of the contents in docs/index.md: names of pages, and patterns. ``A title <page>`` is a page."""
    blocks = TOCTREE.findall((DOCS / "index.md").read_text("utf-8"))
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [re.sub(r".*<(.+)>", r"\1", line) for line in lines if line and line[0] != ":"]


def test_every_page_is_in_the_contents() -> None:
    listed = {page for entry in contents() for page in DOCS.glob(f"{entry}.md")} | {DOCS / "index.md"}
    missing = sorted(str(page.relative_to(ROOT)) for page in set(DOCS.rglob("*.md")) - listed)
    assert not missing, f"not in the contents of docs/index.md: {', '.join(missing)}; add each to one of its sections"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="the site needs pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    finished = subprocess.run(
        [*build, "-d", str(folder / ".doctrees"), str(DOCS), str(folder)], capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    return folder


@pytest.mark.parametrize(
    "line",
    [
        '<script src="https://cdn.example/x.js">',
        '<link rel="stylesheet" href="//fonts.example/f">',
        "@import url(https://fonts.example/f);",
        'fetch("https://api.example/v1")',
    ],
)
def test_a_request_to_the_outside_is_recognised(line: str) -> None:
    assert OUTSIDE.search(line)
    assert not OUTSIDE.search('<a href="https://example.org/">a link</a>')


@pytest.mark.slow
def test_a_page_of_the_site_requests_nothing_from_outside(site: Path) -> None:
    pages = [file for file in site.rglob("*") if file.suffix in (".html", ".css", ".js", ".svg")]
    assert len(pages) > 30
    found = [
        f"{file.relative_to(site)}: {line.strip()[:120]}"
        for file in pages
        for line in file.read_text("utf-8").splitlines()
        if OUTSIDE.search(line)
    ]
    assert not found


@pytest.mark.slow
def test_the_search_of_the_site_works_from_its_files(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert index.startswith("Search.setIndex(")
    words = json.loads(index.removeprefix("Search.setIndex(").rstrip(")"))
    found = words["terms"]["sourdough"]
    pages = {words["docnames"][each] for each in ([found] if isinstance(found, int) else found)}
    assert pages == {"start/notes"}
    assert 'src="searchindex.js"' in (site / "search.html").read_text("utf-8")  # a script: read from a folder, too


@pytest.mark.slow
def test_the_reference_has_every_command_option_and_public_name(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    for command in describe_commands():
        assert f'<section id="{command.name}">' in commands
        for option in command.options:
            assert all(name in commands for name in option.names), (command.name, option.names)
    names = "".join((site / "reference" / page).read_text("utf-8") for page in ("mind.html", "python.html"))
    assert [name for name in recollect.__all__ if f'id="recollect.{name}"' not in names] == []
    methods = [name for name in vars(recollect.Mind) if not name.startswith("_")]
    assert [name for name in methods if f'id="recollect.Mind.{name}"' not in names] == []


def test_the_manual_page_is_that_of_the_commands() -> None:
    page = (ROOT / "man" / "recollect.1").read_text("utf-8")
    assert page == as_man_page(), "the commands have changed: write man/recollect.1 again with make man"
    assert [
        command.name for command in describe_commands() if f".SS {command.name}".replace("-", "\\-") not in page
    ] == []


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_manual_page_has_no_warnings_and_shows_its_options() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-P-c", str(ROOT / "man" / "recollect.1")]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")
    shown = re.sub(r".\x08", "", finished.stdout)
    assert "--external-id <str>" in shown
    assert "RECOLLECT_DB" in shown
