"""Small servers on loopback that speak as OpenAI, Gemini and Ollama do, and fail in the ways that they do."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from recollect.embed import RetryPolicy

KEY = "sk-very-secret-0123456789"
AT_ONCE = RetryPolicy(
    timeout_seconds=5.0, query_timeout_seconds=5.0, backoff_seconds=0.0, cooldown_seconds=0.0
)  # tries again without waiting, and never rests
CUPS = ["a red cup", "a blue cup", "a green door"]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Reply:
    """What a server says, and how: whole, cut off before its end, or never."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    missing: int = 0  # bytes that are promised and not sent

    @classmethod
    def of(cls, value: Any, **how: Any) -> Reply:
        return cls(json.dumps(value).encode(), **how)


def vector(text: str, dim: int) -> list[float]:
    """Words as directions: texts that share words lie near each other."""
    values = [0.0] * dim
    for word in text.split():
        values[zlib.crc32(word.encode()) % dim] += 1.0
    return values


class Provider:
    """A service with a model. ``troubles`` are answered first, one a request."""

    def __init__(self, *troubles: Reply, dim: int = 8) -> None:
        self.troubles = list(troubles)
        self.dim = dim
        self.requests: list[Request] = []
        self.embedded: list[str] = []  # every text that was turned into a vector
        self.url = ""

    def paths(self, method: str = "POST") -> list[str]:
        return [each.path for each in self.requests if each.method == method]

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.troubles.pop(0) if self.troubles else self.answer(request)

    def answer(self, request: Request) -> Reply:
        raise NotImplementedError

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [vector(text, self.dim) for text in texts]


class OpenAI(Provider):
    """/embeddings, /files and /batches. ``ends`` says how a batch ends, ``without`` which lines of it fail."""

    def __init__(self, *troubles: Reply, dim: int = 8, ends: str = "completed", without: tuple[int, ...] = ()) -> None:
        super().__init__(*troubles, dim=dim)
        self.ends, self.without = ends, without
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.running: list[int] = []  # how many batches were going on, at each start
        self._numbers = count(1)

    def answer(self, request: Request) -> Reply:
        path = request.path.removeprefix("/v1").partition("?")[0]
        for pattern, method, act in (
            ("/embeddings", "POST", self._embeddings),
            ("/files", "POST", self._upload),
            ("/files/([^/]+)/content", "GET", self._content),
            ("/files/([^/]+)", "DELETE", self._delete),
            ("/batches", "POST", self._begin),
            ("/batches/([^/]+)", "GET", self._look),
            ("/batches/([^/]+)/cancel", "POST", self._cancel),
        ):
            if (found := re.fullmatch(pattern, path)) and request.method == method:
                return act(request, *found.groups())
        return Reply.of({"error": {"message": f"Unknown request URL: {request.method} {path}."}}, status=404)

    def _embeddings(self, request: Request) -> Reply:
        asked = request.body
        if not isinstance(asked["input"], list) or not all(asked["input"]) or len(asked["input"]) > 2048:
            return Reply.of(
                {"error": {"message": "'$.input' is invalid.", "type": "invalid_request_error"}}, status=400
            )
        return Reply.of(self._list(asked["input"]))

    def _list(self, texts: list[str]) -> dict[str, Any]:
        rows = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(self.embed(texts))]
        return {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def _upload(self, request: Request) -> Reply:
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + request.raw, policy=HTTP)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        assert parts["purpose"].get_payload() == "batch"
        id = f"file-{next(self._numbers)}"
        self.files[id] = parts["file"].get_content()
        return Reply.of({"id": id, "object": "file", "purpose": "batch"})

    def _begin(self, request: Request) -> Reply:
        asked = request.body
        assert asked["endpoint"] == "/v1/embeddings"
        assert asked["completion_window"] == "24h"
        id = f"batch_{next(self._numbers)}"
        self.batches[id] = {"id": id, "object": "batch", "status": "validating", "input": asked["input_file_id"]}
        self.running.append(sum(each["status"] in ("validating", "in_progress") for each in self.batches.values()))
        return Reply.of(self.batches[id])

    def _look(self, request: Request, id: str) -> Reply:
        batch = self.batches[id]
        if batch["status"] == "validating":
            batch["status"] = "in_progress"
        elif batch["status"] == "in_progress" and self.ends:
            batch["status"] = self.ends
            if self.ends != "failed":
                self._finish(batch)
        return Reply.of(batch)

    def _finish(self, batch: dict[str, Any]) -> None:
        lines = [json.loads(line) for line in self.files[batch["input"]].splitlines()]
        done, failed = [], []
        for number, line in enumerate(lines):
            assert (line["method"], line["url"]) == ("POST", "/v1/embeddings")
            if number in self.without:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                failed.append({"id": "r", "custom_id": line["custom_id"], "response": None, "error": error})
            else:
                body = self._list([line["body"]["input"]])
                response = {"status_code": 200, "request_id": "q", "body": body}
                done.append({"id": "r", "custom_id": line["custom_id"], "response": response, "error": None})
        for name, told in (("output_file_id", done[::-1]), ("error_file_id", failed)):  # in no order
            if told:
                batch[name] = f"file-{next(self._numbers)}"
                self.files[batch[name]] = "\n".join(map(json.dumps, told)).encode()

    def _content(self, request: Request, id: str) -> Reply:
        return Reply(self.files[id])

    def _delete(self, request: Request, id: str) -> Reply:
        del self.files[id]
        return Reply.of({"id": id, "object": "file", "deleted": True})

    def _cancel(self, request: Request, id: str) -> Reply:
        self.batches[id]["status"] = "cancelling"
        return Reply.of(self.batches[id])


class Gemini(Provider):
    """:batchEmbedContents, :asyncBatchEmbedContent and the batch that it begins."""

    def __init__(self, *troubles: Reply, dim: int = 8, ends: str = "SUCCEEDED", without: tuple[int, ...] = ()) -> None:
        super().__init__(*troubles, dim=dim)
        self.ends, self.without = ends, without
        self.batches: dict[str, list[str]] = {}
        self.looks = 0

    def answer(self, request: Request) -> Reply:
        path = request.path.removeprefix("/v1beta")
        if path.endswith(":batchEmbedContents"):
            requests = request.body["requests"]
            if len(requests) > 100:
                return Reply.of(
                    {"error": {"code": 400, "message": "at most 100 requests can be in one batch"}}, status=400
                )
            rows = self.embed([each["content"]["parts"][0]["text"] for each in requests])
            return Reply.of({"embeddings": [{"values": row} for row in rows]})
        if path.endswith(":asyncBatchEmbedContent"):
            asked = request.body["batch"]
            requests = asked["inputConfig"]["requests"]["requests"]
            assert asked["displayName"]
            name = f"batches/{len(self.batches) + 1}"
            self.batches[name] = [each["request"]["content"]["parts"][0]["text"] for each in requests]
            return Reply.of({"name": name, "metadata": {"state": "BATCH_STATE_PENDING"}})
        if request.method == "GET":
            return Reply.of(self._look(path.lstrip("/")))
        return Reply.of({})  # deleted, or cancelled

    def _look(self, name: str) -> dict[str, Any]:
        self.looks += 1
        if self.looks == 1 or not self.ends:
            return {"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}}
        ended: dict[str, Any] = {"name": name, "metadata": {"state": f"BATCH_STATE_{self.ends}"}, "done": True}
        if self.ends != "SUCCEEDED":
            return {**ended, "error": {"code": 4, "message": "The batch expired.", "status": "DEADLINE_EXCEEDED"}}
        error = {"error": {"code": 13, "message": "internal"}}
        responses = [
            error if at in self.without else {"response": {"embedding": {"values": self.embed([text])[0]}}}
            for at, text in enumerate(self.batches[name])
        ]
        return {**ended, "response": {"output": {"inlinedResponses": {"inlinedResponses": responses}}}}


class Ollama(Provider):
    """/api/embed, for the models that were pulled."""

    models = ("nomic-embed-text", "mystery")

    def answer(self, request: Request) -> Reply:
        asked = request.body
        if request.path != "/api/embed":
            return Reply(b"404 page not found", 404)
        if asked["model"] not in self.models:
            return Reply.of({"error": f'model "{asked["model"]}" not found, try pulling it first'}, status=404)
        return Reply.of({"model": asked["model"], "embeddings": self.embed(asked["input"]), "total_duration": 1})


@contextmanager
def serving(provider: Provider | Callable[[Request], Reply]) -> Iterator[str]:
    """A real HTTP server, for as long as the block lasts; its address."""
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # heads and bodies in one packet

        def handle_any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = provider(Request(self.command, self.path, dict(self.headers), raw))
            if reply.hangs:
                closing.wait(30)
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + reply.missing))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = self.close_connection or bool(reply.missing)

        do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with served(Handler, closing) as address:
        yield address


@contextmanager
def served(handler: type[BaseHTTPRequestHandler], closing: threading.Event) -> Iterator[str]:
    """The address of a server on loopback. ``closing`` is set before it stops, so that slow replies end."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that hung up

    server = Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
