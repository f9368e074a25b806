"""Compound words, as German, Dutch, Finnish and the Scandinavian languages write them: where they can be split."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.text.words import fold, stems

COMPOUNDING = frozenset(("de", "nl", "sv", "da", "no", "fi"))  # languages that write compounds as one word
LINKS = ("", "s", "es", "n", "en", "er", "e")  # letters between two parts
MIN_PART = 4  # letters of the stem of a part that is looked up
MIN_FIRST = 5  # the same for the first part of compounds: “hoch” is no part of “Hochzeit” in meaning
MIN_REST = 3  # letters of the other part, which need not be known
MAX_LETTERS = 40  # longer words are not split


def compound_ends(word: str, language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What compounds with a word begin with, and what they end with: the word, and its stem.

    >>> compound_ends("garten", "de"), compound_ends("hoch", "de")
    ((('garten',), ('garten', 'gart')), ((), ('hoch',)))
    """
    parts = tuple(dict.fromkeys((fold(word), stems(word, language)[0])))
    first, last = (tuple(part for part in parts if len(part) >= least) for least in (MIN_FIRST, MIN_PART))
    return first, last


def is_compound(stem: str, ends: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
    """Does a stem begin or end so, with letters of another part left over?

    >>> [is_compound(each, compound_ends("tisch", "de")) for each in ("gartentisch", "tischbein", "tische")]
    [True, True, False]
    """
    first, last = ends
    return any(len(stem) >= len(part) + MIN_REST and stem.startswith(part) for part in first) or any(
        len(stem) >= len(part) + MIN_REST and stem.endswith(part) for part in last
    )


def splits(word: str) -> Iterator[tuple[str, str]]:
    """Every way to split a word in two, without the letters that link the parts; the longest second part first.

    >>> [split for split in splits("arbeitsplatz") if split[1] == "platz"]
    [('arbeits', 'platz'), ('arbeit', 'platz')]
    """
    if len(word) > MAX_LETTERS:
        return
    for at in range(MIN_REST, len(word) - MIN_PART + 1):
        first, second = word[:at], word[at:]
        for link in LINKS:
            if first.endswith(link) and len(first) - len(link) >= MIN_REST:
                yield first.removesuffix(link) if link else first, second
