"""Which words of a result match the query in meaning, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Mind
from recollect.recall.results import Recall


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder="local") as opened:
        yield opened


def words(recall: Recall) -> dict[str, dict[str, str]]:
    """By text of a result: its matched words, each with the word of the query."""
    return {
        result.text: {result.text[word.start : word.end]: word.query_word for word in matched}
        for result, matched in zip(recall, recall.matched_words(), strict=True)
    }


def test_words_of_similar_meaning_are_found_with_the_word_of_the_query(mind: Mind) -> None:
    text = "The puppy chewed my sneakers."
    mind.remember(text)
    assert words(mind.recall("what did the dog do to my shoes?"))[text] == {"puppy": "dog", "sneakers": "shoes"}


def test_a_form_of_the_same_word_is_not_a_match_in_meaning(mind: Mind) -> None:
    text = "The charging dock is in the hallway."
    mind.remember(text)
    assert words(mind.recall("where are the docks that charge?"))[text] == {}


def test_a_memory_about_something_else_has_no_matched_words(mind: Mind) -> None:
    mind.remember_many(["I repaired the bicycle with a new chain.", "My physician is on holiday."])
    assert words(mind.recall("how is the doctor?", k=2)) == {
        "My physician is on holiday.": {"physician": "doctor"},
        "I repaired the bicycle with a new chain.": {},
    }


@pytest.mark.parametrize(
    "text",
    [
        "🙂🙂 The puppy — naïve as ever — sleeps.",
        "  \n The puppy sleeps.",
        "The PUPPY's basket is new.",
        "Der 小狗 puppy.",
    ],
)
def test_places_are_those_of_the_text_as_it_was_written(mind: Mind, text: str) -> None:
    mind.remember(text)
    (found,) = mind.recall("where is the dog?").matched_words()
    assert [text[word.start : word.end].lower() for word in found] == ["puppy"]


def test_places_do_not_count_the_title(mind: Mind) -> None:
    mind.remember("The puppy sleeps in the kitchen.", title="Household notes")
    (found,) = mind.recall("where is the dog?").matched_words()
    assert [(word.start, word.end, word.query_word) for word in found] == [(4, 9, "dog")]


def test_a_word_in_several_pieces_is_marked_as_a_whole(mind: Mind) -> None:
    text = "The veterinarian's receptionist phoned."
    mind.remember(text)
    assert words(mind.recall("who is the vet?"))[text] == {"veterinarian": "vet"}


def test_a_memory_that_was_changed_since_has_no_matched_words(mind: Mind) -> None:
    id = mind.remember("The puppy chewed my sneakers.").id
    mind.remember("Our hound barks.")
    recall = mind.recall("what did the dog do?", k=2)
    mind.edit(id, text="The sneakers were chewed by a puppy.")
    assert words(recall) == {"The puppy chewed my sneakers.": {}, "Our hound barks.": {"hound": "dog"}}


def test_a_memory_that_was_erased_since_has_no_matched_words(mind: Mind) -> None:
    id = mind.remember("The puppy chewed my sneakers.").id
    mind.remember("Our hound barks.")
    recall = mind.recall("what did the dog do?", k=2)
    mind.erase(id)
    assert words(recall) == {"The puppy chewed my sneakers.": {}, "Our hound barks.": {"hound": "dog"}}


def test_a_long_text_whose_tokens_were_merged_has_no_matched_words(mind: Mind) -> None:
    names = "Lisbon Hamburg Oslo Vienna Prague Madrid Rome Paris London Dublin Athens Warsaw Zurich Milan Turin".split()
    things = "apples spoons hammers violins maps lamps clocks carpets ladders kettles mirrors bottles".split()
    mind.remember("The puppy sleeps. " + " ".join(f"{name} has {thing}." for name in names for thing in things[:4]))
    assert mind.recall("where is the dog?").matched_words() == [()]


def test_without_the_comparison_of_tokens_there_are_no_matched_words(mind: Mind, tmp_path: Path) -> None:
    mind.remember("The puppy sleeps.")
    assert mind.recall("the dog sleeps", vectors=0, tokens=0).matched_words() == [()]
    with Mind(tmp_path / "words.db", embedder=None) as other:
        other.remember("The puppy sleeps.")
        assert other.recall("the dog sleeps").matched_words() == [()]


def test_an_embedder_behind_a_cache_finds_the_same_words(tmp_path: Path) -> None:
    text = "The puppy chewed my sneakers."
    with Mind(tmp_path / "memory.db", embedder="local", embedding_cache=True) as mind:
        mind.remember(text)
        assert words(mind.recall("what did the dog do?"))[text] == {"puppy": "dog"}
