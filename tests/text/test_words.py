"""Words of any text: split, folded and stemmed without ever failing."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.stopwords import ENGLISH
from recollect.text.words import fold, stem, words

any_text = st.text(st.characters(), max_size=60)  # surrogates too
scripts = st.text(
    st.sampled_from(
        "aZé1_-. '’ñßİıﬁＡ東京苹果カフェー한국어Приветरोबोटไทยالقهوة👍🏽❤\ufe0f\u200d🇯🇵²½℃\u0301\u3099$%\0"
    ),
    max_size=40,
)
ascii_text = st.text(st.characters(max_codepoint=127), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?!… —", []),
        ("The blue cup.", ["the", "blue", "cup"]),
        ("don't", ["don", "t"]),
        ("Set maxRetries in HTTPServer", ["set", "maxretries", "max", "retries", "in", "httpserver", "http", "server"]),
        ("max_retries", ["max_retries", "maxretries", "max", "retries"]),
        ("__init__", ["init"]),
        ("snake_case_2", ["snake_case_2", "snakecase2", "snake", "case", "2"]),
        ("E1234", ["e1234", "e", "1234"]),
        ("iPhone15Pro", ["iphone15pro", "i", "phone", "15", "pro"]),
        ("v2.0", ["v2", "v", "2", "0"]),
        ("robot/arm.py", ["robot", "arm", "py"]),
        ("Café Zoë", ["café", "zoë"]),
        ("ﬁsh ＡＢＣ", ["fish", "abc"]),
        ("Привет, мир!", ["привет", "мир"]),
        ("रोबोट रसोई में है।", ["रोबोट", "रसोई", "में", "है"]),
        ("القَهْوَة", ["القَهْوَة"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("カフェ", ["カフ", "フェ"]),
        ("苹果", ["苹果"]),
        ("cup苹果cup", ["cup", "苹果", "cup"]),
        ("👍🎉", ["👍", "🎉"]),
    ],
)
def test_a_text_falls_into_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("heart", ["❤", "❤️", "👍", "☀️"])
def test_an_emoji_is_one_word_however_it_is_to_be_drawn(heart: str) -> None:
    """The sign that asks for a coloured drawing (U+FE0F) is no word: otherwise all coloured emoji would be alike."""
    assert words(heart) == [heart[0]]


def test_an_identifier_with_accents_breaks_only_where_it_breaks() -> None:
    assert words("größe_max") == ["größe_max", "größemax", "größe", "max"]


@given(any_text | scripts)
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(letter.isspace() for letter in word)
        assert stem(word)
        assert fold(word)


@given(scripts)
@settings(max_examples=200, deadline=None)
def test_words_do_not_depend_on_how_accents_are_composed(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(any_text | scripts)
@settings(max_examples=200, deadline=None)
def test_letters_and_digits_are_never_lost(text: str) -> None:
    kept = set("".join(words(text)))
    for letter in unicodedata.normalize("NFKC", text):
        if unicodedata.category(letter)[0] == "L" or letter.isdecimal():
            assert set(letter.lower()) <= kept, hex(ord(letter))


@given(st.lists(ascii_text, max_size=5))
@settings(max_examples=200, deadline=None)
def test_the_words_of_a_text_are_those_of_its_lines(lines: list[str]) -> None:
    """One identifier somewhere does not change how the rest is read."""
    assert words("\n".join(lines)) == [word for line in lines for word in words(line)]


@given(ascii_text)
@settings(max_examples=200, deadline=None)
def test_an_identifier_gives_itself_and_then_its_parts(text: str) -> None:
    expected: list[str] = []
    for run in re.findall(r"\w+", text, re.ASCII):
        parts = re.findall(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+", run)
        whole = run.strip("_").lower()
        joined = whole.replace("_", "")
        expected += (
            [whole] * bool(whole) + [joined] * ("_" in whole) + [part.lower() for part in parts] * (len(parts) > 1)
        )
    assert words(text) == expected


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), max_size=8))
@settings(deadline=None)
def test_plain_words_are_their_own_words(plain: list[str]) -> None:
    assert words(" ".join(plain)) == plain
    assert words(" ".join(words(" ".join(plain)))) == plain


@given(scripts.flatmap(lambda text: st.sampled_from(words(text) or ["a"])) | any_text.filter(str.strip))
@settings(max_examples=300, deadline=None)
def test_folding_twice_is_folding_once(word: str) -> None:
    folded = fold(word.lower())
    assert fold(folded) == folded


@pytest.mark.parametrize(
    ("word", "expected"),
    [("café", "cafe"), ("straße", "strasse"), ("ёлка", "елка"), ("γάτα", "γατα"), ("zoë", "zoe"), ("cup", "cup")],
)
def test_folding_takes_the_accents_off(word: str, expected: str) -> None:
    assert fold(word) == expected


def test_folding_leaves_no_word_empty() -> None:
    assert fold("\u0301") == "\u0301"


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("robots", "robot"),
        ("calibrated", "calibr"),
        ("calibrating", "calibr"),
        ("cafés", "cafe"),
        ("е1", "е1"),
        ("42", "42"),
        ("max_retries", "max_retries"),
        ("苹果", "苹果"),
    ],
)
def test_a_stem_is_shared_by_the_forms_of_a_word(word: str, form: str) -> None:
    assert stem(word) == form


def test_stop_words_are_words_as_they_are_split() -> None:
    """A stop word that splitting never gives would never be dropped."""
    assert all(words(word) == [word] for word in ENGLISH)
