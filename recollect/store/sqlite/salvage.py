"""Receipts of erasures from a file that is too damaged to be opened: by SQL without checksums, then from its bytes.

A receipt is JSON; a long one is spread over pages. So the hashes of ids that belong to no whole receipt are collected,
too: a hash names a memory or nothing, wherever it was found.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import apsw

from recollect.errors import InvalidInput
from recollect.store.erasing import HASH_BYTES, Receipt, receipt_from_dict

BEGINNING = re.compile(rb'\{"receipt": 1, "at": ')
SALT = re.compile(rb'"salt": "([0-9a-f]{32,128})"')
HASH = re.compile(rb'"([0-9a-f]{%d})"' % (2 * HASH_BYTES))
HASH_BEGINNING = re.compile(rb'"([0-9a-f]{0,%d})(?!["0-9a-f])' % (2 * HASH_BYTES + 1))
HASH_END = re.compile(rb'([0-9a-f]{0,%d})"' % (2 * HASH_BYTES))
PAGE_BYTES = 4096
MAX_BYTES = 1 << 24  # of one receipt


def salvage_receipts(path: Path, known: Sequence[Receipt] = ()) -> list[Receipt]:
    """The receipts, beside those that are known, that can be read from a damaged file and its log; oldest first.

    When the hashes outside of whole receipts were erased is not known: it is taken for the time of the last one.
    """
    found = {(each.at, each.salt, each.ids): each for each in map(_parse, _by_sql(path)) if each is not None}
    salts, hashes = {each.salt for each in found.values()}, set[str]()
    for file in (path, Path(f"{path}-wal")):
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
    return Receipt(receipt.at, {}, receipt.salt, receipt.ids)
