"""Runs the application with uvicorn: TLS or a trusted proxy, slow clients, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Thread
from types import FrameType
from typing import Any

from recollect.errors import InvalidInput, RecollectError, StoreError
from recollect.serve.backend import Backend
from recollect.serve.processes import SWITCH_SECONDS
from recollect.serve.settings import ServerSettings
from recollect.serve.work import keep_loaded
from recollect.service.errors import error_json

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from recollect.serve.app import build_app
except ImportError as error:  # pragma: no cover (the tests have it)
    raise InvalidInput(
        f"The server needs further packages ({error.name} is missing): pip install '.[server]'"
    ) from None

log = logging.getLogger("recollect.serve")
HEADER_SECONDS = 15.0  # for the head of a request, once its connection is open
CONNECTIONS = 1_000
MAX_HEAD_BYTES = 64 << 10  # of the path and the headers of a request
KEEP_ALIVE_SECONDS = 30


class JoinedConnection(h11.Connection):
    """Sends the head of a response together with its body, if its length is known: one packet, for which the client
    wakes up once."""

    _head: list[bytes] | None = None  # that waits for its body

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        sent = super().send_with_data_passthrough(event)
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._head = sent
            return []
        if self._head is not None and sent is not None:
            sent, self._head = self._head + sent, None
        return sent


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol, which closes a connection whose request does not arrive: uvicorn itself waits for ever."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn = JoinedConnection(h11.SERVER, MAX_HEAD_BYTES)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEADER_SECONDS, self._close_without_request)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._head_timer.cancel()
        wait = HEADER_SECONDS + KEEP_ALIVE_SECONDS  # uvicorn closes a connection that is silent before that
        self._head_timer = self.loop.call_later(wait, self._close_without_request)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has too long a head: the one shape of an error, not uvicorn's plain text."""
        problem = InvalidInput("The request is not valid HTTP, or its path and headers are too long.")
        error = error_json(
            problem.advise(f"Path and headers may have {MAX_HEAD_BYTES:,} bytes; send more in the body.")
        )
        body = json.dumps({"error": error}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _close_without_request(self) -> None:
        waiting = self.cycle is None or self.cycle.response_complete
        if waiting and not self.transport.is_closing():
            self.transport.close()


class RecollectServer(uvicorn.Server):
    """uvicorn's server, which tells the backend that it stops, so that streams of events end."""

    def __init__(self, config: uvicorn.Config, backend: Backend) -> None:
        super().__init__(config)
        self.backend = backend

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        async with contextlib.AsyncExitStack() as stack:
            if self.backend.processes is not None:
                await stack.enter_async_context(self.backend.processes.running())
            if self.backend.mcp is not None:
                await stack.enter_async_context(self.backend.mcp.running())
            await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Not uvicorn's: that one raises the signal again at the end, before the memory is closed."""
        self.force_exit = self.should_exit and sig == signal.SIGINT  # Ctrl-C again does not wait
        self.stop_soon()

    def stop_soon(self) -> None:
        """Stop: called in the thread of the event loop, or by a signal."""
        self.should_exit = True
        self.backend.stopping.set()


def make_server(backend: Backend) -> RecollectServer:
    settings = backend.settings
    config = uvicorn.Config(
        build_app(backend),
        http=ImpatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.trusted_proxy is not None,
        forwarded_allow_ips=settings.trusted_proxy or "",
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, int(settings.shutdown_seconds)),
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    return RecollectServer(config, backend)


def open_socket(settings: ServerSettings) -> socket.socket:
    """The listening socket. A port that is in use is an error before anything else is started."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio sends small packets at once; without, each response waits 40 ms for the client.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        place = f"{settings.host}:{settings.port}"
        if error.errno == errno.EADDRINUSE:
            message = f"Port {settings.port} of {settings.host} is in use, perhaps by another recollect serve."
            raise StoreError(f"{message} Choose another one with --port.") from None
        raise InvalidInput(f"The server cannot listen on {place}: {error.strerror}.") from None
    return listener


def serve(
    make_backend: Callable[[ServerSettings], Backend],
    settings: ServerSettings,
    on_start: Callable[[Backend, str], None],
) -> None:
    """Serve until a signal ends it. ``on_start`` gets the address, once the port is known."""
    sys.setswitchinterval(SWITCH_SECONDS)
    listener = open_socket(settings)
    port = listener.getsockname()[1]
    actual = replace(settings, port=port)
    backend = make_backend(actual)
    keep_loaded()
    try:
        on_start(backend, address(actual))
        make_server(backend).run(sockets=[listener])
    finally:
        listener.close()
        backend.close()


def address(settings: ServerSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{settings.scheme}://{host}:{settings.port}"


@contextlib.contextmanager
def running(make_backend: Callable[[ServerSettings], Backend], settings: ServerSettings) -> Iterator[str]:
    """A server in a thread of this process, for as long as the block lasts; its address."""
    listener = open_socket(settings)
    actual = replace(settings, port=listener.getsockname()[1])
    backend = make_backend(actual)
    server = make_server(backend)
    failure: list[BaseException] = []
    loops: list[Any] = []

    def work() -> None:
        async def main() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(sockets=[listener])

        try:
            asyncio.run(main())
        except BaseException as error:
            failure.append(error)

    thread = Thread(target=work, name="recollect-server", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        if failure:
            raise RecollectError(f"The server did not start: {failure[0]}") from failure[0]
        yield address(actual)
    finally:
        if loops and thread.is_alive():
            with contextlib.suppress(RuntimeError):
                loops[0].call_soon_threadsafe(server.stop_soon)
        thread.join(settings.shutdown_seconds + 5)
        listener.close()
        backend.close()
