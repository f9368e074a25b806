"""What a question asks for: an amount of money, an attribute, or one of several."""

from __future__ import annotations

import pytest

from recollect.text.asked_value import asked_value, mentions_amount


@pytest.mark.parametrize(
    ("question", "language", "kind", "named"),
    [
        ("What's the serial number of the lathe?", "en", "attribute", {"serial", "number"}),
        ("What is Olga's phone number?", "en", "attribute", {"phone", "number"}),
        ("When is Olga's anniversary?", "en", "attribute", {"anniversary"}),
        ("What was our current meter reading in the cellar?", "en", "attribute", {"meter", "reading"}),
        ("Which airline am I flying with?", "en", "choice", {"airline"}),
        ("What shoe size does Olga have?", "en", "choice", {"shoe", "size"}),
        ("Wie lautet das Passwort für den Drucker?", "de", "attribute", {"passwort"}),
        ("Wann hat Olga Geburtstag?", "de", "attribute", {"geburtstag"}),
        ("Welchen Impfstoff hat Olga bekommen?", "de", "choice", {"impfstoff"}),
        ("小李的邮箱是什么？", "zh", "attribute", {"邮箱"}),
    ],
)
def test_it_finds_the_words_that_name_what_is_asked_for(
    question: str, language: str, kind: str, named: set[str]
) -> None:
    asked = asked_value(question, language)
    assert asked is not None
    assert str(asked.kind) == kind
    assert set(asked.words) == named


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What did the roofer charge?", "en"),
        ("How much was the ferry?", "en"),
        ("What rent do we pay for the barn?", "en"),
        ("Was kostet der Kurs?", "de"),
        ("Was hat Olga für das Rad bezahlt?", "de"),
        ("机票多少钱？", "zh"),
    ],
)
def test_it_recognises_a_question_for_an_amount_of_money(question: str, language: str) -> None:
    asked = asked_value(question, language)
    assert asked is not None
    assert asked.kind == "amount"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Where is the ladder?", "en"),
        ("What happened in May?", "en"),
        ("What is the name of the baker?", "en"),  # a memory that has the name need not have the word
        ("Which place did we visit?", "en"),
        ("Which tools did I lend to Olga?", "en"),  # a list, whose items have names of their own
        ("What was your advice about the roof?", "en"),
        ("What's my opinion of the new mayor?", "en"),
        ("How much water does the fern need?", "en"),
        ("Wo ist die Leiter?", "de"),
        ("我们什么时候出发？", "zh"),
        ("Quel est le numéro du train ?", "fr"),
        ("", "en"),
    ],
)
def test_other_questions_ask_for_no_value_that_could_be_looked_for(question: str, language: str) -> None:
    assert asked_value(question, language) is None


@pytest.mark.parametrize(
    "text",
    [
        "£40 each",
        "we paid 1,250 in the end",
        "38 Euro",
        "12 quid",
        "he wants 35 for it",
        "门票一百二",
        "the bus is free of charge",
    ],
)
def test_these_have_an_amount(text: str) -> None:
    assert mentions_amount(text)


@pytest.mark.parametrize(
    "text",
    [
        "the meeting is on 3 May at 10:30",
        "she weighs 61.5 kilos",
        "am 2. Dezember um 9 Uhr",
        "the sensor is in Hall 7",
        "part FS-2000 came",
        "since 2019",
        "六月二十号见面",
        "it took 45 minutes",
    ],
)
def test_dates_quantities_and_numbers_of_things_are_no_amounts(text: str) -> None:
    assert not mentions_amount(text)


def test_a_question_of_many_words_is_read_in_bounded_time() -> None:
    for question in ("what " * 100_000, "what is the " + "a" * 200_000, "which " + "x " * 100_000, "was " * 100_000):
        assert asked_value(question) is None or asked_value(question)
        assert not mentions_amount("a " * 100_000)


@pytest.mark.parametrize(
    "question",
    [
        "What should I pay attention to when lifting?",
        "What did we spend the weekend on in the hills?",
        "What do I charge the camera battery with?",
        "What did Bill tell me about the roses in the garden?",
        "So what - is it broken?",
    ],
)
def test_words_that_may_be_about_money_do_not_make_a_question_about_an_amount(question: str) -> None:
    asked = asked_value(question)
    assert asked is None or asked.kind != "amount"
