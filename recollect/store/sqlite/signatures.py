"""The bit signatures of an image's memories, made from their words when first asked for."""

from __future__ import annotations

import json
from itertools import pairwise

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.connections import fetch
from recollect.store.sqlite.index import Image
from recollect.store.text_fields import NUMBER
from recollect.text.signatures import Signature, directions, packed

AT_ONCE = 1 << 10  # words whose directions are summed at a time: few enough to stay near the processor


def signatures(image: Image, connection: apsw.Connection, bits: int) -> Signature:
    """A signature for every slot, of the words of its text.

    They are not stored: the words are, and a question may ask for any number of bits. A slot never changes, so what is
    made for one version stays true in the next, and only new slots are read again.
    """
    key = ("signatures", bits)
    known: Signature = image.lasting.get(key, np.zeros((0, bits // 8), dtype=np.uint8))
    if len(known) < len(image.rows):
        known = np.concatenate([known, _made(image, connection, bits, len(known))])
        image.lasting[key] = known
    return known[: len(image.rows)]


def _made(image: Image, connection: apsw.Connection, bits: int, first: int) -> Signature:
    """The signatures of the slots from ``first`` on."""
    terms, slots = _entries(image, first)
    distinct, which = np.unique(terms, return_inverse=True)
    sql = "SELECT term, word FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
    words = dict(fetch(connection, sql, (json.dumps(distinct.tolist()),)))
    table = directions([words.get(term, "") for term in distinct.tolist()], bits)
    sums = np.zeros((len(image.rows) - first, bits), dtype=np.int32)
    starts = np.flatnonzero(np.append(True, slots[1:] != slots[:-1])[: len(slots)])
    cuts = np.searchsorted(starts, np.arange(0, len(slots), AT_ONCE)).tolist()  # whole slots at a time
    for one, next in pairwise(sorted({*cuts, len(starts)})):
        end = int(starts[next]) if next < len(starts) else len(slots)
        begin = int(starts[one])
        sums[slots[starts[one:next]] - first] = np.add.reduceat(
            table[which[begin:end]], starts[one:next] - begin, axis=0, dtype=np.int32
        )
    return packed(sums)


def _entries(image: Image, first: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The words of the texts of new slots: term and slot, in the order of slots."""
    terms, slots = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for segment in image.postings.segments:
        mine = np.flatnonzero((segment.slots >= first) & (segment.fields == NUMBER["text"]))
        terms.append(np.repeat(segment.terms, np.diff(segment.starts))[mine])
        slots.append(segment.slots[mine].astype(np.int64))
    owner = np.concatenate(slots)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(terms)[order], owner[order]
