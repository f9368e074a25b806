"""Late interaction: token vectors of the local model, and what comparing them finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from recollect import Mind
from recollect.embed import TokenEmbedder, TokenVectors
from recollect.embed.local import LocalEmbedder
from recollect.recall.default import default
from recollect.recall.stages.rerank import Rerank
from recollect.rerank import LateInteraction, Reranker, rerank_texts
from recollect.rerank.local import content_weight

MEMORIES = [
    "Anna likes to eat at the new place near the station.",
    "Ben brought walnut wood for the shelf in the kitchen.",
    "Carla goes nuts when the printer jams.",
    "Dario must never touch peanuts: his throat swells up.",
    "Emma's allergy medicine is for pollen in spring.",
    "The cat sleeps on the red chair.",
]


class Letters:
    """Tokens are words, and a word's vector points where its first letter does."""

    name = "letters"

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        made = []
        for text in texts:
            words = tuple(text.lower().split())
            vectors = np.zeros((len(words), 26), dtype=np.float32)
            for at, word in enumerate(words):
                vectors[at, ord(word[0]) - ord("a")] = 1
            made.append(TokenVectors(words, vectors, vectors.mean(axis=0)))
        return made


def test_token_vectors_have_unit_length_and_no_marks_of_the_model() -> None:
    (cup, empty) = LocalEmbedder().token_vectors(["The mugs, refilled!", ""])
    assert cup.tokens == ("the", "mug", "##s", ",", "ref", "##ille", "##d", "!")
    assert cup.vectors.shape == (len(cup.tokens), 384)
    assert cup.vectors.dtype == np.float32
    assert np.linalg.norm(cup.vectors, axis=1) == pytest.approx(np.ones(len(cup.tokens)), abs=1e-5)
    assert (empty.tokens, empty.vectors.shape) == ((), (0, 384))


def test_every_text_of_a_batch_keeps_its_own_tokens() -> None:
    texts = [" ".join(["cup"] * (n % 11 + 1)) + f" {n}" for n in range(40)]
    for text, each in zip(texts, LocalEmbedder().token_vectors(texts), strict=True):
        assert " ".join(each.tokens) == text
        assert len(each.vectors) == len(each.tokens)


@pytest.mark.parametrize(
    ("word", "first", "second"),
    [
        ("zebra", "my favourite animal is the zebra", "zebra stripes are black and white"),
        ("cup", "the cup", "cup of tea"),
        ("oil", "oil the gripper", "the machine has lost its oil again"),
    ],
)
def test_a_vector_belongs_to_its_token(word: str, first: str, second: str) -> None:
    one, other = LocalEmbedder().token_vectors([first, second])
    cosines = other.vectors @ one.vectors[one.tokens.index(word)]
    assert other.tokens[int(cosines.argmax())] == word


def test_the_local_model_is_a_token_embedder_and_late_interaction_a_reranker() -> None:
    assert isinstance(LocalEmbedder(), TokenEmbedder)
    assert isinstance(LateInteraction(), Reranker)


def test_the_score_is_the_weighted_mean_of_the_best_cosines() -> None:
    late = LateInteraction(Letters(), weight=lambda token: {"apple": 2.0, "boat": 1.0}.get(token, 0.0))
    scores = rerank_texts(late, "apple boat zebra", ["ant zoo", "ball zoo", "ant ball", "zoo", ""])
    assert scores.tolist() == pytest.approx([2 / 3, 1 / 3, 1, 0, 0])


def test_words_that_a_question_is_made_of_count_less_and_punctuation_nothing() -> None:
    assert [content_weight(token) for token in ("nuts", "who", "##nut", "?", "苹", "2")] == [1, 0.3, 1, 0, 1, 1]


@pytest.mark.parametrize("query", ["?!", "", "   "])
def test_a_question_of_nothing_much_still_gets_an_answer(query: str) -> None:
    assert np.isfinite(rerank_texts(LateInteraction(), query, ["a red cup", "", "?!"])).all()


def test_the_allergy_is_put_above_what_only_looks_alike() -> None:
    texts = [*MEMORIES, "Ben is allergic to peanuts."]
    scores = rerank_texts(LateInteraction(), "who is allergic to nuts?", texts)
    assert texts[int(scores.argmax())] == "Ben is allergic to peanuts."
    assert scores.max() < 1.0001


def test_a_mind_reranks_with_the_model_that_it_has_anyway() -> None:
    recipe = default().but(stages=[Rerank("late")])
    with Mind(":memory:") as mind:
        mind.remember_many([*MEMORIES, "Ben is allergic to peanuts."])
        recall = mind.recall("who is allergic to nuts?", 3, recipe=recipe)
    assert recall[0].text == "Ben is allergic to peanuts."
    assert "late interaction, all-MiniLM-L6-v2-int8-glossed" in recall[0].notes[0]
