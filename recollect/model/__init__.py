"""The records: memories with their fields, filters and edges, and the checks of their values."""

from recollect.model.filter import Filter, Near, Not
from recollect.model.memory import (
    EDGE_KINDS,
    STATUSES,
    Changes,
    Details,
    Edge,
    EntityEdge,
    JsonObject,
    Memory,
    Status,
    Use,
)

__all__ = [
    "EDGE_KINDS",
    "STATUSES",
    "Changes",
    "Details",
    "Edge",
    "EntityEdge",
    "Filter",
    "JsonObject",
    "Memory",
    "Near",
    "Not",
    "Status",
    "Use",
]
