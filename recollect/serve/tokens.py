"""Tokens: who may call the server, with which scope and within which bound.

They are in a small file of their own beside the database, so that a copy or an export of the memory gives nobody
access, and so that creating and revoking one needs no connection to the store. Only hashes of the secrets are in it.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from recollect.errors import AccessDenied, InvalidInput, NotFound, StoreError
from recollect.model import validation as check
from recollect.service import SCOPES, OperationScope
from recollect.store.disk import is_foreign, replace_private

PREFIX = "rct"  # tokens are recognised by it, in logs and by scanners of secrets
BOUND_NAMES = ("collection", "user", "agent", "session")
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller may do. ``id`` is the token's: limits and idempotency keys are counted by it."""

    id: str
    name: str
    scope: OperationScope
    bound: tuple[tuple[str, str], ...] = ()

    @property
    def is_unbound_admin(self) -> bool:
        return self.scope == "admin" and not self.bound


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token as it is stored: without its secret."""

    id: str
    name: str
    scope: OperationScope
    hash: str = field(repr=False)
    created: str = ""
    expires: str | None = None
    bound: Mapping[str, str] = field(default_factory=dict)

    @property
    def access(self) -> Access:
        return Access(self.id, self.name, self.scope, tuple(sorted(self.bound.items())))

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and datetime.fromisoformat(self.expires) <= now


class TokenFile:
    """The tokens of one database. A running server notices when the file changes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self._state: tuple[int, int, int] | None = None
        self._records: dict[str, TokenRecord] = {}

    @classmethod
    def beside(cls, database: str | os.PathLike[str]) -> TokenFile:
        """For a database on a server: in the current folder, named by the database, its schema and a hash of where."""
        path = os.fspath(database)
        return cls(f"{_name_of_url(path) if '://' in path else path}-tokens.json")

    def records(self) -> dict[str, TokenRecord]:
        """All tokens, by id; those that have expired, too."""
        with self._lock:
            try:
                info = os.stat(self.path)
            except FileNotFoundError:
                self._state, self._records = None, {}
                return {}
            state = (info.st_mtime_ns, info.st_size, info.st_ino)
            if state != self._state:
                self._records, self._state = self._read(), state
            return self._records

    def create(
        self,
        name: str,
        scope: OperationScope = "write",
        bound: Mapping[str, str] | None = None,
        expires: datetime | None = None,
        now: datetime | None = None,
    ) -> tuple[str, TokenRecord]:
        """A new token and its record. The token itself is stored nowhere."""
        if check.string(name, "name").strip() == "":
            raise InvalidInput("name is blank; name what will use the token, such as 'laptop'.")
        check.choice(scope, "scope", SCOPES)
        values = {key: check.string(value, key) for key, value in (bound or {}).items()}
        unknown = [key for key in values if key not in BOUND_NAMES]
        if unknown:
            raise InvalidInput(f"A token cannot be bound to {unknown[0]!r}; it can to: {', '.join(BOUND_NAMES)}.")
        id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        at = (now or datetime.now(UTC)).isoformat(timespec="seconds")
        until = None if expires is None else expires.astimezone(UTC).isoformat(timespec="seconds")
        record = TokenRecord(id, name, scope, _hash(secret), at, until, values)
        with self._changing() as records:
            records[id] = record
        return f"{PREFIX}_{id}_{secret}", record

    def revoke(self, id: str) -> TokenRecord:
        """Remove a token by its id or its name; the next request with it is refused."""
        with self._changing() as records:
            found = [each for each in records.values() if id in (each.id, each.name)]
            if not found:
                raise NotFound(f"There is no token {id!r}; see recollect token list.")
            if len(found) > 1:
                raise InvalidInput(
                    f"Several tokens are named {id!r}; give an id: {', '.join(each.id for each in found)}."
                )
            del records[found[0].id]
        return found[0]

    def verify(self, token: str, now: datetime) -> Access:
        """What a token allows; AccessDenied if it is unknown, cut or expired."""
        prefix, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        record = self.records().get(id) if prefix == PREFIX else None
        stored = record.hash if record is not None else _hash("")
        matches = hmac.compare_digest(stored.encode(), _hash(secret).encode())
        if record is None or not matches:
            raise AccessDenied("The token is not valid: it is unknown, revoked or incomplete.")
        if record.is_expired(now):
            raise AccessDenied(f"The token {record.name!r} expired at {record.expires}.")
        return record.access

    def is_valid(self, id: str, now: datetime) -> bool:
        """Is there still a token with this id?"""
        record = self.records().get(id)
        return record is not None and not record.is_expired(now)

    def _read(self) -> dict[str, TokenRecord]:
        if is_foreign(self.path, beside=str(self.path).removesuffix("-tokens.json")):
            raise StoreError(f"{self.path} belongs to another user, who could let anybody in. Move it away.")
        try:
            stored: list[dict[str, Any]] = json.loads(self.path.read_text("utf-8"))["tokens"]
            records = {each["id"]: TokenRecord(**each) for each in stored}
            for record in records.values():
                record.is_expired(datetime.now(UTC))  # its date can be read
            return records
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise StoreError(f"{self.path} cannot be read as a file of tokens: {error}. Move it away.") from None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, TokenRecord]]:
        """The tokens, which are written again after the block: to another file first, which then replaces this one."""
        with _locked(self.path.with_name(self.path.name + ".lock")):
            records = dict(self.records())
            yield records
            text = json.dumps({"tokens": [asdict(each) for each in records.values()]}, indent=1)
            replace_private(self.path, text.encode("utf-8"))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time. A lock that is older than a few seconds was left behind by one that was killed."""
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            if time.monotonic() > end:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            time.sleep(0.02)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _name_of_url(url: str) -> str:
    """A name for files about a database on a server. User and password are no part of it, hosts and ports are."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    database = unquote(parts.path.strip("/")) or query.get("dbname") or parts.username or "memory"
    schema = query.get("schema", "recollect")
    hosts = unquote(parts.netloc.rpartition("@")[2]).split(",")
    where = [each if re.search(r":\d+$", each) else f"{each}:5432" for each in hosts]
    where += [query.get(name, "") for name in ("host", "hostaddr", "port")]
    digest = sha256(json.dumps([where, database, schema]).encode()).hexdigest()[:8]
    return "-".join(re.sub(r"[^\w.-]", "_", name) for name in (database, schema, digest))


def _hash(secret: str) -> str:
    """A secret of 256 random bits needs no slow hash: it cannot be guessed."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
