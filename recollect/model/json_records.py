"""Records as JSON objects, as exports contain them. Reading one back gives an equal record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime, tzinfo
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.memory import Edge, EntityEdge, JsonObject, Memory, Use, check_entity_edge, make_edge, make_memory

EXPORT_FORMAT = 1  # in the first record of an export
DEFAULTS = {  # the fields of each record
    kind: [
        (each.name, each.default_factory() if each.default_factory is not MISSING else each.default)
        for each in fields(kind)
    ]
    for kind in (Memory, Edge, EntityEdge, Use)
}


def to_json(record: Memory | Edge | EntityEdge | Use) -> JsonObject:
    """The fields that differ from their defaults; moments in ISO 8601."""
    json: JsonObject = {}
    for name, default in DEFAULTS[type(record)]:
        value = getattr(record, name)
        if value is not default and value != default:
            json[name] = _json_value(value)
    return json


def _json_value(value: Any) -> Any:
    match value:
        case str():
            return value
        case datetime():
            return value.isoformat()
        case tuple():
            return [_json_value(each) for each in value]
        case Use():
            return to_json(value)
        case _:
            return value


def memory_from_json(record: Mapping[str, Any], zone: tzinfo | None = None) -> Memory:
    return make_memory({name: value for name, value in record.items() if name != "type"}, zone=zone)


def earlier_version_from_json(record: Mapping[str, Any]) -> tuple[Memory, datetime]:
    """An earlier version of a memory, and when it was replaced."""
    if record.keys() != {"type", "until", "memory"} or not isinstance(record["memory"], Mapping):
        raise InvalidInput("A record of type former needs until and memory, and nothing else.")
    return memory_from_json(record["memory"]), check.moment(record["until"], "until")


def edge_from_json(record: Mapping[str, Any]) -> Edge:
    values = _values_of(record, Edge)
    edge = make_edge(values["source"], values["target"], values["kind"], values.get("weight", 1.0))
    return Edge(edge.source, edge.target, edge.kind, edge.weight, values["created"])


def entity_edge_from_json(record: Mapping[str, Any]) -> EntityEdge:
    return check_entity_edge(EntityEdge(**_values_of(record, EntityEdge)))


def _values_of(record: Mapping[str, Any], kind: type[Edge] | type[EntityEdge]) -> dict[str, Any]:
    values = {name: value for name, value in record.items() if name != "type"}
    known = {each.name for each in fields(kind)}
    required = {each.name for each in fields(kind) if each.default is MISSING}
    if not required <= values.keys() <= known:
        raise InvalidInput(
            f"{kind.__name__} needs {', '.join(sorted(required))} and may have {', '.join(sorted(known))}."
        )
    return {**values, "created": check.optional(check.moment)(values.get("created"), "created")}
