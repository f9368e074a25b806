"""Simpler forms of a question that found nothing: without its punctuation, or its strongest word alone."""

from __future__ import annotations

import unicodedata

from recollect.text.query_language import STOP

SHORTEST = 3  # letters of a word that is worth a try


def sanitise_query(query: str) -> str:
    """The query with punctuation and symbols as spaces, and no two spaces in a row.

    >>> sanitise_query("where's  the cup?!")
    'where s the cup'
    """
    kept = (" " if unicodedata.category(letter)[0] in "PS" else letter for letter in query)
    return " ".join("".join(kept).split())


def query_tokens(query: str) -> list[str]:
    """The words that are long enough and no stop words, lower-cased, each once."""
    tokens = sanitise_query(query).lower().split()
    return list(dict.fromkeys(token for token in tokens if len(token) >= SHORTEST and token not in STOP))


def strongest_term(query: str) -> str:
    """The longest of these words, the first of equals; an empty string when there is none.

    >>> strongest_term("What is the capital of France?")
    'capital'
    """
    return max(query_tokens(query), key=len, default="")
