"""Splits text into words: any script, identifiers into their parts, Chinese by a segmenter; and stems them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Lock

import Stemmer

from recollect.text.patterns import lazy_pattern
from recollect.text.stopwords import BY_LANGUAGE

# By byte of an ASCII text: letters, digits and _ stay, all others become spaces.
SPACED = bytes(ord(c) if c == "_" or (c.isascii() and c.isalnum()) else ord(" ") for c in map(chr, range(256)))
# Where an identifier breaks: underscores, aB, ABc, a1 and 1a.
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Anything that may be an identifier; it starts with a plain set of letters, which makes the search fast.
COMPOUND = re.compile(r"[A-Z0-9_](?:(?<=_)|(?<=[A-Za-z0-9][A-Z])|(?<=[A-Za-z][0-9])|(?<=[0-9])(?=[A-Za-z]))")
# Punctuation outside ASCII: English text with such quotes and dashes still takes the fast path.
TYPOGRAPHY = "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u00a0\u2022\u00b7"
# Soft hyphens, zero-width spaces and joiners, and marks of direction: nobody sees or types them.
INVISIBLE = lazy_pattern("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
COMMON_HAN = lazy_pattern("[\u3400-\u4db5\u4e00-\u9fa5]+")  # letters that every version of Unicode has
KANA = "\u3040-\u30ff\u31f0-\u31ff"
# Scripts written without spaces (or, in Korean, with particles glued on): pairs of letters serve as words.
PAIRED = f"{KANA}\u1100-\u11ff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
EMOJI = "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"


def words(text: str, whole: bool = False) -> list[str]:
    """The words of a text in order, lower-cased; an identifier gives itself and then its parts.

    A Chinese word gives the words inside it, too, unless it is to stay ``whole``.

    >>> words("Set maxRetries in HTTPServer")
    ['set', 'maxretries', 'max', 'retries', 'in', 'httpserver', 'http', 'server']
    """
    if not text.isascii():
        text = visible(text)
        for mark in TYPOGRAPHY:
            text = text.replace(mark, " ")
    if text.isascii():
        return _split_identifiers(text.encode().translate(SPACED).decode()).lower().split()
    return list(_split_any_script(unicodedata.normalize("NFKC", text), whole))


def visible(text: str) -> str:
    """A text without the characters that are not seen, so that what looks equal matches.

    >>> visible("data\\u00adbase")
    'database'
    """
    return text if text.isascii() else INVISIBLE.sub("", text)


def _split_identifiers(text: str) -> str:
    """A text of words and spaces, with every identifier followed by its parts."""
    text += " "
    done = 0
    parts: list[str] = []
    for found in COMPOUND.finditer(text):
        if found.start() >= done:
            start, end = text.rfind(" ", done, found.start()) + 1, text.find(" ", found.start())
            parts += (text[done:start], *split_identifier(text[start:end]))
            done = end
    return " ".join((*parts, text[done:]))


def split_identifier(word: str) -> Iterator[str]:
    whole = word.lower().strip("_")
    if not whole:
        return
    yield whole
    if "_" in whole:
        yield whole.replace("_", "")  # max_retries and maxRetries match
    parts = PARTS.findall(word) if word.isascii() else [part for part in word.split("_") if part]
    if len(parts) > 1:
        yield from (part.lower() for part in parts)


def _split_any_script(text: str, whole: bool) -> Iterator[str]:
    for match in _patterns().finditer(text):
        run = match.group()
        match match.lastgroup:
            case "spaceless":
                yield from _split_spaceless(run, whole)
            case "emoji":
                yield run
            case _:
                yield from split_identifier(run)


def _split_spaceless(run: str, whole: bool) -> Iterator[str]:
    if COMMON_HAN.fullmatch(run) or all(_is_han(letter) for letter in run):
        found = _segmenter().cut(run) if whole else _segmenter().cut_for_search(run)
        yield from found
        if not whole:  # names and traditional spellings are not all in the dictionary: pairs of letters find them
            known = set(found)
            yield from (pair for pair in _pairs(run) if pair not in known)
    elif len(run) == 1:
        yield run
    else:
        yield from _pairs(run)
        if not whole:  # among kana a Chinese letter is often a word
            yield from filter(_is_han, run)


def _pairs(run: str) -> Iterator[str]:
    return (run[at : at + 2] for at in range(len(run) - 1))


def _is_han(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("CJK")


SPACELESS = lazy_pattern(f"[{HAN}{PAIRED}ー]+")
LETTERS = lazy_pattern(r"[^\W\d_]+")
MAX_SCRIPT_CHARACTERS = 1_000  # of a text that tell its script


def is_spaceless(word: str) -> bool:
    """Is it written in a script without spaces, where one letter can be a word?"""
    return not word.isascii() and SPACELESS.fullmatch(word) is not None


def mostly_spaceless(text: str) -> bool:
    """Are at least half of its words in such a script, two letters each? Of a long text the beginning decides.

    >>> [mostly_spaceless(each) for each in ("杯子在哪里？", "Kubernetes集群在哪？", "Who makes mapo tofu (麻婆豆腐)?")]
    [True, True, False]
    """
    text = text[:MAX_SCRIPT_CHARACTERS]
    if text.isascii():
        return False
    spaceless = sum(map(len, SPACELESS.findall(text)))
    return spaceless > 0 and spaceless >= 2 * len(LETTERS.findall(SPACELESS.sub(" ", text)))


def count_words(text: str) -> int:
    """About how many words a text has: between spaces, and two letters each in scripts without spaces.

    >>> count_words("where is the cup?"), count_words("杯子在哪里")
    (4, 3)
    """
    between = text.split()
    if text.isascii():
        return len(between)
    return len(between) + sum(len(run) // 2 for run in SPACELESS.findall(text))


def segments(text: str) -> list[str]:
    """The words of a Chinese text in order."""
    return list(_segmenter().cut(text))


def tagged(text: str) -> list[tuple[str, str]]:
    """The words of a Chinese text in order, each with its part of speech in the notation of jieba: n, v, r, …"""
    return list(_segmenter().tag(text))


@lru_cache(maxsize=1)
def _segmenter():  # type: ignore[no-untyped-def]
    import rjieba  # loaded with the first Chinese text: its dictionary takes a moment

    return rjieba


@lru_cache(maxsize=1)
def _patterns() -> re.Pattern[str]:
    # \w knows no combining marks, and without them the words of Hindi or Thai fall apart.
    # Variation selectors only say how to draw what stands before them.
    letters = (chr(c) for c in range(0x300, 0x10000) if not 0xFE00 <= c <= 0xFE0F)
    marks = "".join(letter for letter in letters if unicodedata.category(letter)[0] == "M")
    marks = re.escape(marks)
    return re.compile(
        f"(?P<spaceless>[{HAN}{PAIRED}ー]+)|(?P<word>(?:(?![{HAN}{PAIRED}])[\\w{marks}])+)|(?P<emoji>[{EMOJI}])"
    )


def fold(word: str) -> str:
    """A word without diacritics: café becomes cafe."""
    return word if word.isascii() else _fold(word)


@lru_cache(maxsize=1 << 17)
def _fold(word: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFKC", plain).casefold() or word


# The Snowball algorithm of each language that has stems, by the code of ISO 639-1.
SNOWBALL = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "ru": "russian",
}
GERMAN_STOP = BY_LANGUAGE["de"]
_stemmer_lock = Lock()  # a Stemmer must not be entered twice at once


@lru_cache(maxsize=len(SNOWBALL))
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(SNOWBALL[language], 0)  # without a cache of its own: stem and stems have larger ones


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The form under which a word is looked up: folded, and stemmed when it is written in Latin letters."""
    folded = fold(word)
    if not folded.isascii() or not folded.isalpha():
        return folded
    with _stemmer_lock:
        return str(_stemmer("en").stemWord(folded))


def has_stems(language: str) -> bool:
    """Has the language stems of its own? Otherwise those of English are used."""
    return language != "en" and language in SNOWBALL


@lru_cache(maxsize=1 << 17)
def stems(word: str, language: str) -> tuple[str, ...]:
    """The forms under which a word is looked up in a language: words with a form in common match.

    In other languages than English a word is stemmed as it is written and then folded, as endings have diacritics; and
    it is folded first, too, as many leave diacritics out. German verbs get another form, as Snowball leaves their
    participles and the ending -t: gekauft, kaufte and kauft match kaufen. The last form is the folded word itself.

    >>> stems("schlösser", "de"), stems("gekauft", "de"), stems("mangées", "fr")
    (('schloss', 'schlosser'), ('gekauft', 'kauf'), ('mang', 'mange', 'mangees'))
    """
    return stems_of_words([word], language)[0]


def stems_of_words(words: Sequence[str], language: str) -> list[tuple[str, ...]]:
    """The same for many words at once, without a cache."""
    if not has_stems(language):
        return [(stem(word),) for word in words]
    folded = [fold(word) for word in words]
    found = zip(folded, _stem_all(words, language), _stem_all(folded, language), strict=True)
    return [
        # Identifiers and numbers have no stem.
        _distinct(fold(written), fold(plain), form, language) if form.isalpha() else (form,)
        for form, written, plain in found
    ]


def _distinct(written: str, plain: str, folded: str, language: str) -> tuple[str, ...]:
    """The different forms of a word: its stems with and without diacritics, that of a German verb, and itself."""
    forms: tuple[str, ...] = (written,) if plain == written else (written, plain)
    if language == "de":
        verbs = [verb for form in forms if (verb := _german_verb(form)) not in forms]
        forms += tuple(verb for verb in dict.fromkeys(verbs) if verb not in GERMAN_STOP)  # Nacht is not nach
    return forms if folded in forms else (*forms, folded)


def _german_verb(stem: str) -> str:
    """A stem without the ge- and -t of a participle."""
    verb = stem[2:] if stem.startswith("ge") and len(stem) > 5 else stem
    return verb[:-1] if verb.endswith("t") and len(verb) > 3 and verb[-2] not in "aeiout" else verb


def clear_caches() -> None:
    """Forget which words were folded and stemmed."""
    for cached in (_fold, stem, stems):
        cached.cache_clear()


def _stem_all(words: Sequence[str], language: str) -> list[str]:
    with _stemmer_lock:
        return list(_stemmer(language).stemWords(words))


def slug(text: str) -> str:
    """A text as a part of a path: its words joined by hyphens."""
    return "-".join(re.findall(r"\w+", unicodedata.normalize("NFC", visible(text)).lower()))
