"""The operations that move everything: export, and import of uploaded records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

from recollect.model import JsonObject
from recollect.model import validation as check
from recollect.service.operations import Service, operation
from recollect.service.parameters import MAX_ITEMS, objects
from recollect.service.records import ref

RECORD = {"type": "object"}


@operation("GET", "/export", scope="read", returns=RECORD)
def export(service: Service) -> Iterator[JsonObject]:
    """Everything within the bound as JSON lines: memories with use and history, edges and relations."""
    return service.mind.export()


@operation("POST", "/import", scope="write", returns=ref("WriteSummary"), long=True)
def import_(
    service: Service,
    records: Annotated[
        list[Any],
        objects("Records of an export, or objects with a text.", RECORD, check.json_object, most=100 * MAX_ITEMS),
    ],
) -> JsonObject:
    """Store what export returned, or plain objects with a text: all, or none. Again, it adds only new records."""
    progress = service.progress

    def report(done: int, of: int | None) -> None:
        if progress is not None:
            progress(done, len(records) if of is None else of)

    return asdict(service.mind.import_(records, progress=report))
