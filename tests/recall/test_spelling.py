"""Spelling: what was mistyped is put right, and what is only unknown is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Embedder, Filter, Mind
from recollect.embed.local import LocalEmbedder

from .kit import BAG, open_mind, step

MEMORIES = [
    "Anna has many activities on Monday.",
    "My coat is in the wardrobe.",
    "Kieran works with Schreiber in Munich.",
    "We call getUser on the request before it is saved.",
    "resolve_path opens the folder.",
]


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    with open_mind(tmp_path_factory.mktemp("spelling") / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(MEMORIES)
        yield mind


def corrected(mind: Mind, question: str, filter: Filter | None = None) -> str:
    told = step(mind.recall(question, filter=filter, track=False), "Spelling")
    return str(told.get("detail", {}).get("corrected", ""))


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("what activitites are there for her?", "activitites → activities"),
        ("where did I hang the coaat yesterday?", "coaat → coat"),
        ("what is in the wadrrobe of mine?", "wadrrobe → wardrobe"),
        ("who is working with Kiiran today?", "Kiiran → kieran"),
    ],
)
def test_a_slip_of_the_keys_is_put_right_and_told(mind: Mind, question: str, right: str) -> None:
    assert corrected(mind, question) == right


def test_the_answer_is_that_of_the_question_without_the_slip(mind: Mind) -> None:
    right, wrong = (
        mind.recall(f"what {word} are there for her?", track=False) for word in ("activities", "activitites")
    )
    assert [(r.memory.id, r.score) for r in wrong] == [(r.memory.id, r.score) for r in right]
    assert wrong.trace.query == "what activitites are there for her?"


@pytest.mark.parametrize(
    "question",
    [
        "where did I leave the boat?",  # a word that the model knows, one letter from the coat
        "is the coat still there for me?",
        "did Keirin come along with us?",  # two letters off: it may be somebody else
        "what did Schröder write about it?",  # no part of a word is a word
        "where in the repository do we call setUser on the request?",  # identifiers differ by a letter on purpose
        "what about the resolwe_path function that we had yesterday?",
        "what about the coaat2 file that we had yesterday?",
        "resolwe",
        "activitites",
        "what about the cot and the mat?",
    ],
)
def test_what_may_be_meant_as_written_is_left_alone(mind: Mind, question: str) -> None:
    assert corrected(mind, question) == ""


def test_only_words_in_scope_are_taken_for_others(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember("many activities today", user="ada")
        mind.remember("many cups today", user="bob")
        asked = "what activitites are there for her?"
        assert corrected(mind, asked, Filter(user="ada")) == "activitites → activities"
        assert corrected(mind, asked, Filter(user="bob")) == "", "it would tell what others have"


def test_a_word_that_the_memories_have_is_right(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(["the zorbles are here", "the zorblex is there"])
        assert corrected(mind, "what about the zorbles of hers?") == ""
        assert corrected(mind, "what about the zorble of hers?") == "", "a form of a word that is there"


@pytest.mark.parametrize("embedder", [None, BAG], ids=["no embedder", "one that does not say"])
def test_without_a_judge_of_words_none_is_exchanged(tmp_path: Path, embedder: Embedder | None) -> None:
    """Any word that the memories lack would turn into one that they have: a boat into a coat."""
    with open_mind(tmp_path / "memory.db", embedder) as mind:
        mind.remember_many({"text": text, "id": f"m{number}"} for number, text in enumerate(MEMORIES))
        assert corrected(mind, "where did I leave the boat?") == ""
        found = mind.recall("what activitites are there for her?", track=False)
    assert "activities" in step(found, "trigrams")["detail"]["instead"], "what is like it is still looked up"
    assert MEMORIES[0] in [each.text for each in found[:5]]


def instead(mind: Mind, question: str) -> list[str]:
    """The words that are looked up in place of those that no memory has."""
    return [*step(mind.recall(question, track=False), "trigrams").get("detail", {}).get("instead", {})]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("is the boat there?", []),  # known words are no typos: the coat, the car
        ("who is the carter?", []),
        ("where is the cot?", []),
        ("is it old or cold?", []),
    ],
)
def test_only_what_may_be_a_typo_is_taken_for_a_similar_word(mind: Mind, question: str, words: list[str]) -> None:
    assert instead(mind, question) == words


def test_words_that_stand_for_another_are_not_corrected(tmp_path: Path) -> None:
    with open_mind(tmp_path / "german.db", LocalEmbedder()) as mind:
        mind.remember_many(["Ich habe das Brot geholt.", "Die neuere Wohnung ist heller.", "Er hat es gesagt."])
        assert instead(mind, "was verdiene ich im Monat?") == []  # nor is Gehalt, which is looked up along with it
        assert instead(mind, "wo liegt mein Hut?") == []


def test_a_reason_names_the_word_that_a_similar_one_stands_for(tmp_path: Path) -> None:
    with open_mind(tmp_path / "names.db", None) as mind:
        mind.remember("Johan plays the cello.")
        (found,) = mind.recall("what did Yohan buy?")
        assert found.why.summary().startswith("'johan for yohan' matches")


def test_irregular_forms_of_a_word_are_found(tmp_path: Path) -> None:
    with open_mind(tmp_path / "forms.db", LocalEmbedder()) as mind:
        gift = mind.remember("Aunt Rosa gave me a locket.").id
        mind.remember("The given name of the cook is Ida.")
        mind.remember("We have a live broadcast and a glove.")
        assert instead(mind, "what did my aunt give me?") == ["gave", "given"]
        assert mind.recall("what did my aunt give me?")[0].id == gift
