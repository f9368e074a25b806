"""What we add (B15): a follow-up takes its subject from the turns before it; other questions do not change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Memory, Mind
from tests.recall.kit import NOON

SESSIONS = {
    "garden": [
        ("user", "We planted a pear tree behind the shed, a Conference."),
        ("assistant", "A pear tree, lovely."),
        ("user", "It came from the nursery in Oldfield, 34 pounds."),
    ],
    "piano": [
        ("user", "The tuner came for the piano today."),
        ("assistant", "How does it sound?"),
        ("user", "Much better. He took 95 for two hours."),
    ],
    "trip": [
        ("user", "Booked the ferry to Texel for the first week of May."),
        ("user", "The guest house is called Duinzicht."),
    ],
    "kitchen": [("user", "The oven was repaired, a new thermostat."), ("user", "The fridge hums at night.")],
}
TREE = [
    {"role": "user", "content": "What did we plant behind the shed?"},
    {"role": "assistant", "text": "A pear tree."},
]
PIANO = [("user", "When was the piano tuned?"), ("assistant", "Today, by the tuner.")]


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    with Mind(tmp_path_factory.mktemp("follow") / "memory.db", clock=lambda: NOON) as mind:
        mind.remember_many(
            {"text": text, "role": role, "session": session, "position": at, "created": NOON}
            for session, turns in SESSIONS.items()
            for at, (role, text) in enumerate(turns)
        )
        yield mind


def outcome(mind: Mind, query: str, **options: Any) -> list[tuple[str, float, dict[str, Any]]]:
    found = mind.recall(query, track=False, **options)
    return [(result.id, result.score, result.why.as_dict()) for result in found]


@pytest.mark.contract("B15")
@pytest.mark.parametrize(
    ("query", "history", "answer"),
    [
        ("And how much was it?", TREE, "34 pounds"),
        ("And how much was it?", PIANO, "95 for two hours"),
        ("What did he charge?", PIANO, "95 for two hours"),
        ("where did it come from?", TREE, "Oldfield"),
    ],
)
def test_the_same_follow_up_finds_what_its_history_is_about(
    mind: Mind, query: str, history: list[Any], answer: str
) -> None:
    assert answer in mind.recall(query, history=history, track=False)[0].text


@pytest.mark.contract("B15")
@pytest.mark.parametrize("query", ["Where is the guest house?", "Who repaired the oven?", "What does the fridge do?"])
@pytest.mark.parametrize("history", [TREE, PIANO])
def test_a_question_that_stands_alone_gets_the_same_with_and_without_history(
    mind: Mind, query: str, history: list[Any]
) -> None:
    assert outcome(mind, query, history=history) == outcome(mind, query)


@pytest.mark.contract("B15")
def test_the_trace_and_why_say_what_was_taken_from_which_turn(mind: Mind) -> None:
    found = mind.recall("And how much was it?", history=TREE, track=False)
    (step,) = [each for each in found.trace.steps if each.name == "FollowUp"]
    assert "it begins with" in step.detail["follow-up"]
    assert "pear" in step.detail["subject"]
    assert "A pear tree." in step.detail["taken from"]
    assert "turns before are about" in str(found[0].why)
    assert found[0].why.evaluate() == found[0].score


@pytest.mark.contract("B15")
def test_a_context_and_an_explanation_use_the_history(mind: Mind) -> None:
    assert "34 pounds" in mind.context("And how much was it?", 40, history=TREE, track=False).text
    best = mind.recall("And how much was it?", history=TREE, track=False)[0]
    assert mind.why("And how much was it?", best.id, history=TREE).value == best.score


def test_more_results_never_change_the_first_ones_of_a_follow_up(mind: Mind) -> None:
    few, many = (outcome(mind, "And how much was it?", history=TREE, k=k) for k in (2, 9))
    assert many[:2] == few


def test_turns_may_be_objects_pairs_texts_or_memories(mind: Mind) -> None:
    shapes: list[list[Any]] = [
        TREE,
        [("user", "What did we plant behind the shed?"), ["assistant", "A pear tree."]],
        [Memory("What did we plant behind the shed?", role="user"), Memory("A pear tree.", role="assistant")],
        [
            {"role": "user", "content": [{"type": "text", "text": "What did we plant behind the shed?"}]},
            {"role": "assistant", "content": "A pear tree."},
        ],
    ]
    assert all(
        outcome(mind, "And how much was it?", history=each) == outcome(mind, "And how much was it?", history=TREE)
        for each in shapes
    )
    assert (
        "34 pounds" in mind.recall("And how much?", history=["What did we plant?", "A pear tree."], track=False)[0].text
    )


def test_an_empty_history_and_empty_turns_change_nothing(mind: Mind) -> None:
    alone = outcome(mind, "And how much was it?")
    for history in ([], None, [""], [{"role": "tool", "content": None}], [("narrator", "  ")]):
        assert outcome(mind, "And how much was it?", history=history) == alone


def test_of_a_thousand_turns_the_last_ones_count(mind: Mind) -> None:
    long = [{"role": "narrator", "text": f"We spoke of the fridge {n} times."} for n in range(1000)] + PIANO
    assert "95 for two hours" in mind.recall("And how much was it?", history=long, track=False)[0].text


@pytest.mark.parametrize(
    "history", ["a text", 3, [3], [("user",)], [{"role": "user"}], [{"role": 1, "text": "x"}], {"role": "user"}]
)
def test_a_history_of_another_type_is_refused_with_the_reason(mind: Mind, history: Any) -> None:
    with pytest.raises(InvalidInput, match="history"):
        mind.recall("And how much was it?", history=history)


def test_tools_offer_recall_with_history_to_a_model(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        tools = {tool.name: tool for tool in mind.tools()}
        id = tools["remember"].call(text="The spare key is under the blue pot.")["id"]
        history = [{"role": "user", "text": "Do I have a spare key?"}]
        assert tools["recall"].call(query="Where is it?", history=history)["results"][0]["memory"]["id"] == id
        assert tools["forget"].call(ids=[id]) == {"forgotten": 1}
        assert tools["recall"].for_openai()["function"]["parameters"]["required"] == ["query"]
        assert {"query", "history", "k"} <= tools["recall"].for_anthropic()["input_schema"]["properties"].keys()
