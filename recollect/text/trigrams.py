"""Three letters at a time: words that are alike though not the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PAD = "$"


def grams(word: str) -> set[str]:
    """The 3-grams of a padded word.

    >>> sorted(grams("cup"))
    ['$cu', 'cup', 'up$']
    """
    padded = PAD + word + PAD
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def one_apart(a: str, b: str) -> bool:
    """Is one letter wrong, missing, too many, or are two neighbours exchanged?

    >>> [one_apart("dok", other) for other in ("dock", "dog", "dko", "dock-side", "dok")]
    [True, True, True, False, False]
    """
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if len(a) == len(b):
        swapped = a[at : at + 2] == b[at : at + 2][::-1]
        return a[at + 1 :] == b[at + 1 :] or (swapped and a[at + 2 :] == b[at + 2 :])
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer[at + 1 :] == shorter[at:]


def distance(a: str, b: str, most: int) -> int:
    """How many slips of the keys lie between two words (see one_apart), or ``most`` + 1 when there are more.

    >>> [distance("recieve", other, 2) for other in ("receive", "relieve", "believe", "perceive")]
    [1, 1, 2, 3]
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return min(row[-1], most + 1)


def letter_sets(words: list[str]) -> NDArray[np.uint64]:
    """Which letters each word has, as bits. Letters may share a bit; no word is empty."""
    letters = np.frombuffer("".join(words).encode("utf-32-le", "replace"), dtype=np.uint32)
    starts = np.cumsum([0] + [len(word) for word in words[:-1]])
    bits = np.uint64(1) << (letters % 64).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts)


class GramIndex:
    """Finds, among many words, those that share 3-grams with one. Built once per vocabulary, in arrays.

    With ``owners`` (ascending, of so many) it is they who are compared: each has the 3-grams of all its words.
    """

    def __init__(self, words: list[str], owners: list[int] | None = None, count: int = 0) -> None:
        joined = "\0".join(PAD + word + PAD for word in words)
        letters = np.frombuffer(joined.encode("utf-32-le", "replace"), dtype=np.uint32)
        whole = (letters[:-2] != 0) & (letters[1:-1] != 0) & (letters[2:] != 0)
        codes, owner = _codes(letters)[whole], np.cumsum(letters == 0)[:-2][whole]
        order = np.argsort(codes, kind="stable")
        codes, owner = codes[order], owner[order]
        if owners is not None:
            owner = np.asarray(owners, dtype=np.int64)[owner]
        fresh = np.ones(len(codes), dtype=np.bool_)  # a gram counts once a word
        fresh[1:] = (codes[1:] != codes[:-1]) | (owner[1:] != owner[:-1])
        self._codes, self._owner = codes[fresh], owner[fresh]
        self._count = len(words) if owners is None else count
        self._sizes = np.bincount(self._owner, minlength=self._count)

    def similar(self, word: str) -> NDArray[np.float64]:
        """Jaccard similarity of the word to every word: |A ∩ B| / |A ∪ B| of their 3-grams."""
        return self.like(grams(word))

    def like(self, mine: set[str]) -> NDArray[np.float64]:
        """The same for any set of 3-grams."""
        shared = self._count_of(mine)
        return np.asarray(shared / np.maximum(1, self._sizes + len(mine) - shared), dtype=np.float64)

    def containing(self, word: str) -> NDArray[np.bool_]:
        """Which words hold every inner 3-gram of this one: candidates for having it as a part."""
        inner = {gram for gram in grams(word) if PAD not in gram}
        counts = self._count_of(inner)
        return np.asarray((counts == len(inner)) & bool(inner), dtype=np.bool_)

    def _count_of(self, wanted: set[str]) -> NDArray[np.int64]:
        total = np.zeros(self._count, dtype=np.int64)
        for gram in wanted:
            code = _codes(np.frombuffer(gram.encode("utf-32-le", "replace"), dtype=np.uint32))[0]
            start, stop = np.searchsorted(self._codes, [code, code + np.uint64(1)])
            total[self._owner[start:stop]] += 1
        return total


def _codes(letters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Each run of three letters as one number (21 bits a letter)."""
    wide = letters.astype(np.uint64)
    return (wide[:-2] << np.uint64(42)) | (wide[1:-1] << np.uint64(21)) | wide[2:]
