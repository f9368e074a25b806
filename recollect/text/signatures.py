"""Bit signatures of texts: texts that share words and letters have bits in common. Needs no model; deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_128
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.text.stopwords import ENGLISH
from recollect.text.trigrams import word_trigrams
from recollect.text.words import fold, stem

STEM_WEIGHT = 4  # of the stem of a word, relative to one of its 3-grams
CONTENT_WEIGHT = 4  # of a content word, relative to a stop word
BATCH = 4096  # words
SET_BITS = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)

Signature = NDArray[np.uint8]  # eight bits per byte


def word_directions(words: Sequence[str], bits: int) -> NDArray[np.int16]:
    """Each word as a vector: STEM_WEIGHT × the signs of its stem + Σ the signs of its 3-grams.

    The vectors of content words are multiplied by CONTENT_WEIGHT.

    The signs of a feature are the bits of its hash, as +1 and −1: a signed random projection that is the same on
    every machine.
    """
    parts = [_batch_directions(words[at : at + BATCH], bits) for at in range(0, len(words), BATCH)]
    return np.concatenate(parts) if parts else np.zeros((0, bits), dtype=np.int16)


def _batch_directions(words: Sequence[str], bits: int) -> NDArray[np.int16]:
    features: dict[str, int] = {}
    stems = [features.setdefault("=" + stem(word), len(features)) for word in words]  # "=" tells it from a 3-gram
    pieces: list[int] = []
    starts: list[int] = []
    for word in words:
        starts.append(len(pieces))
        pieces += [features.setdefault(gram, len(features)) for gram in word_trigrams(fold(word)) or ("",)]
    hashes = b"".join(shake_128(feature.encode("utf-8", "replace")).digest(bits // 8) for feature in features)
    table = np.frombuffer(hashes, dtype=np.uint8).reshape(len(features), bits // 8)
    signs = np.unpackbits(table, axis=1).astype(np.int8) * 2 - 1
    sums = np.add.reduceat(signs[pieces], starts, axis=0, dtype=np.int16) + STEM_WEIGHT * signs[stems].astype(np.int16)
    weights = np.array([1 if word in ENGLISH else CONTENT_WEIGHT for word in words], dtype=np.int16)
    return np.asarray(sums * weights[:, None], dtype=np.int16)


def pack_signs(sums: NDArray[np.signedinteger[Any]]) -> Signature:
    """The signs of the sums, one bit each."""
    return np.packbits(sums > 0, axis=-1)


def text_signature(words: Sequence[str], bits: int) -> Signature:
    """The signature of the words of a text; repeated words count once."""
    return pack_signs(word_directions(sorted(set(words)), bits).sum(axis=0, dtype=np.int32))


def hamming_similarity(one: Signature, others: Signature, bits: int) -> NDArray[np.float64]:
    """Hamming similarity: the share of bits that are equal. About 0.5 for texts with nothing in common."""
    return np.asarray(1 - SET_BITS[one ^ others].sum(axis=-1, dtype=np.int64) / bits)
