"""config: what holds, who says so, and what is wrong; and that the other commands do as it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Mind
from tests.cli.conftest import Command

Keep = Callable[..., str]
SEARCH = "agents: {defaults: {memorySearch: %s}}\n"


def say(folder: Path, text: str, name: str = "recollect.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_check_points_at_every_mistake_and_exits_with_2(recollect: Command, tmp_path: Path) -> None:
    say(tmp_path, "recollect:\n  k: 0\n  recipee: qmd\n")
    outcome = recollect("config", "check")
    assert outcome.code == 2
    assert "recollect.yaml:2: recollect.k: must be a whole number, 1 or more, not 0." in outcome.out
    assert "recollect.yaml:3: recollect.recipee: unknown key; did you mean recipe?" in outcome.out
    assert "2 problems (recollect.yaml)" in outcome.out
    told = recollect("config", "check", "--json")
    assert told.code == 2
    assert [(each["file"], each["line"], each["key"]) for each in told.json["mistakes"]] == [
        ("recollect.yaml", 2, "recollect.k"),
        ("recollect.yaml", 3, "recollect.recipee"),
    ]


def test_a_good_configuration_exits_with_0(recollect: Command, tmp_path: Path) -> None:
    assert "0 problems (no file: the defaults are used)" in recollect("config", "check").out
    say(tmp_path, "recollect: {k: 3}\n")
    outcome = recollect("config", "check")
    assert (outcome.code, outcome.out) == (0, "0 problems (recollect.yaml)\n")


def test_check_looks_at_the_files_of_followed_folders_too(recollect: Command, tmp_path: Path) -> None:
    file = say(tmp_path / "notes", "recollect: {k: 3}\n")
    say(tmp_path, "recollect: {k: 3}\n")
    for folder in ("notes", "."):
        assert recollect("sync", folder).code == 0
    told = recollect("config", "check")
    assert (told.code, told.out) == (0, f"0 problems (recollect.yaml, {file})\n")
    file.write_text("recollect:\n  k: 0\n")
    told = recollect("config", "check")
    assert (told.code, told.out.splitlines()[0]) == (
        2,
        f"{file}:2: recollect.k: must be a whole number, 1 or more, not 0.",
    )
    assert [each["file"] for each in recollect("config", "check", "--json").json["mistakes"]] == [str(file)]
    (tmp_path / "memory.db").write_bytes(b"no database, and long enough to be looked at" * 50)
    assert recollect("config", "check").out == "0 problems (recollect.yaml)\n"


def test_a_mistake_that_holds_everywhere_is_told_once(recollect: Command, tmp_path: Path) -> None:
    for folder in ("notes", "work"):
        (tmp_path / folder).mkdir()
        assert recollect("sync", folder).code == 0
    say(tmp_path / "home" / "recollect", "recollect: {k: 0}\n", "config.yaml")
    assert len(recollect("config", "check", "--json").json["mistakes"]) == 1
    assert len(recollect("doctor", "--json").json["findings"]) == 1


def test_path_says_where_files_are_looked_for_and_which_were_read(recollect: Command, tmp_path: Path) -> None:
    say(tmp_path, "recollect: {k: 3}\n")
    told = recollect("config", "path").out.splitlines()
    assert told == [
        f"{tmp_path}/home/recollect/config.yaml  (does not exist)",
        "recollect.yaml",
        ".recollect.yaml  (does not exist)",
    ]
    assert recollect("config", "path", "--json").json["read"] == ["recollect.yaml"]


def test_an_unknown_look_is_bad_input(recollect: Command) -> None:
    outcome = recollect("config", "explain")
    assert (outcome.code, "show, check, path" in outcome.err) == (2, True)


@pytest.mark.parametrize("words", ["recall x", "status", "config show", "remember x"])
def test_a_mistake_stops_every_command_before_it_writes(recollect: Command, tmp_path: Path, words: str) -> None:
    say(tmp_path, "recollect: {k: many}\n")
    outcome = recollect(*words.split(), "--json")
    assert outcome.code == 2
    assert "recollect.yaml:1: recollect.k: must be" in json.loads(outcome.err)["error"]
    assert [each.name for each in tmp_path.iterdir()] == ["recollect.yaml"]


def test_the_file_the_collection_and_the_way_of_recalling_come_from_it(recollect: Command, tmp_path: Path) -> None:
    say(tmp_path, "recollect: {db: mine.db, collection: work, recipe: qmd, k: 1}\n")
    for text in ("The cup is blue.", "The other cup is green."):
        assert recollect("remember", text).code == 0
    told = recollect("recall", "cup", "--json").json
    assert (len(told["results"]), told["trace"]["recipe"]) == (1, "qmd")
    with Mind(tmp_path / "mine.db", embedder=None) as mind:
        assert {memory.collection for memory in mind.list()} == {"work"}


def test_what_is_said_on_the_command_line_wins_over_the_environment_and_that_over_the_file(
    recollect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(tmp_path, "recollect: {db: file.db, recipe: qmd, k: 1}\n")
    recollect("remember", "x")
    monkeypatch.setenv("RECOLLECT_DB", "env.db")
    recollect("remember", "x")
    recollect("remember", "x", "--db", "option.db")
    assert sorted(each.name for each in tmp_path.glob("*.db")) == ["env.db", "file.db", "option.db"]
    recollect("remember", "x again")
    told = recollect("recall", "x", "--recipe", "default", "-k", "5", "--json").json
    assert (told["trace"]["recipe"], len(told["results"])) == ("default", 2)


def test_the_users_own_file_holds_everywhere(recollect: Command, tmp_path: Path) -> None:
    say(tmp_path, "recollect: {k: 2}\n", "home/recollect/config.yaml")
    shown = recollect("config", "show", "--json").json["values"]["recollect.k"]
    assert shown == {"value": 2, "origin": f"{tmp_path}/home/recollect/config.yaml:1"}


def test_a_file_may_be_named_by_option_or_environment(
    recollect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(tmp_path, "recollect: {k: 1}\n")
    say(tmp_path, "recollect: {k: 2}\n", "other.yaml")
    monkeypatch.setenv("RECOLLECT_CONFIG", "other.yaml")
    assert recollect("config", "--json").json["values"]["recollect.k"]["value"] == 2
    assert recollect("config", "--json", "--config", "recollect.yaml").json["values"]["recollect.k"]["value"] == 1
    assert recollect("config", "--config", "nope.yaml").code == 2


def test_an_agents_settings_are_taken_when_it_is_named(recollect: Command, tmp_path: Path) -> None:
    say(tmp_path, "agents: {coder: {memorySearch: {store: {path: 'coder.db'}}}}\n")
    recollect("remember", "x")
    recollect("--agent", "coder", "remember", "x")
    assert sorted(each.name for each in tmp_path.glob("*.db")) == ["coder.db", "memory.db"]


def test_without_vectors_nothing_is_embedded(
    recollect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_EMBEDDER")
    say(tmp_path, SEARCH % "{store: {vector: {enabled: false}}}")
    recollect("remember", "The cup is blue.")
    told = recollect("status", "--json").json
    assert (told["spaces"], told["embedder"]) == ([], None)
