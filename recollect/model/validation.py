"""Checks of single values. Each returns the valid value, or raises an InvalidInput that says what is allowed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.limits import LIMITS, check_limit, limit
from recollect.model.zones import in_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_ID = LIMITS["name_bytes"].default  # unless the limit was changed
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1  # what SQLite stores
MICROSECOND = timedelta(microseconds=1)


def replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def moment(value: object, name: str, zone: tzinfo | None = None) -> datetime:
    """An aware datetime in UTC from a datetime, an ISO 8601 string or seconds since 1970.

    What names no time zone is in ``zone``: that of the mind, or of this machine.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, (int, float)):
            return EPOCH + timedelta(seconds=value)
        when = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
        if isinstance(when, datetime):
            return _in_utc(when, zone)
    except (ValueError, OverflowError, TypeError):
        pass
    others = "" if isinstance(value, str) else ", a datetime or seconds since 1970"
    raise InvalidInput(
        f"{name} is not a date: {short_repr(value)}. Use an ISO date, such as '2025-03-14' or "
        f"'2025-03-14T09:30:00+01:00'{others}."
    )


def _in_utc(when: datetime, zone: tzinfo | None) -> datetime:
    try:
        return in_zone(when, zone).astimezone(UTC)
    except OverflowError:
        if when.tzinfo is not None:
            raise
        return when.replace(tzinfo=UTC)  # the last day of the year 9999, which stands for never


def micros(when: datetime) -> int:
    """Microseconds since 1970, in which moments are stored and compared."""
    return (when - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    return EPOCH + timedelta(microseconds=value)


def short_repr(value: object, limit: int = 60) -> str:
    """The repr of a value for a message, cut to a number of characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {short_repr(value)}.")
    return replace_surrogates(value)


def strings(value: object, name: str, form: str = "a list of strings") -> tuple[str, ...]:
    items: list[Any] = [*value] if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [None]
    if not all(isinstance(item, str) for item in items):
        raise InvalidInput(f"{name} must be {form}, not {short_repr(value)}.")
    return tuple(map(replace_surrogates, items))


def one_or_more(value: object, name: str) -> tuple[str, ...]:
    return (
        (replace_surrogates(value),)
        if isinstance(value, str)
        else strings(value, name, "a string or a list of strings")
    )


def moments(value: object, name: str) -> tuple[datetime, ...]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of dates, not {short_repr(value)}.")
    return tuple(moment(each, name) for each in value)


def number(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    try:
        usable = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        usable = False
    if not usable or not isinstance(value, (int, float)):
        raise InvalidInput(f"{name} must be a number, not {short_repr(value)}.")
    if not low <= value <= high:
        raise InvalidInput(f"{name} must be {_range(low, high)}, not {short_repr(value)}.")
    return float(value)


def fraction(value: object, name: str) -> float:
    return number(value, name, 0.0, 1.0)


def integer(value: object, name: str, low: int = MIN_INTEGER, high: int = MAX_INTEGER) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, not {short_repr(value)}.")
    if not MIN_INTEGER <= value <= MAX_INTEGER:
        raise InvalidInput(f"{name} is too {'large' if value > 0 else 'small'}: {short_repr(value)}.")
    if not low <= value <= high:
        raise InvalidInput(f"{name} must be {_range(low, high)}, not {short_repr(value)}.")
    return value


def count(value: object, name: str) -> int:
    return integer(value, name, low=0)


def _range(low: float, high: float) -> str:
    if high >= MAX_INTEGER:
        return f"at least {low:g}"
    return f"between {low:g} and {high:g}"


def identifier(value: object, name: str) -> str:
    return within_name_limit(string(value, name), name)


def within_name_limit(text: str, name: str) -> str:
    """A text that is short enough for a name."""
    if len(text) * 4 > limit("name_bytes"):  # a character has at most four bytes
        size = len(text.encode())
        check_limit("name_bytes", size, f"{name} has {size:,} bytes")
    return text


def line_range(value: object, name: str) -> tuple[int, int]:
    if isinstance(value, Iterable) and not isinstance(value, str):
        pair = tuple(integer(each, name) for each in value)
        if len(pair) == 2 and 1 <= pair[0] <= pair[1]:
            return pair[0], pair[1]
    raise InvalidInput(f"{name} must be two line numbers counted from 1, first and last, not {short_repr(value)}.")


def json_object(value: object, name: str) -> dict[str, Any]:
    """A private copy of a JSON object, so that later changes by the caller do not reach it."""
    if not isinstance(value, (dict, Mapping)):
        raise InvalidInput(f"{name} must be a JSON object (a dict), not {short_repr(value)}.")
    if type(value) is dict and all(_is_plain(key, each) for key, each in value.items()):
        return value.copy()
    try:
        copy = json.loads(replace_surrogates(_ENCODER.encode(dict(value))))
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"{name} must contain only JSON values: {problem}.") from None
    check_keys(value, name)
    check_depth(copy, name)
    if not isinstance(copy, dict):
        raise InvalidInput(f"{name} must be a JSON object (a dict), not {short_repr(value)}.")
    return copy


def _is_plain(key: object, value: object) -> bool:
    """Is it a part of an object that is JSON as it is, and contains nothing that could be changed?"""
    if type(value) is str:
        plain = value.isascii()
    else:
        plain = (
            value is None
            or type(value) is bool
            or (type(value) is int and MIN_INTEGER <= value <= MAX_INTEGER)
            or (type(value) is float and math.isfinite(value))
        )
    return plain and type(key) is str and key.isascii()


def _refuse(value: object) -> None:
    """Raises for a value that JSON has no form for; numpy's arrays and numbers can be converted."""
    advice = "; convert it with .tolist()" if hasattr(value, "tolist") else ""
    raise TypeError(f"{type(value).__name__} is not a JSON type{advice}")


_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, default=_refuse)
_SIMPLE = (str, int, float, type(None))  # what contains nothing
_NESTED = (dict, list, tuple, Mapping)


def check_keys(value: object, name: str) -> None:
    """Keys must be strings: JSON has no others, and turning 1 into "1" would be a silent change."""
    if isinstance(value, _SIMPLE):
        return
    if isinstance(value, (dict, Mapping)):
        for key, inner in value.items():
            if not isinstance(key, str):
                string(key, f"a key in {name}")
            check_keys(inner, name)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            check_keys(inner, name)


def check_depth(value: object, name: str) -> None:
    """Refuse objects and lists that are nested too deep."""
    level, depth, most = [value] if isinstance(value, _NESTED) else [], 0, limit("json_depth")
    while level:
        depth += 1
        if depth > most:
            check_limit("json_depth", depth, f"{name} is nested deeper than {most:,} levels")
        inner = (each.values() if isinstance(each, (dict, Mapping)) else each for each in level)
        level = [each for values in inner for each in values if isinstance(each, _NESTED)]


def choice(value: object, name: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(choices)}, not {short_repr(value)}.")
    return str(value)


def optional(check: Callable[[object, str], Any]) -> Callable[[object, str], Any]:
    return lambda value, name: None if value is None else check(value, name)
