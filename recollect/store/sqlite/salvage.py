"""What can be read from a file that is too damaged to be opened: memories, links, and receipts of erasures.

Memories and links come from the pages that can be read (page_records.py). Receipts are read by SQL without checksums,
then from the bytes of the file. A receipt is JSON; a long one is spread over pages. So the hashes of ids that belong to
no whole receipt are collected, too: a hash names a memory or nothing, wherever it was found.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import InvalidInput
from recollect.model import Edge, EntityEdge, Memory
from recollect.model.validation import from_micros
from recollect.store.erasing import HASH_BYTES, Receipt, receipt_from_dict
from recollect.store.rows import COLUMNS, DEFAULTS, from_row
from recollect.store.sqlite.checksums import RESERVED_BYTES
from recollect.store.sqlite.migrations import MIGRATIONS
from recollect.store.sqlite.page_records import PAGE_BYTES, PageRecords

BEGINNING = re.compile(rb'\{"receipt": 1, "at": ')
SALT = re.compile(rb'"salt": "([0-9a-f]{32,128})"')
HASH = re.compile(rb'"([0-9a-f]{%d})"' % (2 * HASH_BYTES))
HASH_BEGINNING = re.compile(rb'"([0-9a-f]{0,%d})(?!["0-9a-f])' % (2 * HASH_BYTES + 1))
HASH_AT_PAGE_END = re.compile(rb'"([0-9a-f]{0,%d})\Z' % (2 * HASH_BYTES))
HASH_END = re.compile(rb'([0-9a-f]{0,%d})"' % (2 * HASH_BYTES))
MAX_BYTES = 1 << 24  # of one receipt
EDGE_COLUMNS, RELATION_COLUMNS = 6, 10
FEWEST_COLUMNS = 43  # of a memory: those of version 0.1


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was read from a damaged file."""

    memories: tuple[Memory, ...]
    unverified: tuple[str, ...]  # ids of memories on pages that do not match their checksums: texts may be wrong
    edges: tuple[Edge, ...]  # between these memories
    relations: tuple[EntityEdge, ...]
    damaged_pages: int
    deleted_known: bool  # which pages are free could be read; otherwise memories that were deleted may be among these


def salvage_memories(path: Path) -> Salvaged:
    """Every memory and link that is on a page which can be read. Of several versions, the last one."""
    pages = PageRecords(path)
    columns = _memory_columns()
    found: dict[str, tuple[int, int, bool, Memory]] = {}  # by id: version, row, verified
    links: list[tuple[Any, ...]] = []
    relations: dict[tuple[str, ...], EntityEdge] = {}
    for record in pages:
        if record.row is None:
            if len(record.values) == EDGE_COLUMNS:
                links.append(record.values)
            elif len(record.values) == RELATION_COLUMNS and (relation := _relation(record.values)):
                key = (relation.collection, relation.user, relation.subject, relation.relation, relation.object)
                relations[key] = relation
        elif (row := _memory_row(record.values, columns)) and (memory := _memory(row)):
            version = int(row["changed"])
            if memory.id not in found or version > found[memory.id][0]:
                found[memory.id] = version, record.row, record.verified, memory
    ids = {row: id for id, (_, row, _, _) in found.items()}
    edges = {(each.source, each.kind, each.target): each for values in links if (each := _edge(values, ids))}
    return Salvaged(
        tuple(memory for _, _, _, memory in sorted(found.values(), key=lambda each: each[1])),
        tuple(sorted(id for id, (_, _, verified, _) in found.items() if not verified)),
        tuple(edges.values()),
        tuple(relations.values()),
        pages.damaged,
        pages.count > 0 and bool(pages.matching[0]),
    )


@cache
def _memory_columns() -> tuple[str, ...]:
    """The columns of a memory in the order in which a row has them; rows of earlier versions have fewer."""
    fresh = apsw.Connection(":memory:")
    for script in MIGRATIONS.values():
        fresh.execute(script).fetchall()
    return tuple(name for (name,) in fresh.execute("SELECT name FROM pragma_table_info('memories')"))


def _memory_row(values: tuple[Any, ...], columns: tuple[str, ...]) -> dict[str, Any] | None:
    """The columns of a memory, if these values are one."""
    if not FEWEST_COLUMNS <= len(values) <= len(columns):
        return None
    row = dict(zip(columns, values, strict=False))
    numbers = all(isinstance(row[name], int) for name in ("born", "changed", "created", "updated"))
    texts = all(isinstance(row[name], str) for name in ("id", "status", "collection", "text", "tags", "context"))
    return row if numbers and texts and row["row"] is None and row["id"] else None


def _memory(row: dict[str, Any]) -> Memory | None:
    try:
        return from_row([row.get(name, DEFAULTS[name]) for name in COLUMNS])
    except (ValueError, TypeError, OverflowError, InvalidInput):  # a value that no memory has
        return None


def _edge(values: tuple[Any, ...], ids: dict[int, str]) -> Edge | None:
    source, kind, target, weight, created, _ = values
    if source not in ids or target not in ids or not isinstance(kind, str):
        return None
    try:
        return Edge(ids[source], ids[target], kind, float(weight), from_micros(created))
    except (ValueError, TypeError, OverflowError, InvalidInput):
        return None


def _relation(values: tuple[Any, ...]) -> EntityEdge | None:
    collection, user, subject, relation, object, weight, classification, source, created, _ = values
    if not all(isinstance(each, str) for each in (collection, user, subject, relation, object, source)):
        return None
    try:
        return EntityEdge(
            subject,
            relation,
            object,
            float(weight),
            collection=collection,
            user=user,
            classification=int(classification),
            source=source,
            created=from_micros(created),
        )
    except (ValueError, TypeError, OverflowError, InvalidInput):
        return None


def salvage_receipts(path: Path, known: Sequence[Receipt] = ()) -> list[Receipt]:
    """The receipts, beside those that are known, that can be read from a damaged file and its log; oldest first.

    When the hashes outside of whole receipts were erased is not known: it is taken for the time of the last one.
    """
    found = {(each.at, each.salt, each.ids): each for each in map(_parse, _by_sql(path)) if each is not None}
    salts, hashes = {each.salt for each in found.values()}, set[str]()
    for file in (path, Path(f"{path.resolve()}-wal")):
        with (
            contextlib.suppress(OSError, ValueError),  # no such file, or an empty one
            file.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            for match in BEGINNING.finditer(content):
                receipt = _parse_beginning(content[match.start() : match.start() + MAX_BYTES])
                if receipt is not None:
                    found[receipt.at, receipt.salt, receipt.ids] = receipt
            salts |= {match[1].decode() for match in SALT.finditer(content)}
            hashes |= {match[1].decode() for match in HASH.finditer(content)} | _divided(content)
    for each in known:
        found.pop((each.at, each.salt, each.ids), None)
    whole = sorted(found.values(), key=lambda each: each.at)
    rest = tuple(sorted(hashes - {hash for each in (*whole, *known) for hash in each.ids} - salts))
    at = whole[-1].at if whole else datetime.now(UTC)
    return [*whole, *(Receipt(at, {}, salt, rest) for salt in sorted(salts) if rest)]


def _divided(content: mmap.mmap) -> set[str]:
    """Hashes whose end is on another page: it follows the number of the next page, at the beginning of a page.

    Which page that is may be damaged, so all are tried: what is no hash names nothing. The byte after a beginning is
    the number of a page or a checksum, and may look like a digit.
    """
    starts = (content[at + 4 : at + 4 + 2 * HASH_BYTES] for at in range(0, len(content), PAGE_BYTES))
    ends = {match[1] for match in map(HASH_END.match, starts) if match}
    found = {match[1] for match in HASH_BEGINNING.finditer(content)}
    for at in range(PAGE_BYTES - RESERVED_BYTES, len(content), PAGE_BYTES):  # any byte of a checksum may look like one
        match = HASH_AT_PAGE_END.search(content[at - 2 * HASH_BYTES - 1 : at])
        found |= {match[1]} if match else set()
    beginnings = found | {each[:-1] for each in found}
    joined = {first + last for first in beginnings for last in ends if len(first) + len(last) == 2 * HASH_BYTES}
    return {each.decode() for each in joined}


def _by_sql(path: Path) -> Iterator[str]:
    """What SQLite reads, row by row, until it meets damage."""
    with contextlib.suppress(apsw.Error):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            for (receipt,) in connection.execute("SELECT receipt FROM erasures"):
                yield receipt
        finally:
            connection.close()


def _parse_beginning(content: bytes) -> Receipt | None:
    text = content.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        record, _ = json.JSONDecoder().raw_decode(text)
        return _parse(json.dumps(record))
    return None


def _parse(text: object) -> Receipt | None:
    try:
        receipt = receipt_from_dict(json.loads(str(text)))
    except (ValueError, InvalidInput):
        return None
    return Receipt(receipt.at, {}, receipt.salt, receipt.ids, receipt.bound)
