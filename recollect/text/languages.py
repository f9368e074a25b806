"""The language of a text: by its script, and in Latin letters by its function words and marked letters."""

from __future__ import annotations

import re
from collections.abc import Callable

from recollect.text.patterns import lazy_pattern
from recollect.text.stopwords import BY_LANGUAGE, ENGLISH

# By the code of ISO 639-1.
NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "sv": "Swedish",
    "da": "Danish",
    "no": "Norwegian",
    "fi": "Finnish",
    "ru": "Russian",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
}
MAX_CHARACTERS = 1000  # of a text that are examined
CERTAIN = 2  # function words that settle it without knowing the memories
MIN_SHARE = 0.2  # of a text's words that are function words: in other languages some words only look like them
# Function words of others that are content words of English: they count for English, too.
ENGLISH_TOO = (
    "ago bare ben bin come dam dan dar den det die dig din dit do dove due era fan far fin hat hem hen hit hun il jo l "
    "man mare mat max men met mid mil min mine mot n nest nor nous nun once op pas per plus pour qua sang sans sin si "
    "sit sole son sons sous sum sun sur tan ten til tot tu un uns van vi via wanes want war wen"
)
KANA, HANGUL, HAN = lazy_pattern("[\u3040-\u30ff]"), lazy_pattern("[\uac00-\ud7af]"), lazy_pattern("[\u3400-\u9fff]")
CYRILLIC, NOT_RUSSIAN = lazy_pattern("[\u0400-\u04ff]"), lazy_pattern("[іїєґўјљњћђџќѓ]", re.IGNORECASE)
LATIN_WORD = lazy_pattern(r"(?<![\w])[a-zA-Z\u00df-\u024f]+(?!\w)")  # no part of an identifier
# Letters that few of these languages use; each counts as half a function word.
MARKED = {
    **dict.fromkeys("ß", ("de",)),
    **dict.fromkeys("äö", ("de", "sv", "fi")),
    **dict.fromkeys("ü", ("de",)),
    **dict.fromkeys("å", ("sv", "da", "no")),
    **dict.fromkeys("øæ", ("da", "no")),
    **dict.fromkeys("ñ¿¡", ("es",)),
    **dict.fromkeys("ãõ", ("pt",)),
    **dict.fromkeys("ç", ("fr", "pt")),
    **dict.fromkeys("êîûœ", ("fr",)),
    **dict.fromkeys("àèù", ("fr", "it")),
    **dict.fromkeys("ìò", ("it",)),
    **dict.fromkeys("é", ("fr", "es", "pt")),
    **dict.fromkeys("íóú", ("es", "pt")),
}


def _languages_of_words() -> dict[str, tuple[str, ...]]:
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in {**BY_LANGUAGE, "en": ENGLISH | {*ENGLISH_TOO.split()}}.items():
        for word in words:
            languages[word] = (*languages.get(word, ()), language)
    return languages


FUNCTION_WORDS = _languages_of_words()
OTHERS = [language for language in BY_LANGUAGE if language != "en"]


def detect_language(text: str, prior: Callable[[], str] | None = None) -> str:
    """The code of the language of a text, English when that is unknown.

    Another language than English needs more function words than English, and at least two. Where that is open,
    ``prior`` decides: the language of the texts that this one belongs to.

    >>> [detect_language(each) for each in ("Where do I live?", "Wo wohne ich?", "¿Dónde vivo yo?", "我住在哪里？")]
    ['en', 'de', 'es', 'zh']
    """
    text = text[:MAX_CHARACTERS]
    language = None if text.isascii() else _by_script(text)
    if language is None:
        language, certain = _by_function_words(text)
        if not certain and prior is not None:
            return prior()
    return language


def _by_script(text: str) -> str | None:
    """The language of a text that is not in Latin letters, or None."""
    latin = len(LATIN_WORD.findall(text))
    if KANA.search(text):
        return "ja"
    if len(HANGUL.findall(text)) > latin:
        return "ko"
    if len(HAN.findall(text)) > latin:
        return "zh"
    if len(CYRILLIC.findall(text)) > len(text) // 3:
        return "en" if NOT_RUSSIAN.search(text) else "ru"  # of other languages no stems are known
    return None


def _by_function_words(text: str) -> tuple[str, bool]:
    """The most likely language in Latin letters, and whether that is certain."""
    words = set(LATIN_WORD.findall(text.lower()))
    scores = dict.fromkeys(BY_LANGUAGE, 0.0)  # a word that several languages share counts for each by its share
    known = dict.fromkeys(BY_LANGUAGE, 0.0)
    for word in words:
        languages = FUNCTION_WORDS.get(word, ())
        for language in languages:
            scores[language] += 1 / len(languages)
            known[language] += 1
    if not text.isascii():
        for letter in set(text.lower()) & MARKED.keys():
            for language in MARKED[letter]:
                scores[language] += 0.5
                known[language] += 0.5
    best = max(OTHERS, key=lambda each: (known[each], scores[each]))
    if known["en"] > known[best]:
        return "en", True
    enough = max(CERTAIN, MIN_SHARE * len(words))
    certain = known[best] >= enough and known[best] > known["en"]
    return (best if certain else "en"), certain
