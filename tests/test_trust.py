"""Foreign folders: the configuration of a folder reaches outside of it only if the user trusts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import InvalidInput
from recollect.config import load, trust_store
from recollect.config.schema import KEYS
from recollect.config.trust import read_trusted, trust
from tests.cli.conftest import Command, recollect

__all__ = ["recollect"]  # the fixture


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that somebody else wrote, beside a private one that it has a link to."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SECRET", "s3cret")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text("The quokka.", "utf-8")
    vault = tmp_path / "vault"
    (vault / "memory").mkdir(parents=True)
    (vault / "memory" / "note.md").write_text("A cup.", "utf-8")
    (vault / "link").symlink_to(tmp_path / "private")
    return vault


def search(text: str) -> str:
    return f"agents: {{defaults: {{memorySearch: {{{text}}}}}}}\n"


REACHING = {
    "memorySearch.extraPaths": ["extraPaths: [../private]", "extraPaths: ['~/x']", "extraPaths: [memory, /etc]"],
    "memorySearch.store.path": ["store: {path: ../private/memory.db}", "store: {path: /tmp/x.db}"],
    "memorySearch.provider": ["provider: openai", "provider: gemini", "provider: ollama"],
    "memorySearch.fallback": ["fallback: openai"],
    "memorySearch.remote.baseUrl": ["remote: {baseUrl: 'http://elsewhere.example'}"],
    "memorySearch.remote.apiKey": ["remote: {apiKey: mine}"],
    "memorySearch.remote.headers": ["remote: {headers: {a: b}}"],
    "memorySearch.local.modelPath": ["local: {modelPath: model}"],
}
REACHING_AT_TOP = {
    "recollect.db": ["recollect: {db: ../private/memory.db}", "recollect: {db: link/memory.db}"],
    "recollect.embedder": ["recollect: {embedder: 'openai:x'}", "recollect: {embedder: 'onnx:model'}"],
    "recollect.settings": [
        "recollect: {settings: {abmind: {notes: ../private}}}",
        "recollect: {settings: {abmind: {notes: link}}}",
        "recollect: {settings: {jeffsbrain: {reranker: 'http://elsewhere.example'}}}",
    ],
    "recollect.collection": ["recollect: {collection: '${SECRET}'}"],
    "recollect.chat": ["recollect: {chat: 'http://elsewhere.example m'}"],
    "recollect.limits": ["recollect: {limits: {memory_bytes: 999999999}}"],
}
CASES = [
    *((key, search(text)) for key, texts in REACHING.items() for text in texts),
    ("memorySearch.extraPaths", search("extraPaths: [link]")),  # a link out of the folder
    *((key, f"{text}\n") for key, texts in REACHING_AT_TOP.items() for text in texts),
]


def test_every_key_that_can_reach_outside_is_tried() -> None:
    assert {name for name, key in KEYS.items() if key.guard} == {
        *REACHING,
        *(name for name in REACHING_AT_TOP if name not in ("recollect.settings", "recollect.collection")),
    }


@pytest.mark.parametrize(("key", "text"), CASES)
def test_a_key_that_reaches_outside_of_the_folder_needs_trust(folder: Path, key: str, text: str) -> None:
    file = folder / "recollect.yaml"
    file.write_text(text, "utf-8")
    config = load(folder)
    first = config.problems[0]
    assert first.key.replace("agents.defaults.", "").startswith(key)
    assert f"run 'recollect trust {folder}'" in first.message
    assert not config.is_set(key) or key == "recollect.settings"
    with pytest.raises(InvalidInput, match="may configure itself only"):
        config.checked()
    trust([file], trust_store())
    assert not [each for each in load(folder).problems if "itself only" in each.message]


@pytest.mark.parametrize(
    "text",
    [
        search("extraPaths: [docs, ./docs/more], store: {path: state/memory.db}, provider: local, fallback: none"),
        search("chunking: {tokens: 200}, query: {maxResults: 3}, provider: auto"),
        "recollect: {db: own.db, embedder: none, collection: notes, settings: {abmind: {notes: diary}}}\n",
    ],
)
def test_a_folder_may_configure_itself(folder: Path, text: str) -> None:
    (folder / "recollect.yaml").write_text(text, "utf-8")
    assert load(folder).checked().problems == ()


def test_the_users_own_file_and_a_file_that_is_named_may_say_anything(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "recollect").mkdir(parents=True)
    (tmp_path / "home" / "recollect" / "config.yaml").write_text(search("extraPaths: [/etc]"), "utf-8")
    assert load(folder).checked()["memorySearch.extraPaths"] == ["/etc"]
    named = tmp_path / "mine.yaml"
    named.write_text("recollect: {db: /tmp/mine.db}\n", "utf-8")
    assert load(folder, file=named).checked()["recollect.db"] == "/tmp/mine.db"


def test_trust_ends_when_the_file_changes(folder: Path) -> None:
    file = folder / ".recollect.yaml"
    file.write_text(search("extraPaths: [../private]"), "utf-8")
    trust([file], trust_store())
    assert load(folder).problems == ()
    file.write_text(search("extraPaths: [../private, /etc]"), "utf-8")
    assert len(load(folder).problems) == 1


def test_a_private_folder_is_neither_indexed_nor_printed(folder: Path, recollect: Command) -> None:
    (folder / "recollect.yaml").write_text(search(f"extraPaths: [{folder.parent / 'private'}]"), "utf-8")
    refused = recollect("sync", str(folder))
    assert refused.code == 2
    assert "extraPaths" in refused.err
    assert "quokka" not in recollect("search", "quokka").out
    assert recollect("trust", str(folder)).code == 0
    assert recollect("sync", str(folder)).code == 0
    assert "quokka" in recollect("search", "quokka").out


def test_trust_is_listed_and_removed(folder: Path, recollect: Command) -> None:
    assert recollect("trust", "--list").code == 1
    nothing = recollect("trust", str(folder))
    assert (nothing.code, "nothing to trust" in nothing.err) == (2, True)
    (folder / "recollect.yaml").write_text(search("extraPaths: [../private]"), "utf-8")
    recollect("trust", str(folder))
    assert str(folder / "recollect.yaml") in recollect("trust", "--list").out
    (folder / "recollect.yaml").write_text("", "utf-8")
    listed = json.loads(recollect("trust", "--list", "--json").out)
    assert listed == {"trusted": [], "changed": [str(folder / "recollect.yaml")]}
    assert recollect("trust", str(folder), "--remove").code == 0
    assert recollect("trust", str(folder), "--remove").code == 1
    assert read_trusted(trust_store()) == {}


def test_a_damaged_list_of_trusted_files_is_named(folder: Path) -> None:
    (folder / "recollect.yaml").write_text(search("extraPaths: [x]"), "utf-8")
    trust_store().parent.mkdir(parents=True, exist_ok=True)
    trust_store().write_text("[1", "utf-8")
    with pytest.raises(InvalidInput, match=r"trusted\.json cannot be read"):
        load(folder)
