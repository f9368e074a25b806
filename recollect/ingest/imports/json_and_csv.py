"""Records in JSON lines, JSON lists and CSV tables, with the field names of a memory; and memories of mem0."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from recollect.errors import InvalidInput
from recollect.ingest.imports.sources import (
    Source,
    SourceRecord,
    iterate_objects,
    limited_lines,
    open_source,
    source_name,
)
from recollect.model import FIELDS, JsonObject, check, check_limit, limit
from recollect.model.limits import limit_message

EXPORT_TYPES = ("recollect", "former", "edge", "entity_edge")  # types of record that only an export has
ALIASES = {"content": "text", "created_at": "created", "updated_at": "updated"}
DATE_NAMES = ("date", "timestamp")  # of when a record was written, if they can be read as a moment
COLUMNS = {*FIELDS, *ALIASES, *DATE_NAMES}
TEXT_COLUMNS = {name for name, field in FIELDS.items() if field.kind in ("text", "keyword", "path", "moment")}
MEM0_FIELDS = {
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


def read_json_lines(source: Source) -> Iterator[SourceRecord]:
    """One object per line: those of an export as they are, others with unknown fields moved to the context."""
    is_export, normalize = False, RecordNormalizer()
    for number, item in enumerate(_iterate_lines(source), 1):
        if item.record is None:
            yield item
            continue
        is_export = is_export or (number == 1 and item.record.get("type") == "recollect")
        exported = is_export or item.record.get("type") in EXPORT_TYPES
        yield item if exported else normalize(item.place, item.record)


def read_json_list(source: Source) -> Iterator[SourceRecord]:
    """A list of objects, or consecutive objects."""
    normalize = RecordNormalizer()
    for item in iterate_objects(source, "object"):
        yield item if item.record is None else normalize(item.place, item.record)


def read_csv(source: Source) -> Iterator[SourceRecord]:
    """A CSV table, separated by commas or semicolons, whose header names the fields in upper or lower case; other
    columns go into the context."""
    normalize, line = RecordNormalizer(), 0
    with open_source(source) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        lines = _limited_text_lines(text)
        try:
            header = next(lines, "")
            delimiter = ";" if header.count(";") > header.count(",") else ","
            rows = csv.DictReader(chain([header], lines), delimiter=delimiter, strict=True)
            rows.fieldnames = _column_names(rows.fieldnames or [])
            for row in rows:
                line = rows.line_num
                place = f"{source_name(source)}, line {line}"
                try:
                    fields = _parse_cells(row)
                except InvalidInput as error:
                    yield SourceRecord(place, problem=f"{place}: {error}")
                    continue
                if fields:
                    yield _with_numbers(normalize(place, fields), fields)
        except (csv.Error, InvalidInput, UnicodeDecodeError) as error:
            place = f"{source_name(source)}, line {line + 1}"
            yield SourceRecord(place, problem=f"{place} cannot be read, nor what follows it: {str(error).rstrip('.')}.")
        finally:
            text.detach()


def _column_names(header: Sequence[str]) -> list[str]:
    """The header with the names of fields as they are written here, whatever their case: Text is text.

    A name that another column has exactly as it is written belongs to that one.
    """
    lowered = [name.strip().lower() for name in header]
    return [
        low if low in COLUMNS and low not in header and lowered.index(low) == at else name
        for at, (name, low) in enumerate(zip(header, lowered, strict=True))
    ]


def _limited_text_lines(text: io.TextIOWrapper) -> Iterator[str]:
    size = limit("import_record_bytes")
    while line := text.readline(size + 1):
        check_limit("import_record_bytes", len(line), "the line has more characters")
        yield line


def read_mem0(source: Source) -> Iterator[SourceRecord]:
    """The result of mem0's get_all, or an export: a list of memories, or memories and relations in an object."""
    for item in iterate_objects(source, "memory"):
        if item.record is None or not isinstance(item.record.get("results"), list):
            yield item if item.record is None else SourceRecord(item.place, _from_mem0(item.record))
            continue
        for number, each in enumerate(item.record["results"], 1):
            place = f"{source_name(source)}, result {number}"
            if isinstance(each, dict):
                yield SourceRecord(place, _from_mem0(each))
            else:
                yield SourceRecord(place, problem=f"{place} is not a JSON object.")
        for number, each in enumerate(item.record.get("relations") or (), 1):
            if isinstance(each, dict):
                ends = {"subject": each.get("source"), "object": each.get("target", each.get("destination"))}
                relation = {"type": "entity_edge", **ends, "relation": each.get("relationship"), "source": "mem0"}
                yield SourceRecord(f"{source_name(source)}, relation {number}", relation)


def normalize_fields(record: Mapping[str, Any]) -> JsonObject:
    """The fields of a memory under their own names; all others go into the context."""
    fields = {name: value for name, value in record.items() if value is not None}
    if fields.get("type") == "memory":
        del fields["type"]
    if not fields.keys() & {"text", "content"}:
        raise InvalidInput(f"there is no text (nor content) among its fields: {', '.join(fields) or 'none'}.")
    for alias, name in ALIASES.items():
        if name not in fields and alias in fields:
            fields[name] = fields.pop(alias)
    if isinstance(parts := fields["text"], list):  # of a chat message
        fields["text"] = "\n\n".join(part["text"] for part in parts if isinstance(part, dict) and "text" in part)
    return _move_to_context(fields)


def _with_date(record: JsonObject) -> JsonObject:
    """A record without a time of creation takes that of a ``date`` or ``timestamp`` in its context.

    After the external id is made, so that records that an earlier version imported keep theirs.
    """
    context = record.get("context")
    if "created" in record or not isinstance(context, Mapping):
        return record
    for name in DATE_NAMES:
        with suppress(InvalidInput):
            if isinstance(context.get(name), str):
                check.moment(context[name], name)
                others = {key: value for key, value in context.items() if key != name}
                return {**record, "context": others, "created": context[name]}
    return record


def _move_to_context(record: JsonObject) -> JsonObject:
    """Move what is not a field of a memory into its context."""
    fields = {name: value for name, value in record.items() if name in FIELDS}
    others = {name: value for name, value in record.items() if name not in FIELDS}
    context = fields.get("context", {})
    return {**fields, "context": {**others, **context}} if others and isinstance(context, Mapping) else fields


class RecordNormalizer:
    """Normalizes records; one without an id gets an external id made of its content, so that it is not added again."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, place: str, fields: JsonObject) -> SourceRecord:
        try:
            record = normalize_fields(fields)
        except InvalidInput as error:
            return SourceRecord(place, problem=f"{place}: {error}")
        if record.get("id") or record.get("external_id"):
            return SourceRecord(place, _with_date(record))
        content = json.dumps(record, sort_keys=True, default=str)
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        self._seen[digest] += 1
        return SourceRecord(place, _with_date({**record, "external_id": f"{digest}/{self._seen[digest]}"}))


def _from_mem0(memory: JsonObject) -> JsonObject:
    fields = {MEM0_FIELDS.get(name, name): value for name, value in memory.items() if value is not None}
    metadata = fields.pop("metadata", None)
    if isinstance(metadata, dict):
        fields["context"] = metadata
    if fields.get("id"):
        fields["external_id"] = f"mem0:{fields.pop('id')}"
    fields.pop("score", None)  # of the search that found it
    return _move_to_context({**fields, "source": "mem0"})


def _parse_cells(row: Mapping[str | None, Any]) -> JsonObject:
    """The cells that are not empty: numbers and objects as JSON, lists also as words separated by commas."""
    fields: JsonObject = {}
    for name, cell in row.items():
        if not cell or not any(cell):
            continue
        if name is None:
            raise InvalidInput("there are more cells than the header has names.")
        if name not in FIELDS or name in TEXT_COLUMNS:
            fields[name] = cell
        elif FIELDS[name].kind == "list" and not cell.lstrip().startswith("["):
            fields[name] = [each.strip() for each in cell.split(",") if each.strip()]
        else:
            try:
                fields[name] = json.loads(cell)
            except ValueError:
                raise InvalidInput(f"{name} cannot be read from {cell!r}.") from None
    return fields


def _with_numbers(item: SourceRecord, cells: JsonObject) -> SourceRecord:
    """Converts the cells in the context that are numbers.

    After the external id is made: it depends on the cells as they are written, so that it stays what it was.
    """
    if item.record is None or not isinstance(context := item.record.get("context"), dict):
        return item
    numbers = {name: _number_or_text(cell) for name, cell in context.items() if cells.get(name) is cell}
    return replace(item, record={**item.record, "context": {**context, **numbers}})


def _number_or_text(cell: Any) -> Any:
    """A cell that is written as a JSON number becomes one. Others, such as 007 or 1,5, stay texts."""
    try:
        number = json.loads(cell)
    except (ValueError, TypeError, RecursionError):
        return cell
    exact = isinstance(number, int) and abs(number) < 2**63
    is_number = not isinstance(number, bool) and (exact or (isinstance(number, float) and math.isfinite(number)))
    return number if is_number else cell


def _iterate_lines(source: Source) -> Iterator[SourceRecord]:
    """The objects of JSON lines. Empty lines are counted and skipped."""
    with open_source(source) as stream:
        for number, line in enumerate(limited_lines(stream), 1):
            place = f"{source_name(source)}, line {number}"
            if line is None:
                yield SourceRecord(place, problem=limit_message("import_record_bytes", f"{place} has more bytes"))
                continue
            if not line.strip():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                position = f"byte {line[error.start]:#04x} at column {error.start + 1}"
                yield SourceRecord(place, problem=f"{place} is not UTF-8 text: {position}.")
            except json.JSONDecodeError as error:
                yield SourceRecord(place, problem=f"{place}, column {error.colno} is not valid JSON: {error.msg}.")
            except (ValueError, RecursionError) as error:
                yield SourceRecord(place, problem=f"{place} cannot be read: {error}.")
            else:
                if isinstance(value, dict):
                    yield SourceRecord(place, value)
                else:
                    yield SourceRecord(place, problem=f'{place} must be a JSON object, such as {{"text": "…"}}.')
