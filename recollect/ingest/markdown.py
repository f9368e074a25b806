"""Markdown files: their front matter (YAML between two lines of ``---`` at the beginning) and their chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import islice, pairwise
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.chunking import DEFAULT, Chunk, ChunkSize, split_chunks
from recollect.model import JsonObject, check, limit
from recollect.model.limits import limit_message

DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
MAX_CONTEXT_CHARACTERS = 1000  # nobody filters by a longer text
TAGS, ALIASES, DATES = ("tags", "tag"), ("aliases", "alias"), ("date", "created")
FIELD = re.compile(r"[\w\"'][^:]*:(?:\s|$)")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")  # longer digits are an id rather than a number
YAML_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
MAX_DEPTH = 50  # lists in lists
END = object()  # of a list or mapping


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A parsed file: the fields of its front matter and its chunks."""

    chunks: tuple[Chunk, ...]
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    date: datetime | None = None
    context: JsonObject = field(default_factory=dict)  # the other fields, if they are short
    other_fields: tuple[str, ...] = ()  # all other fields as text: "author: Ann"
    problem: str = ""


def parse_markdown(text: str, chunk_size: ChunkSize = DEFAULT, zone: tzinfo | None = None) -> MarkdownDocument:
    """Parse the front matter of a Markdown text and split the rest into chunks; its date may be one of ``zone``."""
    lines = split_lines(text)
    front = parse_front_matter(lines)
    chunks = tuple(split_chunks(lines, chunk_size, front.end, front_is_text=bool(front.problem)))
    if not chunks and front.fields:  # a note that has nothing else
        chunks = tuple(split_chunks(lines, chunk_size, front.end, front_is_text=True))
    dates = (find_date(value, zone) for name in DATES for value in front.texts(name))
    others = front.other_fields("title", *TAGS, *ALIASES)
    return MarkdownDocument(
        chunks=chunks,
        title=next(front.texts("title"), ""),
        tags=tuple(tag.removeprefix("#") for tag in _split_commas(front.texts(*TAGS))),
        aliases=_split_commas(front.texts(*ALIASES)),
        date=next((date for date in dates if date is not None), None),
        context={
            name: to_json_value(value)
            for name, value in others.items()
            if len(to_single_line(value)) <= MAX_CONTEXT_CHARACTERS
        },
        other_fields=tuple(to_single_line({name: value}) for name, value in others.items()),
        problem=front.problem,
    )


def _split_commas(values: Iterator[str]) -> tuple[str, ...]:
    """Each value once; a text may list several, separated by commas."""
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))


def split_lines(text: str) -> list[str]:
    """The lines of a text as editors count them, without line ends and byte order mark."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    return text.removesuffix("\n").split("\n")


def split_text(text: str, chunk_size: ChunkSize = DEFAULT) -> Iterator[str]:
    """The chunks of a text that has no front matter."""
    return (chunk.text for chunk in split_chunks(split_lines(text), chunk_size))


def find_date(text: str, zone: tzinfo | None = None) -> datetime | None:
    """The first ISO date in a text such as a file's name, with its time when the text ends with one."""
    match = DATE.search(text)
    for end in (len(text), match.end()) if match else ():
        try:
            return check.moment(text[match.start() : end], "date", zone)  # type: ignore[union-attr]
        except InvalidInput:
            continue
    return None


# Front matter.


class UnquotedText(str):
    """A YAML text without quotes: it may be a number, a boolean or null."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The index of the line after it (0 when there is none), its fields by name, and what was wrong with it."""

    end: int = 0
    fields: JsonObject = field(default_factory=dict)
    problem: str = ""

    def texts(self, *names: str) -> Iterator[str]:
        """The texts under these names as they are written: one, or those of a list."""
        for name, value in self.fields.items():
            if name.lower() in names:
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, str) and to_json_value(each) is not None:
                        yield to_single_line(each)

    def other_fields(self, *names: str) -> JsonObject:
        """The fields with other names than these, without nulls."""
        others = {name: value for name, value in self.fields.items() if name.lower() not in names}
        return {name: value for name, value in others.items() if to_json_value(value) is not None}


def to_single_line(value: Any) -> str:
    """A value written on one line."""
    match value:
        case dict():
            return ", ".join(f"{name}: {to_single_line(each)}" for name, each in value.items())
        case list():
            return ", ".join(map(to_single_line, value))
    return " ".join(value.split())


def to_json_value(value: Any) -> Any:
    """A YAML value as JSON has it."""
    match value:
        case dict():
            return {name: to_json_value(each) for name, each in value.items()}
        case list():
            return [to_json_value(each) for each in value]
        case UnquotedText() if value.lower() in YAML_CONSTANTS:
            return YAML_CONSTANTS[value.lower()]
        case UnquotedText() if number := NUMBER.fullmatch(value):
            return float(value) if number[1] else int(value)
    return str(value)


def parse_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Parse the front matter. Fields that are not YAML are left out, and ``problem`` names the first of them."""
    if not lines or lines[0].rstrip() != "---":
        return FrontMatter()
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return FrontMatter()
    from yaml import YAMLError  # on first use

    inner = lines[1:end]
    if (size := sum(map(len, inner))) > limit("front_matter_bytes"):
        message = limit_message("front_matter_bytes", f"the front matter has {size:,} characters and is read as text")
        return FrontMatter(problem=message)
    try:
        fields = _parse_yaml(inner)
    except YAMLError as error:
        if not FIELD.match(next(filter(str.strip, inner), "")):  # a text between two rules
            return FrontMatter()
        message = getattr(error, "problem", None) or str(error).splitlines()[0]
        mark = getattr(error, "problem_mark", None)
        where = f" on line {mark.line + 2}" if mark else ""
        return FrontMatter(
            end + 1, _parse_field_by_field(inner), f"its front matter is not valid YAML: {message}{where}"
        )
    return FrontMatter(end + 1, fields or {}) if fields is None or isinstance(fields, dict) else FrontMatter()


def _parse_field_by_field(lines: Sequence[str]) -> JsonObject:
    """The fields that are valid YAML when each is parsed by itself."""
    from yaml import YAMLError

    starts = [at for at, line in enumerate(lines) if FIELD.match(line)]
    fields: JsonObject = {}
    for start, stop in pairwise([*starts, len(lines)]):
        with suppress(YAMLError):
            parsed = _parse_yaml(lines[start:stop])
            fields |= parsed if isinstance(parsed, dict) else {}
    return fields


def _parse_yaml(lines: Sequence[str]) -> Any:
    """YAML as mappings, lists and texts. It reads events, because the composer of the C library crashes the process
    when lists nest too deep."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    events = islice(yaml.parse("\n".join(lines), Loader=loader), 2, None)  # one by one: nesting costs as it deepens

    keys: list[str] = []

    def value(depth: int) -> Any:
        match next(events, None):
            case yaml.ScalarEvent() as event:
                return (UnquotedText if event.implicit[0] else str)(check.replace_surrogates(event.value))
            case yaml.SequenceStartEvent() if depth:
                return list(iter(lambda: value(depth - 1), END))
            case yaml.MappingStartEvent() if depth:
                fields = {}
                while isinstance(name := value(depth - 1), str):
                    fields[str(name)] = value(depth - 1)
                    keys.append(name)
                    if len(keys) > limit("front_matter_keys"):
                        raise yaml.YAMLError(f"it has more keys than the limit front_matter_keys ({len(keys) - 1:,})")
                if name is END:
                    return fields
                raise yaml.YAMLError("a name in it is not a text")
            case yaml.NodeEvent():  # a few aliases can expand to gigabytes
                raise yaml.YAMLError("it has aliases, or lists nested too deep")
            case yaml.CollectionEndEvent():
                return END
        return None  # an empty document

    parsed = value(MAX_DEPTH)
    for _ in events:  # errors further down count, too
        pass
    return parsed
