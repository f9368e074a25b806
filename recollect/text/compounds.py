"""Compound words, as German, Dutch, Finnish and the Scandinavian languages write them: where they can be split."""

from __future__ import annotations

from collections.abc import Iterator

COMPOUNDING = frozenset(("de", "nl", "sv", "da", "no", "fi"))  # languages that write compounds as one word
LINKS = ("", "s", "es", "n", "en", "er", "e")  # letters between two parts
MIN_PART = 4  # letters of the stem of a part that is looked up
MIN_FIRST = 5  # the same for the first part of compounds: “hoch” is no part of “Hochzeit” in meaning
MIN_REST = 3  # letters of the other part, which need not be known
MAX_LETTERS = 40  # longer words are not split


def is_compound(stem: str, part: str) -> bool:
    """Does a stem begin or end with another one?

    >>> is_compound("gartentisch", "tisch"), is_compound("gartentisch", "garten"), is_compound("tische", "tisch")
    (True, True, False)
    """
    if len(part) < MIN_PART or len(stem) < len(part) + MIN_REST:
        return False
    return stem.endswith(part) or (len(part) >= MIN_FIRST and stem.startswith(part))


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
