"""Databases of OpenMem and robotmem as records. Their vectors are not imported: another model made them."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.imports.sources import Source, SourceRecord
from recollect.ingest.sessions import SESSION_KIND
from recollect.model import JsonObject, check
from recollect.store.other_databases import OtherDatabase, open_database

OPENMEM_MEMORY = (
    "id type text gist entities created_at updated_at strength confidence status access_count last_accessed"
)
ROBOTMEM_STATUS = {"invalidated": "forgotten"}
ROBOTMEM_MEMORY = (
    "id session_id collection type content human_summary context perception_type perception_data perception_metadata "
    "category confidence source scope status superseded_by invalidated_reason access_count return_count last_accessed "
    "scope_files scope_entities created_at updated_at"
)


def is_openmem(database: OtherDatabase) -> bool:
    return database.has("memories", "gist", "text", "strength") and database.has("edges", "rel_type", "source_id")


def is_robotmem(database: OtherDatabase) -> bool:
    return database.has("memories", "content", "perception_type") and "session_outcomes" in database.tables


def read_openmem(source: Source) -> Iterator[SourceRecord]:
    """Memories under their own ids, their use, and the edges between them."""
    with open_database(source) as database:
        for row in database.rows("memories", *OPENMEM_MEMORY.split()):
            yield SourceRecord(
                f"{source}, memory {row['id']}",
                {
                    "id": row["id"],
                    "text": row["text"],
                    "kind": row["type"],
                    "summary": row["gist"] or "",
                    "entities": _parse_json(row["entities"]) or [],
                    "created": _utc(row["created_at"]),
                    "updated": _utc(row["updated_at"]),
                    "strength": row["strength"],
                    "confidence": row["confidence"],
                    "status": row["status"],
                    "source": "openmem",
                    "use": {"access_count": row["access_count"] or 0, "last_accessed": _utc(row["last_accessed"])},
                },
            )
        for row in database.rows("edges", "id", "source_id", "target_id", "rel_type", "weight", "created_at"):
            ends = {"source": row["source_id"], "target": row["target_id"], "kind": row["rel_type"]}
            edge = {"type": "edge", **ends, "weight": row["weight"], "created": _utc(row["created_at"])}
            yield SourceRecord(f"{source}, edge {row['id']}", edge)


def read_robotmem(source: Source) -> Iterator[SourceRecord]:
    """Facts and perceptions with their tags and use, what superseded what, and sessions with their outcome."""
    with open_database(source) as database:
        tags: dict[int, list[str]] = defaultdict(list)
        for row in database.rows("memory_tags", "memory_id", "tag"):
            tags[row["memory_id"]].append(row["tag"])
        ids, collections, superseded = {}, {}, []
        for row in database.rows("memories", *ROBOTMEM_MEMORY.split()):
            ids[row["id"]] = f"robotmem-{row['id']}-{row['created_at']}"  # numbers repeat from file to file
            collections[row["id"]] = row["collection"]
            if row["superseded_by"] is not None:
                superseded.append((row["superseded_by"], row["id"]))
            record = {"id": ids[row["id"]], "tags": tags[row["id"]], **_robotmem_fields(row)}
            yield SourceRecord(f"{source}, memory {row['id']}", record)
        for new, old in superseded:
            if collections.get(new, collections[old]) != collections[old]:
                continue  # edges stay inside one collection
            ends = {"source": ids.get(new, f"robotmem-{new}"), "target": ids[old], "kind": "supersedes"}
            yield SourceRecord(f"{source}, memory {old}", {"type": "edge", **ends})
        yield from _robotmem_sessions(source, database)


def _robotmem_fields(row: JsonObject) -> JsonObject:
    context = _parse_json(row["context"])
    context = context if isinstance(context, dict) else {"note": context} if context else {}
    if row["type"] == "perception":
        context["perception"] = {"type": row["perception_type"], "data": _parse_json(row["perception_data"])}
        if row["perception_metadata"]:
            context["perception"]["metadata"] = _parse_json(row["perception_metadata"])
    if row["invalidated_reason"]:
        context["invalidated_reason"] = row["invalidated_reason"]
    summary = row["human_summary"] or ""
    return {
        "text": row["content"],
        "summary": "" if str(row["content"]).startswith(str(summary)) else summary,
        "kind": "perception" if row["type"] == "perception" else "memory",
        "topic": row["category"] or "",
        "collection": _collection(row["collection"]),
        "session": row["session_id"] or "",
        "context": context,
        "files": _parse_json(row["scope_files"]) or [],
        "entities": _parse_json(row["scope_entities"]) or [],
        "confidence": row["confidence"],
        "status": ROBOTMEM_STATUS.get(row["status"], row["status"]),
        "source": "robotmem",
        "created": _utc(row["created_at"]),
        "updated": _utc(row["updated_at"]),
        "use": {
            "access_count": row["access_count"] or 0,
            "return_count": row["return_count"] or 0,
            "last_accessed": _utc(row["last_accessed"]),
        },
    }


def _robotmem_sessions(source: Source, database: OtherDatabase) -> Iterator[SourceRecord]:
    """Session records as a Robot writes them."""
    outcomes = {row["session_id"]: row["score"] for row in database.rows("session_outcomes", "session_id", "score")}
    columns = ("external_id", "collection", "context", "status", "created_at", "updated_at")
    for row in database.rows("sessions", *columns):
        session = row["external_id"]
        if not session:
            continue
        session_fields = {"started": row["created_at"]}
        if row["status"] == "ended":
            session_fields |= {"ended": row["updated_at"], "outcome_score": outcomes.get(session)}
        context = _parse_json(row["context"])
        yield SourceRecord(
            f"{source}, session {session}",
            {
                "text": f"Session {session}",
                "kind": SESSION_KIND,
                "collection": _collection(row["collection"]),
                "session": session,
                "external_id": f"session/{session}",
                "context": {**(context if isinstance(context, dict) else {}), "session": session_fields},
                "source": "robotmem",
                "created": _utc(row["created_at"]),
            },
        )


def _utc(value: Any) -> Any:
    """A moment in a column: without a time zone it is in UTC, as SQLite writes them. Others stay."""
    with suppress(InvalidInput):
        return check.moment(value, "a time", UTC) if isinstance(value, str) else value
    return value


def _collection(name: str) -> str:
    """The default collection has another name there."""
    return "main" if name == "default" else name


def _parse_json(value: Any) -> Any:
    """JSON in a column; a text that is not JSON stays a text, and bytes become base64."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    try:
        return json.loads(value) if isinstance(value, str) and value else None
    except (ValueError, RecursionError):
        return value
