"""Export: everything in a store as JSON objects that ``import_`` reads back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from recollect.model import JsonObject
from recollect.model.json_records import EXPORT_FORMAT, to_json
from recollect.model.memory import STATUSES
from recollect.store.base import Store

BATCH_SIZE = 512  # memories that are read at a time


def export_records(store: Store, now: datetime) -> Iterator[JsonObject]:
    """Memories (forgotten ones, too) with their use and history, then edges and relations."""
    yield {"type": "recollect", "format": EXPORT_FORMAT}
    with store.snapshot() as snapshot:
        scope = snapshot.scope(None, STATUSES, now, hidden=True)
        rows = snapshot.page(scope, "stored", scope.count)
    exported: set[str] = set()
    for start in range(0, len(rows), BATCH_SIZE):
        batch = rows[start : start + BATCH_SIZE]
        with store.snapshot() as snapshot:
            ids = snapshot.ids(batch)
        histories = {id: store.history(id) for id in ids}  # first: a version that is replaced meanwhile is not lost
        with store.snapshot() as snapshot:
            memories = snapshot.memories(batch)
        for memory in memories:
            exported.add(memory.id)
            yield {"type": "memory", **to_json(memory)}
            for until, earlier in histories.get(memory.id, ()):
                yield {"type": "former", "until": until.isoformat(), "memory": to_json(earlier)}
    for edge in store.edges():
        if {edge.source, edge.target} <= exported:
            yield {"type": "edge", **to_json(edge)}
    for relation in store.entity_edges():
        yield {"type": "entity_edge", **to_json(relation)}
