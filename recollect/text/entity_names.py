"""Finds names in a text without a model: known names, and sequences of capitalised words."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from recollect.text.patterns import UPPER_CASE, lazy_pattern
from recollect.text.stopwords import ENGLISH
from recollect.text.words import words as split_words

# A run of capitalised words, with small joiners inside: "Bank of England", "Mrs Okafor", "Dr. Brandt", "UR5e".
WORD = rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Hr|Fr|St|Rev)\.(?=[ \t]*[{UPPER_CASE}])|[{UPPER_CASE}][\w’'&-]*)"
RUN = lazy_pattern(rf"\b{WORD}(?:[ \t]*(?<=[.\s])(?:(?:of|de|van|von|da|del|la)[ \t]+)?{WORD})*")
SENTENCE_SEPARATORS = frozenset('.!?:;\n“”"(—–-')
CAPITALISED_NOUNS = frozenset({"de"})  # languages in which a capital letter does not tell a name
# Given names that are also ordinary words, beside the stop words (“will”): in lower case they tell no person.
NAMES_AND_WORDS = frozenset(
    """
    amber april art august bill chance charity chase chip cliff crystal daisy dawn dean drew ernst faith flora forest
    gene ginger grace grant guy hazel heath heather hope hunter iris ivy jade jasmine jewel joy june justice lily mai
    mark mason may mercy miles olive opal patience pearl penny poppy ray reed rich river robin rock rosa rose ruby
    sage sandy skip sky star stone sue summer trip violet wade walker ward wolf wren
    """.split()
)
MAX_NAME_CHARACTERS = 2_000  # of a query in which names are looked for
PUNCTUATION = string.punctuation + "“”‘’«»„¿¡…–—"
POSSESSIVE = lazy_pattern(r"[’']s?$")


def find_names(text: str, known: Iterable[str] = ()) -> list[str]:
    """Names in the order of their first mention, each once.

    Known names match as separate words, in any case. A single capitalised word at the beginning of a sentence is not
    taken as a name, unless it is capitalised elsewhere, too.

    >>> find_names("Yesterday Anna met Mrs Okafor at the Bank of England. Anna paid.")
    ['Anna', 'Mrs Okafor', 'Bank of England']
    >>> find_names("I saw Dr. Brandt in Kiel.")
    ['Dr. Brandt', 'Kiel']
    """
    found: dict[str, tuple[int, str]] = {}
    for name in known:
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) if name.strip() else None
        if match:
            found[name.casefold()] = (match.start(), name)
    for start, name, certain in _runs(text):
        if certain and name.casefold() not in found:
            found[name.casefold()] = (start, name)
    return [name for _, name in sorted(found.values())]


def is_written_as_name(word: str, text: str) -> bool:
    """Does the word have a capital letter inside a sentence, or a possessive?

    >>> [is_written_as_name("may", each) for each in ("What does May drive?", "May's car", "May I park?", "may I park")]
    [True, True, False, False]
    """
    found = re.finditer(rf"\b{re.escape(word[:1].upper() + word[1:])}\b(?P<owns>[’']s\b)?", text)
    return any(match["owns"] or not _begins_sentence(text, match.start()) for match in found)


def _runs(text: str) -> list[tuple[int, str, bool]]:
    """Sequences of capitalised words: position, text, and whether they are more than the beginning of a sentence."""
    found = [(match.start(), match.group().split()) for match in RUN.finditer(text)]
    alone = {POSSESSIVE.sub("", " ".join(words)) for _, words in found}
    runs = []
    for start, words in found:
        begins = _begins_sentence(text, start)
        tail = POSSESSIVE.sub("", " ".join(words[1:]))
        if begins and tail and (words[0].lower() in ENGLISH or tail in alone):  # "The Bank", "Yesterday Anna"
            start, words, begins = start + len(words[0]) + 1, words[1:], False
        name = POSSESSIVE.sub("", " ".join(words))
        if name and name.lower() not in ENGLISH:
            runs.append((start, name, not begins or len(words) > 1 or not name[1:].islower()))
    certain = {name for _, name, sure in runs if sure}
    return [(start, name, sure or name in certain) for start, name, sure in runs]


def _begins_sentence(text: str, start: int) -> bool:
    """Is there only space between this place and the end of another sentence, or a quotation mark?"""
    before = start
    while before and text[before - 1].isspace() and text[before - 1] != "\n":
        before -= 1
    return start == 0 or (before > 0 and text[before - 1] in SENTENCE_SEPARATORS)


def possible_names(text: str) -> list[str]:
    """Possible names in the order of the query, longer ones first: as written, and as words."""
    written = [word for word in (each.strip(PUNCTUATION).casefold() for each in text.split()) if word]
    names: dict[str, None] = {}
    for at, word in enumerate(written):
        runs = (" ".join(written[at : at + size]) for size in (3, 2))
        parts = () if word.isascii() and word.isalpha() else split_words(word)
        names.update(dict.fromkeys((*runs, word, *parts)))
    return list(names)
