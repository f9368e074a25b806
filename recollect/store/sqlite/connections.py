"""Connections to a file: one for each thread, opened on demand; and SQLite's errors as StoreErrors."""

from __future__ import annotations

import contextlib
import os
import re
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Condition, Lock, get_ident, local
from typing import Any

import apsw

from recollect.errors import DamagedFile, InvalidInput, StoreError
from recollect.store.disk import create_private
from recollect.store.sqlite.checkpoints import Checkpoints
from recollect.store.sqlite.checksums import checksum_state, connect
from recollect.store.sqlite.lineage import OTHER, Lineage, is_overwritten, read_lineage
from recollect.store.sqlite.migrations import APPLICATION_ID, is_up_to_date, migrate
from recollect.store.sqlite.write_turns import LOCK_SECONDS, wait_for_lock

FORK_TIMEOUT_SECONDS = 10.0
READONLY_ERRORS = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)


FileIdentity = tuple[int, int]  # device and inode


class Connections:
    """One connection to a file for each thread, all closed together.

    They belong to the file that was there at first: when another one is in its place, or none, every use is refused.
    """

    def __init__(self, path: str, readonly: bool, durable: bool) -> None:
        self.path = path
        self.durable = durable
        self.readonly = readonly
        self._local = local()
        self._all: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._lock = Lock()
        self._closed = False
        _check_name(path)
        self._uri = self._file_uri = f"file:{_quoted(path)}"
        self._log = os.path.realpath(path) + "-wal"  # SQLite has it beside the file, not beside a link
        self._identity: FileIdentity | None = None
        self._bytes = self._modified = 0  # of the file, when it was last looked at
        self._lineage: Lineage | None = None  # what it contained then
        self._overwritten = False
        self._checkpoints = Checkpoints(path, self._held)
        self._verifies = True  # False for a file that is getting its checksums
        with translate_errors(path):
            self._open_first()
        _instances.add(self)
        self.check_file()

    def get(self) -> apsw.Connection:
        """This thread's connection."""
        if self._closed:
            raise StoreError(f"{self.path} is closed. Open a new Mind to continue.")
        self.check_file()
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with translate_errors(self.path):
                connection = self._local.connection = self._open(self._uri)
                self._watch_log(connection)
        return connection

    def _watch_log(self, connection: apsw.Connection) -> None:
        if not self.readonly:
            self._checkpoints.watch(connection)

    @contextmanager
    def _held(self) -> Iterator[apsw.Connection]:
        """This thread's connection; no fork happens until the block ends."""
        with fork_gate.hold():
            yield self.get()

    def syncing(self, durable: bool) -> AbstractContextManager[apsw.Connection]:
        """This thread's connection, and whether its commits wait for the disk until the block ends, if they do at all.

        One connection writes both kinds: another one's commit would make it read its pages again. Whatever interrupts
        the change back (Ctrl-C), the next durable use makes it.
        """
        if self.durable and not durable:
            return self._not_syncing()
        if getattr(self._local, "relaxed", False):
            self._sync_fully(self.get())
        return nullcontext(self.get())

    @contextmanager
    def _not_syncing(self) -> Iterator[apsw.Connection]:
        connection = self.get()
        try:
            self._local.relaxed = True
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        finally:
            self._sync_fully(connection)

    def _sync_fully(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("PRAGMA synchronous = FULL")
        except apsw.Error:  # as inside a transaction; the next use gets a new connection
            self._local.connection = None
        self._local.relaxed = False

    def check_file(self) -> None:
        """Refuse to go on when the file was deleted, replaced, overwritten, emptied or cut off.

        This takes a microsecond or two, and half a millisecond after a checkpoint."""
        try:
            now = os.stat(self.path)
        except FileNotFoundError:
            raise StoreError(
                f"{self.path} was deleted or moved while it was open; nothing was written. Put it back and open it "
                "again, or open another file."
            ) from None
        except OSError:
            return  # it cannot be looked at; SQLite has it open
        self._identity = self._identity or (now.st_dev, now.st_ino)
        if (now.st_dev, now.st_ino) != self._identity:
            raise StoreError(
                f"{self.path} was replaced by another file while it was open; nothing was written. Open it again to "
                "use the one that is there now."
            )
        if now.st_size < self._bytes:
            self._check_shrunk(now.st_size)
        self._bytes = now.st_size
        if now.st_mtime_ns != self._modified or self._overwritten:
            self._check_content(now.st_mtime_ns)

    def _check_content(self, modified: int) -> None:
        """Refuse to go on when the file was overwritten in place; any other writing to it is a checkpoint."""
        if self._lineage is not None and (
            self._overwritten or is_overwritten(self.path, self._file_uri, self._lineage)
        ):
            self._overwritten = True
            for connection in list(self._all):
                with contextlib.suppress(apsw.Error):  # one that another thread is using right now
                    _keep_log(connection)
            raise StoreError(
                f"{self.path} was overwritten by another file while it was open; nothing was written. Close everything "
                f"that uses it, delete {self.path}-wal and {self.path}-shm if they are still there (they belong to "
                "what the file contained before), and open it again to use what is there now."
            )
        found = read_lineage(self._file_uri)
        if found is not None and found != OTHER and self._knows(found):
            self._lineage, self._modified = found, modified

    def _knows(self, lineage: Lineage) -> bool:
        """Is what was read from the file alone also in its history, read with the log?

        In the middle of a checkpoint of a file that was written anew, pages of different versions are side by side, and
        what is read from them may be nothing that ever was."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None or not lineage.version:
            return True
        sql = "SELECT 1 FROM changes WHERE version = ? AND token = ?"
        with contextlib.suppress(apsw.Error):
            return connection.execute(sql, (lineage.version, lineage.token)).get is not None
        return False

    def _check_shrunk(self, size: int) -> None:
        """A file shrinks when another process vacuums it; otherwise its end is missing."""
        if size:
            with translate_errors(self.path):
                fresh = self._open(self._uri)
                try:
                    if fresh.execute("PRAGMA quick_check(1)").get == "ok":
                        return
                finally:
                    fresh.close()
        raise DamagedFile(self.path, f"it was {'cut off' if size else 'emptied'} while it was open")

    def check_log(self) -> None:
        """Inside a transaction: refuse to write into a write-ahead log that others will not find."""
        try:
            now = os.stat(self._log)
        except OSError:
            identity = None
        else:
            identity = (now.st_dev, now.st_ino)
        if identity is None or getattr(self._local, "log", identity) != identity:
            raise StoreError(
                f"{self.path}-wal, the write-ahead log of {self.path}, was {'replaced' if identity else 'deleted'} "
                "while it was open; nothing was written. Close everything that uses the file: SQLite then writes what "
                "the log contained into it. Never delete or copy one of the two files alone."
            )
        self._local.log = identity

    def close(self) -> None:
        self._closed = True  # no checkpoint begins any more
        self._checkpoints.wait()
        with self._lock:
            self._close_all()

    def after_fork(self) -> None:
        """In a forked child: connections must not cross a fork, so inherited ones are closed and new ones opened."""
        self._lock = Lock()
        self._checkpoints.after_fork()
        for connection in list(self._all):
            with contextlib.suppress(apsw.Error):  # it is closed already: the others must not stay open for that
                if connection.in_transaction:  # closing it would write to what the parent uses
                    _inherited.append(connection)
                else:
                    connection.close()
        self._local = local()
        self._all = weakref.WeakSet()

    def _close_all(self) -> None:
        for connection in list(self._all):
            with contextlib.suppress(apsw.Error):  # one that is in use right now closes with its thread
                connection.close()
                self._all.discard(connection)

    def _open_first(self) -> None:
        """Open for writing and migrate the file; where that is not allowed, open for reading."""
        if self.readonly and not os.path.exists(self.path):
            raise StoreError(f"There is no file {self.path}; opening it read-only does not create it.")
        if not self.readonly:
            create_private(self.path)
            try:
                connection = self._open(self._uri)
                self._read_state(connection)
                is_up_to_date(connection, self.path)
                if not connection.readonly("main"):
                    migrate(connection, self.path)
                    switch_to_wal(connection)
                    self._local.connection = connection
                    self._watch_log(connection)
                    return
                connection.close()
            except READONLY_ERRORS:
                if not os.path.exists(self.path):
                    raise
            self.readonly = True
        try:
            connection = self._open(self._uri)
            self._read_state(connection)
        except READONLY_ERRORS:
            # The WAL's index cannot be written: open the file as immutable, unless changes are only in the WAL.
            log = Path(os.path.realpath(self.path) + "-wal")
            if log.exists() and log.stat().st_size:
                raise StoreError(
                    f"{self.path} has changes in its write-ahead log, which cannot be read without permission to write "
                    "to its folder. Copy both files to a folder of your own, or have their owner open them once."
                ) from None
            self._uri += "?immutable=1"
            connection = self._open(self._uri)
            self._read_state(connection)
        if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreError(f"{self.path} is empty and cannot be written to.")
        is_up_to_date(connection, self.path)
        self._local.connection = connection

    def _read_state(self, connection: apsw.Connection) -> None:
        """Do not verify the checksums of a file that has not got all of them yet."""
        connection.pragma("application_id")  # lets SQLite recover the file first
        if checksum_state(connection, self.path, APPLICATION_ID) == "interrupted":
            self._verifies = False
            connection.pragma("checksum_verification", 0)

    def _open(self, uri: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_URI
        if self.readonly:
            flags |= apsw.SQLITE_OPEN_READONLY
        else:
            flags |= apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        connection = connect(uri, flags)
        if not self._verifies:
            connection.pragma("checksum_verification", 0)
        wait_for_lock(connection)
        if not self.readonly:
            connection.pragma("synchronous", "FULL" if self.durable else "NORMAL")
        connection.pragma("temp_store", "memory")
        connection.pragma("secure_delete", True)
        connection.pragma("foreign_keys", True)
        with self._lock:
            self._all.add(connection)
        return connection


_inherited: list[apsw.Connection] = []  # never to be used again
_instances: weakref.WeakSet[Connections] = weakref.WeakSet()


class ForkGate:
    """Delays a fork until no other thread is inside SQLite, whose locks would stay locked in the child."""

    def __init__(self) -> None:
        self._change = Condition()
        self._holders: dict[int, int] = {}  # how many blocks each thread is in
        self._closed = False

    def hold(self) -> ForkGate:
        """For a ``with`` block in which no fork happens."""
        return self

    def __enter__(self) -> None:
        me = get_ident()
        with self._change:
            while self._closed and me not in self._holders:
                self._change.wait()
            self._holders[me] = self._holders.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        me = get_ident()
        with self._change:
            left = self._holders.pop(me, 1) - 1  # a forked child begins with none
            if left:
                self._holders[me] = left
            elif self._closed:
                self._change.notify_all()

    def close(self) -> None:
        """Before a fork: wait for threads inside SQLite, but not forever."""
        me = get_ident()
        with self._change:
            self._closed = True
            self._change.wait_for(lambda: not self._holders.keys() - {me}, timeout=FORK_TIMEOUT_SECONDS)

    def open(self) -> None:
        with self._change:
            self._closed = False
            self._change.notify_all()


fork_gate = ForkGate()


def _after_fork() -> None:
    fork_gate.__init__()  # type: ignore[misc]
    for connections in list(_instances):
        connections.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: fork_gate.close(), after_in_parent=lambda: fork_gate.open(), after_in_child=_after_fork
    )


def switch_to_wal(connection: apsw.Connection) -> None:
    """Switch to WAL, once per file. SQLite's busy timeout does not apply to it, so retry."""
    for _ in range(200):
        try:
            if connection.pragma("journal_mode", "wal") == "wal":
                return
        except apsw.BusyError:
            pass
        time.sleep(0.05)
    raise apsw.BusyError("the journal mode could not be changed")


def _keep_log(connection: apsw.Connection) -> None:
    """Do not let SQLite write what is only in the log into a file that it does not belong to."""
    logged, written = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    if logged != written:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def _check_name(path: str) -> None:
    try:
        usable = "\0" not in path and bool(path.encode("utf-8"))
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise InvalidInput(f"A file cannot have this name: {path!r}.")
    if Path(path).is_dir():
        raise StoreError(f"{path} is a folder; give the path of a file in it, such as {path}/memory.db.")


def _quoted(path: str) -> str:
    """A path inside a SQLite URI."""
    absolute = re.sub("^//+", "/", str(Path(path).absolute()))  # SQLite would take //name for a host
    return absolute.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def fetch(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
    """All rows of a statement, as plain tuples. Damage is raised as such: no step of a recall may contain it."""
    try:
        return connection.execute(sql, values).fetchall()
    except (apsw.CorruptError, apsw.IOError) as error:
        raise _damage(connection.filename, error) from error


def fetch_value(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
    """The first value of the first row, or None; see fetch."""
    try:
        return connection.execute(sql, values).get
    except (apsw.CorruptError, apsw.IOError) as error:
        raise _damage(connection.filename, error) from error


def _damage(path: str, error: apsw.Error) -> StoreError:
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
        return DamagedFile(path, "a page does not match its checksum")
    if isinstance(error, apsw.CorruptError):
        return DamagedFile(path, str(error))
    return StoreError(f"{path} could not be read or written ({error}); nothing was written. Check the disk.")


def translate_errors(path: str) -> _ErrorTranslation:
    """For a ``with`` block: raises SQLite's errors as StoreErrors that say what happened and what to do."""
    return _ErrorTranslation(path)


class _ErrorTranslation:
    """What translate_errors does when its block ends."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise _translated(self._path, error) from error


def _translated(path: str, error: apsw.Error | UnicodeDecodeError) -> StoreError | InvalidInput:
    match error:
        case apsw.NotADBError():
            return StoreError(
                f"{path} is not a Recollect memory: it does not begin like an SQLite database. If it was one, its "
                "first page is damaged: put a backup in its place with 'recollect restore', or let 'recollect doctor' "
                "look what can still be read."
            )
        case apsw.ConstraintError():
            return InvalidInput("Another memory of that collection has this external id already.")
        case apsw.FullError():
            return StoreError(f"The disk is full; nothing was written to {path}.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreError(
                f"{path} was locked by another process for {LOCK_SECONDS:.0f} seconds; nothing was written. Try again."
            )
        case apsw.ReadOnlyError():
            return StoreError(f"{path} is read-only; nothing was written.")
        case apsw.CantOpenError():
            return StoreError(f"{path} cannot be opened. Check that its folder exists and can be written.")
        case apsw.CorruptError() | apsw.IOError():
            return _damage(path, error)
        case UnicodeDecodeError():
            return DamagedFile(path, "a text in it is no UTF-8")
    return StoreError(f"SQLite could not serve {path}: {error}.")
