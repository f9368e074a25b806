"""Which questions depend on the turns before them, ask for a list, or ask for what is not so."""

from __future__ import annotations

import pytest

from recollect.text.polarity import asks_for_negative, is_negative
from recollect.text.question_kinds import asks_for_all, strip_list_frame
from recollect.text.references import depends_on_history


@pytest.mark.parametrize(
    "question",
    [
        "What did she say?",
        "and in Rome?",
        "How much?",
        "what about Peter?",
        "Did you get there in time, and did it rain there?",
        "Where did you buy that one?",
        "Und wann?",
        "Was hat er dafür bezahlt?",
        "Wie war es dort?",
        "Was hat das gekostet?",
        "它在哪里？",
        "那多少钱？",
        "价格呢？",
        "她那次去了哪儿？",
    ],
)
def test_a_question_without_a_subject_of_its_own_depends_on_history(question: str) -> None:
    assert depends_on_history(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where did Tom buy the car, and what did he pay for it?",
        "What time is it?",
        "How long does it take to boil an egg?",
        "Is there milk in the fridge?",
        "Did Anna sell her flat?",
        "What is the name of the dog she found on the beach in Anna's story?",
        "Was hat das neue Fahrrad gekostet?",
        "Gibt es Milch?",
        "Können Sie mir sagen, wo der Schlüssel ist?",
        "我的自行车在哪里？",
        "我看的那本书叫什么？",
    ],
)
def test_a_question_that_names_its_subject_stands_alone(question: str) -> None:
    assert not depends_on_history(question)


@pytest.mark.parametrize(
    "question",
    ["List all the films I've seen", "Which cities have I visited so far?", "Nenne alle Filme", "我看过哪些电影？"],
)
def test_a_question_may_ask_for_all(question: str) -> None:
    assert asks_for_all(question)


@pytest.mark.parametrize("question", ["Which song motivates me?", "What was the bus number?", "Welchen Film sah ich?"])
def test_a_question_may_ask_for_one(question: str) -> None:
    assert not asks_for_all(question)


def test_the_frame_of_a_list_is_no_content() -> None:
    assert strip_list_frame("List all the films I've told you about so far").split() == ["films"]
    assert strip_list_frame("List all") == "List all"


def test_polarity_is_asked_for_after_a_question_word() -> None:
    assert asks_for_negative("Welchen Film mochte ich nicht?")
    assert asks_for_negative("哪部电影我不喜欢？")
    assert not asks_for_negative("I'm not sure. Which film did I see?")
    assert is_negative("Der Film war furchtbar.")
    assert not is_negative("这部电影不错")


@pytest.mark.parametrize("text", ["it and " * 40_000, "which " * 40_000, "那" * 200_000, "all the " * 30_000])
def test_a_question_of_200_kilobytes_is_read(text: str) -> None:
    assert not depends_on_history(text), "a message of its own"
    assert asks_for_all(text) is asks_for_all(text[:1000])
    assert asks_for_negative(text) is is_negative(text) is False
    assert strip_list_frame(text)
