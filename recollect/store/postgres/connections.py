"""Connections to PostgreSQL: what a URL configures, the pool, texts that PostgreSQL cannot store, and its errors."""

from __future__ import annotations

import logging
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from recollect.errors import InvalidInput, RecollectError, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

Connection = "psycopg.Connection[tuple[Any, ...]]"
INSTALL = "A memory in PostgreSQL needs psycopg: pip install '.[postgres]'."
CONNECT_SECONDS = 10  # to wait for a server when a memory is opened
SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,48}")
ESCAPE = "\U0010fffd"  # begins a character that PostgreSQL cannot store; the last one for private use
ESCAPE_BYTES = ESCAPE.encode()
UNSTORABLE = re.compile(f"[\0\ud800-\udfff{ESCAPE}]")
ESCAPED = re.compile(f"{ESCAPE}([0-9a-f]{{6}})")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the query of a URL configures beside libpq's own parameters."""

    schema: str = "recollect"  # the tables are in this schema
    pool_size: int = 10  # connections of this process at most
    pool_timeout: float = 30.0  # seconds to wait for a free one
    statement_timeout: float = 60.0  # seconds; 0 for none
    lock_timeout: float = 30.0  # seconds to wait for another writer of the same collection
    prepare: bool = False  # prepared statements: faster, but a pooler must support them in transaction mode
    approximate: int = 0  # search vectors by HNSW where more memories than this are in scope; 0: never
    read_url: str = ""  # replicas, for what only reads
    listen_url: str = ""  # a server that is no pooler, to hear of changes instead of asking for them
    retry_timeout: float = 30.0  # seconds to go on trying when the server is gone; 0: none


def parse_url(url: str) -> tuple[str, Settings]:
    """The URL for libpq, and our settings."""
    parts = urlsplit(url)
    values: dict[str, Any] = {}
    others = []
    kinds = {each.name: each.type for each in fields(Settings)}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in kinds:
            others.append((name, text))
            continue
        try:
            match kinds[name]:
                case "bool":
                    values[name] = {"yes": True, "no": False, "true": True, "false": False}[text.lower()]
                case "int":
                    values[name] = int(text)
                case "float":
                    values[name] = float(text)
                case _:
                    values[name] = text
        except (ValueError, KeyError):
            raise InvalidInput(f"{name}={text!r} in the URL of a PostgreSQL memory must be a {kinds[name]}.") from None
    settings = Settings(**values)
    if not SCHEMA.fullmatch(settings.schema):
        raise InvalidInput(
            f"schema={settings.schema!r} in the URL of a PostgreSQL memory must be lower-case letters, digits and _."
        )
    if settings.pool_size < 1:
        raise InvalidInput(f"pool_size={settings.pool_size} in the URL of a PostgreSQL memory must be at least 1.")
    return urlunsplit(parts._replace(query=urlencode(others, quote_via=quote))), settings


def without_password(url: str) -> str:
    """A URL for messages."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")
    user = host[0].partition(":")[0]
    query = urlencode([(name, "…" if name == "password" else text) for name, text in parse_qsl(parts.query)])
    return urlunsplit(parts._replace(netloc=f"{user}@{host[2]}" if user else host[2], query=query))


def with_settings(url: str, settings: Settings) -> str:
    """A URL for messages with those settings that are not the default, so that it names the same memory."""
    default, parts = Settings(), urlsplit(url)
    shown = {each.name: getattr(settings, each.name) for each in fields(Settings)}
    changed = [(name, value) for name, value in shown.items() if value != getattr(default, name)]
    named = [(name, without_password(value) if name.endswith("_url") else str(value)) for name, value in changed]
    return urlunsplit(parts._replace(query=urlencode([*parse_qsl(parts.query), *named], quote_via=quote)))


# Texts. PostgreSQL stores no NUL, and UTF-8 encodes no lone surrogates: both are escaped, so that what is read is what
# was written.


def encode_text(text: str) -> bytes:
    try:
        plain = text.encode()
        if b"\0" not in plain and ESCAPE_BYTES not in plain:
            return plain
    except UnicodeEncodeError:
        pass
    return UNSTORABLE.sub(lambda found: f"{ESCAPE}{ord(found.group()):06x}", text).encode()


def decode_text(data: bytes | bytearray | memoryview) -> str:
    raw = bytes(data)
    text = raw.decode()
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text) if ESCAPE_BYTES in raw else text


class Database:
    """The pool of one database, and what this process knows of it."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.settings = settings
        self.path = with_settings(without_password(url), settings)
        self.url = url
        self._open()

    def _open(self) -> None:
        try:
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise StoreError(INSTALL) from error
        self.local = threading.local()
        self.extensions: str = ""  # the schema of pgvector
        self.pool: ConnectionPool[Any] = ConnectionPool(
            self.url,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 5 if self.settings.prepare else None,
                "application_name": "recollect",
            },
            min_size=0,
            max_size=self.settings.pool_size,
            timeout=self.settings.pool_timeout,
            configure=self._configure,
            reconnect_timeout=0.1,  # a connection is tried once a second while somebody waits, see begin
            open=True,
        )
        logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what fails is raised

    def _configure(self, connection: Any) -> None:
        register_types(connection)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"The database at {self.path} has the encoding {encoding}; a memory needs UTF8. "
                "Create one with: createdb --encoding=UTF8 --template=template0 NAME"
            )

    @contextmanager
    def connect(self) -> Iterator[Any]:
        """A connection, with the errors of PostgreSQL as ours."""
        with translate_errors(self.path), self.pool.connection() as connection:
            yield connection

    @contextmanager
    def begin(
        self,
        kind: str,
        values: dict[str, str],
        patience: float | None = None,
        prepare: Callable[[Any], None] | None = None,
        first: Callable[[Any], None] | None = None,
    ) -> Iterator[Any]:
        """A connection inside a transaction with these settings. It is committed unless something is raised.

        ``patience``: how many seconds to wait for a connection, if not as configured. ``prepare`` is called with the
        connection before the transaction begins; ``first`` executes its first statements, which are sent together with
        the beginning.
        """
        with translate_errors(self.path, self.settings.retry_timeout):
            wait = self.settings.pool_timeout if patience is None else patience
            connection = self._begin(kind, values, wait, prepare, first)
            try:
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if not connection.closed and not connection.broken:
                        connection.execute("ROLLBACK")
                    raise
            finally:
                self.pool.putconn(connection)

    def execute_at_once(self, kind: str, values: dict[str, str], patience: float, statement: Sql) -> list[Any]:
        """A transaction of one statement in one round trip. Returns its rows."""
        cursors: list[Any] = []

        def execute(connection: Any) -> None:
            cursors.append(connection.execute(statement.text, statement.values))
            connection.execute("COMMIT")

        with translate_errors(self.path, self.settings.retry_timeout):
            self.pool.putconn(self._begin(kind, values, patience, first=execute))
            return list(cursors[-1].fetchall())

    def _begin(
        self,
        kind: str,
        values: dict[str, str],
        patience: float,
        prepare: Callable[[Any], None] | None = None,
        first: Callable[[Any], None] | None = None,
    ) -> Any:
        """Connections in the pool may be those of a server that is gone: another one is taken then."""
        import psycopg
        from psycopg_pool import PoolTimeout

        deadline = time.monotonic() + patience
        while True:
            rest = deadline - time.monotonic()
            try:
                connection = self.pool.getconn(timeout=max(0.1, min(rest, 1.0)))
            except PoolTimeout:
                if rest <= 0:
                    raise
                continue
            try:
                if prepare is not None:
                    prepare(connection)
                with connection.pipeline():
                    connection.execute(kind)
                    set_local(connection, values)
                    if first is not None:
                        first(connection)
                return connection
            except BaseException as error:
                lost = connection.closed and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
                if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.close()
                self.pool.putconn(connection)
                if not lost or rest <= 0:
                    raise

    def check(self) -> None:
        """Connect once, without the pool, which would wait for a server that refuses us."""
        import psycopg

        with translate_errors(self.path), psycopg.connect(self.url, connect_timeout=CONNECT_SECONDS) as connection:
            self._configure(connection)

    @property
    def search_path(self) -> str:
        return f'"{self.settings.schema}", "{self.extensions or "public"}"'

    def close(self) -> None:
        self.pool.close()


class SnapshotConnection:
    """A connection inside a transaction that reads. A statement that fails, such as one that takes too long, ends
    itself and not the transaction: the other steps of a recall still answer."""

    SAVEPOINT = "SAVEPOINT begun"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), **options: Any) -> Any:
        from psycopg import Error
        from psycopg.pq import TransactionStatus

        try:
            return self._connection.execute(sql, values, **options)
        except Error:
            if self._connection.info.transaction_status == TransactionStatus.INERROR:
                self._connection.execute(f"ROLLBACK TO {self.SAVEPOINT}")
            raise


def set_local(connection: Any, values: dict[str, str]) -> None:
    """Settings until the end of the transaction, so that a pooler may give the connection to others after it."""
    parts = ", ".join(["set_config(%s, %s, true)"] * len(values))
    connection.execute(f"SELECT {parts}", [text for pair in values.items() for text in pair])


@dataclass(frozen=True, slots=True)
class RowArray:
    """Rows as a value of the type bigint[]: quicker than a list, and unlike a text it is not read for each row."""

    rows: NDArray[np.int64]


def register_types(connection: Any) -> None:
    """How texts and rows are sent and read."""
    from psycopg.adapt import Buffer, Dumper, Loader
    from psycopg.pq import Format

    class TextDumper(Dumper):
        oid = 25  # text
        format = Format.BINARY

        def dump(self, obj: str) -> Buffer | None:
            return encode_text(obj)

    class PlainTextDumper(TextDumper):  # for the elements of arrays
        format = Format.TEXT

    class TextLoader(Loader):
        format = Format.BINARY

        def load(self, data: Buffer) -> str:
            return decode_text(data)

    class PlainTextLoader(TextLoader):
        format = Format.TEXT

    class RowArrayDumper(Dumper):
        oid = 1016  # bigint[]
        format = Format.BINARY

        def dump(self, obj: RowArray) -> Buffer | None:
            count, bigint = len(obj.rows), 20
            if not count:
                return struct.pack(">iii", 0, 0, bigint)
            items = np.empty(count, dtype=[("bytes", ">i4"), ("row", ">i8")])
            items["bytes"], items["row"] = 8, obj.rows
            return struct.pack(">iiiii", 1, 0, bigint, count, 1) + items.tobytes()

    connection.adapters.register_dumper(RowArray, RowArrayDumper)
    for dumper in (PlainTextDumper, TextDumper):  # the last one is preferred
        connection.adapters.register_dumper(str, dumper)
    for name in ("text", "varchar"):
        connection.adapters.register_loader(name, TextLoader)
        connection.adapters.register_loader(name, PlainTextLoader)


@contextmanager
def translate_errors(path: str, retry_seconds: float = 0.0) -> Iterator[None]:
    """Raise the errors of PostgreSQL as ours, which say what happened and what to do."""
    import psycopg
    from psycopg import errors
    from psycopg_pool import PoolClosed, PoolTimeout

    try:
        yield
    except RecollectError:
        raise
    except PoolClosed as error:
        raise StoreError(f"{path} is closed. Open a new Mind to go on.") from error
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"{path} gave no connection in time: the server cannot be reached, or all connections of this process "
            "are in use. Nothing was written. Check the server, or raise pool_size in the URL."
        ) from error
    except errors.UniqueViolation as error:
        raise InvalidInput("Another memory of that collection has this external id already.") from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"The role of {path} lacks a right: {_first_line(error)}. Nothing was written. Its owner can grant what a "
            "memory needs, see docs/operating.md."
        ) from error
    except errors.ProgramLimitExceeded as error:
        raise InvalidInput(
            f"A name, id or path is too long for {path}, whose indexes take about 2,600 bytes: {_first_line(error)}. "
            "Nothing was written. Use shorter ones."
        ) from error
    except (errors.QueryCanceled, errors.LockNotAvailable) as error:
        raise StoreError(
            f"{path} took longer than statement_timeout or lock_timeout allows; nothing was written. Try again, or "
            "raise it in the URL."
        ) from error
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise StoreError(f"The server of {path} has no room: {_first_line(error)}. Nothing was written.") from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreError(f"{path} is read-only; nothing was written.") from error
    except (errors.DeadlockDetected, errors.SerializationFailure) as error:
        raise StoreError(f"Another writer of {path} was in the way; nothing was written. Try again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise StoreUnavailable(
            f"The connection to {path} failed: {_first_line(error)}. Nothing was written. Try again.", retry_seconds
        ) from error
    except psycopg.Error as error:
        raise StoreError(f"PostgreSQL could not serve {path}: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


# SQL with its values.


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL and the values of its placeholders."""

    text: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: Sql) -> Sql:
        return join(" AND ", [self, other])


def join(separator: str, parts: Sequence[Sql]) -> Sql:
    return Sql(separator.join(each.text for each in parts), tuple(value for each in parts for value in each.values))


TRUE = Sql("true")
