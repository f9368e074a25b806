"""Why a memory fails a condition: its own value in words, and as a number where numbers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.model import validation as check
from recollect.model.filter import has_operators, is_number
from recollect.model.matching import MISSING, distance, match_context, value_at
from recollect.store.base import Exclusion
from recollect.store.sqlite.index import Index


def explain_exclusion(index: Index, slot: int, label: str, name: str, wanted: Any) -> Exclusion:
    """Why the memory in a slot fails a condition, as closely as its columns tell."""
    excluded = f"the filter {label} leaves it out"
    if index.codes.get(name):
        shown = list(index.codes[name])[int(index.columns[name][slot])]
        return Exclusion(f"{excluded}: its {name} is {shown!r}")
    match name:
        case "tags":
            shown = index.columns["tags"].get(slot, [])
            return Exclusion(f"{excluded}: its tags are {', '.join(shown) or 'none'}")
        case "classification":
            value = float(index.columns[name][slot])
            return Exclusion(f"{excluded}: its classification is {value:g}", value, float(wanted))
        case "min_confidence":
            value = float(index.columns["confidence"][slot])
            shown = "it has none" if value != value else f"its confidence is {value:g}"
            return Exclusion(f"{excluded}: {shown}", 0.0 if value != value else value, float(wanted))
        case "since" | "until":
            created = check.from_micros(int(index.columns["created"][slot]))
            return Exclusion(f"{excluded}: it was created {created.isoformat(timespec='seconds')}")
        case "near":
            context = index.columns["context"].get(slot, {})
            apart = distance(context, wanted)
            if apart is None:
                return Exclusion(f"{excluded}: it has no coordinates of that kind at {wanted.field}")
            return Exclusion(f"{excluded}: it is {apart:.4g} away", apart, float(wanted.within))
        case "context":
            return _context(excluded, index.columns["context"].get(slot, {}), wanted)
    return Exclusion(excluded)


def _context(excluded: str, context: Mapping[str, Any], wanted: Mapping[str, Any]) -> Exclusion:
    """The first path that is not as it should be."""
    for path, value in wanted.items():
        if match_context(context, {path: value}) is not True:
            if path == "$or":
                return Exclusion(f"{excluded}: none of the alternatives of $or is met")
            shown = value_at(context, path)
            if shown is MISSING:
                return Exclusion(f"{excluded}: it has no {path}")
            asked = list(value.values()) if has_operators(value) else []
            numbers = len(asked) == 1 and all(is_number(each) for each in (shown, asked[0]))
            limit = float(asked[0]) if numbers else None
            return Exclusion(
                f"{excluded}: its {path} is {check.short_repr(shown)}", float(shown) if numbers else None, limit
            )
    return Exclusion(excluded)
