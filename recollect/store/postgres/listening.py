"""Changes that other processes tell of: LISTEN and NOTIFY on a connection that is no pooler's.

A pooler in transaction mode gives a connection to others after each transaction, so that nobody can listen on it. Where
the URL has no ``listen_url``, or its server is gone, changes are found by asking.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from recollect.store.postgres.connections import CONNECT_SECONDS
from recollect.store.postgres.replicas import POSITION, Replicas

log = logging.getLogger("recollect")
LOOK_SECONDS = 1.0  # after which a listener looks whether it should end
CLOSE_SECONDS = 5.0  # to wait for a listener to end; one that still tries to connect ends by itself
PAUSE_SECONDS = 2.0  # before a lost connection is tried again


def channel(schema: str) -> str:
    return f"recollect_{schema}"


class Listener:
    """Counts the changes that a server tells of, in a thread of its own that begins when it is first asked.

    ``replicas`` may not be read from before a change that was told of: it would seem as if nothing had changed.
    """

    def __init__(self, url: str, schema: str, replicas: Replicas | None = None) -> None:
        self._url, self._channel, self._replicas = url, channel(schema), replicas
        self._count = 0
        self._listens = False
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def count(self) -> int | None:
        """How many changes were told of; None while nobody listens."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="recollect-listen", daemon=True)
                self._thread.start()
        return self._count if self._listens else None

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        import psycopg

        while not self._closed.is_set():
            try:
                with psycopg.connect(
                    self._url, autocommit=True, application_name="recollect-listen", connect_timeout=CONNECT_SECONDS
                ) as connection:
                    self._listen(connection)
            except psycopg.Error as error:
                log.info("not listening to %s: %s", self._channel, error)
            finally:
                self._listens = False
            self._closed.wait(PAUSE_SECONDS)

    def _listen(self, connection: Any) -> None:
        connection.execute(f'LISTEN "{self._channel}"')
        self._note_change(connection)  # something may have changed before
        self._listens = True
        while not self._closed.is_set():
            if list(connection.notifies(timeout=LOOK_SECONDS, stop_after=1)):
                self._note_change(connection)

    def _note_change(self, connection: Any) -> None:
        if self._replicas is not None:
            self._replicas.require(connection.execute(POSITION).fetchone()[0])
        self._count += 1
