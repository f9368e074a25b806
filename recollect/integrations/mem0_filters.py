"""mem0's filters: equality, operators such as ``{"gte": 5}``, ``"*"`` for anything, and AND, OR, NOT."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.integrations.common import Test
from recollect.model import Filter, FilterExpression, Memory, check
from recollect.model.matching import MISSING, value_at

IDENTITIES = {"user_id": "user", "agent_id": "agent", "run_id": "session", "actor_id": "speaker"}
FIELDS = {**IDENTITIES, "role": "role"}  # by mem0's names; other names are metadata
SCOPES = ("user_id", "agent_id", "run_id")  # a search names one of these
ANY = "*"
JOINS: dict[str, Callable[[list[bool]], bool]] = {"AND": all, "OR": any, "NOT": lambda answers: not any(answers)}


def _contains(value: Any, wanted: Any) -> bool:
    is_part = isinstance(value, list) or (isinstance(value, str) and isinstance(wanted, str))
    return is_part and wanted in value


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": _contains,
    "icontains": lambda value, wanted: str(wanted).casefold() in str(value).casefold(),
}


def check_identity(value: Any, name: str) -> str | None:
    """An id without surrounding spaces; numbers become texts, as in mem0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInput(f"{name} must be a text without spaces, not {check.short_repr(value)}.")
    trimmed = str(value).strip()
    if not trimmed or any(character.isspace() for character in trimmed):
        raise InvalidInput(f"{name} must be a text without spaces, not {check.short_repr(value)}.")
    return trimmed


def check_filters(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """The filters of a search, which name at least a user, an agent or a run."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput(f"filters must be an object such as {{'user_id': 'ada'}}, not {check.short_repr(filters)}.")
    checked = dict(filters or {})
    for name in SCOPES:
        if name in checked and (value := check_identity(checked[name], name)) is not None:
            checked[name] = value
        elif name in checked:
            raise InvalidInput(f"{name} must be a text without spaces, not None.")
    if not any(name in checked for name in SCOPES):
        raise InvalidInput("filters must name at least one of user_id, agent_id and run_id, as {'user_id': 'ada'}.")
    _check_conditions(checked)
    return checked


def compile_filters(filters: Mapping[str, Any]) -> tuple[FilterExpression, Test | None]:
    """A Filter for what it can say, and a test in Python for the rest."""
    fields: dict[str, Any] = {}
    context: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, wanted in filters.items():
        if key in SCOPES or (key in FIELDS and isinstance(wanted, str) and wanted != ANY):
            fields[FIELDS[key]] = wanted
        elif key in JOINS or not isinstance(wanted, str) or wanted == ANY or "." in key or key.startswith("$"):
            rest[key] = wanted
        else:
            context[key] = wanted
    scope = Filter(**fields, context=context or None)
    return scope, (lambda memory: _matches(_payload(memory), rest)) if rest else None


def _payload(memory: Memory) -> dict[str, Any]:
    own = {name: getattr(memory, field) for name, field in FIELDS.items()}
    return {**memory.context, **{name: value for name, value in own.items() if value}}


def _matches(payload: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    return all(_match(payload, key, wanted) for key, wanted in conditions.items())


def _match(payload: Mapping[str, Any], key: str, wanted: Any) -> bool:
    if key in JOINS:
        return JOINS[key]([_matches(payload, each) for each in wanted])
    if wanted == ANY and key not in SCOPES:  # of users, agents and runs it is a name: it must not open all of them
        return True
    value = payload[key] if key in payload else value_at(payload, key)
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    return all(_apply(name, value, operand) for name, operand in wanted.items())


def _apply(name: str, value: Any, operand: Any) -> bool:
    """Nothing is true of a missing value, not even that it differs, as in mem0's own store."""
    if value is MISSING:
        return False
    try:
        return bool(OPERATORS[name](value, operand))
    except TypeError:  # values that cannot be compared
        return False


def _check_conditions(conditions: Any) -> None:
    if not isinstance(conditions, Mapping):
        raise InvalidInput(f"A filter is an object such as {{'topic': 'food'}}, not {check.short_repr(conditions)}.")
    for key, wanted in conditions.items():
        check.string(key, "a key of filters")
        if key in JOINS:
            if not isinstance(wanted, list) or not wanted:
                raise InvalidInput(f"{key} must be a list of one or more filters, not {check.short_repr(wanted)}.")
            for each in wanted:
                _check_conditions(each)
        elif isinstance(wanted, Mapping):
            for name, operand in wanted.items():
                if name not in OPERATORS:
                    raise InvalidInput(f"{name!r} (at {key!r}) is no operator; there are {', '.join(OPERATORS)}.")
                if name in ("in", "nin") and not isinstance(operand, (list, tuple)):
                    raise InvalidInput(f"{name} (at {key!r}) must be a list, not {check.short_repr(operand)}.")
