"""A memory as the words that it is found by, field by field; the same for every store."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from recollect.model import Memory
from recollect.text.words import words

FIELDS = ("text", "title", "summary", "keywords", "tags", "entities", "path", "speaker", "original")
NUMBER = {name: at for at, name in enumerate(FIELDS)}
SHORT = 200  # characters


def field_words(memory: Memory) -> list[tuple[int, Counter[str]]]:
    """The number of each field that has words, and how often each word stands in it."""
    counts = []
    for name, text in (
        ("text", memory.text),
        ("title", memory.title),
        ("summary", memory.summary),
        ("keywords", "\n".join(memory.keywords)),
        ("tags", "\n".join(memory.tags)),
        ("entities", "\n".join(memory.entities)),
        ("path", "\n".join((memory.path, *memory.files))),
        ("speaker", memory.speaker),
        ("original", memory.original),
    ):
        if text:
            counts.append((NUMBER[name], (_shared if len(text) <= SHORT else _counted)(text)))
    return counts


def _counted(text: str) -> Counter[str]:
    return Counter(words(text))


_shared = lru_cache(maxsize=256)(_counted)  # chunks of a file have its path, its tags and most headings in common


def embedding_text(memory: Memory) -> str:
    """What an embedder reads of a memory."""
    return f"{memory.title}\n{memory.text}" if memory.title else memory.text
