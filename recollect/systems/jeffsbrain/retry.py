"""Simpler forms of a query that found nothing: without punctuation, or its longest word alone (J11, J12)."""

from __future__ import annotations

import unicodedata

from recollect.text.query_language import STOP
from recollect.text.words import visible

MIN_TERM_LENGTH = 3


def sanitise_query(query: str) -> str:
    """The query with punctuation and symbols as spaces, and no two spaces in a row.

    >>> sanitise_query("where's  the cup?!")
    'where s the cup'
    """
    characters = (" " if unicodedata.category(each)[0] in "PS" else each for each in visible(query))
    return " ".join("".join(characters).split())


def query_tokens(query: str, min_length: int = MIN_TERM_LENGTH) -> list[str]:
    """The words that are long enough and not stop words, lower-cased, each once."""
    tokens = sanitise_query(query).lower().split()
    return list(dict.fromkeys(token for token in tokens if len(token) >= min_length and token not in STOP))


def strongest_term(query: str, min_length: int = MIN_TERM_LENGTH) -> str:
    """The longest of these words, the first of equals; an empty string when there is none.

    >>> strongest_term("What is the capital of France?")
    'capital'
    """
    return max(query_tokens(query, min_length), key=len, default="")
