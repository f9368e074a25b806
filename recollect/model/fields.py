"""The kinds of field that a Memory has. Each says how a value is checked, stored, searched, filtered and typed.

``Memory`` annotates its fields with them (see ``memory.FIELDS``); checks, columns, JSON, command-line options and
docs/memory-fields.md are derived from these annotations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from recollect.model import validation
from recollect.model.limits import LIMITS

Kind = Literal["text", "keyword", "path", "list", "object", "integer", "number", "moment", "lines", "use"]
Check = Callable[[object, str], Any]  # (value, name of the argument) → valid value, or InvalidInput


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a Memory. ``name`` and ``default`` come from the dataclass."""

    kind: Kind
    help: str  # one sentence
    check: Check
    allowed: str  # which values it takes, for the docs
    optional: bool = False  # may be None
    assigned: bool = False  # where it is None, the store assigns a value
    words: str = ""  # the text field under which its words are searched
    filter: str = ""  # the conditions of a Filter that read it
    option: str = ""  # flags on the command line, separated by spaces
    low: float | None = None  # the limits of a number
    high: float | None = None
    choices: tuple[str, ...] = ()  # the only values of a keyword
    name: str = ""
    default: Any = None


def text_field(help: str, *, words: str = "", option: str = "") -> Field:
    """Any string."""
    return Field("text", help, validation.string, "text", words=words, option=option)


def id_field(help: str, *, option: str = "") -> Field:
    """A string that identifies the memory."""
    allowed = f"text of at most {LIMITS['name_bytes'].default:,} bytes"
    return Field("text", help, validation.identifier, allowed, option=option)


def keyword_field(help: str, *, words: str = "", option: str = "", choices: Sequence[str] = ()) -> Field:
    """A string with few distinct values, which a Filter compares with ``==``."""
    check: Check = partial(validation.choice, choices=choices) if choices else validation.string
    allowed = "one of " + ", ".join(choices) if choices else "text"
    return Field("keyword", help, check, allowed, words=words, filter="{name}", option=option, choices=tuple(choices))


def path_field(help: str, *, words: str, option: str) -> Field:
    """The path of a file. A Filter compares it with a file or with a folder."""
    return Field("path", help, validation.string, "text", words=words, filter="{name}", option=option)


def list_field(help: str, *, words: str = "", filter: str = "", option: str = "") -> Field:
    """A list of strings; stored as JSON."""
    return Field("list", help, validation.strings, "a list of strings", words=words, filter=filter, option=option)


def object_field(help: str, *, filter: str, option: str) -> Field:
    """A JSON object."""
    return Field("object", help, validation.json_object, "a JSON object", filter=filter, option=option)


def integer_field(
    help: str,
    *,
    low: int = validation.MIN_INTEGER,
    high: int = validation.MAX_INTEGER,
    optional: bool = False,
    filter: str = "",
    option: str = "",
) -> Field:
    """A whole number between two limits."""
    check: Check = partial(validation.integer, low=low, high=high)
    return _numeric("integer", "a whole number", help, check, low, high, optional, filter, option)


def number_field(
    help: str, *, low: float, high: float, optional: bool = False, filter: str = "", option: str = ""
) -> Field:
    """A number between two limits."""
    check: Check = partial(validation.number, low=low, high=high)
    return _numeric("number", "a number", help, check, low, high, optional, filter, option)


def moment_field(help: str, *, assigned: bool = False, filter: str = "", option: str = "") -> Field:
    """A date and time; stored as microseconds since 1970."""
    check = validation.optional(validation.moment)
    return Field("moment", help, check, "a date, or None", True, assigned, filter=filter, option=option)


def line_range_field(help: str, *, option: str) -> Field:
    """The first and the last line of a part of a file; stored in two columns."""
    check = validation.optional(validation.line_range)
    return Field("lines", help, check, "two line numbers counted from 1, or None", True, option=option)


def _numeric(
    kind: Literal["integer", "number"],
    noun: str,
    help: str,
    check: Check,
    low: float,
    high: float,
    optional: bool,
    filter: str,
    option: str,
) -> Field:
    bounded = low > validation.MIN_INTEGER, high < validation.MAX_INTEGER and math.isfinite(high)
    allowed = {
        (True, True): f"{noun} from {low:g} to {high:g}",
        (True, False): f"{noun} of at least {low:g}",
    }.get(bounded, noun)
    if optional:
        check, allowed = validation.optional(check), f"{allowed}, or None"
    lowest, highest = low if bounded[0] else None, high if bounded[1] else None
    return Field(kind, help, check, allowed, optional, filter=filter, option=option, low=lowest, high=highest)
