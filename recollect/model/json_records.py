"""Records as JSON objects: one a line in an export, nothing lost on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.memory import Edge, EntityEdge, JsonObject, Memory, Use


def to_json(record: Memory | Edge | EntityEdge | Use) -> JsonObject:
    """The fields that differ from their defaults; moments in ISO 8601."""
    shown: JsonObject = {}
    for each in fields(record):
        value = getattr(record, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != default:
            shown[each.name] = _plain(value)
    return shown


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case tuple():
            return [_plain(each) for each in value]
        case Use():
            return to_json(value)
        case _:
            return value


def memory_from(record: Mapping[str, Any]) -> Memory:
    return check.memory({name: value for name, value in record.items() if name != "type"})


def former_from(record: Mapping[str, Any]) -> tuple[Memory, datetime]:
    """What a memory said before, and until when."""
    if record.keys() != {"type", "until", "memory"} or not isinstance(record["memory"], Mapping):
        raise InvalidInput("former needs until and memory, and nothing else.")
    return memory_from(record["memory"]), check.moment(record["until"], "until")


def edge_from(record: Mapping[str, Any]) -> Edge:
    said = _only(record, Edge)
    made = check.edge(said["source"], said["target"], said["kind"], said.get("weight", 1.0))
    return Edge(made.source, made.target, made.kind, made.weight, _created(said))


def entity_edge_from(record: Mapping[str, Any]) -> EntityEdge:
    said = _only(record, EntityEdge)
    return check.entity_edge(EntityEdge(**{**said, "created": _created(said)}))


def _created(said: Mapping[str, Any]) -> datetime | None:
    return check.moment(said["created"], "created") if said.get("created") is not None else None


def _only(record: Mapping[str, Any], kind: type[Edge] | type[EntityEdge]) -> dict[str, Any]:
    said = {name: value for name, value in record.items() if name != "type"}
    known = {each.name for each in fields(kind)}
    needed = {each.name for each in fields(kind) if each.default is MISSING}
    if not needed <= said.keys() <= known:
        raise InvalidInput(
            f"{kind.__name__} needs {', '.join(sorted(needed))} and may have {', '.join(sorted(known))}."
        )
    return said
