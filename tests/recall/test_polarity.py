"""Who or which is so, and is not so: statements of the asked polarity come first, with the packaged embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Mind

ENGLISH = {
    "tom": "Tom can't stand mushrooms, he picks them out of everything.",
    "priya": "Priya loves mushrooms, the more the better.",
    "lea": "Lea is vegetarian, she hasn't touched meat in ten years.",
    "ben": "Ben eats meat at every meal, ideally twice.",
    "hana": "Hana doesn't eat fish, the smell makes her ill.",
    "brickworks": "I didn't like the venue at the Brickworks, cold and full of echo.",
    "fig": "The venue at the Golden Fig I liked a lot, lovely light.",
    "film": "Watched a documentary about tea with Lea. She hated it, I was fascinated.",
    "smoke": "Lea gave up smoking in February.",
}
GERMAN = {
    "jan": "Jan mag keinen Koriander.",
    "ute": "Ute mag Koriander sehr.",
    "kein": "Ute isst seit Jahren kein Fleisch mehr.",
    "grill": "Jan isst am liebsten Fleisch vom Grill.",
}
CHINESE = {
    "wang": "老王不喜欢吃香菜。",
    "li": "小李最喜欢吃香菜。",
    "without": "老王没有车。",
    "with": "小李有车，是辆旧面包车。",
    "vegetarian": "小李吃素，从来不吃肉。",
    "meat": "老王无肉不欢，顿顿吃肉。",
}


def first(tmp_path: Path, memories: dict[str, str], question: str) -> str:
    with Mind(tmp_path / "memory.db") as mind:
        for id, text in memories.items():
            mind.remember(text, id=id)
        return mind.recall(question, 1)[0].id


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who likes mushrooms?", "priya"),
        ("Who doesn't like mushrooms?", "tom"),
        ("Who eats meat?", "ben"),
        ("Who doesn't eat meat?", "lea"),
        ("Which venue did I not like?", "brickworks"),
        ("Which venue did I like?", "fig"),
        ("Which film did Lea hate?", "film"),
    ],
)
def test_a_question_gets_statements_of_its_polarity_first(tmp_path: Path, question: str, answer: str) -> None:
    assert first(tmp_path, ENGLISH, question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wer mag Koriander?", "ute"),
        ("Wer mag keinen Koriander?", "jan"),
        ("Wer isst Fleisch?", "grill"),
        ("Wer isst kein Fleisch?", "kein"),
    ],
)
def test_so_does_a_question_in_german(tmp_path: Path, question: str, answer: str) -> None:
    assert first(tmp_path, GERMAN, question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("谁喜欢吃香菜？", "li"),
        ("谁不喜欢吃香菜？", "wang"),
        ("谁有车？", "with"),
        ("谁没有车？", "without"),
        ("谁吃肉？", "meat"),
        ("谁不吃肉？", "vegetarian"),
    ],
)
def test_and_one_in_chinese(tmp_path: Path, question: str, answer: str) -> None:
    assert first(tmp_path, CHINESE, question) == answer


def test_a_denial_stays_first_where_nothing_affirms_it(tmp_path: Path) -> None:
    memories = {id: ENGLISH[id] for id in ("tom", "lea", "hana")}
    assert first(tmp_path, memories, "Who likes mushrooms?") == "tom"


def test_a_question_is_no_statement_that_affirms(tmp_path: Path) -> None:
    memories = {"denial": "Tom does not like mushrooms.", "question": "Who likes mushrooms?"}
    with Mind(tmp_path / "memory.db") as mind:
        for id, text in memories.items():
            mind.remember(text, id=id)
        lowered = mind.why("Who likes mushrooms?", "denial")
    assert "denies" not in str(lowered)


def test_the_reason_names_what_was_denied(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:  # with one, the denial is behind the others as it is
        for id, text in CHINESE.items():
            mind.remember(text, id=id)
        assert "denies what is asked about" in str(mind.why("谁喜欢吃香菜？", "wang"))
