"""What the rerank tests share: a small HTTP service on loopback, and rerankers that behave or do not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.embed.kit import served

CUPS = ["a red cup", "a blue cup", "a green cup"]


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What the service says, and how: at once, byte by byte, or never."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    trickles: float = 0.0  # seconds between bytes
    endless: bool = False  # the body again and again, until the client hangs up

    @classmethod
    def of(cls, value: Any, **how: Any) -> Reply:
        return cls(json.dumps(value).encode(), **how)


@dataclass
class Service:
    url: str
    requests: list[Request]


@contextmanager
def service(answer: Callable[[Request], Reply]) -> Iterator[Service]:
    """A real HTTP server, for as long as the block lasts."""
    requests: list[Request] = []
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(Request(self.path, dict(self.headers), json.loads(body)))
            reply = answer(requests[-1])
            if reply.hangs:
                closing.wait(30)
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header(*(("Connection", "close") if reply.endless else ("Content-Length", str(len(reply.body)))))
            self.end_headers()
            while reply.endless and not closing.wait(0.001):
                self.wfile.write(reply.body)
            if not reply.trickles:
                self.wfile.write(reply.body)
                return
            for at in range(len(reply.body)):
                self.wfile.write(reply.body[at : at + 1])
                if closing.wait(reply.trickles):
                    return

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with served(Handler, closing) as address:
        yield Service(address, requests)


class Liking:
    """Scores a text by the first of these words that it has: the earlier the word, the better."""

    name = "liking"

    def __init__(self, *words: str) -> None:
        self.words = words
        self.asked: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [
            max((len(self.words) - at for at, word in enumerate(self.words) if word in text), default=0)
            for text in texts
        ]


class Fixed:
    """Answers what it was told to."""

    name = "fixed"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def rerank(self, query: str, texts: Sequence[str]) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer
