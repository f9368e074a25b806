"""The records: memories with their fields, filters and edges, their JSON form, and the checks of their values."""

from recollect.model import validation as check
from recollect.model.filter import AllOf, AnyOf, Filter, FilterExpression, Near, Not, as_filter, filter_json
from recollect.model.json_records import edge_from_json, entity_edge_from_json, memory_from_json, to_json
from recollect.model.limits import LIMITS, check_limit, limit
from recollect.model.memory import (
    EDGE_KINDS,
    FIELDS,
    KEYWORD_FIELDS,
    STATUSES,
    Changes,
    Clock,
    Details,
    Edge,
    EntityEdge,
    JsonObject,
    Memory,
    Status,
    Use,
    When,
    lowest_trust,
    make_edge,
    make_memory,
)
from recollect.model.validation import from_micros, micros

__all__ = [
    "EDGE_KINDS",
    "FIELDS",
    "KEYWORD_FIELDS",
    "LIMITS",
    "STATUSES",
    "AllOf",
    "AnyOf",
    "Changes",
    "Clock",
    "Details",
    "Edge",
    "EntityEdge",
    "Filter",
    "FilterExpression",
    "JsonObject",
    "Memory",
    "Near",
    "Not",
    "Status",
    "Use",
    "When",
    "as_filter",
    "check",
    "check_limit",
    "edge_from_json",
    "entity_edge_from_json",
    "filter_json",
    "from_micros",
    "limit",
    "lowest_trust",
    "make_edge",
    "make_memory",
    "memory_from_json",
    "micros",
    "to_json",
]
