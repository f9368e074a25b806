"""How a name becomes an embedder, and what auto chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind
from recollect.embed import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, choose_embedder, resolve_embedder
from recollect.embed.local import LocalEmbedder

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
NOWHERE = "/no/such/folder"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "kind", "called"),
    [
        ("local", LocalEmbedder, "all-MiniLM-L6-v2-int8-glossed"),
        ("openai", OpenAIEmbedder, "openai:text-embedding-3-small"),
        ("openai:text-embedding-3-large@256", OpenAIEmbedder, "openai:text-embedding-3-large@256"),
        ("openai:@512", OpenAIEmbedder, "openai:text-embedding-3-small@512"),
        ("gemini", GeminiEmbedder, "gemini:gemini-embedding-001"),
        ("gemini:models/other@768", GeminiEmbedder, "gemini:other@768"),
        ("ollama", OllamaEmbedder, "ollama:nomic-embed-text"),
        ("ollama:all-minilm:33m", OllamaEmbedder, "ollama:all-minilm:33m"),
    ],
)
def test_names_are_understood_and_what_a_remote_model_is_called_names_it_again(
    name: str, kind: type, called: str
) -> None:
    embedder: Any = resolve_embedder(name)
    assert (type(embedder), embedder.name) == (kind, called)
    if name != "local":
        again: Any = resolve_embedder(called)
        assert again.name == called


@pytest.mark.parametrize(
    "wrong", ["", "magic", "open ai", "openai:small@many", "local:other", "onnx:/no/such", 3, dict]
)
def test_what_is_no_embedder_is_a_clear_error(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        resolve_embedder(wrong)


def test_a_choice_says_why() -> None:
    assert choose_embedder(None).reason == "no embedder was requested: search by words only"
    assert choose_embedder("local").reason == "it was named"
    assert choose_embedder(LocalEmbedder()).reason == "the included model"


def test_status_says_what_was_chosen_and_why(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder="auto") as mind:
        status = mind.status()
    assert (status.embedder, status.chosen) == ("all-MiniLM-L6-v2-int8-glossed", "auto: the local model is installed")


def test_a_broken_fallback_is_a_clear_error() -> None:
    with pytest.raises(InvalidInput, match="magic"):
        choose_embedder("auto", local=NOWHERE, fallback="magic")
