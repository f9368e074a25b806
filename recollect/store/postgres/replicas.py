"""Reading from replicas: one that has not yet replayed what this process wrote is not read from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from recollect.errors import StoreUnavailable
from recollect.store.postgres.connections import Database, parse_url

PATIENCE_SECONDS = 1.0  # to wait for a connection to a replica
PAUSE_SECONDS = 5.0  # after which replicas that could not be reached are tried again
REPLAY_SECONDS = 0.25  # to wait until a replica has replayed the last write, before the leader is read
NEVER = "FFFFFFFF/FFFFFFFF"  # a position in the log that no replica reaches


class Replicas:
    """The servers of ``read_url``, and how far one must be to know all that this process wrote."""

    def __init__(self, leader: Database, replica: Database) -> None:
        self.leader, self.replica = leader, replica
        self._written: str | None = None  # the position in the log (LSN) after the last write of this process
        self._retry_at = 0.0

    @classmethod
    def of(cls, leader: Database) -> Replicas | None:
        if not leader.settings.read_url:
            return None
        address, _ = parse_url(leader.settings.read_url)
        replica = Database(address, replace(leader.settings, read_url=""))
        replica.extensions = leader.extensions
        return cls(leader, replica)

    def note_write(self) -> None:
        """Remember how far a replica must be from now on. If the leader does not say, the leader is read."""
        try:
            with self.leader.connect() as connection:
                (self._written,) = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        except StoreUnavailable:
            self._written = NEVER

    @contextmanager
    def begin(self, kind: str, values: dict[str, str], first: Callable[[Any], None] | None = None) -> Iterator[Any]:
        """A transaction that reads, on a replica if one is there and has what this process wrote, or on the leader."""
        with ExitStack() as stack:
            connection = None
            if time.monotonic() >= self._retry_at:
                try:
                    connection = stack.enter_context(
                        self.replica.begin(kind, values, PATIENCE_SECONDS, self._wait, first)
                    )
                except StoreUnavailable:
                    self._retry_at = time.monotonic() + PAUSE_SECONDS
                except _Behind:
                    pass
            yield connection or stack.enter_context(self.leader.begin(kind, values, first=first))

    def _wait(self, connection: Any) -> None:
        """Wait until the server of a connection has replayed the last write of this process."""
        if self._written is None:
            return
        deadline = time.monotonic() + REPLAY_SECONDS
        sql = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
        while not connection.execute(sql, (self._written,)).fetchone()[0]:
            if time.monotonic() > deadline:
                raise _Behind
            time.sleep(0.005)

    def close(self) -> None:
        self.replica.close()


class _Behind(Exception):
    """A replica has not yet replayed what this process wrote."""
