"""Server-sent events: which memories were added, changed and removed within the bound of a caller."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.model import JsonObject
from recollect.model.memory import STATUSES
from recollect.serve.limits import Slots
from recollect.store.retrying import retried

if TYPE_CHECKING:
    from recollect.serve.backend import Backend
    from recollect.serve.tokens import Access
    from recollect.service import Service

log = logging.getLogger("recollect")
POLL_SECONDS = 0.5
COMPARE_SECONDS = 30.0  # after which the store is asked, whatever it was told of
KEEP_ALIVE_SECONDS = 15.0
MAX_IDS = 500  # in one event; further ones are only counted
MAX_STREAMS = 200  # of events at once
MAX_STREAMS_EACH = 20  # with one token


def sse(event: str, data: Any) -> bytes:
    """One event, as it is sent."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class _State:
    """The memories of a bound at one version: their rows, when each was updated, and their ids."""

    version: str
    updated: dict[int, float]
    ids: dict[int, str]
    changes: int | None = None  # how many changes the store had been told of
    at: float = 0.0  # when it was last compared with the store, in seconds of the monotonic clock


class ChangeFeed:
    """Compares the memories of a bound with what they were. The store is asked for its version twice a second, and
    only while somebody listens; nothing is compared while it stays the same. A store that is told of changes is asked
    when there is one, and every 30 seconds: not all writers may tell, and a connection may be lost without a sign."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.slots = Slots("streams of events", MAX_STREAMS, MAX_STREAMS_EACH)

    async def stream(self, access: Access) -> AsyncIterator[bytes]:
        """Events until the caller leaves or the server stops; the first one says that the stream has begun."""
        run = self._backend.pool.run
        state = await run(self._read, access)
        yield sse("ready", {"memories": len(state.updated)})
        idle = 0.0
        while not await self._stopping():
            if not self._backend.control.is_valid(access):
                yield sse("end", {"reason": "The token was revoked or has expired."})
                return
            idle += POLL_SECONDS
            try:
                following = await run(self._read_if_changed, access, state)
            except RecollectError as error:
                log.warning("events: %s", error)
                continue
            if following is not None:
                difference, state = _difference(state, following), following
                if difference:
                    yield sse("change", difference)
                    idle = 0.0
            if idle >= KEEP_ALIVE_SECONDS:
                yield b": still here\n\n"
                idle = 0.0
        yield sse("end", {"reason": "The server is stopping."})

    async def _stopping(self) -> bool:
        """Wait for the next look; true if the server stops meanwhile."""
        try:
            await asyncio.wait_for(self._backend.stopping.wait(), POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    @retried
    def _read_if_changed(self, access: Access, state: _State) -> _State | None:
        store = self._backend.service(access).mind.store
        changes = store.change_count()
        now = time.monotonic()
        if changes is not None and changes == state.changes and now - state.at < COMPARE_SECONDS:
            return None
        with store.snapshot() as snapshot:
            if snapshot.version == state.version:
                return None if changes is None else replace(state, changes=changes, at=now)
        return self._read(access, state)

    @retried
    def _read(self, access: Access, before: _State | None = None) -> _State:
        service: Service = self._backend.service(access)
        now = time.monotonic()
        changes = service.mind.store.change_count()  # before the snapshot: what changes after it is noticed
        with service.mind.store.snapshot() as snapshot:
            scope = snapshot.scope(None, STATUSES, service.mind.clock(), hidden=True)
            rows = snapshot.page(scope, "stored", scope.count)
            updated = dict(zip(rows.tolist(), snapshot.numbers("updated", rows).tolist(), strict=True))
            known = {} if before is None else {row: id for row, id in before.ids.items() if row in updated}
            new = [row for row in updated if row not in known]
            if new:
                wanted = rows[[place for place, row in enumerate(updated) if row not in known]]
                known |= dict(zip(new, snapshot.ids(wanted), strict=True))
            return _State(snapshot.version, updated, known, changes, now)


def _difference(before: _State, after: _State) -> JsonObject | None:
    added = [after.ids[row] for row in after.updated if row not in before.updated]
    changed = [after.ids[row] for row, at in after.updated.items() if before.updated.get(row, at) != at]
    removed = [id for row, id in before.ids.items() if row not in after.updated]
    if not (added or changed or removed):
        return None
    lists = {"added": added, "changed": changed, "removed": removed}
    return {
        **{name: ids[:MAX_IDS] for name, ids in lists.items()},
        "counts": {name: len(ids) for name, ids in lists.items()},
    }
