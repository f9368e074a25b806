"""The part of a text that answers a question best, short enough to be shown."""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.text.stopwords import ENGLISH
from recollect.text.words import is_spaceless, stem, words

HEADING = re.compile(r" {0,3}#{1,6}[ \t]")


def snippet(text: str, query: str, most: int = 300) -> str:
    """Lines around the one with most words of the question, on one line; headings only when there is nothing else.

    >>> snippet("# Tea\\n\\nWe drink it at noon.\\nAnna likes it green.", "how does Anna like her tea?", 25)
    'Anna likes it green.'
    """
    asked = _pattern(query)
    lines = [line for line in text.split("\n") if line.strip()]
    lines = [line for line in lines if not HEADING.match(line)] or lines
    if not lines:
        return ""
    worth = [len(set(asked.findall(line.lower()))) for line in lines] if asked else [0]
    first = last = worth.index(max(worth))
    size = len(lines[first])
    while True:  # towards the end first: what follows says more than what went before
        if last + 1 < len(lines) and size + 1 + len(lines[last + 1]) <= most:
            last += 1
            size += 1 + len(lines[last])
        elif first > 0 and size + 1 + len(lines[first - 1]) <= most:
            first -= 1
            size += 1 + len(lines[first])
        else:
            break
    return _around(" ".join(" ".join(lines[first : last + 1]).split()), asked, most)


@lru_cache(maxsize=64)  # a question has several results
def _pattern(query: str) -> re.Pattern[str] | None:
    """What words of the question begin with, in any of their forms: enough to choose a line by."""
    asked = dict.fromkeys(word for word in words(query) if word not in ENGLISH)
    begins = [re.escape(word) if is_spaceless(word) else rf"\b{re.escape(_begin(word))}" for word in asked]
    return re.compile("|".join(begins)) if begins else None


def _begin(word: str) -> str:
    """The stem as far as the word has it: happi, of happy, begins with happ."""
    root = stem(word)
    while not word.startswith(root):
        root = root[:-1]
    return root


def _around(line: str, asked: re.Pattern[str] | None, most: int) -> str:
    """A line that is too long, from shortly before its first word of the question."""
    if len(line) <= most:
        return line
    found = asked.search(line.lower()) if asked else None
    start = max(0, found.start() - most // 4) if found else 0
    start = line.find(" ", start) + 1 if start else 0
    cut = line[start : start + most]
    if start + most < len(line):
        cut = cut[: max(cut.rfind(" "), most // 2)].rstrip() + "…"
    return ("…" if start else "") + cut
