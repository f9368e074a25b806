"""A rerank service of the Cohere shape, on loopback: what is sent, what is understood, and every way to fail."""

from __future__ import annotations

import gzip
import logging
import socket
import time
from typing import Any

import pytest

from recollect import InvalidInput
from recollect.rerank import HttpReranker, RerankError, rerank_texts
from recollect.rerank.services import KEY_VARIABLE

from .kit import CUPS, Reply, Request, service

KEY = "sk-very-secret-0123456789"


def results(*pairs: tuple[Any, Any]) -> Reply:
    return Reply.of({"id": "x", "results": [{"index": at, "relevance_score": score} for at, score in pairs]})


def by_redness(request: Request) -> Reply:
    """As a real service answers: best first, each with its index."""
    scored = [(at, 0.9 if "red" in text else 0.1 * at) for at, text in enumerate(request.body["documents"])]
    return results(*sorted(scored, key=lambda pair: -pair[1]))


def test_scores_come_back_in_the_order_of_the_texts() -> None:
    with service(by_redness) as there:
        scores = rerank_texts(HttpReranker(there.url, "rerank-v3.5"), "which is red?", CUPS[::-1])
    assert scores.tolist() == pytest.approx([0.0, 0.1, 0.9])


def test_the_request_has_the_shape_of_the_service() -> None:
    with service(by_redness) as there:
        HttpReranker(there.url + "/v2", "rerank-v3.5", key=KEY).rerank("which is réd?", CUPS)
    (request,) = there.requests
    assert request.path == "/v2/rerank"
    assert request.body == {"model": "rerank-v3.5", "query": "which is réd?", "documents": CUPS, "top_n": 3}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["/v1/rerank", "/v1/rerank/", "/v1", "/v1/"])
def test_the_last_part_of_the_address_may_be_left_out(path: str) -> None:
    with service(by_redness) as there:
        HttpReranker(there.url + path).rerank("q", CUPS)
    assert there.requests[0].path == "/v1/rerank"
    assert "model" not in there.requests[0].body


def test_a_query_in_the_address_is_sent_and_not_shown() -> None:
    with service(lambda request: Reply(status=500)) as there:
        reranker = HttpReranker(there.url + "/v1?token=hidden")
        with pytest.raises(RerankError) as refusal:
            reranker.rerank("q", CUPS)
    assert there.requests[0].path == "/v1/rerank?token=hidden"
    assert "hidden" not in f"{refusal.value} {reranker!r} {reranker.name}"


def test_the_key_is_looked_up_in_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with service(by_redness) as there:
        mine, own = HttpReranker(there.url), HttpReranker(there.url, variable="OTHER_KEY")
        monkeypatch.setenv(KEY_VARIABLE, f"{KEY}\n")
        mine.rerank("q", CUPS)
        own.rerank("q", CUPS)
    assert there.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in there.requests[1].headers


def test_the_key_of_another_service_is_not_sent_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COHERE_API_KEY", "OPENAI_API_KEY", "CO_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with service(by_redness) as there:
        HttpReranker(there.url).rerank("q", CUPS)
    assert KEY not in str(there.requests[0].headers)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (Reply(b"out of memory", status=500), "answered 500 Internal Server Error: 'out of memory'"),
        (Reply(b"", status=404), "404"),
        (Reply(b"", status=307, headers={"Location": "http://127.0.0.1:1/"}), "307"),
        (Reply(b"no such key", status=401), rf"rejected the key \(401\).*{KEY_VARIABLE}.*no such key"),
        (Reply(b"<html>hello</html>"), "not return JSON: '<html>hello</html>'"),
        (Reply(b"[" * 100_000), "not return JSON"),
        (Reply(b"\xff\xfe\x00"), "not return JSON"),
        (Reply(b""), "not return JSON"),
        (Reply(b"not zipped", headers={"Content-Encoding": "gzip"}), "Request to .* failed"),
        (Reply.of([1, 2, 3]), "not return a list of results"),
        (Reply.of({"results": None}), "not return a list of results"),
        (Reply.of({"results": [0.1, 0.2, 0.3]}), "document None"),
        (results((0, 0.1), (1, 0.2)), "scored 2 of 3"),
        (results(), "scored 0 of 3"),
        (results((0, 0.1), (1, 0.2), (3, 0.3)), "document 3; there are 0 to 2"),
        (results((0, 0.1), (1, 0.2), (-1, 0.3)), "document -1"),
        (results((0, 0.1), (1, 0.2), ("2", 0.3)), "document '2'"),
        (results((0, 0.1), (1, 0.2), (True, 0.3)), "document True"),
        (results((0, 0.1), (1, 0.2), (1, 0.3)), "two scores for document 1"),
        (results((0, 0.1), (1, float("nan")), (2, 0.3)), "returned nan as the score of document 1"),
        (results((0, 0.1), (1, float("inf")), (2, 0.3)), "returned inf"),
        (results((0, 0.1), (1, 10**400), (2, 0.3)), "as the score of document 1"),
        (results((0, 0.1), (1, "0.2"), (2, 0.3)), "returned '0.2'"),
        (results((0, 0.1), (1, None), (2, 0.3)), "returned None"),
        (Reply.of({"results": [{"index": 0}, {"index": 1}, {"index": 2}]}), "as the score of document 0"),
    ],
)
def test_an_answer_that_cannot_be_used_says_what_is_wrong_with_it(reply: Reply, complaint: str) -> None:
    with service(lambda request: reply) as there:
        reranker = HttpReranker(there.url)
        with pytest.raises(RerankError, match=complaint) as refusal:
            reranker.rerank("q", CUPS)
    assert f"{there.url}/rerank" in str(refusal.value)


def test_a_service_that_hangs_is_left_after_the_timeout() -> None:
    with service(lambda request: Reply(hangs=True)) as there:
        start = time.perf_counter()
        with pytest.raises(RerankError, match=r"did not answer within 0\.2 s"):
            HttpReranker(there.url, timeout=0.2).rerank("q", CUPS)
        assert time.perf_counter() - start < 2


def test_a_service_that_trickles_is_left_after_the_timeout() -> None:
    slow = Reply(b" " * 1000, trickles=0.05)
    with service(lambda request: slow) as there:
        start = time.perf_counter()
        with pytest.raises(RerankError, match=r"did not answer within 0\.3 s"):
            HttpReranker(there.url, timeout=0.3).rerank("q", CUPS)
        assert time.perf_counter() - start < 3


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    large = Reply(gzip.compress(b" " * (64 << 20)), headers={"Content-Encoding": "gzip"})
    with service(lambda request: large) as there, pytest.raises(RerankError, match="more than 4,194,304 bytes"):
        HttpReranker(there.url).rerank("q", CUPS)


def test_nobody_there_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(RerankError, match=f"Request to http://127.0.0.1:{port}/rerank failed"):
        HttpReranker(f"http://127.0.0.1:{port}").rerank("q", CUPS)


@pytest.mark.parametrize("status", [200, 401, 500])
def test_the_key_is_shown_nowhere_even_if_the_service_repeats_it(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), service(lambda request: Reply(f"key {KEY}!".encode(), status)) as there:
        reranker = HttpReranker(there.url, "m", key=KEY)
        with pytest.raises(RerankError, match="key …!") as refusal:
            reranker.rerank("q", CUPS)
    assert KEY not in f"{refusal.value} {reranker!r} {reranker.name} {reranker._service!r}"
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["sk-secret\nHost: evil", "sk-secret-ключ", "sk-secret\0"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with service(by_redness) as there:
        with pytest.raises(RerankError, match="not allowed in an HTTP header") as refusal:
            HttpReranker(there.url, key=key).rerank("q", CUPS)
        assert "secret" not in str(refusal.value)
        assert there.requests == []


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://localhost", "http://", "http://[::1", "http://localhost:port", 3, None]
)
def test_what_is_no_address_is_a_clear_error(url: Any) -> None:
    with pytest.raises(InvalidInput, match="url"):
        HttpReranker(url)


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInput, match="key=…") as refusal:
        HttpReranker("https://anna:secret@localhost")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "soon", None])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        HttpReranker("http://localhost", timeout=timeout)


def test_strange_texts_arrive_as_they_are() -> None:
    strange = ["", "\0", "\ud800", "🎉", 'a "quoted"\nline']
    with service(by_redness) as there:
        assert len(HttpReranker(there.url).rerank("q", strange)) == 5
    assert there.requests[0].body["documents"] == strange
