"""Reads times in texts, as spans: “last month”, “zwischen dem 3. und 9. Juni”, “上周二”.

Weeks run from Monday to Sunday; “two weeks ago” is that whole week. Early, mid and late are the 1st to 10th, 11th to
20th and the rest of a month. Seasons are whole months. docs/time.md has all conventions.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache

from recollect.text.patterns import lazy_pattern
from recollect.text.times.grammar import DIGITS, STEM, Grammar
from recollect.text.times.reading import MAX_CHARACTERS, SAME_LENGTH, TimeExpression, TimeSpan, read_times

__all__ = ["TimeExpression", "TimeSpan", "find_times"]

WORD = lazy_pattern(r"[^\W\d_]+")
# By byte of an ASCII text: letters as lower case, all others as spaces.
LETTERS = bytes(ord(c.lower()) if c.isascii() and c.isalpha() else ord(" ") for c in map(chr, range(256)))
ASCII_DIGITS = b"0123456789"
DATE_DIGITS = lazy_pattern(r"\d\d\d\d|\d\s?[./-]\s?\d|\d\.(?!\d)|\d0'?s\b")
GERMAN_WORD = lazy_pattern(
    r"\b(?:ich|und|der|das|ist|nicht|bis|seit|vor|nach|im|zum|vom|ab|wer|wie|wo|mit|von|zwischen|habe|haben|wir)\b",
    re.IGNORECASE,
)
CHINESE_SIGN = lazy_pattern(
    "[年月日号號天周週期拜季春夏秋冬昨今明晚夕诞誕节節夜旦午庆慶清末]|[五六十]一|[时時钟鐘][前后後]"
)


def find_times(text: str, now: datetime, *, told: bool = False, ahead: bool = False) -> list[TimeExpression]:
    """Every time that a text names, in the order of the text. Only the first 10,000 characters are read.

    A question is asked at ``now`` about the past: “on Monday” is the last Monday, “in May” the last May; with ``ahead``
    about what is to come: the next Monday, and this May or the next. With ``told`` the text is a statement made at
    ``now``: its words say whether a time is before or after it, and what could as well be a habit is left out.

    >>> [str(each.span) for each in find_times("What did I do last month?", datetime(2026, 8, 15))]
    ['2026-07-01 to 2026-08-01']
    """
    head = text[:MAX_CHARACTERS]
    # Most texts name no time: a cheap look at the first letters of each word.
    if head.isascii():
        plain = head.encode()
        words = plain.translate(LETTERS).decode().split()
        has_digits = len(plain.translate(None, ASCII_DIGITS)) < len(plain)
    else:
        words, has_digits = WORD.findall(head.lower().translate(SAME_LENGTH)), True
    stems = {word[:STEM] for word in words}
    if has_digits and DATE_DIGITS.search(head):  # also full-width digits
        stems.add(DIGITS)
    chinese, *western = _grammars()
    grammars = [grammar for grammar, known in western if not known.isdisjoint(stems)]
    if len(grammars) > 1 and GERMAN_WORD.search(head):
        grammars.reverse()
    if not head.isascii() and CHINESE_SIGN.search(head):
        grammars.insert(0, chinese[0])
    return read_times(text, now, grammars, stems, told, ahead) if grammars else []


@cache
def _grammars() -> tuple[tuple[Grammar, frozenset[str]], ...]:
    """Each language with the stems of its words for times. Their tables are loaded when the first text is read."""
    from recollect.text.times import chinese, english, german

    grammars = (chinese.GRAMMAR, english.GRAMMAR, german.GRAMMAR)
    return tuple((each, frozenset[str]().union(*(rule.stems for rule in each.rules))) for each in grammars)
