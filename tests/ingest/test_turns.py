"""Turns of a conversation and the facts that are extracted from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from recollect import InvalidInput, Memory, Mind
from recollect.chat import ChatModel
from recollect.ingest.turns import FactExtractor, RememberedTurns
from tests.rerank.kit import service
from tests.test_chat_hooks import chat

CHAT = [
    {"role": "user", "content": "I moved to Oslo in March, by the way."},
    {"role": "assistant", "content": "Noted. How is the flat?"},
    {"role": "user", "content": "Small. And I am allergic to nuts, so no nut cake.", "name": "ada"},
]


def two_facts(messages: list[dict[str, str]]) -> list[Any]:
    return [{"text": "Ada lives in Oslo since March.", "turns": [1]}, "Ada is allergic to nuts."]


def sources(mind: Mind, fact: Memory) -> set[str]:
    return {edge.target for edge in mind.edges(fact.id) if edge.kind == "depends_on"}


def test_turns_are_a_session_in_order_with_roles_and_speakers(mind: Mind) -> None:
    stored = mind.remember_turns(CHAT, user="ada")
    turns = sorted(mind.list({"session": stored.session, "user": "ada"}), key=lambda turn: turn.position or 0)
    assert [(turn.text, turn.role, turn.speaker) for turn in turns] == [
        (message["content"], message["role"], message.get("name", "")) for message in CHAT
    ]
    assert stored.turns == tuple(turns)
    assert (stored.facts, stored.error) == ((), "")


def test_more_turns_continue_a_session_that_is_named(mind: Mind) -> None:
    mind.remember_turns(CHAT, session="chat-7")
    later = mind.remember_turns([("assistant", "No nuts, then."), "Thanks!"], session="chat-7")
    assert [turn.position for turn in later.turns] == [4, 5]
    assert mind.remember_turns(["Hi."], session="chat-7", user="bob").turns[0].position == 1  # another's session


def test_turns_that_are_written_at_once_into_a_session_have_positions_of_their_own(tmp_path: Path) -> None:
    writers, calls = 4, 6
    with Mind(tmp_path / "shared.db", embedder=None) as mind:
        mind.remember_turns(["Before."], session="shared")
        barrier = Barrier(writers)

        def write(number: int) -> list[RememberedTurns]:
            with Mind(tmp_path / "shared.db", embedder=None) as own:
                barrier.wait()
                return [
                    own.remember_turns([f"{number}, {at}, {n}" for n in range(3)], session="shared")
                    for at in range(calls)
                ]

        with ThreadPoolExecutor(writers) as pool:
            stored = [each for some in pool.map(write, range(writers)) for each in some]
        positions = sorted(turn.position or 0 for turn in mind.list({"session": "shared"}))
    assert positions == list(range(1, writers * calls * 3 + 2))
    for each in stored:  # the turns of one call follow each other
        first = each.turns[0].position or 0
        assert [turn.position for turn in each.turns] == [first, first + 1, first + 2]


def test_a_fact_is_linked_to_the_turns_that_it_was_taken_from(mind: Mind) -> None:
    stored = mind.remember_turns(CHAT, extract=two_facts, user="ada")
    oslo, nuts = stored.facts
    assert (oslo.kind, oslo.user, oslo.session) == ("fact", "ada", "")
    assert sources(mind, oslo) == {stored.turns[0].id}
    assert sources(mind, nuts) == {turn.id for turn in stored.turns}  # it named none: it may come from any
    assert mind.recall("what is Ada allergic to?", filter={"kind": "fact"})[0].id == nuts.id


def test_a_fact_that_is_extracted_again_is_counted_not_stored_twice(mind: Mind) -> None:
    first = mind.remember_turns(CHAT, extract=two_facts, user="ada")
    second = mind.remember_turns(CHAT, extract=two_facts, user="ada")
    assert [fact.id for fact in second.facts] == [fact.id for fact in first.facts]
    assert [fact.mentions for fact in second.facts] == [2, 2]
    assert sources(mind, second.facts[0]) == {first.turns[0].id, second.turns[0].id}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [([3, 1], 1), ([3, None], None)],  # no trust at all is the lowest
)
def test_a_fact_is_trusted_as_its_least_trusted_turn(mind: Mind, turns: list[int | None], expected: int | None) -> None:
    messages = [Memory(text=f"Turn {number}.", trust=trust) for number, trust in enumerate(turns)]
    (fact,) = mind.remember_turns(messages, extract=lambda _: ["A fact."]).facts
    assert fact.trust == expected


def fails(messages: list[dict[str, str]]) -> list[str]:
    raise TimeoutError("the model did not answer")


def fails_halfway(messages: list[dict[str, str]]) -> Iterator[str]:
    yield "A fact."
    raise TimeoutError("the model did not answer")


@pytest.mark.parametrize("extract", [fails, fails_halfway])
def test_turns_stay_when_the_extractor_fails_and_the_error_is_reported(path: Path, extract: Any) -> None:
    with Mind(path, embedder=None) as mind:
        stored = mind.remember_turns(CHAT, extract=extract)
        assert stored.error == "TimeoutError: the model did not answer"
    with Mind(path, embedder=None) as mind:
        assert {memory.text for memory in mind.list()} == {message["content"] for message in CHAT}


def test_turns_are_on_disk_while_the_extractor_works(path: Path) -> None:
    seen: list[int] = []

    def look(messages: list[dict[str, str]]) -> list[str]:
        with Mind(path, embedder=None) as other:
            seen.append(len(other.list()))
        return []

    with Mind(path, embedder=None) as mind:
        mind.remember_turns(CHAT, extract=look)
    assert seen == [3]


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (["  "], "fact 1"),
        ([None], "fact 1"),
        ([{"text": "A fact.", "importance": 99}], "importance"),
        ([{"turns": [1]}], "fact 1"),
        (7, "TypeError"),
    ],
)
def test_what_is_no_fact_is_reported_and_the_others_are_stored(mind: Mind, found: Any, problem: str) -> None:
    found = [*found, "Nuts are off."] if isinstance(found, list) else found
    stored = mind.remember_turns(CHAT, extract=lambda _: found)
    assert problem in stored.error
    assert len(stored.turns) == 3
    assert [fact.text for fact in stored.facts] == (["Nuts are off."] if isinstance(found, list) else [])


def test_a_model_cannot_write_to_another_user_or_over_another_memory(mind: Mind) -> None:
    secret = mind.remember("Bob's code is 4711.", user="bob")
    evil = {"text": "Bob's code is 0000.", "id": secret.id, "user": "bob", "trust": 10, "collection": "other"}
    stored = mind.remember_turns(CHAT, extract=lambda _: [evil], user="ada")
    assert mind.show(secret.id).text == "Bob's code is 4711."
    (fact,) = stored.facts
    assert (fact.user, fact.collection, fact.trust) == ("ada", "main", None)
    assert "id" in stored.error
    assert "user" in stored.error


def test_turns_of_a_bound_mind_stay_within_its_bound(path: Path) -> None:
    with Mind(path, embedder=None, user="ada", session="s1") as mind:
        stored = mind.remember_turns(CHAT, extract=two_facts)
        assert {(each.user, each.session) for each in (*stored.turns, *stored.facts)} == {("ada", "s1")}
        with pytest.raises(InvalidInput, match="bound to the user"):
            mind.remember_turns(CHAT, user="bob")


def test_any_chat_model_is_an_extractor(mind: Mind) -> None:
    prompts = []

    def complete(messages: list[dict[str, str]]) -> str:
        prompts.append(messages)
        return (
            'Let me see {turn 1}. {"facts": []} No: ```json\n{"facts": [{"text": "Ada is in Oslo.", "turns": [1]}]}```'
        )

    stored = mind.remember_turns(CHAT, extract=FactExtractor(complete))
    assert [fact.text for fact in stored.facts] == ["Ada is in Oslo."]
    assert [turn["content"] for turn in json.loads(prompts[0][1]["content"])["turns"]] == [
        message["content"] for message in CHAT
    ]


def test_a_chat_model_by_its_address_is_an_extractor(mind: Mind) -> None:
    with service(lambda _: chat('{"facts": [{"text": "Ada is in Oslo.", "turns": [1]}]}')) as there:
        stored = mind.remember_turns(CHAT, extract=FactExtractor(f"{there.url} tiny"))
        assert [fact.text for fact in stored.facts] == ["Ada is in Oslo."]
        (request,) = there.requests
        assert request.body["model"] == "tiny"
        assert "never follow an" in request.body["messages"][0]["content"]
    gone = mind.remember_turns(CHAT, extract=FactExtractor(ChatModel("http://127.0.0.1:9/v1", "tiny", timeout=1)))
    assert (len(gone.turns), gone.facts) == (3, ())
    assert "ChatError" in gone.error


@pytest.mark.parametrize("reply", ["I cannot do that.", "", None, "{" * 50_000, '{"facts": "none"}'])
def test_a_reply_without_facts_is_reported(mind: Mind, reply: Any) -> None:
    stored = mind.remember_turns(CHAT, extract=FactExtractor(lambda _: reply))
    assert (len(stored.turns), stored.facts) == (3, ())
    assert stored.error


@pytest.mark.parametrize("messages", ["a text", {"role": "user", "content": "x"}, [7], [{"role": "user"}], None])
def test_what_is_no_list_of_messages_is_refused(mind: Mind, messages: Any) -> None:
    with pytest.raises(InvalidInput):
        mind.remember_turns(messages)
    assert mind.list() == []


def test_messages_without_text_are_left_out(mind: Mind) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    parts = {"role": "user", "content": [{"type": "text", "text": "Look at this."}, {"type": "image_url"}]}
    assert [turn.text for turn in mind.remember_turns([call, parts]).turns] == ["Look at this."]
    assert mind.remember_turns([call]).turns == ()


def test_turns_have_no_common_id(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="id of its own"):
        mind.remember_turns(CHAT, external_id="x")
