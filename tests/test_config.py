"""Configuration files: layers, where each value was said, and problems with their line."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.config import Config, load, trust_store
from recollect.config.schema import KEYS, SECTIONS
from recollect.config.trust import trust
from recollect.embed.select import NAMES
from recollect.errors import InvalidInput
from recollect.recall.default import default
from recollect.recall.registry import RECIPES

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file of a workspace; ``home/recollect/config.yaml`` is the user's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))

    def write(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    return write


def told(config: Config) -> list[str]:
    """The problems, without the folder that they are in."""
    return [
        f"{Path(each.location.file).name}:{each.location.line}: {each.key}: {each.message}" for each in config.problems
    ]


def search(text: str) -> str:
    """Lines below agents.defaults.memorySearch; the first of them is line 4."""
    body = "\n".join(" " * 6 + line for line in dedent(text).strip().splitlines())
    return f"agents:\n  defaults:\n    memorySearch:\n{body}\n"


def test_without_a_file_the_defaults_hold_and_say_so(write: Write, tmp_path: Path) -> None:
    config = load(tmp_path)
    assert (config.files, config.problems, config.notes) == ((), (), [])
    assert {name: config[name] for name in KEYS} == {name: key.default for name, key in KEYS.items()}
    assert {value.origin for value in config.values.values()} == {"default"}


def test_yaml_is_not_imported_where_there_is_no_file(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys; from recollect.config import load; load('.'); sys.exit('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert done.returncode == 0


def test_every_problem_is_told_with_its_line_and_key(write: Write, tmp_path: Path) -> None:
    write(
        "recollect.yaml",
        search(
            """
            enabled: maybe
            provder: openai
            provider: opanai
            extraPaths: docs
            maxResults: 3
            query:
              hybrid:
                vectorWeight: -1
                textweight: 0.3
            chunking: 400
            sources: [memory, dreams]
            """
        ),
    )
    where = "agents.defaults.memorySearch."
    providers = "openai or gemini or ollama or local or auto"
    assert told(load(tmp_path)) == [
        f"recollect.yaml:4: {where}enabled: must be true or false, not 'maybe'.",
        f"recollect.yaml:5: {where}provder: unknown key; did you mean provider?",
        f"recollect.yaml:6: {where}provider: must be {providers}, not 'opanai'; did you mean openai?",
        f"recollect.yaml:7: {where}extraPaths: must be a list of texts, not 'docs'.",
        f"recollect.yaml:8: {where}maxResults: unknown key; did you mean query.maxResults?",
        f"recollect.yaml:11: {where}query.hybrid.vectorWeight: must be a number from 0 to 1, not -1.",
        f"recollect.yaml:12: {where}query.hybrid.textweight: unknown key; did you mean textWeight?",
        f"recollect.yaml:13: {where}chunking: must have keys below it, not 400.",
        f"recollect.yaml:14: {where}sources: must be a list of memory and sessions, not ['memory', 'dreams'].",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memroy:\n  backend: qmd\n", "1: memroy: unknown key; did you mean memory?"),
        ("memory:\n  backend: qdm\n", "2: memory.backend: must be builtin or qmd, not 'qdm'; did you mean qmd?"),
        ("memorySearch: {}\n", "1: memorySearch: unknown key; did you mean agents.defaults.memorySearch?"),
        ("recollect:\n  k: ten\n", "2: recollect.k: must be a whole number, 1 or more, not 'ten'."),
        ("recollect:\n  k: true\n", "2: recollect.k: must be a whole number, 1 or more, not True."),
        ("recollect:\n  db:\n", "2: recollect.db: must be a text, not nothing."),
        ("memory:\n  backend: qmd\n  backend: builtin\n", "3: memory.backend: it occurs twice; first in line 2."),
        ("memory: {backend: qmd, backend: qmd}\n", "1: memory.backend: it occurs twice; first in line 1."),
        ("recollect: {k: 010}\n", "1: recollect.k: must be a whole number, 1 or more, not '010'."),
        ("recollect: {k: %s}\n" % ("9" * 30), "1: recollect.k: must be a whole number, 1 or more, not 1e+30."),
        ("? [a]\n: b\n", "1: : a key must be a text."),
        ("- a\n- b\n", "1: : must have keys below it, not a list."),
        ("memory:\n  qmd:\n    update: {interval: soon}\n",
         """3: memory.qmd.update.interval: must be a duration, such as "30s", "5m" or "1h", not 'soon'."""),
        ("memory: [\n", "2: : this is not valid YAML: expected the node content, but found '<stream end>'."),
    ],
)  # fmt: skip
def test_a_problem(write: Write, tmp_path: Path, text: str, problem: str) -> None:
    write("recollect.yaml", text)
    assert told(load(tmp_path)) == [f"recollect.yaml:{problem}"]


def test_an_unknown_name_is_told_with_those_that_there_are_and_the_nearest(write: Write, tmp_path: Path) -> None:
    write(
        "recollect.yaml",
        """\
        recollect:
          embedder: opnai:small
          recipe: opneclaw
          settings:
            opnclaw: {}
            default:
              sesion: 0.1
              session: 7
        """,
    )
    embedders = "local, auto, none, openai:MODEL, gemini:MODEL, ollama:MODEL, onnx:FOLDER or gguf:FILE"
    recipes = ", ".join(RECIPES)
    setting = f"did you mean session? Known: {', '.join(signature(default).parameters)}."
    assert told(load(tmp_path)) == [
        f"recollect.yaml:2: recollect.embedder: must be {embedders}, not 'opnai:small'; did you mean openai:small?",
        (
            "recollect.yaml:3: recollect.recipe: must be the name of a recipe, not 'opneclaw'; "
            f"did you mean openclaw? Allowed: {recipes}."
        ),
        f"recollect.yaml:5: recollect.settings.opnclaw: unknown recipe; did you mean openclaw? Known: {recipes}.",
        "recollect.yaml:6: recollect.settings.default: session must be between 0 and 1, not 7.",
        f"recollect.yaml:7: recollect.settings.default.sesion: unknown setting; {setting}",
    ]


def test_what_is_wrong_only_together_points_at_what_was_said(write: Write, tmp_path: Path) -> None:
    write("recollect.yaml", search("chunking: {tokens: 50}\nquery: {hybrid: {vectorWeight: 0, textWeight: 0}}"))
    assert told(load(tmp_path)) == [
        "recollect.yaml:4: memorySearch.chunking.tokens: an overlap of 80 is too much for chunks of 50 tokens.",
        "recollect.yaml:5: memorySearch.query.hybrid.vectorWeight: vectorWeight and textWeight cannot both be 0.",
    ]


def test_a_configuration_with_problems_is_refused_with_the_first_of_them(write: Write, tmp_path: Path) -> None:
    write("recollect.yaml", "recollect: {k: 0, recipe: 3}\n")
    with pytest.raises(InvalidInput, match=r"recollect.yaml:1: recollect.k: .* \(1 more: recollect config check\)"):
        load(tmp_path).checked()


def test_the_environment_is_asked_for_what_a_file_names(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("mine.yaml", search("remote: {apiKey: '${MY_KEY}', headers: {x-team: 'a-${MY_KEY}'}}"))
    monkeypatch.delenv("MY_KEY", raising=False)
    assert [each.message for each in load(tmp_path, file=file).problems] == [
        "the environment has no variable MY_KEY."
    ] * 2
    monkeypatch.setenv("MY_KEY", "s3cret")
    config = load(tmp_path, file=file)
    assert config["memorySearch.remote.apiKey"] == "s3cret"
    assert config["memorySearch.remote.headers"] == {"x-team": "a-s3cret"}


def test_any_text_may_be_filled_from_the_environment(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI", "/wiki")
    monkeypatch.setenv("MODEL", "ollama:small")
    file = write("recollect.yaml", search("extraPaths: ['${WIKI}/team']") + "recollect: {embedder: '${MODEL}'}\n")
    trust([file], trust_store())
    config = load(tmp_path).checked()
    assert (config["memorySearch.extraPaths"], config["recollect.embedder"]) == (["/wiki/team"], "ollama:small")


@pytest.mark.parametrize("name", ["local", "auto", "none", "openai", "openai:a-b", "gemini:x@512", "onnx:~/models/a:b"])
def test_an_embedder_that_can_be_named_may_be_configured(write: Write, tmp_path: Path, name: str) -> None:
    trust([write("recollect.yaml", f"recollect: {{embedder: '{name}'}}\n")], trust_store())
    assert load(tmp_path).checked()["recollect.embedder"] == name


def test_the_embedders_of_a_file_are_those_that_can_be_chosen() -> None:
    names = {each.partition(":")[0] for each in re.split(", | or ", NAMES)}
    assert set(KEYS["recollect.embedder"].type.choices()) == {*names, "none"}


@pytest.mark.parametrize("name", ["local:x", "onnx:", "openai:x@many", "none:x"])
def test_an_embedder_that_cannot_be_made_of_its_name_is_a_problem(write: Write, tmp_path: Path, name: str) -> None:
    write("recollect.yaml", f"recollect: {{embedder: '{name}'}}\n")
    (problem,) = load(tmp_path).problems
    assert problem.message.endswith(f"gguf:FILE, not '{name}'.")


def test_a_workspace_may_not_say_where_keys_are_sent(write: Write, tmp_path: Path) -> None:
    file = write("recollect.yaml", search("remote:\n  baseUrl: http://elsewhere.example"))
    (problem,) = load(tmp_path).problems
    assert (problem.location.line, "--config" in problem.message) == (5, True)
    assert load(tmp_path, file=file)["memorySearch.remote.baseUrl"] == "http://elsewhere.example"  # the user named it
    file.unlink()
    write("home/recollect/config.yaml", search("remote:\n  baseUrl: http://mine.example"))
    assert load(tmp_path)["memorySearch.remote.baseUrl"] == "http://mine.example"


def test_a_secret_is_not_in_the_words_of_a_problem(write: Write, tmp_path: Path) -> None:
    file = write("mine.yaml", search("remote: {apiKey: 123456789, headers: [s3cret]}"))
    problems = told(load(tmp_path, file=file))
    assert len(problems) == 2
    assert not any("123456789" in each or "s3cret" in each for each in problems)


def test_json_with_comments_tabs_and_commas_is_read(write: Write, tmp_path: Path) -> None:
    file = write(
        "openclaw.json",
        """\
        {
        \t// the gateway is none of our business
        \t"gateway": {"port": 18789, "url": "http://x//y"},
        \t/* two
        \t   lines */
        \tagents: {
        \t\t"defaults": {"model": "m", "memorySearch": {"provider": "local", "query": {"maxResults": 9,},},},
        \t},
        }
        """,
    )
    config = load(tmp_path, file=file)
    assert config.problems == ()
    assert config["memorySearch.query.maxResults"] == 9
    assert config.values["memorySearch.query.maxResults"].origin == f"{file}:7"


def test_anchors_and_merges_are_understood(write: Write, tmp_path: Path) -> None:
    write(
        "recollect.yaml",
        """\
        agents:
          defaults:
            memorySearch: &all {query: {maxResults: 9}, model: m}
          coder:
            memorySearch:
              <<: *all
              model: c
        """,
    )
    config = load(tmp_path, agent="coder")
    assert (config["memorySearch.model"], config["memorySearch.query.maxResults"]) == ("c", 9)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00bad", b"a: &a [*a]\nrecollect: *a\n", b"[" * 5000, b"\x00", b"k: \x01"]
)
def test_no_file_breaks_the_reader(write: Write, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recollect.yaml").write_bytes(content)
    assert load(tmp_path).problems


PIECES = st.sampled_from(
    [
        *"agents defaults memorySearch memory qmd query list : - { } [ ] &a *a << ? ' # 1 true ~ ${X} | > , %".split(),
        *('"', "!!int", "!!float ", "!!timestamp ", "!!binary ", "\n", "  ", "\t", ": ", "- ", "---\n"),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=60), st.sampled_from(["recollect.yaml", "c.json"]))
def test_any_text_is_read_or_told(write: Write, tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", errors="replace")
    config = load(tmp_path, file=tmp_path / name)
    assert all(problem.location.line >= 1 and problem.message for problem in config.problems)


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "---\n", "agents:\n", "memory:\n  qmd:\n"])
def test_an_unfinished_file_says_nothing_and_is_no_problem(write: Write, tmp_path: Path, content: str) -> None:
    write("recollect.yaml", content)
    config = load(tmp_path)
    assert (config.problems, len(config.files)) == ((), 1)


def test_a_named_file_must_be_there(write: Write, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"configuration file .*nope.yaml cannot be read: No such file"):
        load(tmp_path, file=tmp_path / "nope.yaml")


def test_paths_are_those_of_the_workspace_and_know_the_agent(write: Write, tmp_path: Path) -> None:
    write("recollect.yaml", search("store: {path: 'state/{agentId}.db'}"))
    assert load(tmp_path).db == tmp_path / "state" / "main.db"
    assert load(tmp_path, agent="coder").db == tmp_path / "state" / "coder.db"
    trust([write("recollect.yaml", "recollect: {db: ~/all.db}\n")], trust_store())
    assert load(tmp_path).db == Path("~/all.db").expanduser()


@pytest.mark.parametrize(
    ("span", "seconds"), [("5m", 300), ("30s", 30), ("1.5h", 5400), ("250ms", 0.25), ("1d", 86400), (7, 7)]
)
def test_spans_of_time(write: Write, tmp_path: Path, span: object, seconds: float) -> None:
    write("recollect.yaml", f"memory: {{qmd: {{update: {{interval: {span}}}}}}}\n")
    assert load(tmp_path)["memory.qmd.update.interval"] == seconds


def table(section: str) -> str:
    """The keys of a section, as the docs show them."""

    def shown(value: object) -> str:
        match value:
            case None | [] | {}:
                return ""
            case bool():
                return str(value).lower()
            case list():
                return ", ".join(value)
        return str(value)

    rows = ["| key | is | default | |", "|---|---|---|---|"]
    for name, key in SECTIONS[section].items():
        about = f"{key.about} Not needed: {key.unneeded}." if key.unneeded else key.about
        rows.append(f"| `{name}` | {key.type.description} | {shown(key.default)} | {about} |")
    return "\n".join(rows)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_docs_have_the_table_of_all_keys(section: str) -> None:
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text("utf-8")
    assert table(section) in page
