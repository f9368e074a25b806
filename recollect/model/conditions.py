"""Judging one memory's context: dot paths, comparisons and distances, the same for every store."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.filter import MISSING, Near

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$lt": lambda a, b: bool(a < b),
    "$lte": lambda a, b: bool(a <= b),
    "$gt": lambda a, b: bool(a > b),
    "$gte": lambda a, b: bool(a >= b),
}
OPERATORS = (*COMPARE, "$ne")


def check_conditions(conditions: object) -> None:
    """Refuse what could never be judged: no mapping, or a ``$`` key that is no operator."""
    if not isinstance(conditions, Mapping):
        raise InvalidInput(
            f"A context filter is an object of dot paths, such as {{'task.success': true}}, "
            f"not {check.short_repr(conditions)}."
        )
    check.json_object(conditions, "context filter")
    for path, wanted in conditions.items():
        if path.startswith("$"):
            raise InvalidInput(
                f"{path!r} is no operator of a context filter: conditions are dot paths, joined by AND, such as "
                "{'task.success': true, 'params.force.value': {'$lt': 15}}."
            )
        unknown = [key for key in wanted if key not in OPERATORS] if operators(wanted) else []
        if unknown:
            raise InvalidInput(
                f"{unknown[0]!r} (at {path!r}) is no operator of a context filter; there are {', '.join(OPERATORS)}."
            )


def check_near(near: Near) -> None:
    if not isinstance(near, Near):
        raise InvalidInput(f"near must be Near(field, target, within), not {check.short_repr(near)}.")
    target = near.target
    usable = isinstance(target, (list, tuple)) and len(target) > 0 and coordinates(list(target)) is not None
    if not usable:
        raise InvalidInput(f"near.target must be a list of numbers, not {check.short_repr(target)}.")
    check.string(near.field, "near.field")
    check.number(near.within, "near.within", low=0.0)


def operators(wanted: object) -> list[str]:
    return [key for key in wanted if key.startswith("$")] if isinstance(wanted, Mapping) else []


def judge(context: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool | None:
    """Do all conditions hold? None when one of them cannot be decided and none fails."""
    undecided = False
    for path, wanted in conditions.items():
        found = resolve(context, path)
        if operators(wanted):
            answers = [compare(found, operator, value) for operator, value in wanted.items()]
        else:
            answers = [equal(found, wanted)]
        if False in answers:
            return False
        undecided = undecided or None in answers
    return None if undecided else True


def resolve(context: Mapping[str, Any], path: str) -> Any:
    """The value at a dot path; a path through something that is not an object is missing."""
    current: Any = context
    for key in path.split("."):
        if not isinstance(current, Mapping) or key not in current:
            return MISSING
        current = current[key]
    return current


def equal(found: Any, wanted: Any) -> bool:
    """JSON equality: true is not 1, and lists and objects are equal when all of their parts are."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, list) and isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(equal, found, wanted))
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return found.keys() == wanted.keys() and all(equal(found[key], wanted[key]) for key in found)
    return bool(found == wanted)


def compare(found: Any, operator: str, value: Any) -> bool | None:
    if operator == "$ne":
        return not equal(found, value)
    numbers = is_number(found) and is_number(value)
    if not numbers and not (isinstance(found, str) and isinstance(value, str)):
        return None
    return COMPARE[operator](found, value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def coordinates(value: Any) -> tuple[float, ...] | None:
    """A list of finite numbers, or None."""
    if not isinstance(value, list) or not value or not all(map(is_number, value)):
        return None
    try:
        point = tuple(map(float, value))
    except OverflowError:
        return None
    return point if all(map(math.isfinite, point)) else None


def distance(context: Mapping[str, Any], near: Near) -> float | None:
    """Euclidean distance √Σ(aᵢ − tᵢ)², or None without usable coordinates of the same dimension."""
    point = coordinates(resolve(context, near.field))
    if point is None or len(point) != len(near.target):
        return None
    return math.dist(point, near.target)
