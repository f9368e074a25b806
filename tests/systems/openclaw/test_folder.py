"""OpenClaw's memory search (O): the folder, its tools, its chunks, and when they are brought up to date."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind, NotFound
from recollect.ingest.folder import FolderSettings
from recollect.recall.query_cache import QueryCache
from recollect.systems.openclaw.search import MIN_SHARE, SearchSettings
from recollect.systems.openclaw.tools import prompt_section
from recollect.systems.openclaw.workspace import Workspace
from tests.ingest.kit import chunks, write
from tests.store.looking import sql
from tests.systems.openclaw.test_search import Topics

DECISION = "## Authentication\n\nWe decided to use JWT with 24h expiration.\nThe cup stays in the dock.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    write(
        root,
        **{
            "MEMORY.md": "# Facts\n\nThe boiler is in the cellar.\n",
            "memory/2024-01.md": f"# January\n\nNothing much.\n\n{'word ' * 80}\n\n{DECISION}",
            "memory/deep/er.md": "The window is open.\n",
            "README.md": "The window of the readme.\n",
            "docs/x.md": "The dock of the docs.\n",
            "sessions/s.jsonl": '{"role": "user", "content": "Where is the dock?"}\n',
        },
    )
    return root


@pytest.fixture
def space(root: Path, path: Path) -> Iterator[Workspace]:
    with Workspace(root, db=path, embedder=Topics()) as space:
        yield space


# O1: the tools.


@pytest.mark.contract("O1")
def test_the_tools_are_offered_with_the_parameters_of_the_document(space: Workspace) -> None:
    offered = {tool["name"]: tool for tool in space.tools()}
    search, get = offered["memory_search"]["parameters"], offered["memory_get"]["parameters"]
    assert {name: each["type"] for name, each in search["properties"].items()} == {
        "query": "string",
        "maxResults": "integer",
        "minScore": "number",
    }
    assert {name: each["type"] for name, each in get["properties"].items()} == {
        "path": "string",
        "from": "integer",
        "lines": "integer",
    }
    assert (search["required"], get["required"]) == (["query"], ["path"])


@pytest.mark.contract("O1")
@pytest.mark.parametrize("when", ["prior work", "decisions", "dates", "people", "preferences", "todos"])
def test_the_description_and_the_prompt_say_when_to_search(space: Workspace, when: str) -> None:
    assert when in space.tools()[0]["description"]
    assert when in space.prompt_section()
    assert "memory_search" in space.prompt_section()


@pytest.mark.contract("O1")
def test_the_prompt_has_a_section_only_when_a_tool_is_there() -> None:
    assert prompt_section([]) == ""
    assert "memory_get" not in prompt_section(["memory_search"])
    assert "memory_search" not in prompt_section(["memory_get"])


@pytest.mark.contract("O1")
def test_the_tools_work_as_library_calls(space: Workspace) -> None:
    found = space.memory_search("where is the boiler?", maxResults=1, minScore=0.1)["results"]
    assert [each["path"] for each in found] == ["MEMORY.md"]
    assert space.memory_get("MEMORY.md", **{"from": 3, "lines": 1})["text"] == "The boiler is in the cellar."
    assert (
        space.call("memory_search", {"query": "boiler", "maxResults": 1})["results"]
        == (space.memory_search("boiler", maxResults=1)["results"])
    )
    assert space.call("memory_get", {"path": "MEMORY.md", "from": 1, "lines": 1})["text"] == "# Facts"


@pytest.mark.contract("O1")
@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("memory_forget", {}, "no tool 'memory_forget'"),
        ("memory_search", {}, "'query'"),
        ("memory_search", {"query": "x", "limit": 3}, "'limit'"),
        ("memory_search", {"query": " "}, "query"),
        ("memory_search", {"query": "x", "maxResults": 0}, "at least 1"),
        ("memory_search", {"query": "x", "maxResults": "six"}, "whole number"),
        ("memory_search", {"query": "x", "minScore": "low"}, "a number"),
        ("memory_get", {"path": "MEMORY.md", "from": 0}, "from and lines must be at least 1, not 0"),
        ("memory_get", {"path": "MEMORY.md", "lines": 0}, "from and lines must be at least 1, not None and 0"),
        ("memory_get", {"path": "MEMORY.md", "from": 99}, "has 3 lines"),
        ("memory_get", {"path": 3}, "a string"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(space: Workspace, tool: str, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        space.call(tool, arguments)


@pytest.mark.contract("O1")
def test_nothing_is_searched_unless_asked(root: Path, path: Path) -> None:
    class Watchful(Topics):
        asked = 0

        def embed(self, texts: Any, query: bool = False) -> list[list[float]]:
            Watchful.asked += query
            return super().embed(texts, query)

    with Workspace(root, db=path, embedder=Watchful()) as space:
        space.sync()
        space.tools()
        space.prompt_section()
        space.get("MEMORY.md")
        assert Watchful.asked == 0
        space.search("cup")
        assert Watchful.asked == 1


# O2: reading lines, and refusing.


@pytest.mark.contract("O2")
def test_lines_are_read_as_they_are_in_the_file(root: Path, space: Workspace) -> None:
    whole = (root / "memory/2024-01.md").read_text().splitlines()
    told = space.get("memory/2024-01.md", from_=7, lines=3)
    assert told == {
        "path": "memory/2024-01.md",
        "text": "\n".join(whole[6:9]),
        "startLine": 7,
        "endLine": 9,
        "lines": len(whole),
    }
    assert space.get("memory/2024-01.md")["text"] == "\n".join(whole)
    assert space.get("memory/2024-01.md", from_=9, lines=500)["endLine"] == len(whole)
    assert space.get(str(root / "MEMORY.md"))["path"] == "MEMORY.md"
    assert space.get("./memory/deep/er.md")["text"] == "The window is open."


@pytest.mark.contract("O2")
@pytest.mark.parametrize(
    "asked",
    [
        "../secret.md",
        "memory/../../secret.md",
        "memory/../README.md",
        "{out}/secret.md",
        "/etc/passwd",
        "~/secret.md",
        "README.md",
        "docs/x.md",
        "memory",
        "memory/missing.md",
        "memory/link.md",
        "memory/folder/secret.md",
        "memory/.hidden.md",
        "sessions/s.jsonl",
        "",
        "MEMORY.md\0",
    ],
)
def test_what_is_not_indexed_is_refused(root: Path, tmp_path: Path, space: Workspace, asked: str) -> None:
    out = tmp_path / "out"
    write(out, **{"secret.md": "SECRET"})
    write(tmp_path, **{"secret.md": "SECRET"})
    write(root, **{"memory/.hidden.md": "SECRET"})
    (root / "memory/link.md").symlink_to(out / "secret.md")
    (root / "memory/folder").symlink_to(out)
    space.sync()
    with pytest.raises((InvalidInput, NotFound), match=r"out of|outside|not in the index|No file|must name a file"):
        space.get(asked.format(out=out))


@pytest.mark.contract("O2")
@pytest.mark.parametrize("climbing", ["../secret.md", "memory/../MEMORY.md"])
def test_a_path_with_two_dots_is_refused_for_that_reason(space: Workspace, climbing: str) -> None:
    space.sync()
    with pytest.raises(InvalidInput, match="leads out of the folder; give a path as search results have it"):
        space.get(climbing)


@pytest.mark.contract("O2")
def test_the_tool_reads_from_the_line_that_it_names(root: Path, space: Workspace) -> None:
    whole = (root / "memory/2024-01.md").read_text().splitlines()
    read = space.call("memory_get", {"path": "memory/2024-01.md", "from": 7, "lines": 2})
    assert (read["text"], read["startLine"], read["endLine"]) == ("\n".join(whole[6:8]), 7, 8)


@pytest.mark.contract("O2")
def test_lines_before_the_first_and_after_the_last_are_refused(space: Workspace) -> None:
    assert space.get("MEMORY.md", from_=3)["text"] == "The boiler is in the cellar."
    with pytest.raises(InvalidInput, match=r"MEMORY\.md has 3 lines; there is no line 4"):
        space.get("MEMORY.md", from_=4)
    for first, count in ((0, 1), (1, 0)):
        with pytest.raises(InvalidInput, match="from and lines must be at least 1"):
            space.get("MEMORY.md", from_=first, lines=count)


@pytest.mark.contract("O2")
def test_a_file_that_becomes_a_link_out_of_the_folder_is_refused(root: Path, tmp_path: Path, space: Workspace) -> None:
    write(tmp_path, **{"secret.md": "SECRET"})
    space.sync()
    (root / "MEMORY.md").unlink()
    (root / "MEMORY.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(InvalidInput, match="link that leads out"):
        space.get("MEMORY.md")
    (root / "memory/deep").rename(root / "memory/deeper")
    (root / "memory/deep").symlink_to(tmp_path)
    (tmp_path / "er.md").write_text("SECRET")
    with pytest.raises(InvalidInput, match="link that leads out"):
        space.get("memory/deep/er.md")


@pytest.mark.contract("O2")
def test_files_of_extra_paths_may_be_read(root: Path, tmp_path: Path, path: Path) -> None:
    write(tmp_path / "wiki", **{"w.md": "Wiki."})
    with Workspace(root, db=path, embedder=None, extra_paths=[tmp_path / "wiki"]) as space:
        (found,) = space.search("wiki")["results"]
        assert space.get(found["path"])["text"] == "Wiki."


# O3, O4: what is indexed, and where.


@pytest.mark.contract("O3")
def test_memory_md_and_the_memory_folder_are_indexed_and_nothing_else(space: Workspace) -> None:
    assert space.sync().added == ["MEMORY.md", "memory/2024-01.md", "memory/deep/er.md"]


@pytest.mark.contract("O3")
def test_extra_paths_and_transcripts_when_they_are_named(root: Path, path: Path) -> None:
    settings = FolderSettings(extra_paths=("docs", "README.md"), sources=("memory", "sessions"))
    with Workspace(root, db=path, embedder=None, settings=settings) as space:
        assert set(space.sync().added) == {
            "MEMORY.md",
            "README.md",
            "docs/x.md",
            "memory/2024-01.md",
            "memory/deep/er.md",
            "sessions/s.jsonl",
        }


@pytest.mark.contract("O4")
@pytest.mark.file("it reads the tables of a file")
def test_text_words_vectors_paths_and_lines_are_in_one_file(root: Path, path: Path, space: Workspace) -> None:
    space.sync()
    count = sum(map(len, chunks(space).values()))
    found = sql(
        path,
        "SELECT m.path, m.first_line, m.last_line, m.text FROM memories m JOIN words w ON w.row = m.row "
        "JOIN vectors v ON v.row = m.row",
    )
    assert len(found) == count
    for name, first, last, text in found:
        assert text == "\n".join((root / name).read_text().split("\n")[first - 1 : last])
    assert [file.name for file in path.parent.glob("memory.db*") if file.suffix == ".db"] == ["memory.db"]


@pytest.mark.contract("O4")
def test_chunks_that_are_read_back_from_the_file_have_their_path_and_lines(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None) as space:
        space.sync()
    with Mind(path, embedder=None) as mind:
        stored = mind.list()
    assert {memory.path for memory in stored} == {"MEMORY.md", "memory/2024-01.md", "memory/deep/er.md"}
    for memory in stored:
        assert memory.lines is not None
        first, last = memory.lines
        assert memory.text == "\n".join((root / memory.path).read_text().split("\n")[first - 1 : last])


# O13: chunks (their properties are in tests/ingest/test_markdown.py).


@pytest.mark.contract("O13")
def test_chunks_have_400_tokens_of_which_80_are_repeated(tmp_path: Path, path: Path) -> None:
    lines = [f"This is line number {number:04} of one long paragraph." for number in range(200)]
    write(tmp_path / "w", **{"MEMORY.md": "\n".join(lines)})
    with Workspace(tmp_path / "w", db=path, embedder=None) as space:
        space.sync()
        held = chunks(space)["MEMORY.md"]
    sizes = [len(text) / 4 for _, text in held]
    assert all(400 - 15 < size <= 400 for size in sizes[:-1])
    for (before, _), (after, _) in pairwise(held):
        assert before is not None
        assert after is not None
        repeated = len("\n".join(lines[after[0] - 1 : before[1]])) / 4
        assert 80 - 15 < repeated <= 80


@pytest.mark.contract("O13")
def test_headings_paragraphs_and_code_are_respected(tmp_path: Path, path: Path) -> None:
    code = "```python\n" + "\n".join(f"x_{number} = {number}" for number in range(60)) + "\n```"
    write(tmp_path / "w", **{"MEMORY.md": f"# One\n\n{'word ' * 250}\n\n{code}\n\n# Two\n\n{'more ' * 60}\n"})
    with Workspace(tmp_path / "w", db=path, embedder=None) as space:
        space.sync()
        held = [text for _, text in chunks(space)["MEMORY.md"]]
        titles = {memory.title for memory in space.mind.list()}
    assert sum(code in text for text in held) == 1
    assert any(text.startswith("# Two") for text in held)
    assert titles == {"One", "Two"}


# O14: when it is brought up to date.


@pytest.mark.contract("O14")
def test_a_search_syncs_a_dirty_index_first(root: Path, path: Path) -> None:
    settings = FolderSettings(debounce=0.0)  # without a watcher, dirty at once
    with Workspace(root, db=path, embedder=None, settings=settings) as space:
        assert space.dirty
        assert [each["path"] for each in space.search("boiler")["results"]] == ["MEMORY.md"]
        write(root, **{"memory/new.md": "A heron by the lake."})
        assert [each["path"] for each in space.search("heron")["results"]] == ["memory/new.md"]
        (root / "memory/new.md").rename(root / "memory/newer.md")
        assert [each["path"] for each in space.search("heron")["results"]] == ["memory/newer.md"]
        (root / "memory/newer.md").unlink()
        assert space.search("heron")["results"] == []


@pytest.mark.contract("O14")
def test_a_search_does_not_look_when_told_not_to(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=FolderSettings(on_search=False)) as space:
        assert space.search("boiler")["results"] == []
        space.sync()
        assert len(space.search("boiler")["results"]) == 1


@pytest.mark.contract("O14")
def test_a_changed_file_is_followed_after_the_debounce(root: Path, path: Path) -> None:
    settings = FolderSettings(on_search=False, debounce=0.2)
    with Workspace(root, db=path, embedder=None, settings=settings) as space, space.watch():
        until(lambda: len(space.search("boiler")["results"]) == 1)
        write(root, **{"memory/new.md": "A heron by the lake."})
        until(lambda: len(space.search("heron")["results"]) == 1)
        (root / "memory/new.md").unlink()
        until(lambda: space.search("heron")["results"] == [])
    assert FolderSettings().debounce == 1.5


@pytest.mark.contract("O14")
def test_an_interval_brings_it_up_to_date_too(root: Path, path: Path) -> None:
    settings = FolderSettings(on_search=False, watch=False, interval=0.1)
    with Workspace(root, db=path, embedder=None, settings=settings) as space, space.watch():
        until(lambda: len(space.search("boiler")["results"]) == 1)
        write(root, **{"memory/new.md": "A heron by the lake."})
        until(lambda: len(space.search("heron")["results"]) == 1)


@pytest.mark.contract("O14")
def test_the_embedder_is_warmed_before_it_is_needed(root: Path, path: Path) -> None:
    asked: list[Any] = []

    class Noting(Topics):
        def embed(self, texts: Any, query: bool = False) -> list[list[float]]:
            asked.extend(texts)
            return super().embed(texts, query)

    with Workspace(root, db=path, embedder=Noting()) as space:
        space.warm().join()
    assert asked


def until(happened: Any) -> None:
    end = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


# O15, O23: what comes back.


@pytest.mark.contract("O15")
def test_a_result_has_the_shape_of_the_document(root: Path, space: Workspace) -> None:
    told = space.search("what did we decide about the cup in the dock?", 1)
    assert set(told) == {"results", "provider", "model", "citations"}
    assert (told["provider"], told["model"], told["citations"]) == ("local", "topics-v1", "auto")
    (result,) = told["results"]
    assert {"path", "startLine", "endLine", "text", "score", "snippet"} <= set(result)
    assert (result["path"], result["startLine"], result["endLine"]) == ("memory/2024-01.md", 7, 10)
    assert result["text"] == DECISION.rstrip()
    assert result["snippet"].startswith("We decided to use JWT with 24h expiration.")
    assert result["score"] == space.recall("what did we decide about the cup in the dock?", 1)[0].score


@pytest.mark.contract("O11")
def test_openclaw_searches_with_its_own_settings_when_it_is_named(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=Topics(), search=SearchSettings(recipe="openclaw")) as space:
        assert space.recall("cup").trace.recipe == "openclaw"
        low = space.search("cup", min_score=0.0)["results"]
        high = space.search("cup", min_score=0.6)["results"]
        assert len(high) < len(low)
        assert all(each["score"] >= 0.6 for each in high)
        assert "lowConfidence" not in space.search("zebra")
    asking = SearchSettings(max_results=1, min_score=0.0, vector_weight=0.0, text_weight=1.0)  # a setting of its own
    with Workspace(root, db=path, embedder=Topics(), search=asking) as space:
        assert space.recall("the").trace.recipe == "openclaw"
        assert len(space.search("the")["results"]) == 1


@pytest.mark.contract("O15")
def test_other_recipes_answer_in_the_same_shape_with_scores_from_0_to_1(root: Path, path: Path) -> None:
    for settings in (SearchSettings(), SearchSettings(recipe="openclaw"), SearchSettings(recipe="qmd")):
        with Workspace(root, db=path, embedder=Topics(), search=settings) as space:
            assert space.recall("cup").trace.recipe == settings.recipe_name
            told = space.search("what did we decide about the cup in the dock?")
            assert {"results", "provider", "model", "citations"} <= set(told) <= {*told, "lowConfidence"}
            first = told["results"][0]
            assert set(first) == {"path", "startLine", "endLine", "text", "score", "snippet", "citation"}
            assert (first["path"], first["startLine"], first["endLine"]) == ("memory/2024-01.md", 7, 10)
            assert all(0 <= each["score"] <= 1 for each in told["results"])


def test_a_score_of_the_default_recipe_is_a_share_of_the_confidence(space: Workspace) -> None:
    recall = space.recall("where is the boiler?", min_score=0.0)
    assert len(recall) > 1
    assert recall[0].score == recall.confidence
    assert all(result.why.evaluate() == result.score for result in recall)
    assert [result.score for result in recall] == sorted((result.score for result in recall), reverse=True)


def test_the_default_recipe_leaves_out_what_has_a_small_share_of_the_best_score(space: Workspace) -> None:
    every, found = space.recall("boiler", min_score=0.0), space.recall("boiler")
    assert 0 < len(found) < len(every)
    assert min(result.score for result in found) >= MIN_SHARE * found[0].score
    left_out = space.recall("boiler").why_not(every[-1].id)
    assert (left_out.step, left_out.threshold) == ("confidence", MIN_SHARE)


def test_a_minimum_score_in_the_call_is_never_undercut(space: Workspace) -> None:
    confidence = space.recall("where is the boiler?").confidence
    assert confidence is not None
    assert len(space.search("where is the boiler?", min_score=confidence)["results"]) == 1
    assert space.search("where is the boiler?", min_score=1.0)["results"] == []


def test_passages_that_probably_answer_nothing_are_marked(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None) as space:
        unsure = space.search("which penguins, zebras, giraffes or camels broke the boiler?")
        assert ([each["path"] for each in unsure["results"]], unsure["lowConfidence"]) == (["MEMORY.md"], True)
        assert "lowConfidence" not in space.search("where is the boiler?")


@pytest.mark.contract("O23")
@pytest.mark.parametrize(
    ("citations", "shared", "cited"),
    [("auto", False, True), ("auto", True, False), ("on", False, True), ("on", True, True), ("off", False, False)],
)
def test_sources_are_cited_as_the_setting_says(
    root: Path, path: Path, citations: Any, shared: bool, cited: bool
) -> None:
    with Workspace(root, db=path, embedder=Topics(), search=SearchSettings(citations=citations)) as space:
        told = space.search("cup dock", 1, shared=shared)
        assert told["citations"] == citations
        assert told["results"][0]["snippet"].endswith("\n\nSource: memory/2024-01.md#L7-L10") is cited
        assert ("citation" in told["results"][0]) is cited


@pytest.mark.contract("O23")
def test_one_line_is_cited_as_one(space: Workspace) -> None:
    assert space.search("window", 1)["results"][0]["citation"] == "memory/deep/er.md#L1"
    with pytest.raises(InvalidInput, match="auto, on or off"):
        SearchSettings(citations="maybe")  # type: ignore[arg-type]


# O22: switches do what they say.


@pytest.mark.contract("O22")
def test_the_store_is_where_it_was_put(root: Path, tmp_path: Path) -> None:
    with Workspace(root, db=tmp_path / "elsewhere.db", embedder=None) as space:
        space.sync()
    with Mind(tmp_path / "elsewhere.db", embedder=None) as mind:
        assert mind.recall("boiler")[0].memory.path == "MEMORY.md"


@pytest.mark.contract("O22")
def test_without_vectors_none_are_made_and_words_decide_alone(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=Topics(), settings=FolderSettings(vectors=False)) as space:
        told = space.search("JWT expiration")
        assert (told["provider"], told["model"]) == ("none", None)
        assert [each["path"] for each in told["results"]] == ["memory/2024-01.md"]
        assert told["results"][0]["score"] > 0.35
    assert sql(path, "SELECT count(*) FROM vectors") == [(0,)]


@pytest.mark.contract("O22")
def test_without_hybrid_vectors_decide_alone(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=Topics(), search=SearchSettings(hybrid=False)) as space:
        lines = [each["startLine"] for each in space.search("JWT expiration")["results"]]
        assert 7 not in lines  # the model knows nothing of these words, and nobody else is asked
        (found,) = space.search("boiler")["results"]
        assert (found["path"], found["score"]) == ("MEMORY.md", pytest.approx(1.0, abs=1e-3))


@pytest.mark.contract("O22")
def test_when_it_is_switched_off_nothing_is_offered_or_searched(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, search=SearchSettings(enabled=False)) as space:
        assert (space.tools(), space.prompt_section()) == ([], "")
        with pytest.raises(InvalidInput, match="switched off"):
            space.search("boiler")
        with pytest.raises(InvalidInput, match="no tool"):
            space.call("memory_search", {"query": "boiler"})


@pytest.mark.contract("O3")
def test_a_vault_is_every_markdown_file(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=replace(FolderSettings(), layout="vault")) as space:
        assert {"README.md", "docs/x.md", "MEMORY.md"} < set(space.sync().added)


def test_the_prompt_of_a_vault_speaks_of_its_notes(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=FolderSettings(layout="vault")) as space:
        assert "MEMORY.md" not in space.prompt_section()
        assert "the notes of this folder" in space.prompt_section()


@pytest.mark.parametrize(("tool", "arguments"), [("memory_get", None), ("memory_get", ["path"]), (["memory_get"], {})])
def test_a_call_of_another_shape_is_refused(space: Workspace, tool: Any, arguments: Any) -> None:
    with pytest.raises(InvalidInput, match=r"must be a string|mapping"):
        space.call(tool, arguments)


@pytest.mark.contract("O18")
def test_a_search_that_is_repeated_is_answered_from_the_cache(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, query_cache=QueryCache()) as space:
        space.sync()
        first, again, stricter = space.recall("cup"), space.recall("cup"), space.recall("cup", min_score=0.99)
        assert [each.trace.steps[0].kind == "cache" for each in (first, again, stricter)] == [False, True, False]
        assert [each.score for each in again] == [each.score for each in first] != []
