"""Words that are spelled alike: trigrams, edit distance, and an index of trigrams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PAD = "$"


def word_trigrams(word: str) -> set[str]:
    """The 3-grams of a word, padded at both ends.

    >>> sorted(word_trigrams("cup"))
    ['$cu', 'cup', 'up$']
    """
    padded = PAD + word + PAD
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def is_one_edit_apart(a: str, b: str) -> bool:
    """Is one letter wrong, missing or added, or are two neighbours exchanged?

    >>> [is_one_edit_apart("dok", other) for other in ("dock", "dog", "dko", "dock-side", "dok")]
    [True, True, True, False, False]
    """
    return edit_distance(a, b, 1) == 1


def edit_distance(a: str, b: str, max_edits: int) -> int:
    """The number of edits between two words (see is_one_edit_apart), or ``max_edits`` + 1 when there are more.

    >>> [edit_distance("recieve", other, 2) for other in ("receive", "relieve", "believe", "perceive")]
    [1, 1, 2, 3]
    """
    from rapidfuzz.distance import OSA  # loaded with the first unknown word: importing it takes 10 ms

    return OSA.distance(a, b, score_cutoff=max_edits)


def letter_bitmasks(words: list[str]) -> NDArray[np.uint64]:
    """The letters of each word, as bits. Letters may share a bit; no word may be empty."""
    letters = np.frombuffer("".join(words).encode("utf-32-le", "replace"), dtype=np.uint32)
    starts = np.cumsum([0] + [len(word) for word in words[:-1]])
    bits = np.uint64(1) << (letters % 64).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts)


class TrigramIndex:
    """Finds the words of a vocabulary that share 3-grams with a given word.

    With ``owners`` (ascending numbers below ``count``), owners are compared: each has the 3-grams of all its words.
    """

    def __init__(self, words: list[str], owners: list[int] | None = None, count: int = 0) -> None:
        joined = "\0".join(PAD + word + PAD for word in words)
        letters = np.frombuffer(joined.encode("utf-32-le", "replace"), dtype=np.uint32)
        within_word = (letters[:-2] != 0) & (letters[1:-1] != 0) & (letters[2:] != 0)
        codes, owner = _codes(letters)[within_word], np.cumsum(letters == 0)[:-2][within_word]
        order = np.argsort(codes, kind="stable")
        codes, owner = codes[order], owner[order]
        if owners is not None:
            owner = np.asarray(owners, dtype=np.int64)[owner]
        first = np.ones(len(codes), dtype=np.bool_)  # a 3-gram counts once per word
        first[1:] = (codes[1:] != codes[:-1]) | (owner[1:] != owner[:-1])
        self._codes, self._owner = codes[first], owner[first]
        self._count = len(words) if owners is None else count
        self._sizes = np.bincount(self._owner, minlength=self._count)

    def similar(self, word: str) -> NDArray[np.float64]:
        """Jaccard similarity of the word to every word: |A ∩ B| / |A ∪ B| of their 3-grams."""
        return self.similar_to(word_trigrams(word))

    def similar_to(self, trigrams: set[str]) -> NDArray[np.float64]:
        """The same for any set of 3-grams."""
        shared = self._count_shared(trigrams)
        return np.asarray(shared / np.maximum(1, self._sizes + len(trigrams) - shared), dtype=np.float64)

    def containing(self, word: str) -> NDArray[np.bool_]:
        """The words with every inner 3-gram of this one: candidates for containing it."""
        inner = {gram for gram in word_trigrams(word) if PAD not in gram}
        counts = self._count_shared(inner)
        return np.asarray((counts == len(inner)) & bool(inner), dtype=np.bool_)

    def _count_shared(self, trigrams: set[str]) -> NDArray[np.int64]:
        if not trigrams:
            return np.zeros(self._count, dtype=np.int64)
        letters = np.frombuffer("".join(trigrams).encode("utf-32-le", "replace"), dtype=np.uint32)
        codes = _codes(letters)[::3]
        starts, stops = self._codes.searchsorted(codes), self._codes.searchsorted(codes + np.uint64(1))
        owners = [self._owner[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        return np.bincount(np.concatenate(owners), minlength=self._count)


def _codes(letters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Each sequence of three letters as one number (21 bits per letter)."""
    wide = letters.astype(np.uint64)
    return (wide[:-2] << np.uint64(42)) | (wide[1:-1] << np.uint64(21)) | wide[2:]
