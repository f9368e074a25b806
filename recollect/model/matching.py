"""Filters for what is no stored memory: a paragraph of a note, an edge between names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from math import isclose
from typing import Any

from recollect.model.conditions import distance, judge
from recollect.model.filter import All, AnyFilter, Filter, Not
from recollect.model.validation import moment

Span = tuple[datetime, datetime]  # from a moment until another, which is no part of it
MANNERS = ("confidence_decay", "expired")  # how memories are judged; no conditions of their own
FIELD = {"since": "created", "until": "created", "min_confidence": "confidence", "near": "context"}


def instant(at: datetime) -> Span:
    return at, at + timedelta(microseconds=1)


def admits(filter: AnyFilter | None, known: Mapping[str, Any]) -> bool:
    """Does the filter let it through, as far as it is known?

    ``known`` holds the fields that it has, by the names of a Memory; ``created`` is a Span. A condition on a field that
    it does not have cannot be decided, and what cannot be decided is left out, negated or not.
    """
    return filter is None or _judged(filter, known) is True


def _judged(filter: AnyFilter, known: Mapping[str, Any]) -> bool | None:
    match filter:
        case All():
            return _all([_judged(part, known) for part in filter.of])
        case Not():
            answer = _judged(filter.of, known)
            return None if answer is None else not answer
        case Filter():
            asked = ((each.name, getattr(filter, each.name)) for each in fields(filter))
            said = [(name, value) for name, value in asked if value is not None and name not in MANNERS]
            return _all([_holds(name, value, known.get(FIELD.get(name, name))) for name, value in said])


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _holds(name: str, value: Any, held: Any) -> bool | None:
    """One condition; a span of time fulfils those that any part of it does."""
    if held is None:
        return None
    match name:
        case "classification":
            return bool(held <= value)
        case "min_confidence":
            return bool(held >= value)
        case "since":
            return bool(held[1] > moment(value, name))
        case "until":
            return bool(held[0] < moment(value, name))
        case "tags":
            return {value} <= {*held} if isinstance(value, str) else {*value} <= {*held}
        case "path":
            return bool(held == value or (value.endswith("/") and held.startswith(value)))
        case "context":
            return judge(held, value)
        case "near":
            apart = distance(held, value)
            return None if apart is None else apart <= value.within or isclose(apart, value.within)
        case _:
            return bool(held == value) if isinstance(value, str) else held in tuple(value)
