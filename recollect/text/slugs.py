"""Slugs: the last part of a path as words, and an index of slugs that are spelled like a given word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.text.trigrams import TrigramIndex, word_trigrams
from recollect.text.words import slug, visible

LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")


def path_or_name(path: str, title: str, id: str) -> str:
    """The path of a memory; without one, the slug of its title; without that, its id."""
    return path or slug(title) or id


def slug_text(path: str) -> str:
    """The last segment, in lower case, without .md, as words.

    >>> slug_text("memory/global/User-Preference_Tea.md")
    'user preference tea'
    """
    last = unicodedata.normalize("NFC", visible(path)).lower().rpartition("/")[2].removesuffix(".md")
    return " ".join(LETTERS_AND_DIGITS.findall(last))


def slug_grams(text: str) -> set[str]:
    """The 3-grams of all words. They are padded, so no word is too short."""
    return {gram for word in slug_text(text).split() for gram in word_trigrams(word)}


class SlugIndex:
    """Compares the slugs of many paths with a word."""

    def __init__(self, paths: Sequence[str]) -> None:
        slugs = [slug_text(path).split() for path in paths]
        words = [word for slug in slugs for word in slug]
        owners = [at for at, slug in enumerate(slugs) for _ in slug]
        self.paths = paths
        self._index = TrigramIndex(words, owners, len(paths))

    def similar(self, word: str) -> NDArray[np.float64]:
        """|A ∩ B| / |A ∪ B| of the 3-grams of the word and of each slug."""
        return self._index.similar_to(slug_grams(word))
