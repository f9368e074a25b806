"""The settings of a server, and what follows from them: which hosts and origins it answers to."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from functools import cached_property

from recollect.errors import InvalidInput

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = 8765
DEFAULT_PORTS = {"http": 80, "https": 443}  # which clients leave out
HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True)
class ServerSettings:
    """How a server listens, and what it accepts."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT  # 0: any free one
    tls_cert: str | None = None
    tls_key: str | None = None
    trusted_proxy: str | None = None  # the address of the proxy that does TLS; its X-Forwarded headers are believed
    allowed_hosts: tuple[str, ...] = ()  # names under which it is reached, also with a port, beside its own address
    max_body_bytes: int = 16 << 20
    max_upload_bytes: int = 1 << 30  # of a file to import
    body_seconds: float = 30.0  # for sending a request
    rate: float = 500.0  # requests a second for each token
    burst: int = 1_000  # requests at once
    failed_rate: float = 5.0  # wrong tokens a second from one address
    failed_burst: int = 30
    workers: int = 1  # processes that do the work; 1: the server itself
    threads: int = max(2, min(8, os.cpu_count() or 2))  # of each worker, that read
    queue: int = 512  # requests that wait for a thread; further ones are refused
    session_hours: float = 12.0  # of a browser
    shutdown_seconds: float = 10.0  # for requests that are being answered

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidInput("TLS needs both a certificate and a key: --tls-cert FILE --tls-key FILE.")
        if not self.is_loopback and self.tls_cert is None and self.trusted_proxy is None:
            raise InvalidInput(
                f"host {self.host!r} can be reached from other machines, where tokens must not travel in the clear: "
                "give --tls-cert and --tls-key, or --trusted-proxy with the address of a proxy that does TLS."
            )
        for name in ("workers", "threads"):
            if not 1 <= getattr(self, name) <= 64:
                raise InvalidInput(f"{name} must be between 1 and 64, not {getattr(self, name)}.")
        if not 0 <= self.port <= 65535:
            raise InvalidInput(f"port must be between 0 and 65535, not {self.port}.")
        _ = self._allowed

    @cached_property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    @cached_property
    def host_names(self) -> frozenset[str]:
        """The names that a Host header may have, without a port."""
        own = LOOPBACK_NAMES if self.is_loopback else (self.host.lower(),)
        return frozenset((*own, *self._allowed))

    @cached_property
    def _allowed(self) -> dict[str, set[int | None]]:
        """The names of ``allowed_hosts``, with the ports that were given with them."""
        names: dict[str, set[int | None]] = {}
        for given in self.allowed_hosts:
            name, port = _split_host(f"[{given}]" if given.count(":") > 1 and given[0] != "[" else given)
            if not name:
                raise InvalidInput(f"allowed host {given!r} must be a name or address, with or without a port.")
            names.setdefault(name, set()).add(port)
        return names

    def accepts_host(self, header: str) -> bool:
        """Does a Host header name this server? Another name means that a foreign page has been pointed at it.

        The port is the one that it listens on. It is not known behind a proxy; and under an allowed name the server may
        be reached by the usual port, which is not named, or by the port that was allowed with it."""
        name, port = _split_host(header)
        if name not in self.host_names or self.trusted_proxy is not None:
            return name in self.host_names
        if port == self.port or (port is None and self.port == DEFAULT_PORTS[self.scheme]):
            return True
        return name in self._allowed and (port is None or port in self._allowed[name])

    def accepts_origin(self, origin: str, host_header: str) -> bool:
        """Is a page of this origin one of this server's?"""
        scheme, _, authority = origin.partition("://")
        same = authority.lower() == host_header.lower()
        return same and scheme in ("http", "https") and self.accepts_host(authority)


def _split_host(header: str) -> tuple[str, int | None]:
    """The name and the port in a Host header: ``[::1]:8765`` is ``::1`` and 8765. No name if it is none."""
    found = HOST.fullmatch(header)
    if found is None:
        return "", None
    return (found["name"] or found["address"]).lower(), int(found["port"]) if found["port"] else None
