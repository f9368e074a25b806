"""Reading from replicas, never from the past: not from before what this process wrote, read, or was told of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any

from recollect.errors import StoreUnavailable
from recollect.store.postgres.connections import Database, parse_url

PATIENCE_SECONDS = 1.0  # to wait for a connection to a replica
PAUSE_SECONDS = 5.0  # after which replicas that could not be reached are tried again
REPLAY_SECONDS = 0.25  # to wait until a replica is far enough, before the leader is read
NEVER = "FFFFFFFF/FFFFFFFF"  # a position in the log that no replica reaches
# How far the log is (LSN): on a replica what it has replayed, on the leader what it has written.
POSITION = (
    "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text"
)
IS_FAR_ENOUGH = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"


class Replicas:
    """The servers of ``read_url``, and how far one must be to be read."""

    def __init__(self, leader: Database, replica: Database) -> None:
        self.leader, self.replica = leader, replica
        self._required: str | None = None  # a position in the log
        self._lock = Lock()
        self._retry_at = 0.0

    @classmethod
    def of(cls, leader: Database) -> Replicas | None:
        if not leader.settings.read_url:
            return None
        address, _ = parse_url(leader.settings.read_url)
        replica = Database(address, replace(leader.settings, read_url=""))
        replica.extensions = leader.extensions
        return cls(leader, replica)

    def require(self, position: str | None) -> None:
        """Read from no replica that is not this far."""
        with self._lock:
            known = self._required
            if position and (known in (None, NEVER) or _number(position) > _number(known or "0/0")):
                self._required = position

    def note_write(self) -> None:
        """From now on a replica must have what was written. If the leader does not say, the leader is read."""
        try:
            with self.leader.connect() as connection:
                self.require(connection.execute(POSITION).fetchone()[0])
        except StoreUnavailable:
            with self._lock:
                self._required = NEVER

    @contextmanager
    def begin(self, kind: str, values: dict[str, str], first: Callable[[Any], None] | None = None) -> Iterator[Any]:
        """A transaction that reads, on a replica if there is one that is far enough, or on the leader."""
        positions: list[Any] = []

        def begin(connection: Any) -> None:
            if first is not None:
                first(connection)
            positions.append(connection.execute(POSITION))  # after the snapshot was taken: at least what it shows

        with ExitStack() as stack:
            connection = None
            if time.monotonic() >= self._retry_at:
                try:
                    begun = self.replica.begin(kind, values, PATIENCE_SECONDS, self._wait, begin)
                    connection = stack.enter_context(begun)
                except StoreUnavailable:
                    self._retry_at = time.monotonic() + PAUSE_SECONDS
                except _Behind:
                    pass
            connection = connection or stack.enter_context(self.leader.begin(kind, values, first=begin))
            self.require(positions[-1].fetchone()[0])
            yield connection

    def _wait(self, connection: Any) -> None:
        """Wait until the server of a connection is far enough."""
        if self._required is None:
            return
        deadline = time.monotonic() + REPLAY_SECONDS
        while not connection.execute(IS_FAR_ENOUGH, (self._required,)).fetchone()[0]:
            if time.monotonic() > deadline:
                raise _Behind
            time.sleep(0.005)

    def close(self) -> None:
        self.replica.close()


def _number(position: str) -> int:
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


class _Behind(Exception):
    """A replica has not yet replayed what must be read."""
