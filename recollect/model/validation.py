"""The door: what users hand in becomes a valid record, or an InvalidInput that says what would be right."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.memory import STATUSES, Edge, EntityEdge, Memory, Use

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_ID = 10_000
MICROSECOND = timedelta(microseconds=1)


def clean(text: str) -> str:
    """Lone surrogates cannot be stored as UTF-8: they become U+FFFD. Everything else stays."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def moment(value: object, name: str) -> datetime:
    """A datetime, an ISO 8601 string or seconds since 1970, as an aware datetime in UTC (naive means UTC)."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, (int, float)):
            return EPOCH + timedelta(seconds=value)
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        pass
    others = "" if isinstance(value, str) else ", a datetime or seconds since 1970"
    raise InvalidInput(
        f"{name} is no date: {short(value)}. Give an ISO date, such as '2025-03-14' or "
        f"'2025-03-14T09:30:00+01:00'{others}."
    )


def micros(when: datetime) -> int:
    """Whole microseconds since 1970: how moments are stored and compared."""
    return (when - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    return EPOCH + timedelta(microseconds=value)


def short(value: object, limit: int = 60) -> str:
    shown = repr(value)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {short(value)}.")
    return clean(value)


def strings(value: object, name: str, form: str = "a list of strings") -> tuple[str, ...]:
    given: list[Any] = [*value] if isinstance(value, Iterable) and not isinstance(value, str) else [None]
    if not all(isinstance(each, str) for each in given):
        raise InvalidInput(f"{name} must be {form}, not {short(value)}.")
    return tuple(map(clean, given))


def one_or_more(value: object, name: str) -> tuple[str, ...]:
    return (clean(value),) if isinstance(value, str) else strings(value, name, "a string or a list of strings")


def moments(value: object, name: str) -> tuple[datetime, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of dates, not {short(value)}.")
    return tuple(moment(each, name) for each in value)


def number(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    try:
        usable = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        usable = False
    if not usable or not isinstance(value, (int, float)):
        raise InvalidInput(f"{name} must be a number, not {short(value)}.")
    if not low <= value <= high:
        room = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise InvalidInput(f"{name} must be {room}, not {short(value)}.")
    return float(value)


def unit(value: object, name: str) -> float:
    return number(value, name, 0.0, 1.0)


def whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, not {short(value)}.")
    if not -(2**63) <= value < 2**63:
        raise InvalidInput(f"{name} is too {'large' if value > 0 else 'small'}: {short(value)}.")
    return value


def count(value: object, name: str) -> int:
    number = whole(value, name)
    if number < 0:
        raise InvalidInput(f"{name} cannot be below 0, and {number} is.")
    return number


def identity(value: object, name: str) -> str:
    text = string(value, name)
    if len(text) > LONGEST_ID:
        raise InvalidInput(f"{name} has at most {LONGEST_ID} characters, and this one has {len(text):,}.")
    return text


def line_range(value: object, name: str) -> tuple[int, int]:
    if isinstance(value, Iterable) and not isinstance(value, str):
        pair = tuple(whole(each, name) for each in value)
        if len(pair) == 2 and 1 <= pair[0] <= pair[1]:
            return pair[0], pair[1]
    raise InvalidInput(f"{name} must be two line numbers counted from 1, first and last, not {short(value)}.")


def json_object(value: object, name: str) -> dict[str, Any]:
    """A private copy of a JSON object, so that later changes by the caller do not reach it."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a JSON object (a dict), not {short(value)}.")
    try:
        copy = json.loads(clean(json.dumps(dict(value), allow_nan=False, ensure_ascii=False, default=_refuse)))
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"{name} must hold JSON values only: {problem}.") from None
    keys_are_strings(value, name)
    if not isinstance(copy, dict):
        raise InvalidInput(f"{name} must be a JSON object (a dict), not {short(value)}.")
    return copy


def _refuse(value: object) -> None:
    """What JSON cannot hold; arrays and their numbers know a form that it can."""
    advice = "; give its .tolist()" if hasattr(value, "tolist") else ""
    raise TypeError(f"{type(value).__name__} is none{advice}")


def keys_are_strings(value: object, name: str) -> None:
    """JSON has no other keys, and turning 1 into "1" would be a silent change."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            string(key, f"a key in {name}")
            keys_are_strings(held, name)
    elif isinstance(value, (list, tuple)):
        for held in value:
            keys_are_strings(held, name)


def status(value: object, name: str) -> str:
    if value not in STATUSES:
        raise InvalidInput(f"{name} must be one of {', '.join(STATUSES)}, not {short(value)}.")
    return str(value)


def use(value: object, name: str) -> Use:
    said = {each.name: getattr(value, each.name) for each in fields(Use)} if isinstance(value, Use) else value
    if not isinstance(said, Mapping):
        raise InvalidInput(f"{name} must be an object, not {short(value)}.")
    unknown = set(said) - {each.name for each in fields(Use)}
    if unknown:
        raise InvalidInput(f"{name} has no field {', '.join(sorted(map(repr, unknown)))}.")
    return Use(
        last_accessed=optional(moment)(said.get("last_accessed"), f"{name}.last_accessed"),
        access_count=count(said.get("access_count", 0), f"{name}.access_count"),
        return_count=count(said.get("return_count", 0), f"{name}.return_count"),
        recall_count=count(said.get("recall_count", 0), f"{name}.recall_count"),
        last_recalled=optional(moment)(said.get("last_recalled"), f"{name}.last_recalled"),
        recall_times=moments(said.get("recall_times", ()), f"{name}.recall_times"),
    )


def optional(check: Callable[[object, str], Any]) -> Callable[[object, str], Any]:
    return lambda value, name: None if value is None else check(value, name)


CHECKS: dict[str, Callable[[object, str], Any]] = {
    **dict.fromkeys(
        "text title summary original collection user kind topic tier source path session speaker role".split(),
        string,
    ),
    **dict.fromkeys("keywords tags entities files flags emotion_tags".split(), strings),
    **dict.fromkeys("created updated valid_from valid_to expires".split(), optional(moment)),
    "id": identity,
    "external_id": identity,
    "context": json_object,
    "classification": whole,
    "status": status,
    "lines": optional(line_range),
    "position": optional(whole),
    "confidence": optional(unit),
    "strength": unit,
    "importance": number,
    "relevance": number,
    "trust": optional(whole),
    "credibility": optional(whole),
    "emotion": number,
    "use": use,
}


def details(said: Mapping[str, object]) -> dict[str, Any]:
    """Checked values of the named fields of a memory."""
    unknown = set(said) - set(CHECKS)
    if unknown:
        raise InvalidInput(
            f"A memory has no field {', '.join(sorted(map(repr, unknown)))}. "
            f"It has: {', '.join(CHECKS)}. Anything else belongs into context={{…}}."
        )
    return {name: CHECKS[name](value, name) for name, value in said.items()}


def memory(given: Memory | Mapping[str, object] | str, said: Mapping[str, object] | None = None) -> Memory:
    """A valid memory from a text, a mapping or a Memory, with ``said`` on top."""
    if isinstance(given, Memory):
        every = {each.name: getattr(given, each.name) for each in fields(Memory)}
    elif isinstance(given, Mapping):
        every = dict(given)
    else:
        every = {"text": given}
    made = details({**every, **(said or {})})
    if not made.get("text", "").strip():
        raise InvalidInput("There is nothing to remember: the text is blank.")
    return ordered(Memory(**made))


def changed(memory: Memory, said: Mapping[str, object]) -> Memory:
    """The memory with checked changes on top."""
    for name in ("id", "use"):
        if name in said:
            raise InvalidInput(f"A memory's {name} cannot be edited.")
    made = details(said)
    for name in ("created", "updated"):
        if name in made and made[name] is None:
            raise InvalidInput(f"{name} cannot be taken away from a memory.")
    if "text" in made and not made["text"].strip():
        raise InvalidInput("A memory's text cannot become blank; use forget to let it go.")
    return ordered(replace(memory, **made))


def ordered(memory: Memory) -> Memory:
    if memory.valid_from and memory.valid_to and memory.valid_from >= memory.valid_to:
        raise InvalidInput("valid_from must come before valid_to.")
    return memory


def edge(source: object, target: object, kind: object, weight: object) -> Edge:
    source, target, kind = string(source, "source"), string(target, "target"), string(kind, "kind").strip()
    if source == target:
        raise InvalidInput(f"A memory cannot be linked to itself ({source}).")
    if not kind:
        raise InvalidInput("An edge needs a kind, such as 'supports' or 'contradicts'.")
    return Edge(source, target, kind, unit(weight, "weight"))


def entity_edge(given: EntityEdge) -> EntityEdge:
    named = ("subject", "relation", "object", "collection", "user", "source")
    cleaned = {name: string(getattr(given, name), name) for name in named}
    for name in named[:3]:
        if not cleaned[name].strip():
            raise InvalidInput(f"An entity edge needs {'an' if name == 'object' else 'a'} {name}.")
    whole(given.classification, "classification")
    return replace(given, **cleaned, weight=unit(given.weight, "weight"))  # type: ignore[arg-type]
