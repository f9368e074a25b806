"""The text fields of a memory: the words that it is found by, and the text that is embedded. Shared by all stores."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from operator import attrgetter

from recollect.model import FIELDS, Memory
from recollect.text.words import clear_caches, words

# The numbers of text fields are stored: the order never changes, and new ones are appended.
TEXT_FIELDS = ("text", "title", "summary", "keywords", "tags", "entities", "path", "speaker", "original")
TEXT_FIELD_NUMBERS = {name: at for at, name in enumerate(TEXT_FIELDS)}
SHORT = 200  # characters

# Which fields of a memory are searched as each text field, and whether they are lists.
_SOURCES = [
    (at, [(attrgetter(field.name), field.kind == "list") for field in FIELDS.values() if field.words == name])
    for at, name in enumerate(TEXT_FIELDS)
]


def field_words(memory: Memory) -> list[tuple[int, Counter[str]]]:
    """The number of each text field that has words, and how often each word occurs in it."""
    counts = []
    for number, sources in _SOURCES:
        parts: list[str] = []
        for value_of, is_list in sources:
            parts += value_of(memory) if is_list else (value_of(memory),)
        text = parts[0] if len(parts) == 1 else "\n".join(parts)
        if text:
            counts.append((number, (_count_cached if len(text) <= SHORT else _count)(text)))
    return counts


def _count(text: str) -> Counter[str]:
    return Counter(words(text))


_count_cached = lru_cache(maxsize=256)(_count)  # chunks of a file share its path, its tags and most headings


def clear_word_caches() -> None:
    """Drop the cached words of texts, for an erasure."""
    _count_cached.cache_clear()
    clear_caches()


def embedding_text(memory: Memory) -> str:
    """The text of a memory that is embedded."""
    return join_title(memory.title, memory.text)


def join_title(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text
