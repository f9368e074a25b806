"""OpenClaw's configuration, status and health (O12, O19–O22): the document's examples, as they are."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from recollect import InvalidInput, Mind
from recollect.config import load, trust_store
from recollect.config.apply import open_workspace
from recollect.config.schema import KEYS
from recollect.config.trust import trust
from tests.cli.conftest import Command, recollect  # noqa: F401 — the terminal is a fixture

CONSUMER = """
# Effectively zero config needed
agents:
  defaults:
    memorySearch:
      enabled: true
"""
POWER_USER = """
agents:
  defaults:
    memorySearch:
      provider: local
      extraPaths:
        - ~/docs/team-wiki
      query:
        hybrid:
          vectorWeight: 0.5
          textWeight: 0.5
"""
ENTERPRISE = """
memory:
  backend: qmd
  qmd:
    update:
      interval: "5m"
      onBoot: true
    sessions:
      enabled: true
      retentionDays: 30
"""
# The document's schema, with the defaults that it names.
SCHEMA = {
    "enabled": True,
    "provider": "auto",
    "fallback": "none",
    "model": None,
    "sources": ["memory"],
    "extraPaths": [],
    "query.maxResults": 6,
    "query.minScore": 0.35,
    "query.hybrid.enabled": True,
    "query.hybrid.vectorWeight": 0.7,
    "query.hybrid.textWeight": 0.3,
    "query.hybrid.candidateMultiplier": 4,
    "chunking.tokens": 400,
    "chunking.overlap": 80,
    "store.path": None,
    "store.vector.enabled": True,
    "store.vector.extensionPath": None,
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two notes, and a home with a wiki."""
    home, root = tmp_path / "home", tmp_path / "work"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write(root / "MEMORY.md", "# Decisions\n\nWe decided to use JWT with 24h expiration.\n")
    write(root / "memory" / "2024-01.md", "# January\n\nThe zebra project ships in May.\n")
    write(home / "docs" / "team-wiki" / "deploy.md", "# Deploys\n\nReleases go out on Tuesdays.\n")
    return root


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text), encoding="utf-8")
    return file


def configure(root: Path, text: str) -> None:
    """Write the file of a workspace, which its user trusts."""
    trust([write(root / "recollect.yaml", text)], trust_store())


def memory_search(text: str) -> str:
    return "agents: {defaults: {memorySearch: " + text + "}}\n"


def found(root: Path, query: str, **options: object) -> list[str]:
    with open_workspace(load(root)) as space:
        return [each["path"] for each in space.search(query, **options)["results"]]  # type: ignore[arg-type]


# O12: layers, names, mistakes.


@pytest.mark.contract("O12")
def test_every_key_of_the_documents_schema_has_its_name_and_default() -> None:
    assert {name: KEYS[f"memorySearch.{name}"].default for name in SCHEMA} == SCHEMA


@pytest.mark.contract("O12")
@pytest.mark.parametrize("example", [CONSUMER, POWER_USER, ENTERPRISE], ids=["consumer", "power user", "enterprise"])
def test_the_documents_examples_work_as_they_are(root: Path, example: str) -> None:
    configure(root, example)
    assert load(root).problems == ()
    assert found(root, "JWT expiration")[0] == "MEMORY.md"


@pytest.mark.contract("O12")
def test_the_power_users_example_means_what_it_says(root: Path) -> None:
    configure(root, POWER_USER)
    config = load(root)
    assert config["memorySearch.provider"] == "local"
    assert config["memorySearch.query.hybrid.vectorWeight"] == config["memorySearch.query.hybrid.textWeight"] == 0.5
    assert config.values["memorySearch.provider"].origin == f"{root}/recollect.yaml:5"
    assert found(root, "releases on Tuesdays")[0].endswith("team-wiki/deploy.md")


@pytest.mark.contract("O12")
def test_defaults_then_user_then_workspace_then_agent(root: Path) -> None:
    user = root.parent / "home" / ".config" / "recollect" / "config.yaml"
    write(
        user,
        """\
        agents:
          defaults: {memorySearch: {model: user, query: {maxResults: 7, minScore: 0.1}, extraPaths: [u, both]}}
          coder: {memorySearch: {model: user-coder}}
        """,
    )
    configure(
        root,
        """\
        agents:
          defaults: {memorySearch: {model: workspace, query: {maxResults: 8}, extraPaths: [both, w]}}
          coder: {memorySearch: {query: {maxResults: 9}, extraPaths: [c]}}
        """,
    )
    names = [
        f"memorySearch.{each}" for each in ("model", "query.maxResults", "query.minScore", "extraPaths", "fallback")
    ]
    config, coder = load(root), load(root, agent="coder")
    assert [config[name] for name in names] == ["workspace", 8, 0.1, ["u", "both", "w"], "none"]
    assert [coder[name] for name in names] == ["user-coder", 9, 0.1, ["u", "both", "w", "c"], "none"]
    here = root / "recollect.yaml"
    origins = [config.values[name].origin for name in names]
    assert origins == [f"{here}:2", f"{here}:2", f"{user}:2", f"{user}:2, {here}:2", "default"]
    assert coder.values["memorySearch.model"].origin == f"{user}:3"


@pytest.mark.contract("O12")
def test_an_unknown_key_or_a_wrong_type_is_an_error_with_file_and_key(root: Path) -> None:
    configure(root, memory_search("{query: {maxResult: 3}, enabled: 7}"))
    file = root / "recollect.yaml"
    assert [str(each) for each in load(root).problems] == [
        f"{file}:1: agents.defaults.memorySearch.query.maxResult: unknown key; did you mean maxResults?",
        f"{file}:1: agents.defaults.memorySearch.enabled: must be true or false, not 7.",
    ]
    with pytest.raises(InvalidInput, match=r"query\.maxResult: unknown key"):
        open_workspace(load(root))


@pytest.mark.contract("O12")
def test_an_openclaw_file_can_be_given(root: Path) -> None:
    given = {
        "gateway": {"port": 18789},
        "channels": {"telegram": {"enabled": True}},
        "agents": {
            "defaults": {"workspace": "~/w", "model": {"primary": "x"}, "memorySearch": {"query": {"maxResults": 3}}},
            "list": [{"id": "main", "default": True}, {"id": "coder", "memorySearch": {"enabled": False}}],
        },
        "memory": {"backend": "builtin", "citations": "off"},
    }
    file = write(root.parent / "openclaw.json", json.dumps(given, indent=2))
    config = load(root, file=file)
    assert config.problems == ()
    assert (config["memorySearch.query.maxResults"], config["memorySearch.enabled"]) == (3, True)
    assert load(root, file=file, agent="coder")["memorySearch.enabled"] is False


@pytest.mark.contract("O12")
def test_config_show_says_who_said_what_and_keeps_secrets(root: Path, recollect: Command) -> None:  # noqa: F811
    file = write(root / "mine.yaml", memory_search("{remote: {apiKey: sk-s3cret, headers: {x: s3cret}}, model: m}"))
    told = recollect("config", "show", "--config", str(file))
    assert told.code == 0
    assert f"{file}:1" in told.out
    assert "default" in told.out
    shown = recollect("config", "--config", str(file), "--json").json["values"]
    assert shown["memorySearch.model"] == {"value": "m", "origin": f"{file}:1"}
    assert shown["memorySearch.query.maxResults"] == {"value": 6, "origin": "default"}
    for outcome in (
        told,
        recollect("config", "--config", str(file), "--json"),
        recollect("status", "--config", str(file)),
    ):
        assert "s3cret" not in outcome.out + outcome.err


# O19, O20: status and probes.


@pytest.mark.contract("O19")
def test_status_tells_backend_provider_files_chunks_searches_fallback_and_sync(
    root: Path,
    recollect: Command,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RECOLLECT_EMBEDDER")
    monkeypatch.chdir(root)
    configure(root, CONSUMER)
    assert recollect("sync", ".").code == 0
    told = recollect("status", "--json").json
    assert (told["backend"], told["search_recipe"], told["recipe"]) == ("builtin", "default", "default")
    assert (told["provider"], told["model"]) == ("local", "all-MiniLM-L6-v2-int8-glossed")
    assert told["why"].startswith("auto: ")
    assert (told["vector_search"]["works"], told["full_text"]["works"], told["fallback"]) == (True, True, False)
    (folder,) = told["folders"]
    assert (folder["root"], folder["files"], folder["chunks"]) == (str(root), 2, 2)
    assert folder["synced"]
    shown = " ".join(recollect("status").out.split())  # however wide the terminal is
    for part in (
        "builtin",
        "all-MiniLM-L6-v2-int8-glossed",
        "2 files, 2 chunks",
        "last sync ",
        "full text and vectors",
    ):
        assert part in shown


@pytest.mark.contract("O19")
@pytest.mark.parametrize(
    ("settings", "provider", "fallback", "why"),
    [
        ("{provider: openai, fallback: local}", "local", True, "openai has no key"),
        ("{provider: gemini}", "none", False, "there is no fallback"),
        ("{provider: gemini, fallback: openai}", "none", False, "for the fallback openai has no key"),
        ("{provider: local}", "local", False, "provider is local"),
        ("{store: {vector: {enabled: false}}}", "none", False, "store.vector.enabled is false"),
    ],
)
def test_status_says_which_provider_and_why(
    root: Path,
    recollect: Command,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    provider: str,
    fallback: bool,
    why: str,
) -> None:
    monkeypatch.chdir(root)
    configure(root, memory_search(settings))
    recollect("remember", "x", "--embedder", "none")
    monkeypatch.delenv("RECOLLECT_EMBEDDER")
    told = recollect("status", "--json").json
    assert (told["provider"], told["fallback"]) == (provider, fallback)
    assert why in told["why"]
    assert told["vector_search"]["works"] == (provider != "none")
    assert ("(the fallback)" in recollect("status").out) == fallback


class Failing:
    name, dim = "failing", 2
    broken = False

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        if self.broken:
            raise OSError("the model has left")
        return [[1.0, float(len(text))] for text in texts]


@pytest.mark.contract("O19")
def test_status_says_that_vectors_of_another_model_are_not_searched(tmp_path: Path, recollect: Command) -> None:  # noqa: F811
    with Mind(tmp_path / "memory.db", embedder=Failing()) as mind:
        mind.remember("A cup.")
    vectors = recollect("status", "--embedder", "local", "--json").json["vector_search"]
    assert not vectors["works"]
    assert "by failing: recollect reembed replaces them" in vectors["told"]


@pytest.mark.contract("O20")
def test_without_an_embedder_the_probes_of_embedding_and_vectors_say_so(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        probes = mind.probe()
    assert [each.works for each in (probes.embedding, probes.vectors, probes.words)] == [False, False, True]
    assert probes.embedding.told == "there is no embedder"


@pytest.mark.contract("O20")
def test_the_probes_tell_what_works_and_why_not(tmp_path: Path) -> None:
    model = Failing()
    with Mind(tmp_path / "memory.db", embedder=model) as mind:
        mind.remember("A cup.")
        probes = mind.probe()
        assert (probes.embedding.works, probes.vectors.works, probes.words.works) == (True, True, True)
        model.broken = True
        probes = mind.probe()
        assert (probes.embedding.works, probes.vectors.works, probes.words.works) == (False, False, True)
        assert "the model has left" in probes.embedding.told
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert mind.probe().embedding.told == "there is no embedder"


@pytest.mark.contract("O20")
def test_the_probe_finds_vectors_of_another_model(tmp_path: Path, recollect: Command) -> None:  # noqa: F811
    with Mind(tmp_path / "memory.db", embedder=Failing()) as mind:
        mind.remember("A cup.")
    told = recollect("status", "--probe", "--embedder", "local", "--json").json["probes"]
    assert (told["embedding"]["works"], told["vectors"]["works"]) == (True, False)
    assert "'failing'" in told["vectors"]["told"]
    shown = recollect("status", "--probe", "--embedder", "local").out
    assert "probe: embedding  works" in shown
    assert "probe: vectors    fails" in shown


# O21: the qmd backend and its options.


def session(root: Path, name: str, text: str, days_old: float = 0) -> None:
    file = write(root / "sessions" / name, json.dumps({"role": "user", "content": text}) + "\n")
    then = time.time() - days_old * 86400
    os.utime(file, (then, then))


@pytest.mark.contract("O21")
def test_the_enterprise_example_chooses_the_recipe_and_its_options(root: Path) -> None:
    configure(root, ENTERPRISE)
    session(root, "new.jsonl", "The walrus moved to Oslo.")
    session(root, "old.jsonl", "The walrus lived in Bergen.", days_old=31)
    with open_workspace(load(root)) as space:
        assert len(space.files()) == 3  # onBoot: before anything was asked
        assert space.settings.interval == 300
        assert space.recall("walrus").trace.recipe == "qmd"
        found = [each["text"] for each in space.search("walrus")["results"]]
    assert any("Oslo" in text for text in found)
    assert not any("Bergen" in text for text in found)


@pytest.mark.contract("O21")
def test_without_on_boot_and_sessions_nothing_is_read_before_the_first_search(root: Path) -> None:
    configure(root, "memory: {backend: qmd, qmd: {update: {onBoot: false}, sessions: {enabled: false}}}\n")
    session(root, "new.jsonl", "The walrus moved to Oslo.")
    with open_workspace(load(root)) as space:
        assert space.files() == {}
        space.search("walrus")
        assert set(space.files()) == {"MEMORY.md", "memory/2024-01.md"}


@pytest.mark.contract("O12")
def test_a_folder_that_is_followed_already_follows_a_changed_configuration(
    root: Path,
    recollect: Command,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(root)
    assert recollect("sync", ".").code == 0
    configure(root, memory_search("{extraPaths: [~/docs/team-wiki], query: {maxResults: 1}}"))
    (only,) = recollect("search", "releases on Tuesdays", "--json").json["results"]
    assert only["path"].endswith("deploy.md")


@pytest.mark.contract("O12")
def test_a_workspace_is_synced_by_its_own_file_wherever_one_is(
    root: Path,
    recollect: Command,  # noqa: F811
) -> None:
    configure(root, memory_search("{extraPaths: [~/docs/team-wiki]}"))
    assert recollect("sync", str(root)).code == 0
    (first, *_) = recollect("search", "releases on Tuesdays", "--json").json["results"]
    assert first["path"].endswith("deploy.md")


# O22: switches.


@pytest.mark.contract("O22")
def test_the_store_is_where_its_path_says(root: Path) -> None:
    configure(root, memory_search("{store: {path: ../state/index.db}}"))
    (root.parent / "state").mkdir()
    assert found(root, "JWT")[0] == "MEMORY.md"
    assert (root.parent / "state" / "index.db").is_file()
    assert not list(root.glob("*.db*"))


@pytest.mark.contract("O22")
def test_without_vectors_none_are_made_and_words_answer(root: Path) -> None:
    configure(root, memory_search("{store: {vector: {enabled: false}}}"))
    with open_workspace(load(root)) as space:
        answer = space.search("zebra project")
        assert [each["path"] for each in answer["results"]] == ["memory/2024-01.md"]
        assert (answer["provider"], answer["model"]) == ("none", None)
        assert space.mind.status().store.spaces == []


@pytest.mark.contract("O22")
def test_without_hybrid_a_keyword_alone_finds_nothing(root: Path) -> None:
    roses = "The roses along the southern wall want pruning in late winter, and compost in spring."
    write(root / "memory" / "garden.md", f"# Garden\n\n{roses} Ticket zq9x.\n")
    assert found(root, "zq9x") == ["memory/garden.md"]
    configure(root, memory_search("{query: {hybrid: {enabled: false}}}"))
    assert found(root, "zq9x") == []
    assert found(root, "When should I prune the roses?") == ["memory/garden.md"]


@pytest.mark.contract("O22")
def test_switched_off_means_no_tool_and_no_search(root: Path) -> None:
    configure(root, memory_search("{enabled: false}"))
    with open_workspace(load(root)) as space:
        assert (space.tools(), space.prompt_section()) == ([], "")
        with pytest.raises(InvalidInput, match="switched off"):
            space.memory_search("JWT")


@pytest.mark.contract("O22")
def test_the_path_of_an_extension_is_accepted_and_reported_as_not_needed(root: Path, recollect: Command) -> None:  # noqa: F811
    configure(root, memory_search("{store: {vector: {extensionPath: /opt/vec0.so}}}"))
    assert found(root, "JWT")[0] == "MEMORY.md"
    file = str(root / "recollect.yaml")
    checked = recollect("config", "check", "--config", file)
    assert (checked.code, "extensionPath is not needed" in checked.out) == (0, True)
    recollect("remember", "x")
    assert "extensionPath is not needed" in recollect("status", "--config", file).out
