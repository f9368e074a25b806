"""Finds the operation of a request by its method and path, and reads its arguments from path, query and body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from recollect.errors import InvalidInput
from recollect.service import Operation
from recollect.service.parameters import Parameter

MAX_QUERY_BYTES = 64 << 10
MAX_DEPTH = 100  # of nested JSON


def path_names(path: str) -> list[str]:
    """The parameters in a path: ``/memories/{id}`` has id."""
    return re.findall(r"\{(\w+)\}", path)


class Router:
    """Operations by path. Segments are decoded one by one, so that an id may contain an encoded slash."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._routes: list[tuple[list[str], dict[str, Operation]]] = []
        for operation in operations:
            segments = operation.path.strip("/").split("/")
            known = next((methods for each, methods in self._routes if each == segments), None)
            if known is None:
                known = {}
                self._routes.append((segments, known))
            known[operation.method] = operation

    def find(self, method: str, raw_path: str) -> tuple[Operation | None, dict[str, str], list[str]]:
        """The operation with the values in its path; without one, the methods that the path has."""
        try:
            segments = [unquote(each, errors="strict") for each in raw_path.strip("/").split("/")]
        except UnicodeDecodeError:
            raise InvalidInput("The path is not valid UTF-8.") from None
        allowed: list[str] = []
        for pattern, methods in self._routes:
            values = _match(pattern, segments)
            if values is None:
                continue
            if method in methods:
                return methods[method], values, []
            allowed += methods
        return None, {}, sorted(set(allowed))


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(segments):
        return None
    values = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            if not segment:
                return None
            values[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return values


def read_query(query: bytes, parameters: Mapping[str, Parameter], schema_type: Any) -> dict[str, Any]:
    """The arguments in a query string, by the types that their parameters have."""
    if len(query) > MAX_QUERY_BYTES:
        raise InvalidInput(f"The query string has {len(query):,} bytes; at most {MAX_QUERY_BYTES:,} are allowed.")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=2_000)
    except UnicodeDecodeError:
        raise InvalidInput("The query string is not valid UTF-8.") from None
    except ValueError as error:
        raise InvalidInput(f"The query string cannot be read: {error}.") from None
    arguments: dict[str, Any] = {}
    for name, value in pairs:
        parameter = parameters.get(name)
        kind = "string" if parameter is None else schema_type(parameter)
        if kind == "array":
            arguments.setdefault(name, []).append(value)
        elif name in arguments:
            raise InvalidInput(f"{name} is given twice.")
        else:
            arguments[name] = _from_text(value, kind, name)
    return arguments


def _from_text(value: str, kind: str, name: str) -> Any:
    match kind:
        case "integer" if re.fullmatch(r"-?\d{1,20}", value):
            return int(value)
        case "number" if re.fullmatch(r"-?\d{1,300}(\.\d{1,300})?([eE][-+]?\d{1,3})?", value):
            return float(value)
        case "boolean" if value in ("true", "false"):
            return value == "true"
        case "object":
            return read_json(value.encode("utf-8", "surrogatepass"), name)
        case _:
            return value  # the check of the parameter says what is wrong with it


def read_json(body: bytes, name: str = "The body") -> Any:
    """JSON without NaN and infinities, and not too deep."""
    try:
        return _parse_json(body, name)
    except InvalidInput as problem:
        raise problem.advise("Send one JSON object, in UTF-8.") from None


def _parse_json(body: bytes, name: str) -> Any:
    def refuse(constant: str) -> Any:
        raise InvalidInput(f"{name} contains {constant}, which is not JSON.")

    try:
        value = json.loads(body.decode("utf-8"), parse_constant=refuse)
        _check_depth(value, name)
        return value
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not valid UTF-8, at byte {error.start}.") from None
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply; at most {MAX_DEPTH} levels are allowed.") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name} is not valid JSON: {error}.") from None
    except ValueError as error:  # an integer with thousands of digits
        raise InvalidInput(f"{name} is not valid JSON: {error}") from None


def _check_depth(value: Any, name: str, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{name} is nested too deeply; at most {MAX_DEPTH} levels are allowed.")
    if isinstance(value, Mapping):
        for each in value.values():
            _check_depth(each, name, depth + 1)
    elif isinstance(value, list):
        for each in value:
            _check_depth(each, name, depth + 1)
