"""A request ends at its deadline, whatever the server does; requests run in the background, also after a fork."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

import pytest

from recollect import EmbeddingError
from recollect.embed import OpenAIEmbedder, RetryPolicy

from .kit import AT_ONCE, CUPS, OpenAI, serving

LONG = 20.0  # seconds in which even a busy machine gets there
TRICKLES = {
    "a header": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "interim answers": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
    "the size of a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a"),
}


@contextmanager
def trickling(head: bytes, drop: bytes) -> Iterator[tuple[str, threading.Event]]:
    """A server that says a little every now and then and never ends; its address, and when the client hung up."""
    closing, hung_up = threading.Event(), threading.Event()

    def serve() -> None:
        with server.accept()[0] as client:
            client.recv(65536)
            client.sendall(head)
            for byte in cycle(drop):
                if closing.wait(0.005):
                    return
                try:
                    client.send(bytes([byte]))
                except OSError:
                    hung_up.set()
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", hung_up
        finally:
            closing.set()
            thread.join(LONG)


@pytest.mark.parametrize("what", TRICKLES)
def test_a_server_that_trickles_does_not_outlast_the_deadline(what: str) -> None:
    told: list[str] = []
    with trickling(*TRICKLES[what]) as (url, hung_up):

        def ask() -> None:
            try:
                OpenAIEmbedder("small", url=url, retry=RetryPolicy(timeout_seconds=0.2, attempts=1)).embed(CUPS)
            except EmbeddingError as problem:
                told.append(str(problem))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(LONG)
        assert hung_up.wait(LONG)
    assert len(told) == 1
    assert "did not answer within 0.2 s" in told[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_asks_over_connections_of_its_own() -> None:
    provider = OpenAI()
    with serving(provider) as url:
        embedder = OpenAIEmbedder("small", url=url, retry=AT_ONCE)
        embedder.embed(["parent"])
        child = os.fork()
        if not child:
            embedder.embed(["child"])
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        embedder.embed(["parent again"])
    assert provider.embedded == ["parent", "child", "parent again"]
