"""Phrases: the postings know which words a memory has, and its texts in which order they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator

import apsw
import numpy as np

from recollect.store.base import Floats, Rows
from recollect.store.sqlite.connections import fetch
from recollect.store.terms import FIELDS
from recollect.text.words import fold, words

LISTS = ("keywords", "tags", "entities")


def occurrences(connection: apsw.Connection, rows: Rows, phrase: list[str], weights: Floats) -> Floats:
    """Σ weight × how often the (folded) words stand in this order, over the fields of each row."""
    counted = [(name, weight) for name, weight in zip(FIELDS, weights.tolist(), strict=True) if weight > 0]
    columns = ", ".join(name for name, _ in counted)
    sql = f"SELECT row, files, {columns} FROM memories WHERE row IN (SELECT value FROM json_each(?))"
    found: dict[int, float] = {}
    for row, files, *texts in fetch(connection, sql, (json.dumps(rows.tolist()),)):
        found[row] = sum(
            weight * _times(piece, phrase)
            for (name, weight), text in zip(counted, texts, strict=True)
            for piece in _pieces(name, text, files)
        )
    return np.array([found.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)


def _pieces(name: str, text: str, files: str) -> Iterator[str]:
    """A phrase does not reach from one tag into the next."""
    if name in LISTS:
        yield from json.loads(text)
    else:
        yield text
    if name == "path":
        yield from json.loads(files)


def _times(text: str, phrase: list[str]) -> int:
    here = [fold(word) for word in words(text)]
    size = len(phrase)
    return sum(here[at : at + size] == phrase for at in range(len(here) - size + 1))
