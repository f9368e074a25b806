"""Slugs: the last part of a path as words, and which of many are spelt like a given word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.text.trigrams import GramIndex, grams
from recollect.text.words import slug

LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")


def path_or_name(path: str, title: str, id: str) -> str:
    """The path of a memory; without one, the slug of its title; without that, its id."""
    return path or slug(title) or id


def slug_text(path: str) -> str:
    """The last segment, in lower case, without .md, as words.

    >>> slug_text("memory/global/User-Preference_Tea.md")
    'user preference tea'
    """
    last = unicodedata.normalize("NFC", path).lower().rpartition("/")[2].removesuffix(".md")
    return " ".join(LETTERS_AND_DIGITS.findall(last))


def slug_grams(text: str) -> set[str]:
    """The padded 3-grams of all words. Padding makes three letters of a single one, so no word is too short."""
    return {gram for word in slug_text(text).split() for gram in grams(word)}


class SlugIndex:
    """The slugs of many paths, to be compared with a word."""

    def __init__(self, paths: Sequence[str]) -> None:
        slugs = [slug_text(path).split() for path in paths]
        words = [word for slug in slugs for word in slug]
        owners = [at for at, slug in enumerate(slugs) for _ in slug]
        self.paths = paths
        self._index = GramIndex(words, owners, len(paths))

    def similar(self, word: str) -> NDArray[np.float64]:
        """|A ∩ B| / |A ∪ B| of the 3-grams of the word and of each slug."""
        return self._index.like(slug_grams(word))
