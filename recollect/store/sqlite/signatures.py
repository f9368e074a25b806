"""Bit signatures of the memories in an index, computed from their words when first asked for."""

from __future__ import annotations

import json
from itertools import pairwise

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.index import Index
from recollect.store.text_fields import TEXT_FIELD_NUMBERS
from recollect.text.signatures import Signature, pack_signs, word_directions

AT_ONCE = 1 << 10  # words whose directions are summed at a time: few enough to stay near the processor


def signatures(index: Index, connection: apsw.Connection, bits: int) -> Signature:
    """A signature for every slot, of the words of its text.

    They are not stored: the words are, and a question may ask for any number of bits. A slot never changes, so what is
    made for one version stays true in the next, and only new slots are read again.
    """
    key = ("signatures", bits)
    known: Signature = index.by_slot.get(key, np.zeros((0, bits // 8), dtype=np.uint8))
    if len(known) < len(index.rows):
        known = np.concatenate([known, _compute(index, connection, bits, len(known))])
        index.by_slot[key] = known
    return known[: len(index.rows)]


def _compute(index: Index, connection: apsw.Connection, bits: int, first: int) -> Signature:
    """The signatures of the slots from ``first`` on."""
    terms, slots = _entries(index, first)
    distinct, which = np.unique(terms, return_inverse=True)
    sql = "SELECT term, word FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
    words = dict(fetch(connection, sql, (json.dumps(distinct.tolist()),)))
    table = word_directions([words.get(term, "") for term in distinct.tolist()], bits)
    sums = np.zeros((len(index.rows) - first, bits), dtype=np.int32)
    starts = np.flatnonzero(np.append(True, slots[1:] != slots[:-1])[: len(slots)])
    cuts = np.searchsorted(starts, np.arange(0, len(slots), AT_ONCE)).tolist()  # whole slots at a time
    for one, next in pairwise(sorted({*cuts, len(starts)})):
        end = int(starts[next]) if next < len(starts) else len(slots)
        begin = int(starts[one])
        sums[slots[starts[one:next]] - first] = np.add.reduceat(
            table[which[begin:end]], starts[one:next] - begin, axis=0, dtype=np.int32
        )
    return pack_signs(sums)


def _entries(index: Index, first: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The words of the texts of new slots: term and slot, in the order of slots."""
    terms, slots = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for segment in index.postings.segments:
        mine = np.flatnonzero((segment.slots >= first) & (segment.fields == TEXT_FIELD_NUMBERS["text"]))
        terms.append(np.repeat(segment.terms, np.diff(segment.starts))[mine])
        slots.append(segment.slots[mine].astype(np.int64))
    owner = np.concatenate(slots)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(terms)[order], owner[order]
