"""What a memory has where a condition wants something else: the words, and the number where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.model import validation as check
from recollect.model.filter import has_operators, is_number
from recollect.model.matching import MISSING, distance, match_context, value_at
from recollect.store.base import Exclusion
from recollect.store.sqlite.index import Image


def refusal(image: Image, slot: int, label: str, name: str, wanted: Any) -> Exclusion:
    """Why the memory in a slot fails a condition, as closely as its columns tell."""
    said = f"the filter {label} leaves it out"
    if image.codes.get(name):
        held = list(image.codes[name])[int(image.columns[name][slot])]
        return Exclusion(f"{said}: its {name} is {held!r}")
    match name:
        case "tags":
            held = image.columns["tags"].get(slot, [])
            return Exclusion(f"{said}: its tags are {', '.join(held) or 'none'}")
        case "classification":
            value = float(image.columns[name][slot])
            return Exclusion(f"{said}: its classification is {value:g}", value, float(wanted))
        case "min_confidence":
            value = float(image.columns["confidence"][slot])
            held = "it has none" if value != value else f"its confidence is {value:g}"
            return Exclusion(f"{said}: {held}", 0.0 if value != value else value, float(wanted))
        case "since" | "until":
            created = check.from_micros(int(image.columns["created"][slot]))
            return Exclusion(f"{said}: it was created {created.isoformat(timespec='seconds')}")
        case "near":
            context = image.columns["context"].get(slot, {})
            apart = distance(context, wanted)
            if apart is None:
                return Exclusion(f"{said}: it has no coordinates of that kind at {wanted.field}")
            return Exclusion(f"{said}: it is {apart:.4g} away", apart, float(wanted.within))
        case "context":
            return _context(said, image.columns["context"].get(slot, {}), wanted)
    return Exclusion(said)


def _context(said: str, context: Mapping[str, Any], wanted: Mapping[str, Any]) -> Exclusion:
    """The first path that is not as it should be."""
    for path, value in wanted.items():
        if match_context(context, {path: value}) is not True:
            if path == "$or":
                return Exclusion(f"{said}: none of the alternatives of $or is met")
            held = value_at(context, path)
            if held is MISSING:
                return Exclusion(f"{said}: it has no {path}")
            asked = list(value.values()) if has_operators(value) else []
            numbers = len(asked) == 1 and all(is_number(each) for each in (held, asked[0]))
            limit = float(asked[0]) if numbers else None
            return Exclusion(f"{said}: its {path} is {check.short_repr(held)}", float(held) if numbers else None, limit)
    return Exclusion(said)
