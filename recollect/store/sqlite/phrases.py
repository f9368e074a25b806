"""Phrases: the postings know which words a memory has, and its texts in which order they stand."""

from __future__ import annotations

import json

import apsw
import numpy as np

from recollect.store.base import Floats, Rows
from recollect.store.sqlite.connections import fetch
from recollect.store.text_fields import FIELDS
from recollect.text.words import fold, words

LISTS = ("keywords", "tags", "entities")


def occurrences(connection: apsw.Connection, rows: Rows, phrase: list[str], weights: Floats) -> Floats:
    """Σ weight × how often the (folded) words stand in this order, over the fields of each row."""
    counted = [(name, weight) for name, weight in zip(FIELDS, weights.tolist(), strict=True) if weight > 0]
    columns = ", ".join(name for name, _ in counted)
    sql = f"SELECT row, files, {columns} FROM memories WHERE row IN (SELECT value FROM json_each(?))"
    wanted = _in_a_row(phrase)
    found: dict[int, float] = {}
    for row, files, *texts in fetch(connection, sql, (json.dumps(rows.tolist()),)):
        times = 0.0
        for (name, weight), text in zip(counted, texts, strict=True):
            for piece in _pieces(name, text, files):
                times += weight * _in_a_row(_folded(piece)).count(wanted)
        found[row] = times
    return np.array([found.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)


def _pieces(name: str, text: str, files: str) -> list[str]:
    """A phrase does not reach from one tag into the next."""
    if name in LISTS:
        return list(json.loads(text)) if text != "[]" else []
    pieces = [text] if text else []
    return [*pieces, *json.loads(files)] if name == "path" and files != "[]" else pieces


def _folded(text: str) -> list[str]:
    found = words(text, whole=True)
    return found if text.isascii() else [fold(word) for word in found]


def _in_a_row(words: list[str]) -> str:
    """Words between line ends, which no word has: what counts a part of one in another is a search in a string."""
    return "\n" + "\n\n".join(words) + "\n"
