"""Settings written into a configuration file, with all else left as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.config import load
from recollect.config.edit import write_settings
from recollect.errors import InvalidInput

TWO_RECIPES = "{openmem: {max_hops: 3}, default: {session: 0.1}}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path


def said(folder: Path) -> dict[str, Any]:
    return {name: value.value for name, value in load(folder).checked().values.items()}


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# nothing yet\n",
        "# mine\nrecollect:\n  k: 3  # few\n\nmemory:\n  citations: off\n",
        "memory:\n  citations: off  # no end of line",
        "---\nrecollect:\r\n    k: 3\r\n",
        f"recollect:\n    k: 3\n    settings: {TWO_RECIPES}  # by hand\n    db: übung.db\n",
    ],
)
def test_what_else_a_file_says_stays_as_it_is(folder: Path, before: str) -> None:
    file = folder / "recollect.yaml"
    file.write_bytes(before.encode())
    kept = said(folder)
    for words in (2.0, 0.5):  # the second time, the line of the first is replaced
        assert write_settings(load(folder), "default", {"words": words, "session": 0.15}) == file
    text = file.read_bytes().decode()
    assert text.count("settings:") == 1
    for line in before.splitlines(keepends=True):
        assert line.strip() in text.replace("{words: 0.5, session: 0.15}", "{session: 0.1}")
    expected = {**kept["recollect.settings"], "default": {"words": 0.5, "session": 0.15}}
    assert said(folder) == {**kept, "recollect.settings": expected}


def test_without_a_file_one_is_made_and_of_two_the_last_is_written(folder: Path) -> None:
    assert write_settings(load(folder), "default", {"words": 2.0}) == folder / "recollect.yaml"
    (folder / ".recollect.yaml").write_text("")
    assert write_settings(load(folder), "default", {"words": 4.0}) == folder / ".recollect.yaml"
    assert said(folder)["recollect.settings"] == {"default": {"words": 4.0}}


@pytest.mark.parametrize(
    "text",
    [
        "recollect: {k: 3}\n",
        "{}\n",
        "recollect:\n",
        "recollect:\n  settings:\n    default:\n      session: 0.1\n",
        "recollect:\n  k: 3\n...\n# an end\n---\nmemory: {}\n",
        "gateway: 1\n...\n",
    ],
)
def test_a_file_that_only_its_writer_should_change_is_left_alone_and_the_lines_are_told(
    folder: Path, text: str
) -> None:
    file = folder / "recollect.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=r"Add this yourself:\nrecollect:\n  settings: \{default: \{words: 2.0\}\}"):
        write_settings(load(folder), "default", {"words": 2.0})
    assert file.read_text() == text
