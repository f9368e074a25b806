"""What kind of text something is, as far as its letters show it: code, a look-up of a name, or prose."""

from __future__ import annotations

import re

from recollect.text.stopwords import ENGLISH
from recollect.text.words import COMPOUND, words

# Lines as programs have them, without the space around them: they end like statements, or begin like ones. A word is
# tried from its beginning alone: one of many thousand letters is no more work than as many words.
STATEMENT = re.compile(
    r"(?:def|class|import|from|return|func|fn|function|const|let|var|public|private|static|if|for|while|elif|else|"
    r"try|except|with|raise|#include|using|package|end)\b.*|"
    r".*(?:[;{}]|\)\s*:|\b\w+\([^()]*\)|\b\w+\s*[-+*/|&]?=\s*\S.*)"
)
MOST = 30  # lines that are looked at
SHORT = 4  # words of a look-up


def is_code(text: str) -> bool:
    """Do most of its lines look like those of a program?"""
    lines = [line for each in text.splitlines()[:MOST] if (line := each.strip())]
    return len(lines) > 1 and sum(STATEMENT.fullmatch(line) is not None for line in lines) * 2 >= len(lines)


def is_lookup(question: str) -> bool:
    """Is it a name, or the words of one, rather than a sentence?

    >>> [is_lookup(each) for each in ("maxRetries", "created today", "is the file open?")]
    [True, True, False]
    """
    every = words(question)
    if len(question.split()) == 1 or COMPOUND.search(question):
        return len(question.split()) <= SHORT
    return len(every) <= SHORT and ENGLISH.isdisjoint(every) and not question.rstrip().endswith("?")
