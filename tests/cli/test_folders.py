"""sync, watch, search and get, as a newcomer types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.config import trust_store
from recollect.config.trust import trust
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
from tests.cli.conftest import Command
from tests.embed.kit import Ollama, serving
from tests.ingest.kit import write


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "My Vault"
    write(
        vault,
        **{
            "animals/otters.md": "# Otters\n\nThey swim in the river.\nThey sleep in a holt.\n",
            "plan.md": "# Plan\n\nBuy a boat.\n",
            ".obsidian/app.md": "hidden",
        },
    )
    return vault


def test_two_commands_are_enough(recollect: Command, vault: Path) -> None:
    told = recollect("sync", str(vault))
    assert (told.code, "2 added" in told.out, "(memory.db, my-vault)" in told.out) == (0, True, True)
    told = recollect("search", "where", "do", "otters", "sleep?")
    assert told.code == 0
    assert "animals/otters.md#L1-L4" in told.out
    assert "They sleep in a holt." in told.out


def test_search_follows_the_files(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    write(vault, **{"new.md": "A heron came."})
    assert [each["path"] for each in recollect("search", "heron", "--json").json["results"]] == ["new.md"]
    (vault / "new.md").unlink()
    told = recollect("search", "heron")
    assert (told.code, told.out) == (1, "Nothing found for “heron”.\n")
    write(vault, **{"newer.md": "A heron went."})
    assert recollect("search", "heron", "--no-sync").code == 1


def test_a_search_in_json_has_the_shape_of_the_tool(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    told = recollect("search", "otters", "-k", "1", "--json").json
    assert set(told) == {"results", "provider", "model", "citations"}
    (result,) = told["results"]
    assert (result["path"], result["startLine"], result["endLine"]) == ("animals/otters.md", 1, 4)
    told = recollect("search", "otters", "--min-score", "1", "--json").json
    assert (told["results"], "nearest" in told) == ([], False)


def test_json_has_the_nearest_that_the_text_shows_when_nothing_is_good(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    Path("recollect.yaml").write_text("agents: {defaults: {memorySearch: {query: {minScore: 1}}}}\n")
    shown, told = recollect("search", "otters sleeping"), recollect("search", "otters sleeping", "--json")
    assert (shown.code, told.code, told.json["results"]) == (1, 1, [])
    assert "the nearest are:\n1 " in shown.out
    assert [each["citation"] for each in told.json["nearest"]] == ["animals/otters.md#L1-L4"]


def test_one_line_is_cited_in_one_way(recollect: Command, vault: Path) -> None:
    write(vault, **{"heron.md": "A heron came."})
    recollect("sync", str(vault))
    (found,) = recollect("search", "heron", "--json").json["results"]
    assert found["citation"] == "heron.md#L1"
    assert recollect("search", "heron").out.splitlines()[0].endswith(" heron.md#L1")
    assert recollect("get", found["citation"]).out == "A heron came.\n"


def test_get_reads_lines_of_what_was_found(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    assert recollect("get", "animals/otters.md#L3-L4").out == "They swim in the river.\nThey sleep in a holt.\n"
    assert recollect("get", "animals/otters.md#L3").out == "They swim in the river.\n"
    assert recollect("get", "animals/otters.md", "--from", "4", "--lines", "1").out == "They sleep in a holt.\n"
    told = recollect("get", "plan.md", "--json").json
    assert (told["startLine"], told["endLine"], told["lines"]) == (1, 3, 3)


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("get", "../x.md"), 2, "leads out of the folder"),
        (("get", ".obsidian/app.md"), 3, "not in the index"),
        (("get", "plan.md#L2", "--from", "3"), 2, "not both"),
        (("get", "plan.md#L9-L4"), 2, "must be at least 1"),
        (("get", "plan.md", "--from", "90"), 2, "has 3 lines"),
        (("sync", "nowhere"), 3, "There is no folder nowhere"),
        (("sync", ".", "--layout", "heap"), 2, "--layout must be"),
        (("sync", "--extra", "x"), 2, "Give the folder"),
        (("sync", "My Vault/plan.md"), 2, "My Vault/plan.md is a file, not a folder."),
        (("sync", ".", "--unfollow"), 3, "is not synced with memory.db"),
        (("search", " "), 2, "query"),
        (("search", "otters", "--min-score", "7"), 2, "--min-score must be between 0 and 1, not 7.0."),
        (("search", "otters", "--min-score", "-0.1"), 2, "--min-score must be between 0 and 1, not -0.1."),
    ],
)
def test_mistakes_are_told_clearly(
    recollect: Command, vault: Path, words: tuple[str, ...], code: int, problem: str
) -> None:
    recollect("sync", str(vault))
    told = recollect(*words)
    assert (told.code, problem in told.err) == (code, True)


@pytest.mark.parametrize("words", [("sync", "a.md"), ("watch", "a.md"), ("sync", ".", "--unfollow")])
def test_what_cannot_be_followed_makes_no_memory(recollect: Command, words: tuple[str, ...]) -> None:
    write(Path(), **{"a.md": "A heron."})
    assert recollect(*words).code in (2, 3)
    assert not Path("memory.db").exists()


@pytest.mark.parametrize("question", ["heron", "otters"])
def test_a_very_long_question_is_not_printed(recollect: Command, vault: Path, question: str) -> None:
    recollect("sync", str(vault))
    told = recollect("search", f"{question} " * 1_200)
    assert (told.code in (0, 1), len(told.out) < 2_000, told.err) == (True, True, "")


def test_a_question_beyond_the_limit_is_refused_with_the_limit(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    told = recollect("search", "heron " * 15_000)
    assert (told.code, "the limit query_bytes is" in told.err, len(told.err) < 1_000) == (2, True, True)


def test_without_a_folder_it_says_how_to_begin(recollect: Command) -> None:
    for words in (("search", "otters"), ("sync",), ("get", "a.md"), ("watch",)):
        told = recollect(*words)
        assert (told.code, "recollect sync FOLDER" in told.err) == (4, True)
    assert not Path("memory.db").exists()


def test_a_workspace_needs_no_naming(recollect: Command) -> None:
    write(Path(), **{"MEMORY.md": "The heron is grey.", "README.md": "No heron here."})
    assert [each["path"] for each in recollect("search", "heron", "--json").json["results"]] == ["MEMORY.md"]


def test_a_sync_tells_what_it_left_out(recollect: Command, vault: Path) -> None:
    (vault / "picture.md").write_bytes(b"\0\0")
    (vault / "latin.md").write_bytes(b"caf\xe9")
    told = recollect("sync", str(vault))
    assert "left out  picture.md: it is not text" in told.out
    assert "read, but  latin.md: it is not valid UTF-8" in told.out
    (report,) = recollect("sync", "--json").json
    assert (report["root"], report["collection"]) == (str(vault), "my-vault")
    assert (report["unchanged"], list(report["skipped"]), list(report["problems"])) == (4, ["picture.md"], ["latin.md"])


def test_what_a_folder_was_told_is_remembered(recollect: Command, vault: Path, tmp_path: Path) -> None:
    write(tmp_path / "wiki", **{"w.md": "Weasels."})
    write(tmp_path / "logs", **{"s.jsonl": '{"role": "user", "content": "Stoats?"}'})
    recollect("sync", str(vault), "--extra", "wiki", "--sessions", "logs")
    for question, file in (("weasels", "wiki/w.md"), ("stoats", "logs/s.jsonl")):
        (found,) = recollect("search", question, "--json").json["results"]
        assert found["path"] == str(tmp_path / file)
    (report,) = recollect("sync", str(vault), "--json").json
    assert (report["removed"], report["unchanged"]) == ([], 4)


def paths(recollect: Command) -> set[str]:
    """The files that are indexed, by name."""
    return {Path(each["path"]).name for each in recollect("search", "x", "--min-score", "0", "--json").json["results"]}


@pytest.fixture
def places(vault: Path, tmp_path: Path) -> Path:
    """A vault beside three places that may be added to it; all of them say x. The vault's configuration."""
    write(vault, **{"x.md": "x"})
    for place in ("wiki", "docs", "notes"):
        write(tmp_path / place, **{f"{place}.md": "x"})
    write(tmp_path / "logs", **{"s.jsonl": '{"role": "user", "content": "x"}'})
    return vault / "recollect.yaml"


def configure(file: Path, text: str) -> None:
    """Write a configuration that its user trusts."""
    file.write_text(text)
    trust([file], trust_store())


def test_a_key_that_goes_from_the_configuration_holds_no_longer(recollect: Command, vault: Path, places: Path) -> None:
    configure(places, "agents: {defaults: {memorySearch: {extraPaths: [../wiki]}}}\n")
    recollect("sync", str(vault))
    assert paths(recollect) == {"x.md", "wiki.md"}
    configure(places, "agents: {defaults: {memorySearch: {extraPaths: [../docs]}}}\n")
    assert paths(recollect) == {"x.md", "docs.md"}
    places.unlink()
    assert paths(recollect) == {"x.md"}


@pytest.mark.parametrize("first", ["option", "configuration"])
def test_extra_paths_of_the_command_and_of_the_configuration_are_put_together(
    recollect: Command, vault: Path, places: Path, first: str
) -> None:
    said = "agents: {defaults: {memorySearch: {extraPaths: [../wiki]}}}\n"
    if first == "configuration":
        configure(places, said)
        recollect("sync", str(vault))
    recollect("sync", str(vault), "--extra", "docs")
    configure(places, said)
    assert paths(recollect) == {"x.md", "docs.md", "wiki.md"}
    recollect("sync", str(vault))
    assert paths(recollect) == {"x.md", "docs.md", "wiki.md"}
    places.unlink()
    assert paths(recollect) == {"x.md", "docs.md"}


def test_an_option_that_is_given_again_changes_what_it_is_about_and_nothing_else(
    recollect: Command, vault: Path, places: Path
) -> None:
    recollect("sync", str(vault), "--extra", "wiki", "--extra", "notes", "--sessions", "logs")
    recollect("sync", str(vault), "--extra", "docs")
    assert paths(recollect) == {"x.md", "docs.md", "s.jsonl"}
    recollect("sync", str(vault), "--extra", "")
    assert paths(recollect) == {"x.md", "s.jsonl"}
    recollect("sync", str(vault), "--layout", "workspace")
    assert paths(recollect) == {"s.jsonl"}


def test_a_first_sync_of_a_workspace_names_the_notes_that_it_leaves_out(recollect: Command, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    write(agent, **{"MEMORY.md": "The spare key is with Ida.", "plan.md": "Buy a boat."})
    printed = recollect("sync", str(agent)).out
    assert "1 note outside of MEMORY.md and memory/ (plan.md)" in printed
    assert "not indexed" not in recollect("sync", str(agent)).out
    recollect("sync", str(agent), "--layout", "vault")
    assert [each["path"] for each in recollect("search", "boat", "--json").json["results"]] == ["plan.md"]


def test_where_transcripts_are_does_not_bring_notes_back_that_the_configuration_leaves_out(
    recollect: Command, vault: Path, places: Path
) -> None:
    configure(places, "agents: {defaults: {memorySearch: {sources: [sessions]}}}\n")
    recollect("sync", str(vault), "--sessions", "logs")
    assert paths(recollect) == {"s.jsonl"}
    places.unlink()
    assert paths(recollect) == {"x.md", "s.jsonl"}


def test_what_was_given_in_python_holds_in_the_terminal_over_the_configuration(
    recollect: Command, vault: Path, places: Path, tmp_path: Path
) -> None:
    configure(places, "agents: {defaults: {memorySearch: {chunking: {tokens: 300}, extraPaths: [../docs]}}}\n")
    given = FolderSettings(layout="vault", extra_paths=("../wiki",), tokens=100, overlap=0)
    with Workspace(vault, db=tmp_path / "memory.db", embedder=None, settings=given) as space:
        space.sync()
    assert paths(recollect) == {"x.md", "wiki.md", "docs.md"}
    (report,) = recollect("sync", "--json").json
    assert (report["rebuilt"], report["unchanged"]) == (False, 5)


def test_where_the_memory_is_and_who_embeds_is_not_for_a_folder_elsewhere_to_say(
    recollect: Command, vault: Path, places: Path
) -> None:
    configure(places, "recollect: {db: own.db, embedder: local}\n")
    assert "(memory.db, my-vault)" in recollect("sync", str(vault)).out
    assert paths(recollect) == {"x.md"}
    assert list(vault.glob("*.db")) == []


def test_a_folder_in_two_collections_is_left_by_both(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    recollect("sync", str(vault), "--collection", "twin")
    found = recollect("search", "otters", "--json").json["results"]
    assert {each["collection"] for each in found} == {"my-vault", "twin"}
    assert recollect("sync", str(vault), "--unfollow", "--json").json["removed"] == 4


def test_several_folders_are_searched_together(recollect: Command, vault: Path, tmp_path: Path) -> None:
    write(tmp_path / "work", **{"otters.md": "Otters at work."})
    recollect("sync", str(vault))
    recollect("sync", str(tmp_path / "work"))
    found = recollect("search", "otters", "--json").json["results"]
    assert {(each["collection"], each["path"]) for each in found} == {
        ("my-vault", "animals/otters.md"),
        ("work", "otters.md"),
    }
    (found,) = recollect("search", "otters", "--collection", "work", "--json").json["results"]
    assert found["path"] == "otters.md"
    assert recollect("get", "otters.md").out == "Otters at work.\n"


@pytest.fixture
def work(recollect: Command, vault: Path, tmp_path: Path) -> Path:
    """A second folder; both are followed, and both have a plan."""
    work = tmp_path / "work"
    write(work, **{"plan.md": "# Work\n\nMend the weir.\n", "only.md": "A heron."})
    for folder in (vault, work):
        assert recollect("sync", str(folder)).code == 0
    return work


def test_what_search_prints_can_be_got(recollect: Command, work: Path) -> None:
    printed = recollect("search", "mend the weir").out.splitlines()[0].split(" ", 2)[2]
    assert printed == "work: plan.md#L1-L3"
    assert recollect("get", printed).out == "# Work\n\nMend the weir.\n"
    assert recollect("get", "my-vault: plan.md#L3").out == "Buy a boat.\n"
    assert recollect("get", "work: plan.md", "--collection", "work").out == "# Work\n\nMend the weir.\n"
    assert recollect("get", "work: no.md").code == 3


def test_a_path_of_two_folders_is_not_guessed(recollect: Command, work: Path) -> None:
    told = recollect("get", "plan.md", "--from", "3")
    assert (told.code, told.out) == (2, "")
    assert "Several folders have plan.md: my-vault, work. Give one: 'my-vault: plan.md', or --collection" in told.err
    assert recollect("get", "plan.md", "--from", "3", "--collection", "work").out == "Mend the weir.\n"
    assert recollect("get", str(work / "plan.md"), "--from", "3").out == "Mend the weir.\n"
    assert recollect("get", "only.md").out == "A heron.\n"


def test_one_file_in_two_collections_is_no_choice(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    recollect("sync", str(vault), "--collection", "twin")
    assert recollect("get", "plan.md#L3").out == "Buy a boat.\n"


def test_a_file_may_be_named_like_a_collection(recollect: Command, vault: Path) -> None:
    write(vault, **{"my-vault: heron.md": "A heron came."})
    recollect("sync", str(vault))
    assert recollect("get", "my-vault: heron.md#L1").out == "A heron came.\n"


@pytest.mark.parametrize("words", [("search", "otters"), ("get", "plan.md"), ("sync",)])
def test_a_collection_that_is_not_followed_is_named_with_those_that_are(
    recollect: Command, work: Path, words: tuple[str, ...]
) -> None:
    told = recollect(*words, "--collection", "nope")
    assert (told.code, told.out) == (3, "")
    assert "No folder is synced as 'nope' in memory.db; without --collection, all are used." in told.err


def test_a_mistake_in_one_folders_configuration_costs_that_folder_alone(recollect: Command, work: Path) -> None:
    file = work / "recollect.yaml"
    file.write_text("recollect: {k: 0}\n")
    told = recollect("search", "otters")
    assert (told.code, "otters.md" in told.out) == (0, True)
    assert f"{work} is left out: {file}:1: recollect.k: must be" in told.err
    told = recollect("search", "otters", "--json")
    assert (len(told.json["results"]), json.loads(told.err)["kind"]) == (1, "InvalidInput")
    assert recollect("get", "plan.md#L3").out == "Buy a boat.\n"
    told = recollect("search", "heron", "--collection", "work")
    assert (told.code, told.out, "left out" in told.err, f"{file}:1" in told.err) == (2, "", False, True)
    assert recollect("sync").code == 2


def test_a_sync_says_that_a_folder_is_not_there(recollect: Command, vault: Path, work: Path) -> None:
    work.rename(work.parent / "moved")
    missing = f"The folder {work} does not exist; what was read from it before is kept."
    told = recollect("sync")
    assert (told.code, told.err) == (3, f"error: {missing}\n")
    assert told.out.splitlines() == [f"Synced {vault}: 2 unchanged (memory.db, my-vault)"]
    told = recollect("sync", "--json")
    assert (told.code, json.loads(told.err)["error"]) == (3, missing)
    assert [list(report["skipped"]) for report in told.json] == [[], [str(work)]]
    assert "Mend the weir." in recollect("search", "weir").out
    noted = f"The folder {work} (work) does not exist; what was read from it before is kept."
    assert noted in recollect("status").out
    assert recollect("status", "--json").json["notes"] == [noted]


def test_a_folder_can_be_left_even_when_it_is_gone(recollect: Command, vault: Path) -> None:
    recollect("sync", str(vault))
    vault.rename(vault.parent / "moved")
    assert recollect("sync", "--unfollow").code == 2
    told = recollect("sync", str(vault), "--unfollow")
    assert (told.code, "2 chunks removed" in told.out) == (0, True)
    assert "recollect sync FOLDER" in recollect("search", "otters").err


def test_watch_follows_until_it_is_stopped(vault: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "recollect", "--db", "m.db", "--embedder", "none", "watch", str(vault), "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["added"] == ["animals/otters.md", "plan.md"]
            write(vault, **{"plan.md": "# Plan\n\nSell the boat.\n"})
            assert json.loads(process.stdout.readline())["changed"] == ["plan.md"]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_watch_tells_once_what_it_leaves_out(vault: Path, tmp_path: Path) -> None:
    (vault / "picture.md").write_bytes(b"\0\0")
    (vault / "latin.md").write_bytes(b"caf\xe9")
    command = [sys.executable, "-m", "recollect", "--db", "m.db", "--embedder", "none", "watch", str(vault)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        try:
            first = [next(lines) for _ in range(4)]
            assert [line.split()[0] for line in first] == ["Synced", "3", "left", "read,"]
            (vault / "film.md").write_bytes(b"\0\0")
            write(vault, **{"new.md": "A heron."})
            second = [next(lines) for _ in range(3)]
            assert second[2].startswith("  left out  film.md: it is not text")
            write(vault, **{"newer.md": "A heron."})
            third = [next(lines) for _ in range(2)]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert (third[0].split()[0], list(lines)) == ("Synced", [])
        finally:
            process.kill()


def test_another_model_is_taken_up_by_all_folders(
    recollect: Command, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second"
    write(second, **{"a.md": "Badgers dig."})
    for folder in (vault, second):
        assert recollect("--embedder", "local", "sync", str(folder)).code == 0
    write(second, **{"b.md": "Wombats dig, too."})
    with serving(Ollama()) as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        told = recollect("--embedder", "ollama:mystery", "--json", "sync")
        assert told.code == 0, told.err
        assert [report["added"] for report in told.json] == [[], ["b.md"]]
        assert [report["without_vectors"] for report in told.json] == ["", ""]
