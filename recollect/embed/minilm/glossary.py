"""English words for German and Chinese texts: the model was trained on English, and reads these word by word.

Each line of ``de.txt`` and ``zh.txt`` has an English word or two, and the words of the other language that mean it in
everyday texts: ``dog: hund hunde``. Those after a ``-`` are left out, such as particles. A word that is not listed,
names above all, stays as it is; a Chinese one is read by the parts that are listed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from recollect.text.compounds import splits
from recollect.text.languages import HAN, detect_language
from recollect.text.patterns import lazy_pattern
from recollect.text.words import segments, stems, stems_of_words

FOLDER = Path(__file__).parent / "glossary"
VOCABULARY = Path(__file__).parent / "vocab.txt"
LANGUAGES = ("de", "zh")
LEFT_OUT = "-"
MAX_CHARACTERS = 8_000  # of a text
MAX_WORDS = 512  # of a text: the model reads 256 tokens
MIN_LISTED = 0.5  # the share of words, where function words do not tell the language
GERMAN_PART = lazy_pattern(r"(?P<word>[^\W\d_]+(?![\w]))|[\w]+|[^\w\s]")  # no part of an identifier is translated
CHINESE_PART = lazy_pattern("(?P<word>[\u3400-\u9fff]+)|[^\\s\u3400-\u9fff]+")
MIN_PART = 4  # letters of each part of a compound
MAX_JOINED = 3  # Chinese words that are listed as one


@dataclass(frozen=True, slots=True)
class GlossedWord:
    """A word of a text, where it is, and what the model reads in its place; empty where it reads nothing."""

    text: str
    start: int
    english: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Gloss:
    """A text in English words."""

    def __init__(self, words: list[GlossedWord]) -> None:
        self.words = words
        self.english = " ".join(word.english for word in self.words)
        self._starts: list[int] = []
        at = 0
        for word in self.words:
            self._starts.append(at)
            at += len(word.english) + 1

    def word_at(self, start: int) -> int:
        """Which word of the text the English text has at a character."""
        return bisect_right(self._starts, start) - 1


def gloss(text: str) -> Gloss | None:
    """A German or Chinese text in English words; None for others, and where nothing would be left.

    >>> gloss("Wo ist der Hund?").english, gloss("Where is the dog?")
    ('where is the dog ?', None)
    """
    return _gloss(text[:MAX_CHARACTERS])


@lru_cache(maxsize=512)  # a query is embedded, and asked about; a memory is embedded, and its tokens are looked up
def _gloss(text: str) -> Gloss | None:
    language = _language(text)
    if language not in LANGUAGES:
        return None
    words = _german(text) if language == "de" else _chinese(text)
    found = Gloss([*islice((word for word in words if word.english), MAX_WORDS)])
    return found if found.words else None


def clear_caches() -> None:
    """Forget which texts were read."""
    for cached in (_gloss, _german_word):
        cached.cache_clear()


def reads_chinese(text: str) -> bool:
    """Are most Chinese words of a text listed?"""
    if detect_language(text) != "zh":
        return False
    letters = HAN.findall(text[:MAX_CHARACTERS])
    listed = sum(len(word.text) for word in _chinese(text[:MAX_CHARACTERS]) if word.text in _table("zh"))
    return 2 * listed > len(letters)


def _language(text: str) -> str:
    """By script and function words; where these say nothing, it is German if most words are listed as such."""
    return detect_language(text, prior=lambda: "de" if _is_listed_german(text) else "en")


def _is_listed_german(text: str) -> bool:
    """Are at least half of the words listed as German, not counting those that the model knows from English?"""
    words = [found["word"].lower() for found in GERMAN_PART.finditer(text) if found["word"]]
    german = [word for word in words if word not in _model_words() and _german_word(word) is not None]
    return bool(german) and len(german) >= MIN_LISTED * len(words)


@lru_cache(maxsize=1)
def _model_words() -> frozenset[str]:
    return frozenset(VOCABULARY.read_text("utf-8").splitlines())


def _german(text: str) -> Iterator[GlossedWord]:
    for found in GERMAN_PART.finditer(text):
        english = _german_word(found["word"].lower()) if found["word"] else None
        yield _word(found[0], found.start(), english)


def _chinese(text: str) -> Iterator[GlossedWord]:
    for found in CHINESE_PART.finditer(text):
        if found["word"]:
            at = found.start()
            for word in _listed_chinese(found["word"]):
                yield _word(word, at, _table("zh").get(word, LEFT_OUT))
                at += len(word)
        else:
            yield _word(found[0], found.start(), None)


def _listed_chinese(text: str) -> Iterator[str]:
    """Its words, where several that are listed together are one; those that are not listed in the longest parts that
    are."""
    words, at = segments(text), 0
    while at < len(words):
        joined = ("".join(words[at : at + count]) for count in range(MAX_JOINED, 1, -1))
        if (several := next((each for each in joined if each in _table("zh")), None)) is not None:
            yield several
            while several:
                several, at = several.removeprefix(words[at]), at + 1
        else:
            yield from _longest_parts(words[at])
            at += 1


def _longest_parts(word: str) -> Iterator[str]:
    table, at = _table("zh"), 0
    while at < len(word):
        sizes = range(min(len(word) - at, _longest_chinese()), 1, -1)
        size = next((size for size in sizes if word[at : at + size] in table), 1)
        yield word[at : at + size]
        at += size


@lru_cache(maxsize=1)
def _longest_chinese() -> int:
    """Characters of the longest word that is listed: what is taken for one word may be as long as the text."""
    return max(map(len, _table("zh")))


def _word(text: str, start: int, english: str | None) -> GlossedWord:
    if english is None:
        return GlossedWord(text, start, text)
    return GlossedWord(text, start, "" if english == LEFT_OUT else english)


@lru_cache(maxsize=16_384)
def _german_word(word: str) -> str | None:
    """As it is listed, by its stem, or by the two parts of a compound."""
    if (english := _listed_german(word)) is not None:
        return english
    for first, second in splits(word):
        if len(first) >= MIN_PART and len(second) >= MIN_PART:
            parts = _listed_german(first), _listed_german(second)
            if None not in parts and LEFT_OUT not in parts:
                return " ".join(part for part in parts if part)
    return None


def _listed_german(word: str) -> str | None:
    table = _table("de")
    if word in table:
        return table[word]
    by_stem = _german_stems()
    return next((by_stem[form] for form in stems(word, "de") if form in by_stem), None)


@lru_cache(maxsize=len(LANGUAGES))
def _table(language: str) -> Mapping[str, str]:
    table: dict[str, str] = {}
    for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        english, _, words = line.partition(": ")
        for word in words.split():
            table.setdefault(word, english)
    return table


@lru_cache(maxsize=1)
def _german_stems() -> Mapping[str, str]:
    words = [word for word, english in _table("de").items() if len(word) >= MIN_PART]
    by_stem: dict[str, str] = {}
    for word, forms in zip(words, stems_of_words(words, "de"), strict=True):
        for form in forms:
            by_stem.setdefault(form, _table("de")[word])
    return by_stem
