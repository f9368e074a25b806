"""Texts as bit signatures: what shares words and letters has bits in common. No model, no training, no chance."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_128
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.text.stopwords import ENGLISH
from recollect.text.trigrams import grams
from recollect.text.words import fold, stem

WHOLE = 4  # the stem of a word counts as so many of its 3-grams
TELLING = 4  # a word that is no stop word counts as so many that are
AT_ONCE = 4096  # words
SET_BITS = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)

Signature = NDArray[np.uint8]  # eight bits a byte


def directions(words: Sequence[str], bits: int) -> NDArray[np.int16]:
    """Each word as a direction: WHOLE × the signs of its stem + Σ the signs of its 3-grams, × TELLING for most.

    The signs of a feature are the bits of its hash, as +1 and −1: a signed random projection that is the same on
    every machine.
    """
    parts = [_directions(words[at : at + AT_ONCE], bits) for at in range(0, len(words), AT_ONCE)]
    return np.concatenate(parts) if parts else np.zeros((0, bits), dtype=np.int16)


def _directions(words: Sequence[str], bits: int) -> NDArray[np.int16]:
    features: dict[str, int] = {}
    stems = [features.setdefault("=" + stem(word), len(features)) for word in words]  # "=" tells it from a 3-gram
    pieces: list[int] = []
    starts: list[int] = []
    for word in words:
        starts.append(len(pieces))
        pieces += [features.setdefault(gram, len(features)) for gram in grams(fold(word)) or ("",)]
    hashes = b"".join(shake_128(feature.encode("utf-8", "replace")).digest(bits // 8) for feature in features)
    table = np.frombuffer(hashes, dtype=np.uint8).reshape(len(features), bits // 8)
    signs = np.unpackbits(table, axis=1).astype(np.int8) * 2 - 1
    sums = np.add.reduceat(signs[pieces], starts, axis=0, dtype=np.int16) + WHOLE * signs[stems].astype(np.int16)
    telling = np.array([1 if word in ENGLISH else TELLING for word in words], dtype=np.int16)
    return np.asarray(sums * telling[:, None], dtype=np.int16)


def packed(sums: NDArray[np.signedinteger[Any]]) -> Signature:
    """The side of every hyperplane on which a sum of directions lies."""
    return np.packbits(sums > 0, axis=-1)


def signature(words: Sequence[str], bits: int) -> Signature:
    """The signature of a text's words; a word counts once."""
    return packed(directions(sorted(set(words)), bits).sum(axis=0, dtype=np.int32))


def likeness(one: Signature, others: Signature, bits: int) -> NDArray[np.float64]:
    """Hamming similarity: the share of bits that are equal. About 0.5 for texts with nothing in common."""
    return np.asarray(1 - SET_BITS[one ^ others].sum(axis=-1, dtype=np.int64) / bits)
