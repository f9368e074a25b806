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


@dataclass(frozen=True)
class ServerSettings:
    """How a server listens, and what it accepts."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT  # 0: any free one
    tls_cert: str | None = None
    tls_key: str | None = None
    trusted_proxy: str | None = None  # the address of the proxy that does TLS; its X-Forwarded headers are believed
    allowed_hosts: tuple[str, ...] = ()  # names under which it is reached, beside the address that it listens on
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
        own = LOOPBACK_NAMES if self.is_loopback else (self.host,)
        return frozenset(name.lower() for name in (*own, *self.allowed_hosts))

    def accepts_host(self, header: str) -> bool:
        """Does a Host header name this server? Another name means that a foreign page has been pointed at it."""
        return _host_name(header) in self.host_names

    def accepts_origin(self, origin: str, host_header: str) -> bool:
        """Is a page of this origin one of this server's?"""
        scheme, _, authority = origin.partition("://")
        same = authority.lower() == host_header.lower()
        return same and scheme in ("http", "https") and self.accepts_host(authority)


def _host_name(header: str) -> str:
    """The name in a Host header: ``[::1]:8765`` is ``::1``."""
    if header.startswith("["):
        name, _, port = header[1:].partition("]")
        return name.lower() if not port or re.fullmatch(r":\d{1,5}", port) else ""
    return header.rpartition(":")[0].lower() if header.count(":") == 1 else header.lower()
