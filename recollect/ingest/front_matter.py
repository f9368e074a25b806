"""Front matter: what a Markdown file says of itself, in YAML between two lines of ``---`` at its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from recollect.model import JsonObject
from recollect.model import validation as check

FIELD = re.compile(r"[\w\"'][^:]*:(?:\s|$)")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")  # what is longer is an id rather than a number
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
DEEPEST = 50  # lists in lists
END = object()  # of a list or mapping


class Plain(str):
    """A text without quotes: it may be a number, a truth value or nothing."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The index of the line after it (0 when there is none), its fields by name, and what was wrong with it."""

    end: int = 0
    fields: JsonObject = field(default_factory=dict)
    problem: str = ""

    def texts(self, *names: str) -> Iterator[str]:
        """The texts under these names, as they are written: one, or those of a list."""
        for name, held in self.fields.items():
            if name.lower() in names:
                for each in held if isinstance(held, list) else [held]:
                    if isinstance(each, str) and typed(each) is not None:
                        yield line(each)

    def others(self, *names: str) -> JsonObject:
        """What is said under other names than these."""
        said = {name: held for name, held in self.fields.items() if name.lower() not in names}
        return {name: held for name, held in said.items() if typed(held) is not None}


def line(value: Any) -> str:
    """A value as it would be written on one line."""
    match value:
        case dict():
            return ", ".join(f"{name}: {line(held)}" for name, held in value.items())
        case list():
            return ", ".join(map(line, value))
    return " ".join(value.split())


def typed(value: Any) -> Any:
    """A value as JSON has it."""
    match value:
        case dict():
            return {name: typed(held) for name, held in value.items()}
        case list():
            return [typed(held) for held in value]
        case Plain() if value.lower() in WORDS:
            return WORDS[value.lower()]
        case Plain() if number := NUMBER.fullmatch(value):
            return float(value) if number[1] else int(value)
    return str(value)


def front_matter(lines: Sequence[str]) -> FrontMatter:
    """Where it is no YAML, fields are left out rather than guessed at, and the problem is told."""
    if not lines or lines[0].rstrip() != "---":
        return FrontMatter()
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return FrontMatter()
    from yaml import YAMLError  # on first use

    inside = lines[1:end]
    try:
        said = _read(inside)
    except YAMLError as problem:
        if not FIELD.match(next(filter(str.strip, inside), "")):  # a text between two rules
            return FrontMatter()
        what = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        mark = getattr(problem, "problem_mark", None)
        where = f" on line {mark.line + 2}" if mark else ""
        return FrontMatter(end + 1, _one_by_one(inside), f"not all of its front matter is YAML: {what}{where}")
    return FrontMatter(end + 1, said or {}) if said is None or isinstance(said, dict) else FrontMatter()


def _one_by_one(lines: Sequence[str]) -> JsonObject:
    """The fields that are YAML when each is read for itself."""
    from yaml import YAMLError

    starts = [at for at, line in enumerate(lines) if FIELD.match(line)]
    said: JsonObject = {}
    for start, stop in pairwise([*starts, len(lines)]):
        with suppress(YAMLError):
            read = _read(lines[start:stop])
            said |= read if isinstance(read, dict) else {}
    return said


def _read(lines: Sequence[str]) -> Any:
    """What YAML says, in mappings, lists and texts. From its events: the composer of the C library ends the process
    when lists nest too deep."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    events = islice(yaml.parse("\n".join(lines), Loader=loader), 2, None)  # one by one: nesting costs as it deepens

    def value(depth: int) -> Any:
        match next(events, None):
            case yaml.ScalarEvent() as event:
                return (Plain if event.implicit[0] else str)(check.clean(event.value))
            case yaml.SequenceStartEvent() if depth:
                return list(iter(lambda: value(depth - 1), END))
            case yaml.MappingStartEvent() if depth:
                said = {}
                while isinstance(name := value(depth - 1), str):
                    said[str(name)] = value(depth - 1)
                if name is END:
                    return said
                raise yaml.YAMLError("a name in it is no text")
            case yaml.NodeEvent():  # a few aliases can stand for gigabytes
                raise yaml.YAMLError("it has aliases, or lists in lists in lists")
            case yaml.CollectionEndEvent():
                return END
        return None  # nothing is said

    said = value(DEEPEST)
    for _ in events:  # what is wrong further down is wrong, too
        pass
    return said
