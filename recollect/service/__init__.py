"""The service layer: the verbs of a mind as operations, with checked input, scopes, limits and one shape of error.

HTTP, MCP, ``Mind.tools()`` and the client are made from it. ``Service(mind).call("recall", {"query": "…"})``.
"""

from recollect.service.errors import error_json
from recollect.service.operations import (
    SCOPES,
    Operation,
    OperationScope,
    Service,
    all_operations,
    find_operation,
    tool_operations,
)

__all__ = [
    "SCOPES",
    "Operation",
    "OperationScope",
    "Service",
    "all_operations",
    "error_json",
    "find_operation",
    "tool_operations",
]
