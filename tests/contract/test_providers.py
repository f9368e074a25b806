"""Who makes the vectors (O5, R5, A18), and what is not made twice (O16, O17, O18)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Mind
from recollect.embed import (
    BatchSettings,
    CachedEmbedder,
    EmbedderChoice,
    GeminiEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
    choose_embedder,
    resolve_embedder,
)
from recollect.recall.query_cache import QueryCache
from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache

from ..embed.kit import AT_ONCE, KEY, Gemini, Ollama, OpenAI, Reply, serving, vector

CUPS = ["a red cup", "a blue cup", "a green door"]
NOWHERE = "/no/such/folder"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


# O5: providers, and which one auto takes.


@pytest.mark.contract("O5")
@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "text-embedding-3-small"),
        ("gemini", "gemini-embedding-001"),
        ("local", "all-MiniLM-L6-v2-int8-glossed"),
    ],
)
def test_the_providers_have_the_models_of_the_document(provider: str, model: str) -> None:
    embedder = resolve_embedder(provider)
    assert embedder is not None
    assert embedder.name == (model if provider == "local" else f"{provider}:{model}")


def chosen(choice: EmbedderChoice) -> str | None:
    return choice.embedder.name if choice.embedder else None


@pytest.mark.contract("O5")
def test_auto_tries_local_then_openai_then_gemini_then_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local model that is named and not there stands for a machine without one."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    assert chosen(choose_embedder("auto", fallback="ollama")) == "all-MiniLM-L6-v2-int8-glossed"
    assert chosen(choose_embedder("auto", fallback="ollama", local=NOWHERE)) == "openai:text-embedding-3-small"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert chosen(choose_embedder("auto", fallback="ollama", local=NOWHERE)) == "gemini:gemini-embedding-001"
    monkeypatch.setenv("GEMINI_API_KEY", " ")
    assert chosen(choose_embedder("auto", fallback="ollama", local=NOWHERE)) == "ollama:nomic-embed-text"
    for fallback in (None, "none"):
        assert chosen(choose_embedder("auto", fallback=fallback, local=NOWHERE)) is None


@pytest.mark.contract("O5")
def test_a_choice_says_what_was_passed_over_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    why = choose_embedder("auto", local=NOWHERE).reason
    for said in ("no local model", NOWHERE, "OPENAI_API_KEY is not set", "GOOGLE_API_KEY is set"):
        assert said in why
    assert KEY not in why


@pytest.mark.contract("O5")
def test_status_says_what_was_chosen_and_why(path: Path) -> None:
    with Mind(path, embedder="auto") as mind:
        status = mind.status()
    assert (status.embedder, status.chosen) == ("all-MiniLM-L6-v2-int8-glossed", "auto: the local model is installed")


@pytest.mark.contract("O5")
def test_a_provider_that_is_named_is_used(path: Path) -> None:
    provider = OpenAI(dim=1536)
    with serving(provider) as url, Mind(path, embedder=OpenAIEmbedder(url=f"{url}/v1", key=KEY)) as mind:
        mind.remember_many(CUPS)
        assert mind.recall("red", recipe="openclaw")[0].text == "a red cup"
    assert provider.embedded == [*CUPS, "red"]


@pytest.mark.contract("O5")
def test_full_text_goes_on_when_no_provider_works(path: Path) -> None:
    away = OpenAIEmbedder(url="http://127.0.0.1:9", retry=AT_ONCE)
    with Mind(path, embedder=away) as mind:
        mind.remember_many(CUPS)
        recall = mind.recall("red cup", recipe="openclaw")
    assert recall[0].text == "a red cup"
    assert "Connection refused" in recall.trace.failures[0].reason


# R5, A18: Ollama.


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    provider = Ollama(dim=768)
    with serving(provider) as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        yield provider


@pytest.mark.contract("R5")
def test_ollama_serves_the_vector_leg_with_768_dimensions(path: Path, ollama: Ollama) -> None:
    with Mind(path, embedder="ollama:nomic-embed-text") as mind:
        mind.remember("a red cup", id="cup")
        mind.remember("the meeting", id="meeting")
        assert (mind.status().embedder, mind.status().dim) == ("ollama:nomic-embed-text", 768)
        recall = mind.recall("cup red", recipe="robotmem")
    assert recall[0].memory.id == "cup"
    (cue,) = [step for step in recall.trace.steps if step.name == "vectors"]
    assert cue.outcome == "ran"
    assert 0 <= cue.detail["nearest distance"] < cue.detail["farthest distance"] <= 2
    assert ollama.requests[0].body["model"] == "nomic-embed-text"


@pytest.mark.contract("R5")
def test_distance_is_0_for_the_same_words(path: Path) -> None:
    """For a model that wants nothing before questions and texts."""
    with serving(Ollama(dim=768)) as url, Mind(path, embedder=OllamaEmbedder("mystery", url=url)) as mind:
        mind.remember("a red cup")
        recall = mind.recall("a red cup", recipe="robotmem")
    (cue,) = [step for step in recall.trace.steps if step.name == "vectors"]
    assert cue.detail["nearest distance"] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.contract("A18")
def test_the_model_is_nomic_embed_text_where_ollama_serves_unless_the_setting_says_otherwise(
    path: Path, ollama: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OllamaEmbedder().model == "nomic-embed-text"
    with Mind(path, embedder="ollama") as mind:
        mind.remember("golden goblet")
        recall = mind.recall("goblet golden shining", recipe="abmind", similarity_threshold=0.1)
    assert [each.body["model"] for each in ollama.requests] == ["nomic-embed-text"] * 2
    assert any(step.name == "Se" and step.outcome == "ran" for step in recall.trace.steps)
    monkeypatch.setenv("RECOLLECT_ABMIND_EMBEDDING_MODEL", "mystery")
    assert OllamaEmbedder().name == "ollama:mystery"
    assert OllamaEmbedder("bge-m3").name == "ollama:bge-m3"


# O16: the embedding cache.


@pytest.mark.contract("O16")
def test_the_same_text_is_never_embedded_twice(tmp_path: Path) -> None:
    provider = OpenAI()
    with serving(provider) as url:
        for _ in range(2):
            for name in ("one.db", "two.db"):
                embedder = OpenAIEmbedder("small", url=url, key=KEY)
                with Mind(tmp_path / name, embedder=embedder, embedding_cache=tmp_path / "cache") as mind:
                    mind.remember_many([*CUPS, *CUPS])
                    mind.recall("a red cup")
    assert sorted(provider.embedded) == sorted(CUPS)


@pytest.mark.contract("O16")
def test_provider_model_settings_and_content_tell_vectors_apart(tmp_path: Path) -> None:
    shelf = SqliteEmbeddingCache(tmp_path / "cache")
    provider, other, gemini = OpenAI(), OpenAI(), Gemini()
    with serving(provider) as url, serving(other) as elsewhere, serving(gemini) as google:
        makers: list[Any] = [
            OpenAIEmbedder("small", url=url),
            OpenAIEmbedder("large", url=url),
            OpenAIEmbedder("small", url=url, dimensions=8),
            OpenAIEmbedder("small", url=elsewhere),
            GeminiEmbedder("small", url=google),
        ]
        for embedder in makers * 2:
            CachedEmbedder(embedder, shelf).embed(["a cup", "a door"])
    assert (len(provider.embedded), len(other.embedded), len(gemini.embedded)) == (6, 2, 2)
    assert len(shelf) == 10
    shelf.close()


@pytest.mark.contract("O16")
@pytest.mark.file("it looks for a key in all files")
def test_no_secret_is_stored(tmp_path: Path) -> None:
    with serving(OpenAI()) as url, Mind(tmp_path / "memory.db", embedder=OpenAIEmbedder("s", url=url, key=KEY)) as mind:
        mind.remember_many(CUPS)
        written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert "memory.db-vectors" in written
    assert not any(KEY.encode() in content for content in written.values())


# O17: batches.


@pytest.mark.contract("O17")
@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_many_texts_are_grouped_into_batches_that_are_polled(kind: str) -> None:
    texts = [f"cup{n}" for n in range(10)]
    provider: Any = OpenAI() if kind == "openai" else Gemini()
    make: Any = OpenAIEmbedder if kind == "openai" else GeminiEmbedder
    with serving(provider) as url:
        embedder = make("small", url=url, batch=BatchSettings(min_texts=1, max_texts=5, poll_seconds=0.0))
        assert embedder.embed(texts).tolist() == [vector(text, 8) for text in texts]
    assert (len(provider.batches), len(provider.embedded)) == (2, 10)
    assert len([path for path in provider.paths("GET") if "/batches/" in path]) >= 3


@pytest.mark.contract("O17")
@pytest.mark.parametrize("allowed", [1, 2])
def test_two_batches_run_beside_each_other_unless_another_number_is_set(allowed: int) -> None:
    provider = OpenAI()
    assert BatchSettings().concurrency == 2
    with serving(provider) as url:
        batch = BatchSettings(min_texts=1, max_texts=1, poll_seconds=0.0, concurrency=allowed)
        OpenAIEmbedder("small", url=url, batch=batch).embed([f"cup{n}" for n in range(6)])
    assert (len(provider.running), max(provider.running) <= allowed) == (6, True)


@pytest.mark.contract("O17")
@pytest.mark.parametrize(
    "provider", [OpenAI(ends="failed"), OpenAI(ends="expired", without=(0, 1)), OpenAI(Reply(b"", 404))]
)
def test_direct_calls_make_up_for_a_batch_that_failed(provider: OpenAI) -> None:
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, batch=BatchSettings(min_texts=1, poll_seconds=0.0), retry=AT_ONCE)
        assert embedder.embed(CUPS).tolist() == [vector(text, 8) for text in CUPS]
    assert "/embeddings" in provider.paths()


# O18: the query cache.


@pytest.mark.contract("O18")
def test_repeated_queries_are_answered_from_memory_when_that_is_enabled(path: Path) -> None:
    provider = OpenAI()
    for enabled in (True, False):
        with serving(provider) as url:
            embedder = OpenAIEmbedder("small", url=url)
            cache = QueryCache(enabled=enabled, max_entries=2)
            with Mind(path, embedder=embedder, query_cache=cache, embedding_cache=False) as mind:
                mind.remember("a red cup", external_id="cup")
                provider.embedded.clear()
                for query in ("cup", "cup", "mug", "glass", "cup"):  # the last one had to make room
                    mind.recall(query)
        assert provider.embedded == ["cup", *([] if enabled else ["cup"]), "mug", "glass", "cup"]


@pytest.mark.contract("O18")
def test_a_cached_answer_is_never_stale_after_a_write(path: Path) -> None:
    with Mind(path, embedder=None, query_cache=QueryCache()) as mind, Mind(path, embedder=None) as other:
        for number in range(1, 4):
            (mind if number % 2 else other).remember(f"cup {number}")
            for _ in range(2):
                assert len(mind.recall("cup")) == number
        other.forget(mind.recall("cup")[0].memory.id)
        assert len(mind.recall("cup")) == 2
