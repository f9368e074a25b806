"""Every way in which a service fails: tried again, told clearly, left alone for a while, without a word of the key."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from recollect import EmbeddingError, InvalidInput, Mind
from recollect.embed import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, RetryPolicy
from recollect.embed.remote import RemoteEmbedder

from .kit import AT_ONCE, CUPS, KEY, Gemini, Ollama, OpenAI, Provider, Reply, serving, vector

Make = Callable[..., RemoteEmbedder]
BUSY = Reply(b"slow down", 429, {"Retry-After": "0"})
BROKEN = Reply(b"out of memory", 500)

PROVIDERS: dict[str, tuple[type[Provider], Make]] = {
    "openai": (OpenAI, lambda url, **said: OpenAIEmbedder(**{"model": "small", "url": f"{url}/v1", **said})),
    "gemini": (Gemini, lambda url, **said: GeminiEmbedder(**{"model": "small", "url": f"{url}/v1beta", **said})),
    "ollama": (Ollama, lambda url, **said: OllamaEmbedder(**{"model": "mystery", "url": url, **said})),
}


@pytest.fixture(params=PROVIDERS)
def kind(request: pytest.FixtureRequest) -> tuple[type[Provider], Make]:
    return PROVIDERS[request.param]


@pytest.mark.parametrize(
    "trouble",
    [
        BUSY,
        Reply(b"", 429, {"Retry-After": formatdate(0, usegmt=True)}),
        Reply(b"", 429, {"retry-after-ms": "1"}),
        Reply(b"", 429, {"Retry-After": "soon"}),
        BROKEN,
        Reply(b"", 502),
        Reply(b"", 503, {"Retry-After": "0.01"}),
        Reply(b"", 408),
        Reply(b'{"data": [', missing=100),
        Reply(b"", missing=100),
    ],
    ids=lambda reply: f"{reply.status} {reply.headers or ''} {'half' if reply.missing else ''}".strip(),
)
def test_what_may_pass_is_tried_again(kind: tuple[type[Provider], Make], trouble: Reply) -> None:
    provider = kind[0](trouble, trouble)
    with serving(provider) as url:
        vectors = kind[1](url, retry=AT_ONCE).embed(CUPS)
    assert vectors.tolist() == [vector(text, 8) for text in CUPS]
    assert len(provider.requests) == 3


@pytest.mark.parametrize(
    ("trouble", "complaint"),
    [
        (BUSY, r"answered 429 Too Many Requests: 'slow down'"),
        (BROKEN, r"answered 500 Internal Server Error: 'out of memory'"),
        (Reply(b"{", missing=9), "Request to .* failed: peer closed connection"),
    ],
)
def test_what_does_not_pass_is_told_after_the_last_try(
    kind: tuple[type[Provider], Make], trouble: Reply, complaint: str
) -> None:
    provider = kind[0](*[trouble] * 9)
    with serving(provider) as url, pytest.raises(EmbeddingError, match=complaint):
        kind[1](url, retry=AT_ONCE).embed(CUPS)
    assert len(provider.requests) == AT_ONCE.attempts


@pytest.mark.parametrize(
    ("trouble", "complaint"),
    [
        (Reply(b"who are you?", 401), r"rejected the key \(401\).*who are you"),
        (Reply(b"", 403), r"rejected the key \(403\)"),
        (Reply(b"", 404), "404 Not Found"),
        (Reply(b"", 307, {"Location": "http://127.0.0.1:1/"}), "307"),
        (Reply.of({"error": {"code": "insufficient_quota"}}, status=429), "insufficient_quota"),
        (Reply(b"<html>hello</html>"), "not return JSON: '<html>hello</html>'"),
        (Reply(b""), "not return JSON"),
        (Reply(b"[" * 100_000), "not return JSON"),
        (Reply(b"zipped?", headers={"Content-Encoding": "gzip"}), "Request to .* failed"),
        (Reply.of([1, 2, 3]), "not return a list of embeddings"),
        (Reply.of({}), "not return a list of embeddings"),
        (Reply.of({"data": 3, "embeddings": 3}), "not return a list of embeddings"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.status),
)
def test_what_will_not_pass_is_told_at_once(kind: tuple[type[Provider], Make], trouble: Reply, complaint: str) -> None:
    provider = kind[0](trouble)
    with serving(provider) as url, pytest.raises(EmbeddingError, match=complaint) as refusal:
        kind[1](url, retry=AT_ONCE).embed(CUPS)
    assert len(provider.requests) == 1
    assert url in str(refusal.value)


def rows(*vectors: Any) -> Reply:
    """Vectors as OpenAI, Gemini and Ollama would give them, all in one."""
    data = [{"index": at, "embedding": each} for at, each in enumerate(vectors)]
    return Reply.of({"data": data})


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (rows([1.0] * 8, [1.0] * 8), "returned 2 vectors for 3 texts"),
        (rows(*[[1.0] * 8] * 4), "returned 4 vectors for 3 texts"),
        (rows(), "returned 0 vectors for 3 texts"),
        (rows(*[[1.0] * 5] * 3), "returned vectors of 5 dimensions; 'openai:small@8' has 8"),
        (rows([1.0] * 8, [1.0] * 7, [1.0] * 8), "vectors of different dimensions"),
        (rows(*[[]] * 3), "not return a list of vectors"),
        (rows(*[["1"] * 8] * 3), "not return a list of vectors"),
        (rows(*[None] * 3), "not return a list of vectors"),
        (rows(*[[None] * 8] * 3), "not return a list of vectors"),
        (rows(*[[True] * 8] * 3), "not return a list of vectors"),
        (Reply.of({"data": [{"embedding": [1.0] * 8}] * 3}), "each with its index"),
        (Reply.of({"data": [{"index": 0, "embedding": [1.0] * 8}] * 3}), "each with its index"),
    ],
)
def test_an_answer_that_does_not_fit_is_told(reply: Reply, complaint: str) -> None:
    with serving(OpenAI(reply)) as url, pytest.raises(EmbeddingError, match=complaint):
        OpenAIEmbedder("small", url=url, dimensions=8, retry=AT_ONCE).embed(CUPS)


def test_a_model_whose_dimensions_change_is_noticed() -> None:
    provider = OpenAI()
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=AT_ONCE)
        embedder.embed(CUPS)
        provider.dim = 5
        with pytest.raises(EmbeddingError, match="returned vectors of 5 dimensions"):
            embedder.embed(CUPS)


def test_a_service_that_hangs_is_left_after_the_timeout(kind: tuple[type[Provider], Make]) -> None:
    provider = kind[0](Reply(hangs=True))
    with serving(provider) as url, pytest.raises(EmbeddingError, match=r"did not answer within 0\.\d+ s"):
        kind[1](url, retry=RetryPolicy(timeout_seconds=0.2, attempts=5)).embed(CUPS)
    assert len(provider.requests) == 1


def test_a_question_has_a_timeout_of_its_own() -> None:
    with serving(OpenAI(Reply(hangs=True))) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(query_timeout_seconds=0.1))
        with pytest.raises(EmbeddingError, match=r"did not answer within 0\.\d+ s"):
            embedder.embed(["a"], query=True)


def test_a_service_that_wants_a_longer_pause_than_there_is_time_is_not_waited_for() -> None:
    provider = OpenAI(Reply(b"", 429, {"Retry-After": "3600"}))
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(timeout_seconds=5.0, cooldown_seconds=1.0))
        with pytest.raises(EmbeddingError, match="429"):
            embedder.embed(CUPS)
        with pytest.raises(EmbeddingError, match=r"No requests for another (600|59.) s after this error: .*429"):
            embedder.embed(CUPS)
    assert len(provider.requests) == 1


def test_nobody_there_is_a_clear_error(kind: tuple[type[Provider], Make]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(EmbeddingError, match=f"Request to http://127.0.0.1:{port}.* failed: .*refused"):
        kind[1](f"http://127.0.0.1:{port}", retry=AT_ONCE).embed(CUPS)


# The rest after a failure.


def test_a_service_that_failed_is_left_alone() -> None:
    provider = OpenAI(BROKEN)
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(attempts=1, cooldown_seconds=60.0))
        with pytest.raises(EmbeddingError, match="500"):
            embedder.embed(CUPS)
        for _ in range(3):
            with pytest.raises(EmbeddingError, match=r"No requests for another \d+ s after this error: .*500"):
                embedder.embed(CUPS)
    assert len(provider.requests) == 1


def test_a_service_that_failed_is_asked_again_later() -> None:
    with serving(OpenAI(BROKEN)) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(attempts=1, cooldown_seconds=0.05))
        with pytest.raises(EmbeddingError, match="500"):
            embedder.embed(CUPS)
        time.sleep(0.06)
        assert len(embedder.embed(CUPS)) == 3


def test_a_refusal_of_the_input_is_no_reason_to_rest() -> None:
    provider = OpenAI(Reply(b"bad input", 422))
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(backoff_seconds=0.0))
        with pytest.raises(EmbeddingError, match="bad input"):
            embedder.embed(["a"])
        assert len(embedder.embed(CUPS)) == 3


def test_recalls_are_answered_by_words_while_the_service_rests_and_remembering_goes_on(tmp_path: Path) -> None:
    provider = OpenAI()
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=RetryPolicy(attempts=1, cooldown_seconds=60.0))
        with Mind(tmp_path / "memory.db", embedder=embedder) as mind:
            mind.remember("a red cup", id="red")
            provider.troubles = [BROKEN]
            first, second = mind.recall("red cup"), mind.recall("red mug")
            assert [result.memory.id for result in first] == ["red"]
            assert [result.memory.id for result in second] == ["red"]
            assert "500" in first.trace.failures[0].reason
            assert "No requests for another" in second.trace.failures[0].reason
            mind.remember("a blue cup", id="blue")
            assert {result.memory.id for result in mind.recall("cup")} == {"red", "blue"}
            assert mind.status().store.without_vector == 1
    assert len(provider.requests) == 2


def test_a_mind_opens_and_keeps_memories_while_a_model_of_unknown_dimensions_is_away(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    away = OpenAIEmbedder("small", url="http://127.0.0.1:9", retry=AT_ONCE)
    with Mind(path, embedder=away) as mind:
        mind.remember("a red cup")
        assert [result.text for result in mind.recall("cup")] == ["a red cup"]
        assert (mind.status().embedder, mind.status().dim) == ("openai:small", None)
    with serving(OpenAI()) as url, Mind(path, embedder=OpenAIEmbedder("small", url=url)) as mind:
        assert (mind.embed_missing(), mind.status().dim) == (1, 8)


def test_opening_a_mind_asks_no_service(tmp_path: Path) -> None:
    provider = OpenAI()
    with serving(provider) as url:
        for model in ("small", "text-embedding-3-small"):
            with Mind(tmp_path / f"{model}.db", embedder=OpenAIEmbedder(model, url=url)) as mind:
                mind.status()
    assert provider.requests == []


def test_another_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with serving(OpenAI()) as url:
        with Mind(path, embedder=OpenAIEmbedder("small", url=url)) as mind:
            mind.remember("a cup")
        with pytest.raises(EmbeddingError, match=r"made by 'openai:small' \(8 dimensions"):
            Mind(path, embedder="openai")
        with pytest.raises(EmbeddingError, match="openai:small"):  # although its dimensions are not known
            Mind(path, embedder=OpenAIEmbedder("other", url=url))


# Keys.


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
@pytest.mark.parametrize("echo", [KEY, KEY[:15], f"Bearer {KEY}"])
def test_the_key_is_shown_nowhere_even_if_the_service_repeats_it(
    kind: tuple[type[Provider], Make], status: int, echo: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider = kind[0](*[Reply(f'{{"error": "key {echo}!"'.encode(), status)] * 9)
    with caplog.at_level(logging.DEBUG), serving(provider) as url:
        embedder = kind[1](url, key=KEY, headers={"X-Secret": f"token {KEY[::-1]}"}, retry=AT_ONCE)
        with pytest.raises(EmbeddingError, match=r"key .*…!") as refusal:
            embedder.embed(["a"])
    told = f"{refusal.value!r} {embedder!r} {embedder.name} {embedder.fingerprint} {caplog.text}"
    assert KEY[:10] not in told
    assert refusal.value.__cause__ is None


def test_a_header_that_the_service_repeats_is_hidden_too() -> None:
    with serving(OpenAI(Reply(b"no such token: abcdefgh-1234", 403))) as url:
        embedder = OpenAIEmbedder("small", url=url, headers={"api-key": "abcdefgh-1234"}, retry=AT_ONCE)
        with pytest.raises(EmbeddingError, match="no such token: …") as refusal:
            embedder.embed(["a"])
    assert "abcdefgh" not in str(refusal.value)


def test_no_file_and_no_trace_holds_the_key(tmp_path: Path) -> None:
    provider = OpenAI()
    with (
        serving(provider) as url,
        Mind(tmp_path / "memory.db", embedder=OpenAIEmbedder("s", url=url, key=KEY, retry=AT_ONCE)) as mind,
    ):
        mind.remember("a cup")
        provider.troubles = [Reply(KEY.encode(), 500)] * 9
        trace = str(mind.recall("mug").trace)
        assert "500" in trace
        assert KEY not in trace + repr(mind.status())
        for file in tmp_path.iterdir():
            assert KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("key", ["sk-secret\nHost: evil", "sk-secret-ключ", "sk-secret\0"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    provider = OpenAI()
    with serving(provider) as url, pytest.raises(EmbeddingError, match="not allowed in an HTTP header") as refusal:
        OpenAIEmbedder("small", url=url, key=key).embed(["a"])
    assert ("secret" in str(refusal.value), provider.requests) == (False, [])


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInput, match="key=…") as refusal:
        OpenAIEmbedder(url="https://anna:secret@localhost")
    assert "secret" not in str(refusal.value)


# Many at once.


def test_threads_share_an_embedder() -> None:
    provider = OpenAI()
    outcomes: list[bool] = []
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=AT_ONCE)

        def work(number: int) -> None:
            text = f"cup{number}"
            outcomes.append(embedder.embed([text]).tolist() == [vector(text, 8)])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == [True] * 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout_seconds": 0},
        {"query_timeout_seconds": -1},
        {"attempts": 0},
        {"attempts": 1.5},
        {"backoff_seconds": -1},
        {"cooldown_seconds": float("nan")},
    ],
)
def test_a_retry_policy_that_makes_no_sense_is_a_clear_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        RetryPolicy(**wrong)


def test_a_key_that_the_service_masks_is_hidden_to_its_last_letter() -> None:
    said = f"Incorrect API key provided: {KEY[:9]}*****{KEY[-4:]}."
    with (
        serving(OpenAI(Reply(said.encode(), 401))) as url,
        pytest.raises(EmbeddingError, match=r"provided: …\.") as refusal,
    ):
        OpenAIEmbedder("small", url=url, key=KEY, retry=AT_ONCE).embed(["a"])
    assert KEY[-4:] not in str(refusal.value)


def test_a_token_in_the_address_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serving(OpenAI()) as url:
        OpenAIEmbedder("small", url=f"{url}/v1?token=hidden-1234", retry=AT_ONCE).embed(["a"])
    assert "hidden-1234" not in caplog.text


def test_a_moment_to_try_again_that_no_calendar_has_is_passed_over() -> None:
    busy = Reply(b"slow down", 429, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 -1400"})
    with serving(OpenAI(busy)) as url:
        patience = RetryPolicy(attempts=2, backoff_seconds=0.0)
        assert len(OpenAIEmbedder("small", url=f"{url}/v1", retry=patience).embed(["a"])) == 1
