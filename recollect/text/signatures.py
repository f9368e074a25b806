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
MAX_STEPS = 24  # 3-grams of words that are summed together; few words have more
SET_BITS = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)

Signature = NDArray[np.uint8]  # eight bits per byte


def word_directions(words: Sequence[str], bits: int) -> NDArray[np.int16]:
    """Each word as a vector: STEM_WEIGHT × the signs of its stem + Σ the signs of its 3-grams.

    The vectors of content words are multiplied by CONTENT_WEIGHT.

    The signs of a feature are the bits of its hash, as +1 and −1: a signed random projection that is the same on
    every machine.
    """
    digests: dict[str, bytes] = {}  # of 3-grams, which many words share
    parts = [_batch_directions(words[at : at + BATCH], bits, digests) for at in range(0, len(words), BATCH)]
    return np.concatenate(parts) if parts else np.zeros((0, bits), dtype=np.int16)


def _batch_directions(words: Sequence[str], bits: int, digests: dict[str, bytes]) -> NDArray[np.int16]:
    stems = [_digest("=" + stem(word), bits) for word in words]  # "=" tells it from a 3-gram
    features: dict[str, int] = {}
    pieces: list[int] = []
    starts: list[int] = []
    for word in words:
        starts.append(len(pieces))
        pieces += [features.setdefault(gram, len(features)) for gram in word_trigrams(fold(word)) or ("",)]
    for gram in features:
        if gram not in digests:
            digests[gram] = _digest(gram, bits)
    signs = _signs([digests[gram] for gram in features], bits)
    sums = _sum_runs(signs, np.array(pieces), np.array(starts)) + STEM_WEIGHT * _signs(stems, bits).astype(np.int16)
    weights = np.array([1 if word in ENGLISH else CONTENT_WEIGHT for word in words], dtype=np.int16)
    return np.asarray(sums * weights[:, None], dtype=np.int16)


def _digest(feature: str, bits: int) -> bytes:
    return shake_128(feature.encode("utf-8", "replace")).digest(bits // 8)


def _signs(digests: Sequence[bytes], bits: int) -> NDArray[np.int8]:
    table = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), bits // 8)
    return np.asarray(np.unpackbits(table, axis=1).view(np.int8) * 2 - 1)


def _sum_runs(signs: NDArray[np.int8], pieces: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int16]:
    """For each run of pieces the sum of their signs: the first pieces of all runs at once, then the second ones, …"""
    lengths = np.diff(np.append(starts, len(pieces)))
    sums = np.zeros((len(starts), signs.shape[1]), dtype=np.int16)
    for at in range(min(int(lengths.max()), MAX_STEPS)):
        longer = np.flatnonzero(lengths > at)
        sums[longer] += signs[pieces[starts[longer] + at]]
    for run in np.flatnonzero(lengths > MAX_STEPS).tolist():
        rest = pieces[starts[run] + MAX_STEPS : starts[run] + lengths[run]]
        sums[run] += signs[rest].sum(axis=0, dtype=np.int16)
    return sums


def pack_signs(sums: NDArray[np.signedinteger[Any]]) -> Signature:
    """The signs of the sums, one bit each."""
    return np.packbits(sums > 0, axis=-1)


def text_signature(words: Sequence[str], bits: int) -> Signature:
    """The signature of the words of a text; repeated words count once."""
    return pack_signs(word_directions(sorted(set(words)), bits).sum(axis=0, dtype=np.int32))


def hamming_similarity(one: Signature, others: Signature, bits: int) -> NDArray[np.float64]:
    """Hamming similarity: the share of bits that are equal. About 0.5 for texts with nothing in common."""
    return np.asarray(1 - SET_BITS[one ^ others].sum(axis=-1, dtype=np.int64) / bits)
