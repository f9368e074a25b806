"""Plain records: JSON lines, JSON lists and CSV tables with fields by our names, and mem0's memories."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.imports.sources import Item, Source, called, objects, reading
from recollect.model import JsonObject
from recollect.model.validation import CHECKS, string, strings

OURS = ("recollect", "former", "edge", "entity_edge")  # types of record that only an export has
ALIASES = {"content": "text", "created_at": "created", "updated_at": "updated"}
AS_WRITTEN = {name for name, check in CHECKS.items() if check is string} | set(
    "id external_id status created updated valid_from valid_to expires".split()
)
MEM0 = {
    "memory": "text",
    "user_id": "user",
    "run_id": "session",
    "actor_id": "speaker",
    "role": "role",
    "categories": "tags",
    "created_at": "created",
    "updated_at": "updated",
    "expiration_date": "expires",
}


def json_lines(source: Source) -> Iterator[Item]:
    """One object a line: those of an export as they are, others as plain records."""
    exported, named = False, Named()
    for number, item in enumerate(_lines(source), 1):
        if item.record is None:
            yield item
            continue
        exported = exported or (number == 1 and item.record.get("type") == "recollect")
        ours = exported or item.record.get("type") in OURS
        yield item if ours else named(item.place, item.record)


def json_list(source: Source) -> Iterator[Item]:
    """A list of objects, or objects one after another."""
    named = Named()
    for item in objects(source, "object"):
        yield item if item.record is None else named(item.place, item.record)


def table(source: Source) -> Iterator[Item]:
    """A CSV table whose header names the fields, between commas or semicolons; other columns go into the context."""
    named, at = Named(), 0
    with reading(source) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        try:
            header = text.readline()
            between = ";" if header.count(";") > header.count(",") else ","
            rows = csv.DictReader(chain([header], text), delimiter=between, strict=True)
            for row in rows:
                at = rows.line_num
                place = f"{called(source)}, line {at}"
                try:
                    said = _cells(row)
                except InvalidInput as problem:
                    yield Item(place, problem=f"{place}: {problem}")
                    continue
                if said:
                    yield named(place, said)
        except (csv.Error, UnicodeDecodeError) as problem:
            place = f"{called(source)}, line {at + 1}"
            yield Item(place, problem=f"{place} cannot be read, nor what follows it: {problem}.")
        finally:
            text.detach()


def mem0(source: Source) -> Iterator[Item]:
    """What get_all returns or an export holds: memories in a list, or under "results", with relations beside them."""
    for item in objects(source, "memory"):
        if item.record is None or not isinstance(item.record.get("results"), list):
            yield item if item.record is None else Item(item.place, _mem0(item.record))
            continue
        for number, each in enumerate(item.record["results"], 1):
            place = f"{called(source)}, result {number}"
            if isinstance(each, dict):
                yield Item(place, _mem0(each))
            else:
                yield Item(place, problem=f"{place} is no JSON object.")
        for number, each in enumerate(item.record.get("relations") or (), 1):
            if isinstance(each, dict):
                ends = {"subject": each.get("source"), "object": each.get("target", each.get("destination"))}
                relation = {"type": "entity_edge", **ends, "relation": each.get("relationship"), "source": "mem0"}
                yield Item(f"{called(source)}, relation {number}", relation)


def plain(record: Mapping[str, Any]) -> JsonObject:
    """Fields by our names; all others become the context."""
    said = {name: value for name, value in record.items() if value is not None}
    if said.get("type") == "memory":
        del said["type"]
    if not said.keys() & {"text", "content"}:
        raise InvalidInput(f"there is no text (nor content) among its fields: {', '.join(said) or 'none'}.")
    for alias, name in ALIASES.items():
        if name not in said and alias in said:
            said[name] = said.pop(alias)
    if isinstance(said["text"], list):  # the parts of a chat message
        said["text"] = "\n\n".join(part["text"] for part in said["text"] if isinstance(part, dict) and "text" in part)
    return _sorted(said)


def _sorted(said: JsonObject) -> JsonObject:
    """What is no field of a memory goes into its context."""
    fields = {name: value for name, value in said.items() if name in CHECKS}
    rest = {name: value for name, value in said.items() if name not in CHECKS}
    context = fields.get("context", {})
    return {**fields, "context": {**rest, **context}} if rest and isinstance(context, Mapping) else fields


class Named:
    """Records by our names; one without an id gets one that depends on what it says, so that it is not added again."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, place: str, given: JsonObject) -> Item:
        try:
            record = plain(given)
        except InvalidInput as problem:
            return Item(place, problem=f"{place}: {problem}")
        if record.get("id") or record.get("external_id"):
            return Item(place, record)
        spelt = json.dumps(record, sort_keys=True, default=str)
        digest = hashlib.sha256(spelt.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        self._seen[digest] += 1
        return Item(place, {**record, "external_id": f"{digest}/{self._seen[digest]}"})


def _mem0(memory: JsonObject) -> JsonObject:
    said = {MEM0.get(name, name): value for name, value in memory.items() if value is not None}
    metadata = said.pop("metadata", None)
    if isinstance(metadata, dict):
        said["context"] = metadata
    if said.get("id"):
        said["external_id"] = f"mem0:{said.pop('id')}"
    said.pop("score", None)  # of the search that found it
    return _sorted({**said, "source": "mem0"})


def _cells(row: Mapping[str | None, Any]) -> JsonObject:
    """The cells that say something; numbers and objects as JSON, lists also as words between commas."""
    said: JsonObject = {}
    for name, cell in row.items():
        if not cell or not any(cell):
            continue
        if name is None:
            raise InvalidInput("there are more cells than the header has names.")
        if name not in CHECKS or name in AS_WRITTEN:
            said[name] = cell
        elif CHECKS[name] is strings and not cell.lstrip().startswith("["):
            said[name] = [each.strip() for each in cell.split(",") if each.strip()]
        else:
            try:
                said[name] = json.loads(cell)
            except ValueError:
                raise InvalidInput(f"{name} cannot be read from {cell!r}.") from None
    return said


def _lines(source: Source) -> Iterator[Item]:
    """The objects of JSON lines; empty lines count, but say nothing."""
    with reading(source) as stream:
        for number, line in enumerate(stream, 1):
            place = f"{called(source)}, line {number}"
            if not line.strip():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as problem:
                told = f"byte {line[problem.start]:#04x} at column {problem.start + 1}"
                yield Item(place, problem=f"{place} is not UTF-8 text: {told}.")
            except json.JSONDecodeError as problem:
                yield Item(place, problem=f"{place}, column {problem.colno} is no JSON: {problem.msg}.")
            except (ValueError, RecursionError) as problem:
                yield Item(place, problem=f"{place} cannot be read: {problem}.")
            else:
                if isinstance(value, dict):
                    yield Item(place, value)
                else:
                    yield Item(place, problem=f'{place} must be a JSON object, such as {{"text": "…"}}.')
