"""3-grams: the index in arrays against sets, for any words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.trigrams import TrigramIndex, edit_distance, word_trigrams

some_word = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8) | st.text(
    "abc$é東👍", max_size=8
)
vocabularies = st.lists(some_word, max_size=25, unique=True)


def naive(word: str) -> set[str]:
    padded = f"${word}$"
    return {a + b + c for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)}


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


@given(some_word)
@settings(deadline=None)
def test_grams_are_every_run_of_three(word: str) -> None:
    assert word_trigrams(word) == naive(word)


@given(vocabularies, some_word)
@settings(max_examples=200, deadline=None)
def test_similarity_is_the_jaccard_of_the_sets(vocabulary: list[str], word: str) -> None:
    expected = [jaccard(naive(word), naive(each)) for each in vocabulary]
    assert TrigramIndex(vocabulary).similar(word).tolist() == pytest.approx(expected)


@given(vocabularies, some_word)
@settings(max_examples=200, deadline=None)
def test_containing_is_having_every_inner_gram(vocabulary: list[str], word: str) -> None:
    inner = {gram for gram in naive(word) if "$" not in gram}
    expected = [bool(inner) and inner <= naive(each) for each in vocabulary]
    assert TrigramIndex(vocabulary).containing(word).tolist() == expected


@given(vocabularies.filter(bool), st.data())
@settings(deadline=None)
def test_a_word_is_most_like_itself(vocabulary: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(vocabulary))
    similar = TrigramIndex(vocabulary).similar(word)
    assert similar[vocabulary.index(word)] == similar.max()


def test_an_empty_vocabulary_is_like_nothing() -> None:
    assert TrigramIndex([]).similar("cup").tolist() == []
    assert TrigramIndex([]).containing("cup").tolist() == []


def test_words_with_lone_surrogates_are_no_trouble() -> None:
    assert TrigramIndex(["a\ud800b", "cup"]).similar("\udfff cup").shape == (2,)


def test_the_edit_distance_of_very_long_words_takes_no_time() -> None:
    long = "ab" * 50_000
    assert edit_distance(long, long[:-1] + "c", 2) == 1
    assert edit_distance(long, "x" * len(long), 2) == 3
