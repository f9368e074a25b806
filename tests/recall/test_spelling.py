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
