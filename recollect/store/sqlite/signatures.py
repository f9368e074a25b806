"""Bit signatures of the memories in an index, computed from their words when first asked for."""

from __future__ import annotations

import json
from itertools import pairwise

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.base import Flags
from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.part import Part
from recollect.store.text_fields import TEXT_FIELD_NUMBERS
from recollect.text.signatures import Signature, pack_signs, word_directions


def signatures(part: Part, connection: apsw.Connection, bits: int) -> Signature:
    """A signature for every slot, of the words of its text.

    They are not stored: the words are, and a question may ask for any number of bits. A part that was merged has those
    of the parts that it was made of.
    """
    found, known = part.signatures.get(bits) or (
        np.zeros((part.size, bits // 8), dtype=np.uint8),
        np.zeros(part.size, dtype=np.bool_),
    )
    if not known.all():
        found = found.copy()  # other threads may be reading it
        found[~known] = _compute(part, connection, bits, ~known)[~known]
        part.signatures[bits] = found, np.ones(part.size, dtype=np.bool_)
    return found


def _compute(part: Part, connection: apsw.Connection, bits: int, wanted: Flags) -> Signature:
    terms, slots = _entries(part)
    chosen = wanted[slots]
    terms, slots = terms[chosen], slots[chosen]
    distinct, which = np.unique(terms, return_inverse=True)
    sql = "SELECT term, word FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
    words = dict(fetch(connection, sql, (json.dumps(distinct.tolist()),)))
    table = word_directions([words.get(term, "") for term in distinct.tolist()], bits)
    sums = np.zeros((part.size, bits), dtype=np.int32)
    starts = np.flatnonzero(np.append(True, slots[1:] != slots[:-1])[: len(slots)])
    for slot, (begin, end) in zip(slots[starts].tolist(), pairwise([*starts.tolist(), len(slots)]), strict=True):
        table[which[begin:end]].sum(axis=0, dtype=np.int32, out=sums[slot])
    return pack_signs(sums)


def _entries(part: Part) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The words of the texts: term and slot, in the order of slots."""
    in_text = np.flatnonzero(part.arrays["fields"] == TEXT_FIELD_NUMBERS["text"])
    terms = np.repeat(part.terms, np.diff(part.starts))[in_text]
    slots = part.arrays["slots"][in_text].astype(np.int64)
    order = np.argsort(slots, kind="stable")
    return terms[order], slots[order]
