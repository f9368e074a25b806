"""What is asked and what was found decide how cues are weighed: prose, code, the look-up of a name, strange letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.embed.local import LocalEmbedder
from recollect.text.classify import is_code, is_lookup

from .kit import BAG, open_mind, step

PYTHON = "def retry(times):\n    for at in range(times):\n        yield at\n"
JAVA = 'public class Cup {\n    private String name;\n    void fill() {\n        pour("tea");\n    }\n}'
LETTER = "Dear Anna,\nthe cup that you sent me has arrived.\nIt is on the shelf now.\nYours, Bob"


@pytest.mark.parametrize("text", [PYTHON, JAVA, "#include <stdio.h>\nint main() {\n  return 0;\n}", "x = 1\ny += 2"])
def test_programs_are_code(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "x = 1", LETTER, "- buy milk\n- buy (two) eggs\n- call Bob", "苹果\n桌子"]
)
def test_notes_and_letters_are_not(text: str) -> None:
    assert not is_code(text)


@pytest.mark.parametrize("line", ["a" * 200_000, " " * 200_000 + "a", "f(" * 100_000], ids=["letters", "space", "open"])
def test_a_line_of_any_length_is_soon_judged(line: str) -> None:
    """Not a matter of hours, as it would be if every letter were tried with every other."""
    assert not is_code(f"{line}\n{line}")


@pytest.mark.parametrize("question", ["maxRetries", "cup", "created today", "retry_policy of HttpClient", "红色"])
def test_a_name_or_its_words_are_a_lookup(question: str) -> None:
    assert is_lookup(question)


@pytest.mark.parametrize(
    "question",
    ["where is the cup?", "red cups?", "what did we decide about maxRetries yesterday?", "five words without any end"],
)
def test_a_sentence_is_not(question: str) -> None:
    assert not is_lookup(question)


def material(path: Path, memories: list[str], question: str) -> str:
    with open_mind(path, LocalEmbedder()) as mind:
        mind.remember_many(memories)
        recall = mind.recall(question, track=False)
    assert recall.trace.failures == []
    assert all(result.why.evaluate() == result.score for result in recall)
    return str(step(recall, "blend")["detail"]["material"])


CODE = [PYTHON, JAVA, "import os\nprint(os.name)\n", "let a = 1;\nlet b = 2;\n"]
PROSE = [LETTER, "A cup of tea.", "The door is open.", "We met on Monday."]


def test_the_trace_says_what_it_was_taken_for(tmp_path: Path) -> None:
    told = {
        "code": material(tmp_path / "1.db", CODE, "how do we try it again several times?"),
        "prose": material(tmp_path / "2.db", PROSE, "how do we try it again several times?"),
        "lookup": material(tmp_path / "3.db", PROSE, "open door"),
        "unread": material(tmp_path / "4.db", PROSE, "Где моя чашка?"),
    }
    assert (told["code"], told["lookup"], told["unread"]) == ("code", "lookup", "unread")
    assert told["prose"] not in ("code", "lookup", "unread")


@pytest.mark.parametrize(
    ("question", "texts", "kinds"),
    [
        (
            "When does the choir practise?",
            ["The choir practises on Mondays.", "My aunt keeps bees.", "I sold the piano."],
            ["stated", "short"],
        ),
        # A language that the model does not know, but whose words are translated, has one kind for both.
        (
            "Wann probt der Chor?",
            ["Der Chor probt montags.", "Meine Tante hält Bienen.", "Ich habe das Klavier verkauft."],
            ["translated", "translated"],
        ),
        (
            "合唱团什么时候排练？",
            ["合唱团每周一排练。", "我姑姑养蜜蜂。", "我把钢琴卖了。"],
            ["translated", "translated"],
        ),
    ],
)
def test_what_one_person_states_is_weighed_otherwise_than_what_is_said_in_a_talk(
    tmp_path: Path, question: str, texts: list[str], kinds: list[str]
) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many([{"text": text, "user": "ida", "speaker": "Ida", "role": "user"} for text in texts])
        mind.remember_many([{"text": text, "user": "tom", "speaker": "Tom"} for text in texts])
        recalls = [mind.recall(question, filter={"user": user}, track=False) for user in ("ida", "tom")]
    assert [step(recall, "blend")["detail"]["material"] for recall in recalls] == kinds
    assert [recall[0].text for recall in recalls] == [texts[0]] * 2


def test_long_texts_of_one_person_are_no_statements(tmp_path: Path) -> None:
    long = [f"{text} {' '.join(['It was a long day and much was said about it'] * 4)}." for text in PROSE[1:]]
    assert material(tmp_path / "memory.db", long, "where did we leave the cup?") == "short"


def test_a_few_lines_of_code_among_notes_do_not_make_it_code(tmp_path: Path) -> None:
    assert material(tmp_path / "memory.db", [PYTHON, *PROSE], "how do we try it again several times?") != "code"


def test_a_recipe_of_tokens_alone_still_answers_what_they_cannot(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(["杯子在厨房的架子上。", "猫在院子里睡觉。"])
        recall = mind.recall("杯子在架子上吗？", words=0, vectors=0)
        assert recall[0].text == "杯子在厨房的架子上。"
        assert recall[0].score > recall[1].score


def test_a_recall_by_words_alone_embeds_nothing(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", BAG) as mind:
        mind.remember_many(["the blue cup is on the shelf", "the dock is in the hallway"])
        recall = mind.recall("blue cup", vectors=0, tokens=0)
    assert [result.text for result in recall] == ["the blue cup is on the shelf"]
    assert not {"vectors", "tokens"} & {each.name for each in recall.trace.steps}


def test_an_embedder_that_does_not_say_what_it_reads_is_taken_to_read_everything(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", BAG) as mind:
        mind.remember_many(["苹果 在 桌子 上", "a cup"])
        recall = mind.recall("苹果 在 哪里?", track=False)
    assert step(recall, "vectors")["outcome"] == "ran"
    assert step(recall, "blend")["detail"]["material"] != "unread"
