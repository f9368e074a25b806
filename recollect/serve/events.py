"""Server-sent events: which memories were added, changed and removed within the bound of a caller."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.model import JsonObject
from recollect.model.memory import STATUSES

if TYPE_CHECKING:
    from recollect.serve.backend import Backend
    from recollect.serve.tokens import Access
    from recollect.service import Service

log = logging.getLogger("recollect")
POLL_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0
MAX_IDS = 500  # in one event; further ones are only counted
MAX_STREAMS = 200


def sse(event: str, data: Any) -> bytes:
    """One event, as it is sent."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class _State:
    """The memories of a bound at one version: their rows, when each was updated, and their ids."""

    version: str
    updated: dict[int, float]
    ids: dict[int, str]


class ChangeFeed:
    """Compares the memories of a bound with what they were. The store is asked for its version twice a second, and
    only while somebody listens; nothing is compared while it stays the same."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.subscribers = 0

    async def stream(self, access: Access) -> AsyncIterator[bytes]:
        """Events until the caller leaves or the server stops; the first one says that the stream has begun."""
        self.subscribers += 1
        try:
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
        finally:
            self.subscribers -= 1

    async def _stopping(self) -> bool:
        """Wait for the next look; true if the server stops meanwhile."""
        try:
            await asyncio.wait_for(self._backend.stopping.wait(), POLL_SECONDS)
        except TimeoutError:
            return False
        return True

    def _read_if_changed(self, access: Access, state: _State) -> _State | None:
        service = self._backend.service(access)
        with service.mind.store.snapshot() as snapshot:
            if snapshot.version == state.version:
                return None
        return self._read(access, state)

    def _read(self, access: Access, before: _State | None = None) -> _State:
        service: Service = self._backend.service(access)
        with service.mind.store.snapshot() as snapshot:
            scope = snapshot.scope(None, STATUSES, service.mind.clock(), hidden=True)
            rows = snapshot.page(scope, "stored", scope.count)
            updated = dict(zip(rows.tolist(), snapshot.numbers("updated", rows).tolist(), strict=True))
            known = {} if before is None else {row: id for row, id in before.ids.items() if row in updated}
            new = [row for row in updated if row not in known]
            if new:
                wanted = rows[[place for place, row in enumerate(updated) if row not in known]]
                known |= dict(zip(new, snapshot.ids(wanted), strict=True))
            return _State(snapshot.version, updated, known)


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
