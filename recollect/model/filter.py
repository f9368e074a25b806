"""Filters: the conditions that a memory must meet to be returned, and how they are joined by AND, OR and NOT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model import validation as check
from recollect.model.limits import check_limit

OneOrMore = str | Sequence[str]
COMPARISONS = ("$lt", "$lte", "$gt", "$gte")
OPERATORS = (*COMPARISONS, "$ne", "$in", "$contains", "$exists")
MODIFIERS = ("confidence_decay", "expired")  # fields of a Filter that change other conditions and are none themselves


@dataclass(frozen=True, slots=True)
class Near:
    """Memories whose coordinates at a dot path of the context are within a distance of a target."""

    field: str
    target: Sequence[float]
    within: float


class _Joinable:
    """The operators ``~``, ``&`` and ``|`` of filters."""

    __slots__ = ()

    def __invert__(self) -> Not:
        return Not(self)  # type: ignore[arg-type]

    def __and__(self, other: FilterExpression) -> AllOf:
        return AllOf((*(self.of if isinstance(self, AllOf) else (self,)), other))

    def __or__(self, other: FilterExpression) -> AnyOf:
        return AnyOf((*(self.of if isinstance(self, AnyOf) else (self,)), other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(_Joinable):
    """Conditions that must all be met. Several values for one name mean any of them; for tags, all of them.

    ``~a`` is the negation of a filter, ``a & b`` needs both and ``a | b`` one of them. A condition that cannot be
    decided for a memory (its coordinates are missing, a comparison has the wrong type) does not match it, negated or
    not. A status that one alternative of ``|`` names is allowed in the others, too.
    """

    collection: OneOrMore | None = None
    user: OneOrMore | None = None
    agent: OneOrMore | None = None
    session: OneOrMore | None = None
    speaker: OneOrMore | None = None
    role: OneOrMore | None = None
    kind: OneOrMore | None = None
    topic: OneOrMore | None = None
    tier: OneOrMore | None = None
    source: OneOrMore | None = None
    status: OneOrMore | None = None
    tags: OneOrMore | None = None
    path: str | None = None  # a file, or a folder when it ends with a slash
    classification: int | None = None  # at most this one
    min_confidence: float | None = None  # a memory without confidence counts as 0
    confidence_decay: float | None = None  # min_confidence is compared with confidence × this ^ (days since last use)
    since: datetime | str | float | None = None  # created at or after
    until: datetime | str | float | None = None  # created before
    context: Mapping[str, Any] | None = None  # {"task.success": True, "params.force.value": {"$lt": 15}}
    near: Near | None = None
    expired: bool | None = None  # True includes memories that have expired


@dataclass(frozen=True, slots=True)
class Not(_Joinable):
    """The negation of a filter."""

    of: FilterExpression

    def __invert__(self) -> FilterExpression:  # type: ignore[override]
        return self.of


@dataclass(frozen=True, slots=True)
class AllOf(_Joinable):
    """Several filters, joined by AND."""

    of: tuple[FilterExpression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(_Joinable):
    """Several filters, joined by OR."""

    of: tuple[FilterExpression, ...]


FilterExpression = Filter | Not | AllOf | AnyOf


def as_filter(value: FilterExpression | Mapping[str, Any] | None) -> FilterExpression | None:
    """A filter as it is, or from its JSON form.

    ``{"session": "s1", "not": {"tags": ["draft"]}, "or": [{"kind": "fact"}, {"topic": "work"}]}``
    """
    if value is None or isinstance(value, FilterExpression):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(f"filter must be a Filter or a mapping of its fields, not {check.short_repr(value)}.")
    check.check_depth(value, "filter")
    for name, wanted in value.items():
        if isinstance(wanted, (list, tuple, set, frozenset)):
            check_limit("filter_items", len(wanted), f"{name} of the filter has {len(wanted):,} values")
    known = {each.name for each in fields(Filter)}
    unknown = set(value) - known - {"not", "or"}
    if unknown:
        raise InvalidInput(
            f"A filter has no condition {', '.join(sorted(map(repr, unknown)))}; "
            f"it has: {', '.join(sorted(known))}, not, or."
        )
    conditions = {name: wanted for name, wanted in value.items() if name in known}
    if conditions.get("near") is not None and not isinstance(conditions["near"], Near):
        try:
            conditions["near"] = Near(**conditions["near"])
        except TypeError:
            raise InvalidInput("near needs field, target and within.") from None
    parts: list[FilterExpression] = [Filter(**conditions)]
    if (negated := as_filter(value.get("not"))) is not None:
        parts.append(Not(negated))
    if (alternatives := value.get("or")) is not None:
        if not isinstance(alternatives, list | tuple) or not alternatives or None in alternatives:
            raise InvalidInput(f"or must be a list of one or more filters, not {check.short_repr(alternatives)}.")
        parts.append(AnyOf(tuple(as_filter(each) for each in alternatives)))  # type: ignore[misc]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def conditions_of(filter: Filter) -> list[tuple[str, Any]]:
    """The conditions that a filter has: names and wanted values, without those that only modify others."""
    pairs = ((each.name, getattr(filter, each.name)) for each in fields(filter))
    return [(name, wanted) for name, wanted in pairs if wanted is not None and name not in MODIFIERS]


def any_filter(expression: FilterExpression | None, test: Any) -> bool:
    """Does ``test`` hold for any Filter in an expression?"""
    match expression:
        case None:
            return False
        case Filter():
            return bool(test(expression))
        case Not():
            return any_filter(expression.of, test)
        case _:
            return any(any_filter(part, test) for part in expression.of)


def check_context_conditions(conditions: object) -> None:
    """Refuses what could never match: no mapping, an unknown ``$`` key, or an operand of the wrong type."""
    if not isinstance(conditions, Mapping):
        raise InvalidInput(
            f"A context filter is an object of dot paths, such as {{'task.success': true}}, "
            f"not {check.short_repr(conditions)}."
        )
    check.json_object(conditions, "context filter")
    for path, wanted in conditions.items():
        if path == "$or":
            if not isinstance(wanted, list | tuple) or not wanted:
                raise InvalidInput(f"$or must be a list of one or more objects, not {check.short_repr(wanted)}.")
            for alternative in wanted:
                check_context_conditions(alternative)
        elif path.startswith("$"):
            raise InvalidInput(
                f"{path!r} is not an operator of a context filter: it has dot paths and $or, such as "
                "{'task.success': true, 'params.force.value': {'$lt': 15}}."
            )
        elif has_operators(wanted):
            for operator, operand in wanted.items():
                _check_operator(path, operator, operand)


def _check_operator(path: str, operator: str, operand: object) -> None:
    if operator not in OPERATORS:
        raise InvalidInput(
            f"{operator!r} (at {path!r}) is not an operator of a context filter; there are {', '.join(OPERATORS)}, "
            "and $or beside the paths."
        )
    if operator == "$in" and not isinstance(operand, list | tuple):
        raise InvalidInput(f"$in (at {path!r}) must be a list of values, not {check.short_repr(operand)}.")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidInput(f"$exists (at {path!r}) must be true or false, not {check.short_repr(operand)}.")


def has_operators(wanted: object) -> bool:
    """Is this an object with ``$`` keys? Any other value is compared by equality."""
    return isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted)


def check_near(near: Near) -> None:
    if not isinstance(near, Near):
        raise InvalidInput(f"near must be Near(field, target, within), not {check.short_repr(near)}.")
    if not isinstance(near.target, list | tuple) or coordinates(list(near.target)) is None:
        raise InvalidInput(f"near.target must be a list of numbers, not {check.short_repr(near.target)}.")
    check.string(near.field, "near.field")
    check.number(near.within, "near.within", low=0.0)


def coordinates(value: Any) -> tuple[float, ...] | None:
    """A list of finite numbers as a point, or None."""
    if not isinstance(value, list) or not value or not all(map(is_number, value)):
        return None
    try:
        point = tuple(map(float, value))
    except OverflowError:
        return None
    return point if all(map(math.isfinite, point)) else None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def filter_json(expression: FilterExpression) -> dict[str, Any]:
    """The JSON form of a filter, from which ``as_filter`` makes it again."""
    match expression:
        case Filter():
            named = {each.name: getattr(expression, each.name) for each in fields(expression)}
            return {name: _plain(value) for name, value in named.items() if value is not None}
        case Not(of):
            return {"not": filter_json(of)}
        case AnyOf(of):
            return {"or": [filter_json(each) for each in of]}
    parts = [filter_json(each) for each in expression.of]
    negated = [part.pop("not") for part in parts if "not" in part]
    merged: dict[str, Any] = {} if not negated else {"not": negated[0] if len(negated) == 1 else {"or": negated}}
    for part in parts:
        if merged.keys() & part.keys():  # a and b: not (not a or not b)
            return {"not": {"or": [{"not": filter_json(each)} for each in expression.of]}}
        merged |= part
    return merged


def _plain(value: Any) -> Any:
    match value:
        case Near():
            return {"field": value.field, "target": list(value.target), "within": value.within}
        case datetime():
            return value.isoformat()
        case tuple():
            return list(value)
        case _:
            return value
