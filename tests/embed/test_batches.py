"""The batch APIs of OpenAI and Gemini: handed over, polled, and made up for where they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import EmbeddingError, InvalidInput, Mind
from recollect.embed import BatchSettings, GeminiEmbedder, OpenAIEmbedder
from recollect.embed.remote import RemoteEmbedder

from .kit import AT_ONCE, KEY, Gemini, OpenAI, Reply, serving, vector

TEXTS = [f"cup number{n}" for n in range(10)]
BATCH = BatchSettings(min_texts=5, max_texts=4, poll_seconds=0.0)
VECTORS = [vector(text, 8) for text in TEXTS]
PROVIDERS: dict[str, tuple[Callable[..., Any], Callable[..., RemoteEmbedder]]] = {
    "openai": (OpenAI, lambda url, **said: OpenAIEmbedder(**{"model": "small", "url": f"{url}/v1", **said})),
    "gemini": (Gemini, lambda url, **said: GeminiEmbedder(**{"model": "small", "url": f"{url}/v1beta", **said})),
}
EXPIRED = {"openai": "expired", "gemini": "EXPIRED"}
FAILED = {"openai": "failed", "gemini": "FAILED"}
DIRECT = {"openai": "/v1/embeddings", "gemini": "/v1beta/models/small:batchEmbedContents"}


@pytest.fixture(params=PROVIDERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def embedded(kind: str, provider: Any, batch: BatchSettings = BATCH, texts: list[str] = TEXTS, **how: Any) -> Any:
    with serving(provider) as url:
        return PROVIDERS[kind][1](url, retry=AT_ONCE, batch=batch, key=KEY).embed(texts, **how).tolist()


def test_many_texts_go_in_batches_and_keep_their_order(kind: str) -> None:
    provider = PROVIDERS[kind][0]()
    assert embedded(kind, provider) == VECTORS
    assert len(provider.batches) == 3
    assert DIRECT[kind] not in provider.paths()


def test_few_texts_and_questions_are_asked_for_directly(kind: str) -> None:
    provider = PROVIDERS[kind][0]()
    assert embedded(kind, provider, texts=TEXTS[:4]) == VECTORS[:4]
    assert embedded(kind, provider, query=True) == VECTORS
    assert len(provider.batches) == 0


@pytest.mark.parametrize("concurrency", [1, 2, 3])
def test_no_more_batches_run_at_a_time_than_are_allowed(concurrency: int) -> None:
    provider = OpenAI()
    batch = BatchSettings(min_texts=1, max_texts=1, poll_seconds=0.0, concurrency=concurrency)
    assert embedded("openai", provider, batch) == VECTORS
    assert len(provider.running) == 10
    assert max(provider.running) <= concurrency


def test_a_batch_that_fails_is_made_up_for_directly(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    provider = PROVIDERS[kind][0](ends=FAILED[kind])
    assert embedded(kind, provider) == VECTORS
    assert provider.paths().count(DIRECT[kind]) == 1
    assert "A batch of 4 texts failed" in caplog.text
    assert KEY not in caplog.text


def test_what_an_expired_batch_has_left_out_is_asked_for_directly(caplog: pytest.LogCaptureFixture) -> None:
    provider = OpenAI(ends="expired", without=(1, 3))
    assert embedded("openai", provider) == VECTORS
    (direct,) = [each for each in provider.requests if each.path == "/v1/embeddings"]
    assert direct.body["input"] == [TEXTS[at] for at in (1, 3, 5, 7, 9)]
    assert sorted(provider.embedded) == sorted(TEXTS)
    assert "left out 2 of 4" in caplog.text


def test_an_expired_batch_that_brought_nothing_is_made_up_for_directly(kind: str) -> None:
    provider = PROVIDERS[kind][0](ends=EXPIRED[kind], **({"without": range(4)} if kind == "openai" else {}))
    assert embedded(kind, provider) == VECTORS
    assert provider.paths().count(DIRECT[kind]) == 1


def test_single_errors_in_a_batch_are_made_up_for_directly(kind: str) -> None:
    provider = PROVIDERS[kind][0](without=(0,))
    assert embedded(kind, provider) == VECTORS
    assert sorted(provider.embedded) == sorted(TEXTS)


def test_a_batch_that_never_ends_is_cancelled_and_made_up_for(kind: str) -> None:
    provider = PROVIDERS[kind][0](ends="")
    assert (
        embedded(kind, provider, BatchSettings(min_texts=1, max_texts=99, poll_seconds=0.0, timeout_seconds=0.05))
        == VECTORS
    )
    assert any("cancel" in path for path in provider.paths())


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(b"", 404),
        Reply(b"no batches here", 403),
        Reply(b"<html>"),
        Reply.of({}),
        Reply.of([]),
        Reply.of({"id": 3, "name": 3}),
    ],
    ids=lambda reply: f"{reply.status} {reply.body!r}",
)
def test_a_service_without_a_batch_api_is_asked_directly(kind: str, trouble: Reply) -> None:
    provider = PROVIDERS[kind][0](trouble)
    assert embedded(kind, provider, BatchSettings(min_texts=1, max_texts=99)) == VECTORS


@pytest.mark.parametrize("body", [b"", b"\n\n", b"no JSON", b'{"custom_id": "x"}', b'{"custom_id": "99"}', b"[]", b"3"])
def test_a_file_of_answers_that_makes_no_sense_is_made_up_for_directly(body: bytes) -> None:
    class Odd(OpenAI):
        def _content(self, request: Any, id: str) -> Reply:
            return Reply(body)

    assert embedded("openai", Odd()) == VECTORS


def test_when_nothing_works_it_is_an_error(kind: str) -> None:
    provider = PROVIDERS[kind][0](*[Reply(b"", 500)] * 99)
    with pytest.raises(EmbeddingError, match="500"):
        embedded(kind, provider)


def test_hiccups_while_polling_are_tried_again() -> None:
    class Hiccup(OpenAI):
        def _look(self, request: Any, id: str) -> Reply:
            answer = super()._look(request, id)
            return Reply(b"", 503) if len(self.paths("GET")) == 1 else answer

    provider = Hiccup()
    assert embedded("openai", provider, BatchSettings(min_texts=1, max_texts=99, poll_seconds=0.0)) == VECTORS
    assert DIRECT["openai"] not in provider.paths()


@pytest.mark.parametrize("ends", ["completed", "failed", "expired"])
def test_no_file_with_texts_is_left_at_the_service(ends: str) -> None:
    provider = OpenAI(ends=ends, without=(2,))
    embedded("openai", provider)
    assert provider.files == {}


def test_a_wrong_dimension_in_a_batch_is_told(kind: str) -> None:
    provider = PROVIDERS[kind][0](dim=5)
    with serving(provider) as url, pytest.raises(EmbeddingError, match="5 dimensions"):
        PROVIDERS[kind][1](url, dimensions=8, batch=BATCH, retry=AT_ONCE).embed(TEXTS)


def test_missing_vectors_are_made_in_as_few_batches_as_possible(tmp_path: Path) -> None:
    path, provider = tmp_path / "memory.db", OpenAI()
    with Mind(path, embedder=None) as mind:
        mind.remember_many([f"cup {n}" for n in range(600)])
    batch = BatchSettings(min_texts=1, max_texts=300, poll_seconds=0.0)
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, dimensions=8, batch=batch, retry=AT_ONCE)
        with Mind(path, embedder=embedder) as mind:
            assert mind.embed_missing() == 600
            assert mind.status().store.without_vector == 0
    assert (len(provider.batches), len(provider.embedded)) == (2, 600)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_texts": 0},
        {"max_texts": 0},
        {"concurrency": 0},
        {"concurrency": 1.5},
        {"poll_seconds": -1},
        {"timeout_seconds": "1 h"},
    ],
)
def test_batching_that_makes_no_sense_is_a_clear_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        BatchSettings(**wrong)
