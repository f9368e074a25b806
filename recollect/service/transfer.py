"""The operations that take out, bring in and remove for good: export, import of uploaded records, erase."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

from recollect.model import JsonObject, check
from recollect.service.operations import Service, operation
from recollect.service.parameters import MAX_ITEMS, nullable, objects, text, texts
from recollect.service.recalling import FilterArgument
from recollect.service.records import COUNT, FLAG, MOMENT, TEXT, array, record, ref

RECORD = {"type": "object"}
COUNTS = {"type": "object", "additionalProperties": COUNT}
NAMES = {"type": "object", "additionalProperties": TEXT}
ERASURE = record(
    removed=COUNTS,
    remaining=array(record(what=TEXT, names=array(TEXT), why=TEXT)),
    pending=array(TEXT),
    dry_run=FLAG,
    code=TEXT,
    receipt=nullable(record(receipt=COUNT, at=MOMENT, removed=COUNTS, salt=TEXT, ids=array(TEXT), bound=NAMES)),
)
Owner = Annotated[str | None, text("Whose memories go, with their relations.", most=1_000)]


@operation("POST", "/erase", scope="admin", returns=ERASURE, tools=("more",), destructive=True)
def erase(
    service: Service,
    ids: Annotated[list[str] | None, texts("Ids of memories, or their beginnings.", most=MAX_ITEMS)] = None,
    filter: FilterArgument = None,
    user: Owner = None,
    session: Owner = None,
    agent: Owner = None,
    collection: Owner = None,
    code: Annotated[str | None, text("The code of the dry run for exactly this set.", most=200)] = None,
) -> JsonObject:
    """Remove memories for good, with everything derived from them; undo does not restore them.

    Use it only when a person asks for real deletion; forget suffices otherwise. Without a code nothing is removed: the
    answer counts what would be, with a code. Show the counts to the person, and call again with the same arguments and
    that code.
    """
    named: dict[str, Any] = {"user": user, "session": session, "agent": agent, "collection": collection}
    erasure = service.mind.erase(*(ids or ()), filter=filter, **named, dry_run=code is None, code=code)
    folder = os.path.dirname(os.path.abspath(service.mind.path)) + os.sep
    shown: JsonObject = erasure.as_dict()
    if service.mind.bound.values:  # these tell of words and vectors that others have, or not
        for counts in (shown["removed"], (shown["receipt"] or {}).get("removed", {})):
            for kind in ("words", "cached_vectors"):
                counts.pop(kind, None)
    return {**shown, "pending": [reason.replace(folder, "") for reason in shown["pending"]]}


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
