"""A real server on a loopback port, for tests: started and stopped by a context manager."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from recollect import Mind
from recollect.serve.backend import Backend
from recollect.serve.server import running
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import TokenFile


@dataclass
class RunningServer:
    """The address of a server, its memory and its tokens."""

    url: str
    mind: Mind
    tokens: TokenFile
    backend: Backend
    clients: dict[Any, httpx2.Client] = field(default_factory=dict)  # by scope and bound

    def token(self, scope: Any = "admin", **bound: str) -> str:
        return self.tokens.create(f"{scope} {bound}", scope, bound)[0]

    def client(self, scope: Any = "admin", **bound: str) -> httpx2.Client:
        key = (scope, *sorted(bound.items()))
        if key not in self.clients:
            self.clients[key] = self.client_with(self.token(scope, **bound))
        return self.clients[key]

    def client_with(self, token: str | None, **headers: str) -> httpx2.Client:
        given = {} if token is None else {"authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers={**given, **headers}, timeout=60, trust_env=False, verify=False)


@contextlib.contextmanager
def start(
    folder: Path, embedder: Any = None, path: str | Path | None = None, **settings: Any
) -> Iterator[RunningServer]:
    """A server on a new database, on any free port."""
    with Mind(path or folder / "memory.db", embedder=embedder) as mind:
        tokens = TokenFile.beside(mind.path)
        made: list[Backend] = []

        def make(actual: ServerSettings) -> Backend:
            made.append(Backend(mind, tokens, actual))
            return made[0]

        with running(make, ServerSettings(port=0, **settings)) as url:
            yield RunningServer(url, mind, tokens, made[0])
