"""OpenAI, Gemini and Ollama on loopback: what is sent, and what is understood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from recollect import EmbeddingError, InvalidInput
from recollect.embed import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, embed_texts, resolve_embedder
from recollect.embed.remote import RemoteEmbedder

from .kit import AT_ONCE, CUPS, KEY, Gemini, Ollama, OpenAI, Reply, serving, vector


@dataclass
class Place:
    """A provider that is being served, and how to embed with it."""

    provider: Any
    make: Callable[..., RemoteEmbedder]

    def embedder(self, **settings: Any) -> RemoteEmbedder:
        return self.make(**{"retry": AT_ONCE, **settings})


@pytest.fixture
def openai() -> Iterator[Place]:
    provider = OpenAI()
    with serving(provider) as url:
        yield Place(provider, lambda **said: OpenAIEmbedder(**{"model": "small", "url": f"{url}/v1", **said}))


@pytest.fixture
def gemini() -> Iterator[Place]:
    provider = Gemini()
    with serving(provider) as url:
        yield Place(provider, lambda **said: GeminiEmbedder(**{"model": "small", "url": f"{url}/v1beta", **said}))


@pytest.fixture
def ollama() -> Iterator[Place]:
    provider = Ollama()
    with serving(provider) as url:
        yield Place(provider, lambda **said: OllamaEmbedder(**{"model": "mystery", "url": url, **said}))


@pytest.fixture(params=["openai", "gemini", "ollama"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


def test_vectors_come_back_in_the_order_of_the_texts(place: Place) -> None:
    vectors = embed_texts(place.embedder(), CUPS)
    expected = np.array([vector(text, 8) for text in CUPS])
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)


def test_dimensions_that_nobody_knows_are_asked_for_once(place: Place) -> None:
    embedder = place.embedder()
    before = embedder.known_dim
    assert (before, embedder.dim, embedder.dim, embedder.known_dim) == (None, 8, 8, 8)
    assert len(place.provider.requests) == 1


def test_an_answer_tells_the_dimensions(place: Place) -> None:
    embedder = place.embedder()
    embedder.embed(CUPS)
    assert (embedder.dim, len(place.provider.requests)) == (8, 1)


def test_nothing_is_asked_for_no_texts(place: Place) -> None:
    embedder = place.embedder(dimensions=8)
    assert (embedder.embed([]).shape, place.provider.requests) == ((0, 8), [])


def test_many_texts_are_sent_in_requests_of_a_fitting_size_and_keep_their_order(place: Place) -> None:
    texts = [f"cup{number}" for number in range(2500)]
    embedder = place.embedder(concurrency=3)
    assert embedder.embed(texts).tolist() == [vector(text, 8) for text in texts]
    assert len(place.provider.requests) == -(-2500 // embedder.max_texts)


def test_large_texts_share_a_request_only_as_far_as_there_is_room(openai: Place) -> None:
    openai.embedder().embed(["x" * 15_000] * 100)
    sizes = [sum(map(len, each.body["input"])) for each in openai.provider.requests]
    assert (sum(sizes), max(sizes) <= 600_000) == (1_500_000, True)


def test_strange_texts_are_no_trouble(place: Place) -> None:
    strange = ["", "\0", "\ud800", "🎉" * 10_000, 'a "quoted"\nline']
    assert place.embedder().embed(strange).shape == (5, 8)


def test_the_name_says_what_can_be_compared_and_nothing_else(place: Place) -> None:
    embedder, smaller = place.embedder(key=KEY), place.embedder(dimensions=4)
    assert embedder.name == f"{embedder.provider}:{embedder.model}"
    assert smaller.name == f"{embedder.name}@4"
    assert KEY not in embedder.name + embedder.fingerprint + repr(embedder)
    assert "127.0.0.1" not in embedder.name + embedder.fingerprint


def test_the_fingerprint_tells_services_apart_and_not_keys(place: Place) -> None:
    embedder = place.embedder(key=KEY)
    assert embedder.fingerprint == place.embedder(key="another").fingerprint
    assert embedder.fingerprint != place.embedder(url="http://localhost:1/v1").fingerprint
    assert embedder.fingerprint != place.embedder(dimensions=4).fingerprint


def test_openai_is_asked_as_it_wants_to_be(openai: Place) -> None:
    openai.embedder(key=KEY, headers={"X-Team": "kitchen"}).embed(["réd"])
    (request,) = openai.provider.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.body == {"model": "small", "input": ["réd"], "encoding_format": "float"}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["X-Team"] == "kitchen"


def test_dimensions_are_sent_when_they_are_chosen(openai: Place, gemini: Place, ollama: Place) -> None:
    for place in (openai, gemini, ollama):
        place.embedder(dimensions=8).embed(["a"])
    assert openai.provider.requests[0].body["dimensions"] == 8
    assert gemini.provider.requests[0].body["requests"][0]["outputDimensionality"] == 8
    assert ollama.provider.requests[0].body["dimensions"] == 8


def test_an_address_may_end_with_its_path_and_carry_a_query(openai: Place) -> None:
    with serving(openai.provider) as url:
        OpenAIEmbedder("small", url=f"{url}/v1/embeddings/?api-version=3").embed(["a"])
    assert openai.provider.requests[0].path == "/v1/embeddings?api-version=3"


def test_gemini_is_told_questions_from_memories(gemini: Place) -> None:
    embedder = gemini.embedder(key=KEY)
    embedder.embed(["a"])
    embedder.embed(["b"], query=True)
    first, second = gemini.provider.requests
    assert first.path == "/v1beta/models/small:batchEmbedContents"
    assert first.headers["x-goog-api-key"] == KEY
    assert first.body == {
        "requests": [{"model": "models/small", "content": {"parts": [{"text": "a"}]}, "taskType": "RETRIEVAL_DOCUMENT"}]
    }
    assert second.body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


def test_ollama_is_asked_as_it_wants_to_be(ollama: Place) -> None:
    ollama.embedder().embed(["a"])
    (request,) = ollama.provider.requests
    assert (request.path, request.body) == ("/api/embed", {"model": "mystery", "input": ["a"], "truncate": True})
    assert "Authorization" not in request.headers


def test_a_model_gets_what_it_wants_before_questions_and_texts(ollama: Place) -> None:
    nomic = ollama.embedder(model="nomic-embed-text:latest", dimensions=8)
    nomic.embed(["a cup"])
    nomic.embed(["a cup"], query=True)
    assert ollama.provider.embedded == ["search_document: a cup", "search_query: a cup"]
    assert nomic.name == "ollama:nomic-embed-text@8"


def test_a_model_that_ollama_lacks_is_named_with_the_remedy(ollama: Place) -> None:
    with pytest.raises(EmbeddingError, match=r"not found.*ollama pull tiny"):
        ollama.embedder(model="tiny").embed(["a"])


@pytest.mark.parametrize(
    ("host", "address"),
    [
        (None, "http://127.0.0.1:11434/api/embed"),
        ("0.0.0.0", "http://127.0.0.1:11434/api/embed"),
        ("box", "http://box:11434/api/embed"),
        ("box:99", "http://box:99/api/embed"),
        ("https://box", "https://box/api/embed"),
    ],
)
def test_ollama_is_where_its_variable_says(monkeypatch: pytest.MonkeyPatch, host: str | None, address: str) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    if host is not None:
        monkeypatch.setenv("OLLAMA_HOST", host)
    assert address in repr(OllamaEmbedder())


def test_keys_are_looked_up_when_they_are_needed(openai: Place, gemini: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [openai.embedder(variable="MY_KEY"), gemini.embedder()]
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    for embedder in made:
        embedder.embed(["a"])
    assert openai.provider.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert gemini.provider.requests[0].headers["x-goog-api-key"] == KEY


def test_openais_key_is_not_sent_to_another_address_unasked(openai: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai.embedder().embed(["a"])
    assert KEY not in str(openai.provider.requests[0].headers)


def test_an_address_from_the_environment_comes_with_its_key(openai: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(openai.provider) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        embedder = resolve_embedder("openai:small@8")
        assert embedder is not None
        embedder.embed(["a"])
    assert openai.provider.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("most", [9_000, 1_000])
def test_a_text_that_is_refused_for_its_length_is_shortened(most: int) -> None:
    class Strict(OpenAI):
        def _embeddings(self, request: Any) -> Reply:
            if any(len(text) > most for text in request.body["input"]):
                message = "This model's maximum context length is 8192 tokens."
                return Reply.of({"error": {"message": message, "code": None}}, status=400)
            return super()._embeddings(request)

    provider = Strict()
    texts = ["a cup", "word " * 3_000, "a door"]
    with serving(provider) as url:
        vectors = OpenAIEmbedder("small", url=url, retry=AT_ONCE).embed(texts)
    assert vectors[[0, 2]].tolist() == [vector("a cup", 8), vector("a door", 8)]
    (begun,) = [text for text in provider.embedded if text.startswith("word")]
    assert most / 2 < len(begun) <= most
    assert texts[1].startswith(begun)


def test_known_models_need_not_be_asked_for_their_dimensions() -> None:
    known = {
        "openai": 1536,
        "openai:text-embedding-3-large": 3072,
        "openai:text-embedding-3-large@256": 256,
        "gemini": 3072,
        "ollama:nomic-embed-text": 768,
        "ollama:mxbai-embed-large:335m": 1024,
    }
    assert {name: embedder.dim for name in known if (embedder := resolve_embedder(name))} == known


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": ""},
        {"model": 3},
        {"dimensions": 0},
        {"dimensions": "8"},
        {"concurrency": 0},
        {"url": "localhost"},
        {"headers": {"X-Bad": "a\nb"}},
        {"headers": {"X-Bad": 3}},
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_a_clear_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        OpenAIEmbedder(**{"model": "small", **wrong})
