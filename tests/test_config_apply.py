"""What a configuration comes to: embedders that are really asked, folders and searches."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config, load
from recollect.config.apply import folder_settings, open_workspace, search_settings
from recollect.config.embedder import select_embedder
from recollect.embed import EmbedderChoice, embed_texts
from recollect.errors import InvalidInput
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.search import SearchSettings
from recollect.systems.openclaw.workspace import Workspace, followed_folders
from tests.embed.kit import KEY, Gemini, Ollama, OpenAI, serving


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys, and no configuration of one's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


def configured(tmp_path: Path, **sections: Any) -> Config:
    """Of a file that was named; ``memorySearch`` is put below agents.defaults."""
    if "memorySearch" in sections:
        sections["agents"] = {"defaults": {"memorySearch": sections.pop("memorySearch")}}
    file = tmp_path / "given.yaml"
    file.write_text(json.dumps(sections), encoding="utf-8")
    return load(tmp_path, file=file).checked()


@pytest.mark.parametrize(
    ("provider", "service", "below", "header"),
    [
        ("openai", OpenAI, "/v1", "Authorization"),
        ("gemini", Gemini, "/v1beta", "x-goog-api-key"),
        ("ollama", Ollama, "", ""),
    ],
)
def test_a_service_is_asked_at_its_address_with_its_key_and_headers(
    tmp_path: Path, provider: str, service: Any, below: str, header: str
) -> None:
    server = service()
    with serving(server) as url:
        remote = {"baseUrl": url + below, "apiKey": KEY, "headers": {"x-team": "red"}}
        said = {"provider": provider, "model": "mystery", "remote": remote}
        chosen = select_embedder(configured(tmp_path, memorySearch=said))
        assert chosen.embedder is not None
        embed_texts(chosen.embedder, ["a red cup"])
    asked = {name.lower(): value for name, value in server.requests[-1].headers.items()}
    assert asked["x-team"] == "red"
    assert not header or KEY in asked[header.lower()]
    assert (chosen.reason, chosen.embedder.name) == (f"provider is {provider}", f"{provider}:mystery")
    assert KEY not in repr(chosen)


def test_batches_are_as_the_file_says(tmp_path: Path) -> None:
    batch = {"enabled": True, "concurrency": 3, "pollIntervalMs": 500, "timeoutMinutes": 2}
    said = {"provider": "openai", "remote": {"apiKey": KEY, "batch": batch}}
    made: Any = select_embedder(configured(tmp_path, memorySearch=said)).embedder
    assert (made.batch.concurrency, made.batch.poll_seconds, made.batch.timeout_seconds) == (3, 0.5, 120)


def test_our_own_name_for_an_embedder_wins(tmp_path: Path) -> None:
    said = {"provider": "openai", "remote": {"apiKey": KEY}}
    assert select_embedder(configured(tmp_path, memorySearch=said, recollect={"embedder": "none"})).embedder is None
    made = select_embedder(
        configured(tmp_path, memorySearch=said, recollect={"embedder": "ollama:all-minilm"})
    ).embedder
    assert made is not None
    assert made.name == "ollama:all-minilm"


def test_a_local_model_that_is_not_there_is_a_reason_to_fall_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"provider": "local", "local": {"modelPath": "models/none"}, "fallback": "gemini", "model": "mine"}
    config = configured(tmp_path, memorySearch=said)
    why = f"there is no model in {tmp_path / 'models' / 'none'}"
    none = select_embedder(config)
    assert none == EmbedderChoice(None, f"{why}, and for the fallback gemini has no key (GEMINI_API_KEY or GOOGLE_API_KEY, or remote.apiKey): search by words only")  # fmt: skip  # noqa: E501
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    chosen = select_embedder(config)
    assert chosen.embedder is not None
    assert (chosen.embedder.name, chosen.is_fallback) == ("gemini:gemini-embedding-001", True)


def test_without_a_file_folders_and_searches_are_as_usual(tmp_path: Path) -> None:
    assert folder_settings(load(tmp_path)) == FolderSettings()
    assert search_settings(load(tmp_path)) == SearchSettings(recipe="default")


def test_a_folder_is_indexed_and_synced_as_the_file_says(tmp_path: Path) -> None:
    said = {
        "sources": ["memory", "sessions"],
        "extraPaths": ["docs"],
        "chunking": {"tokens": 200, "overlap": 20},
        "store": {"vector": {"enabled": False}},
        "sync": {"onSearch": False, "watch": False, "watchDebounceMs": 250, "intervalMinutes": 2},
    }
    assert folder_settings(configured(tmp_path, memorySearch=said)) == FolderSettings(
        sources=("memory", "sessions"),
        extra_paths=("docs",),
        tokens=200,
        overlap=20,
        vectors=False,
        on_search=False,
        watch=False,
        debounce=0.25,
        interval=120,
    )


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace, and two places that may be added to it."""
    for name in ("MEMORY.md", "wiki/wiki.md", "docs/docs.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("The cup is blue.\n", encoding="utf-8")
    return tmp_path


def test_what_was_given_for_a_folder_stays_beside_what_the_file_says(notes: Path) -> None:
    db = notes / "memory.db"
    with Workspace(notes, db=db, embedder=None, extra_paths=["wiki"]) as space:
        assert set(space.sync().added) == {"MEMORY.md", "wiki/wiki.md"}
    words = {"store": {"vector": {"enabled": False}}}
    with open_workspace(configured(notes, memorySearch={"extraPaths": ["docs"], **words})) as space:
        assert set(space.files()) == {"MEMORY.md", "wiki/wiki.md", "docs/docs.md"}
    (record,) = followed_folders(db).values()
    assert record["settings"] == {"extra_paths": ["wiki"]}
    with open_workspace(configured(notes, memorySearch=words)) as space:
        assert set(space.files()) == {"MEMORY.md", "wiki/wiki.md"}


def test_a_folder_is_opened_again_as_it_was_synced(notes: Path) -> None:
    db, given = notes / "memory.db", FolderSettings(layout="vault", ignore=("docs",), tokens=100, overlap=10)
    with Workspace(notes, db=db, embedder=None, settings=given) as space:
        space.sync()
    with Workspace(notes, db=db, embedder=None) as space:
        assert space.settings == given
        assert space.sync().unchanged == 2
    with Workspace(notes, db=db, embedder=None, settings=FolderSettings()) as space:
        space.sync()
        assert set(space.files()) == {"MEMORY.md"}


def test_a_record_with_all_settings_as_earlier_versions_wrote_it_counts_as_given(notes: Path) -> None:
    db = notes / "memory.db"
    with Workspace(notes, db=db, embedder=None) as space:
        space.sync()
        merged = asdict(FolderSettings(extra_paths=("wiki",), sources=("memory", "sessions"), tokens=200, overlap=20))
        with space.mind.store.transaction("sync") as transaction:
            (held,) = followed_folders(space.mind).values()
            transaction.files.set_folder(space.collection, {**held, "settings": merged})
    said = folder_settings(
        configured(notes, memorySearch={"extraPaths": ["docs"], "chunking": {"tokens": 300, "overlap": 30}})
    )
    with Workspace(notes, db=db, embedder=None, defaults=said) as space:
        space.sync()
        assert set(space.files()) == {"MEMORY.md", "wiki/wiki.md", "docs/docs.md"}
        assert (space.settings.tokens, space.settings.overlap) == (200, 20)


def test_what_was_given_wins_over_what_the_file_says(notes: Path) -> None:
    said = folder_settings(configured(notes, memorySearch={"chunking": {"tokens": 300}, "sync": {"onSearch": False}}))
    given = FolderSettings(tokens=100, overlap=10)
    with Workspace(notes, db=notes / "memory.db", embedder=None, settings=given, defaults=said) as space:
        assert space.settings == FolderSettings(tokens=100, overlap=10, on_search=False)


def test_a_file_is_no_folder(notes: Path) -> None:
    with pytest.raises(InvalidInput, match=r"MEMORY.md is a file, not a folder"):
        Workspace(notes / "MEMORY.md", db=notes / "memory.db", embedder=None)
    assert not (notes / "memory.db").exists()


@pytest.mark.parametrize("wrong", [{"min_score": 7}, {"min_score": "low"}, {"max_results": 0}, {"max_results": 2.5}])
def test_a_search_is_not_set_to_what_no_search_can_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} must be"):
        SearchSettings(**wrong)


def test_a_score_that_none_can_reach_is_refused(notes: Path) -> None:
    with (
        Workspace(notes, db=notes / "memory.db", embedder=None) as space,
        pytest.raises(InvalidInput, match="min_score must be between 0 and 1, not 7"),
    ):
        space.search("cup", min_score=7)


def test_a_search_is_as_the_file_says(tmp_path: Path) -> None:
    hybrid = {"enabled": False, "vectorWeight": 0.6, "textWeight": 0.4, "candidateMultiplier": 2}
    said = {"enabled": False, "query": {"maxResults": 3, "minScore": 0.2, "hybrid": hybrid}}
    assert search_settings(configured(tmp_path, memorySearch=said, memory={"citations": "off"})) == SearchSettings(
        enabled=False,
        recipe="openclaw",
        max_results=3,
        min_score=0.2,
        hybrid=False,
        vector_weight=0.6,
        text_weight=0.4,
        candidate_multiplier=2,
        citations="off",
    )
    qmd = configured(tmp_path, memory={"backend": "qmd", "qmd": {"limits": {"maxResults": 9}}})
    assert search_settings(qmd) == SearchSettings(recipe="qmd", max_results=9)


@pytest.mark.parametrize(
    ("sections", "recipe"),
    [
        ({}, "default"),
        ({"memorySearch": {"query": {"maxResults": 3}}}, "default"),
        ({"memorySearch": {"query": {"minScore": 0.35}}}, "openclaw"),
        ({"memorySearch": {"query": {"hybrid": {"textWeight": 0.5}}}}, "openclaw"),
        ({"memory": {"backend": "builtin"}}, "openclaw"),
        ({"memory": {"backend": "qmd"}}, "qmd"),
        ({"memory": {"backend": "qmd"}, "recollect": {"search": {"recipe": "openclaw"}}}, "openclaw"),
        ({"memorySearch": {"query": {"minScore": 0.35}}, "recollect": {"search": {"recipe": "default"}}}, "default"),
        ({"recollect": {"recipe": "openmem"}}, "default"),
    ],
)
def test_a_file_asks_for_a_recipe_by_name_by_backend_or_by_a_key_of_openclaw(
    tmp_path: Path, sections: dict[str, Any], recipe: str
) -> None:
    config = configured(tmp_path, **sections)
    assert (config.search_recipe, search_settings(config).recipe_name) == (recipe, recipe)


def test_the_settings_of_a_recipe_apply_to_searches(tmp_path: Path) -> None:
    config = configured(tmp_path, recollect={"settings": {"default": {"words": 2.0}}})
    assert search_settings(config).recipe_settings == {"words": 2.0}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"recipe": "opnclaw"}, "There is no recipe 'opnclaw'"),
        ({"recipe": "default", "hybrid": False}, "hybrid: only the recipe 'openclaw' has this, not 'default'"),
        ({"recipe_settings": {"wrds": 1}}, "no setting 'wrds'"),
        ({"recipe": "openclaw", "recipe_settings": {"min_score": 0.1}}, "not as recipe_settings"),
        ({"recipe_settings": {"words": [1]}}, "words"),
    ],
)
def test_a_search_has_a_known_recipe_and_the_settings_of_that_recipe(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        SearchSettings(**wrong)


def test_answers_are_kept_when_the_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("The cup is blue.\n", encoding="utf-8")
    server = OpenAI()
    with serving(server) as url:
        remote = {"baseUrl": f"{url}/v1", "apiKey": KEY}
        said = {"provider": "openai", "model": "small", "remote": remote, "cache": {"enabled": True}}
        with open_workspace(configured(tmp_path, memorySearch=said)) as space:
            first = space.search("cup", track=False)
            asked = len(server.requests)
            assert space.search("cup", track=False) == first
    assert len(server.requests) == asked
    assert (first["provider"], first["model"]) == ("openai", "small")


def test_no_days_of_retention_keep_all_transcripts(tmp_path: Path) -> None:
    qmd = {"sessions": {"enabled": True, "retentionDays": 0}}
    assert folder_settings(configured(tmp_path, memory={"backend": "qmd", "qmd": qmd})).retention_days is None
