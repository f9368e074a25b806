"""The part of a text with most words of a query, as a short excerpt."""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.text.stopwords import ENGLISH
from recollect.text.words import is_spaceless, stem, words

HEADING = re.compile(r" {0,3}#{1,6}[ \t]")


def snippet(text: str, query: str, max_characters: int = 300) -> str:
    """Lines around the one with most words of the query, on one line; headings only when there is nothing else.

    >>> snippet("# Tea\\n\\nWe drink it at noon.\\nAnna likes it green.", "how does Anna like her tea?", 25)
    'Anna likes it green.'
    """
    pattern = _query_pattern(query)
    lines = [line for line in text.split("\n") if line.strip()]
    lines = [line for line in lines if not HEADING.match(line)] or lines
    if not lines:
        return ""
    matches = [len(set(pattern.findall(line.lower()))) for line in lines] if pattern else [0]
    first = last = matches.index(max(matches))
    size = len(lines[first])
    while True:  # forward first: what follows says more than what came before
        if last + 1 < len(lines) and size + 1 + len(lines[last + 1]) <= max_characters:
            last += 1
            size += 1 + len(lines[last])
        elif first > 0 and size + 1 + len(lines[first - 1]) <= max_characters:
            first -= 1
            size += 1 + len(lines[first])
        else:
            break
    return _excerpt(" ".join(" ".join(lines[first : last + 1]).split()), pattern, max_characters)


@lru_cache(maxsize=64)  # a query has several results
def _query_pattern(query: str) -> re.Pattern[str] | None:
    """Matches the beginnings of the query's content words, in any of their forms."""
    content = dict.fromkeys(word for word in words(query) if word not in ENGLISH)
    begins = [re.escape(word) if is_spaceless(word) else rf"\b{re.escape(_common_prefix(word))}" for word in content]
    return re.compile("|".join(begins)) if begins else None


def _common_prefix(word: str) -> str:
    """The common prefix of a word and its stem: happ, of happy and happi."""
    root = stem(word)
    while not word.startswith(root):
        root = root[:-1]
    return root


def _excerpt(line: str, pattern: re.Pattern[str] | None, max_characters: int) -> str:
    """A line that is too long, from shortly before its first word of the query."""
    if len(line) <= max_characters:
        return line
    found = pattern.search(line.lower()) if pattern else None
    start = max(0, found.start() - max_characters // 4) if found else 0
    start = line.find(" ", start) + 1 if start else 0
    cut = line[start : start + max_characters]
    if start + max_characters < len(line):
        cut = cut[: max(cut.rfind(" "), max_characters // 2)].rstrip() + "…"
    return ("…" if start else "") + cut
