"""Whether a context or the known fields of something match a filter: True, False, or None where it is undecided."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from recollect.model.filter import (
    AllOf,
    AnyOf,
    Filter,
    FilterExpression,
    Near,
    Not,
    conditions_of,
    coordinates,
    has_operators,
    is_number,
)
from recollect.model.validation import moment

Answer = bool | None  # None: it cannot be decided
Period = tuple[datetime, datetime]  # from a moment until another, which is not part of it
MISSING = object()  # the value at a path that a context does not have
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$lt": operator.lt,
    "$lte": operator.le,
    "$gt": operator.gt,
    "$gte": operator.ge,
}
FIELD_OF = {"since": "created", "until": "created", "min_confidence": "confidence", "near": "context"}


def all_of(answers: Iterable[Answer]) -> Answer:
    """AND: False when one is False, else None when one is None."""
    known = list(answers)
    return False if False in known else None if None in known else True


def any_of(answers: Iterable[Answer]) -> Answer:
    """OR: True when one is True, else None when one is None."""
    known = list(answers)
    return True if True in known else None if None in known else False


def matches(filter: FilterExpression | None, fields: Mapping[str, Any]) -> bool:
    """Does something that is not a stored memory (a paragraph of a note, a relation) match a filter?

    ``fields`` are those that it has, by the names of a Memory; ``created`` is a Period, and a Period matches when any
    part of it does. A condition on a field that it does not have is undecided, and what is undecided does not match,
    negated or not.
    """
    return filter is None or _match(filter, fields) is True


def _match(filter: FilterExpression, fields: Mapping[str, Any]) -> Answer:
    match filter:
        case AllOf():
            return all_of(_match(part, fields) for part in filter.of)
        case AnyOf():
            return any_of(_match(part, fields) for part in filter.of)
        case Not():
            answer = _match(filter.of, fields)
            return None if answer is None else not answer
        case Filter():
            return all_of(
                _match_condition(name, wanted, fields.get(FIELD_OF.get(name, name)))
                for name, wanted in conditions_of(filter)
            )


def _match_condition(name: str, wanted: Any, value: Any) -> Answer:
    if value is None:
        return None
    match name:
        case "classification":
            return bool(value <= wanted)
        case "min_confidence":
            return bool(value >= wanted)
        case "since":
            return bool(value[1] > moment(wanted, name))
        case "until":
            return bool(value[0] < moment(wanted, name))
        case "tags":
            return {wanted} <= {*value} if isinstance(wanted, str) else {*wanted} <= {*value}
        case "path":
            return bool(value == wanted or (wanted.endswith("/") and value.startswith(wanted)))
        case "context":
            return match_context(value, wanted)
        case "near":
            return match_near(value, wanted)
        case _:
            return bool(value == wanted) if isinstance(wanted, str) else value in tuple(wanted)


def instant(at: datetime) -> Period:
    return at, at + timedelta(microseconds=1)


def match_context(context: Mapping[str, Any], conditions: Mapping[str, Any]) -> Answer:
    """Are all conditions on a context met?"""
    return all_of(_match_path(context, path, wanted) for path, wanted in conditions.items())


def _match_path(context: Mapping[str, Any], path: str, wanted: Any) -> Answer:
    if path == "$or":
        return any_of(match_context(context, alternative) for alternative in wanted)
    value = value_at(context, path)
    if has_operators(wanted):
        return all_of(apply_operator(name, value, operand) for name, operand in wanted.items())
    return equal(value, wanted)


def apply_operator(name: str, value: Any, operand: Any) -> Answer:
    """Of a missing value only $ne, $in and $exists are decided."""
    match name:
        case "$ne":
            return not equal(value, operand)
        case "$in":
            return any(equal(value, each) for each in operand)
        case "$exists":
            return (value is not MISSING) is operand
        case "$contains":
            if isinstance(value, list):
                return any(equal(each, operand) for each in value)
            return operand in value if isinstance(value, str) and isinstance(operand, str) else None
    if not (is_number(value) and is_number(operand)) and not (isinstance(value, str) and isinstance(operand, str)):
        return None
    return bool(COMPARE[name](value, operand))


def value_at(context: Mapping[str, Any], path: str) -> Any:
    """The value at a dot path; MISSING when the path leads through something that is not an object."""
    value: Any = context
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value


def equal(a: Any, b: Any) -> bool:
    """JSON equality: true is not 1, and lists and objects are equal when all of their parts are."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return bool(a == b)


def match_near(context: Mapping[str, Any], near: Near) -> Answer:
    """Are the coordinates within the distance?"""
    return is_near(value_at(context, near.field), near)


def is_near(value: Any, near: Near) -> Answer:
    """Is a point within the distance? Rounding is forgiven: 1.3 − 1.2 is a little more than 0.1."""
    apart = _distance(value, near)
    return None if apart is None else apart <= near.within or math.isclose(apart, near.within)


def distance(context: Mapping[str, Any], near: Near) -> float | None:
    """Euclidean distance √Σ(aᵢ − tᵢ)², or None without usable coordinates of the same dimension."""
    return _distance(value_at(context, near.field), near)


def explain_no_distance(context: Mapping[str, Any], near: Near) -> str:
    """Why there is no distance: other dimensions than the target's, or no coordinates at all."""
    point = coordinates(value_at(context, near.field))
    if point is None:
        return f"no usable coordinates at {near.field}"
    return f"the coordinates at {near.field} are {len(point)}-D, and the target is {len(near.target)}-D"


def _distance(value: Any, near: Near) -> float | None:
    point = coordinates(value)
    if point is None or len(point) != len(near.target):
        return None
    return math.dist(point, near.target)
