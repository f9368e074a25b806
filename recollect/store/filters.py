"""What a filter means: its conditions as data, how they judge one memory, and why they leave one out.

A condition is decided as true, false or None. None means that it cannot be decided for a memory (a comparison has the
wrong type, coordinates are missing): such a memory is left out, whether the condition is negated or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from recollect.errors import InvalidInput
from recollect.model import STATUSES, AllOf, AnyOf, Filter, FilterExpression, Memory, Near, Not, check
from recollect.model.filter import (
    any_filter,
    check_context_conditions,
    check_near,
    conditions_of,
    has_operators,
    is_number,
)
from recollect.model.matching import (
    MISSING,
    all_of,
    any_of,
    distance,
    explain_no_distance,
    match_context,
    match_near,
    value_at,
)
from recollect.store.base import Exclusion

HOUR = 3_600e6  # microseconds


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition that the memories in scope fulfil.

    The name is that of a filter's field; ``not`` (``wanted`` is the list of conditions that must not all hold) or
    ``or`` (``wanted`` is a list of such lists, one of which must hold); or that of a condition which scopes have even
    without a filter: ``remembered``, ``stored_status``, ``status``, ``begun``, ``valid``, ``unexpired``.
    """

    name: str
    wanted: Any
    now: datetime
    label: str = ""  # of a filter's condition: as a person would write it
    reason: str = ""  # of the others: why a memory is left out
    decay: float = 1.0  # of confidence per day, for min_confidence


def scope_conditions(
    filter: FilterExpression | None, statuses: Sequence[str], now: datetime, as_of: bool = False, hidden: bool = False
) -> list[Condition]:
    """All conditions of a scope, in the order in which they are named to users; see ``Snapshot.scope``."""
    conditions = []
    if not hidden:
        conditions.append(Condition("remembered", None, now, reason="it was forgotten"))
    wanted = positive_values(filter, "status", tuple(statuses)) or tuple(statuses)
    reason = f"its status is none of: {', '.join(wanted)}"
    conditions.append(Condition("stored_status" if hidden else "status", wanted, now, reason=reason))
    if as_of:
        conditions.append(Condition("valid", None, now, reason=f"it is not valid at {now.isoformat()}"))
    elif not hidden:
        conditions.append(Condition("begun", None, now, reason="it is not valid yet"))
    if not hidden and not includes_expired(filter):
        conditions.append(Condition("unexpired", None, now, reason="it has expired"))
    return conditions + filter_conditions(filter, now)


def filter_conditions(filter: FilterExpression | None, now: datetime) -> list[Condition]:
    """The conditions that a filter joins by AND, with checked values."""
    match filter:
        case None:
            return []
        case AllOf():
            return [each for part in filter.of for each in filter_conditions(part, now)]
        case AnyOf():
            _check_no_expired(filter)
            return [Condition("or", [filter_conditions(part, now) for part in filter.of], now, describe(filter))]
        case Not():
            _check_no_expired(filter)
            return [Condition("not", filter_conditions(filter.of, now), now, describe(filter))]
        case Filter():
            if filter.expired not in (None, True, False):
                raise InvalidInput(f"expired must be true or false, not {check.short_repr(filter.expired)}.")
            decay = (
                1.0 if filter.confidence_decay is None else check.fraction(filter.confidence_decay, "confidence_decay")
            )
            return [
                Condition(name, _checked(name, value), now, f"{name}={_shown(value)}", decay=decay)
                for name, value in conditions_of(filter)
            ]
    raise InvalidInput(f"filter must be a Filter, not {check.short_repr(filter)}.")


def decide(condition: Condition, memory: Memory) -> bool | None:
    """Does the condition hold for this memory? None if that cannot be decided."""
    wanted, now = condition.wanted, condition.now
    match condition.name:
        case "not":
            answer = decide_all(wanted, memory)
            return None if answer is None else not answer
        case "or":
            return any_of(decide_all(alternative, memory) for alternative in wanted)
        case "remembered":
            return memory.status != "forgotten"
        case "stored_status":
            return memory.status in wanted
        case "status":
            return status_at(memory, now) in wanted
        case "begun":
            return memory.valid_from is None or memory.valid_from <= now
        case "valid":
            start = memory.valid_from or memory.created
            return start is not None and start <= now and (memory.valid_to is None or memory.valid_to > now)
        case "unexpired":
            return memory.expires is None or memory.expires > now
        case "tags":
            return set(wanted) <= set(memory.tags)
        case "path":
            return memory.path == wanted or (wanted.endswith("/") and memory.path.startswith(wanted))
        case "classification":
            return bool(memory.classification <= wanted)
        case "min_confidence":
            return bool(decayed_confidence(memory, now, condition.decay) >= wanted)
        case "since":
            return memory.created is not None and memory.created >= wanted
        case "until":
            return memory.created is not None and memory.created < wanted
        case "context":
            return match_context(memory.context, wanted)
        case "near":
            return match_near(memory.context, wanted)
        case name:
            return getattr(memory, name) in wanted


def decide_all(conditions: Sequence[Condition], memory: Memory) -> bool | None:
    """Do all of these hold? False if one does not; None if none fails and one cannot be decided."""
    return all_of(decide(each, memory) for each in conditions)


def status_at(memory: Memory, now: datetime) -> str:
    """A memory with an end is active until then and superseded from then on."""
    if memory.valid_to is None or memory.status not in ("active", "superseded"):
        return memory.status
    return "active" if memory.valid_to > now else "superseded"


def decayed_confidence(memory: Memory, now: datetime, decay: float) -> float:
    """confidence × decay ^ days, in whole hours since the last access, or since creation without one."""
    confidence = memory.confidence or 0.0
    if decay == 1.0 or memory.created is None:
        return confidence
    seen = max(memory.created, memory.use.last_accessed or memory.created)
    days = max(0.0, float(check.micros(now) - check.micros(seen)) // HOUR / 24)
    return float(confidence * np.power(decay, days))  # numpy's power: the same bits as over an array


def first_exclusion(conditions: Sequence[Condition], memory: Memory) -> Exclusion | None:
    """Why a memory is left out: the first condition that it does not fulfil."""
    for condition in conditions:
        if decide(condition, memory) is not True:
            return explain(condition, memory)
    return None


def explain(condition: Condition, memory: Memory) -> Exclusion:
    """Why a condition leaves a memory out, with the value that it compares."""
    if condition.reason:
        return Exclusion(condition.reason)
    text, wanted = f"the filter {condition.label} leaves it out", condition.wanted
    match condition.name:
        case "not" | "or":
            return Exclusion(text)
        case "tags":
            return Exclusion(f"{text}: its tags are {', '.join(memory.tags) or 'none'}")
        case "classification":
            value = float(memory.classification)
            return Exclusion(f"{text}: its classification is {value:g}", value, float(wanted))
        case "min_confidence":
            if memory.confidence is None:
                return Exclusion(f"{text}: it has none", 0.0, float(wanted))
            return Exclusion(f"{text}: its confidence is {memory.confidence:g}", memory.confidence, float(wanted))
        case "since" | "until":
            created = memory.created.isoformat(timespec="seconds") if memory.created else "never"
            return Exclusion(f"{text}: it was created {created}")
        case "near":
            apart = distance(memory.context, wanted)
            if apart is None:
                return Exclusion(f"{text}: {explain_no_distance(memory.context, wanted)}")
            return Exclusion(f"{text}: it is {apart:.4g} away", apart, float(wanted.within))
        case "context":
            return _explain_context(text, memory.context, wanted)
        case name:
            return Exclusion(f"{text}: its {name} is {getattr(memory, name)!r}")


def _explain_context(text: str, context: Mapping[str, Any], wanted: Mapping[str, Any]) -> Exclusion:
    """The first path that is not as it should be."""
    for path, value in wanted.items():
        if match_context(context, {path: value}) is not True:
            if path == "$or":
                return Exclusion(f"{text}: none of the alternatives of $or is met")
            found = value_at(context, path)
            if found is MISSING:
                return Exclusion(f"{text}: it has no {path}")
            limits = list(value.values()) if has_operators(value) else []
            if len(limits) == 1 and is_number(found) and is_number(limits[0]):
                return Exclusion(f"{text}: its {path} is {check.short_repr(found)}", float(found), float(limits[0]))
            return Exclusion(f"{text}: its {path} is {check.short_repr(found)}")
    return Exclusion(text)


def describe(filter: FilterExpression) -> str:
    """A filter as a person would write it."""
    match filter:
        case Filter():
            return " and ".join(f"{name}={_shown(value)}" for name, value in conditions_of(filter))
        case Not():
            return f"not ({describe(filter.of)})"
        case AllOf():
            return " and ".join(map(describe, filter.of))
        case AnyOf():
            return " or ".join(f"({describe(part)})" for part in filter.of)


def positive_values(filter: FilterExpression | None, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The values that a filter wants under a name, outside of any negation; empty if it wants none in particular.

    An alternative that names none has the default, if another one names some.
    """
    if isinstance(filter, AllOf):
        named = [values for part in filter.of if (values := positive_values(part, name, default))]
        return tuple(value for value in named[0] if all(value in other for other in named)) if named else ()
    if isinstance(filter, AnyOf):
        parts = [positive_values(part, name, default) for part in filter.of]
        filled = [part or default for part in parts]
        return tuple(dict.fromkeys(value for part in filled for value in part)) if any(parts) and all(filled) else ()
    value = getattr(filter, name, None) if isinstance(filter, Filter) else None
    return () if value is None else check.one_or_more(value, name)


def includes_expired(filter: FilterExpression | None) -> bool:
    """Does a filter ask for expired memories, too?"""
    if isinstance(filter, AllOf):
        return any(map(includes_expired, filter.of))
    return isinstance(filter, Filter) and filter.expired is True


def _check_no_expired(filter: FilterExpression) -> None:
    if any_filter(filter, lambda part: part.expired is not None):
        raise InvalidInput(
            "expired cannot be negated or be an alternative: it is not a condition, it includes memories."
        )


def _shown(value: Any) -> str:
    if isinstance(value, Near):
        return f"{value.field} within {value.within:g} of {list(value.target)}"
    return check.short_repr(value, 120)


def _checked(name: str, value: Any) -> Any:
    """The value of a condition, or an InvalidInput."""
    match name:
        case "path":
            return check.string(value, name)
        case "classification":
            return check.integer(value, name)
        case "min_confidence":
            return check.fraction(value, name)
        case "since" | "until":
            return check.moment(value, name)
        case "context":
            check_context_conditions(value)
        case "near":
            check_near(value)
        case _:
            values = check.one_or_more(value, name)
            unknown = [each for each in values if each not in STATUSES] if name == "status" else []
            if unknown:
                raise InvalidInput(f"There is no status {unknown[0]!r}; there are: {', '.join(STATUSES)}.")
            return values
    return value
