"""Who is calling: a bearer token, or the cookie of a browser that was opened with a one-time code."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from recollect.errors import AccessDenied, LimitExceeded, StoreError
from recollect.serve.settings import ServerSettings
from recollect.serve.tokens import Access, TokenFile

log = logging.getLogger("recollect.serve")
CODE_SECONDS = 120.0  # in which a one-time code must be used
MAX_SESSIONS = 1_000  # of browsers, and one-time codes that are not used yet
MAX_SESSIONS_EACH = 50  # of one token
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
AGAIN = "Run recollect ui again: it opens the page in a new session."
LOCAL_ID = "local"  # of the access of whoever started the server with recollect ui


@dataclass(frozen=True, slots=True)
class _Entry:
    access: Access
    until: float  # time.monotonic()


class AccessControl:
    """Checks tokens, makes one-time codes, and keeps the sessions of browsers, in memory only."""

    def __init__(self, tokens: TokenFile, settings: ServerSettings) -> None:
        self.tokens, self.settings = tokens, settings
        self._codes: dict[str, _Entry] = {}
        self._sessions: dict[str, _Entry] = {}

    def make_code(self, access: Access) -> str:
        """A code that opens a session in a browser once, within two minutes."""
        self._forget_old(self._codes)
        if sum(entry.access.id == access.id for entry in self._codes.values()) >= MAX_SESSIONS_EACH:
            problem = LimitExceeded(f"There are {MAX_SESSIONS_EACH} one-time codes of this token that were not used.")
            raise problem.advise(f"Use one of them, or wait: each expires after {CODE_SECONDS:g} seconds.")
        code = secrets.token_urlsafe(24)
        self._codes[_key(code)] = _Entry(access, time.monotonic() + CODE_SECONDS)
        return code

    def open_session(self, code: str) -> str:
        """The id of a new session for a one-time code, which is used up."""
        self._forget_old(self._codes)
        entry = self._codes.pop(_key(code), None)
        if entry is None:
            raise AccessDenied("This code was used before or has expired; run recollect ui again.")
        self._forget_old(self._sessions)
        own = [key for key, each in self._sessions.items() if each.access.id == entry.access.id]
        for key in own[: max(0, len(own) - MAX_SESSIONS_EACH + 1)]:  # the oldest ones end
            del self._sessions[key]
        id = secrets.token_urlsafe(32)
        self._sessions[_key(id)] = _Entry(entry.access, time.monotonic() + self.settings.session_hours * 3600)
        return id

    def is_valid(self, access: Access) -> bool:
        """Does the token behind an access still hold? For what goes on after its request was accepted."""
        if access.id == LOCAL_ID:
            return True
        with _without_path():
            return self.tokens.is_valid(access.id, datetime.now(UTC))

    def close_session(self, id: str) -> None:
        self._sessions.pop(_key(id), None)

    def access_of(self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str], cookie: str) -> Access:
        """The access of a request; AccessDenied without a valid token or session."""
        header = headers.get("authorization", "")
        if header:
            scheme, _, token = header.partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise AccessDenied("Give the token as a header: Authorization: Bearer rct_…")
            with _without_path():
                return self.tokens.verify(token.strip(), datetime.now(UTC))
        if cookie in cookies:
            return self._access_of_session(cookies[cookie], method, headers)
        raise AccessDenied(
            "This call needs a token, as a header: Authorization: Bearer rct_… (recollect token create)."
        )

    def _access_of_session(self, id: str, method: str, headers: Mapping[str, str]) -> Access:
        entry = self._sessions.get(_key(id))
        if entry is None or entry.until < time.monotonic():
            raise AccessDenied("The session has ended.").advise(AGAIN)
        if method in UNSAFE and "origin" not in headers:  # where there is one, the guard has checked it
            raise AccessDenied("A change from a browser needs the header Origin.").advise(
                "Use the page itself, or send a token instead of the cookie."
            )
        if not self.is_valid(entry.access):
            self.close_session(id)
            raise AccessDenied("The token behind this session was revoked or has expired.").advise(AGAIN)
        return entry.access

    @staticmethod
    def _forget_old(entries: dict[str, _Entry]) -> None:
        now = time.monotonic()
        for key in [key for key, entry in entries.items() if entry.until < now]:
            del entries[key]
        while len(entries) >= MAX_SESSIONS:
            del entries[next(iter(entries))]


@contextmanager
def _without_path() -> Iterator[None]:
    """A damaged file of tokens is named in the log only: whoever calls has shown no valid token yet."""
    try:
        yield
    except StoreError as problem:
        log.error("%s", problem)
        raise StoreError("The server cannot check tokens.").advise(
            "Whoever runs the server finds the reason in its log."
        ) from None


def _key(secret: str) -> str:
    """Codes and sessions are looked up by their hash, so that the time that it takes tells nothing of them."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
