"""What was said in talks: its session, who said it, and in which role."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Filter, Mind
from recollect.recall.cues import Parallel, Relations
from recollect.recall.fuse import FirstCome
from recollect.recipes import named

from .kit import NOON, WOVEN, ids, nodes, open_mind, step


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", WOVEN) as mind:
        yield mind


def labels(mind: Mind, query: str, id: str) -> dict[str, float]:
    return {node.label: node.value for node in nodes(mind.why(query, id, k=20))}


# Session.

ASKED = "what did we hear of the basement stairs?"


def session(mind: Mind, name: str, answer: str, collection: str = "") -> None:
    """An answer or something else, far apart from a remark that is the same in every session."""
    mind.remember(answer, id=f"{name}-0", session=name.split("/")[0], collection=collection, position=0)
    for at in range(1, 6):
        said = f"so it goes {name} {at}"
        mind.remember(said, id=f"{name}-{at}", session=name.split("/")[0], collection=collection, position=at)
    mind.remember("stairs again", id=f"{name}-last", session=name.split("/")[0], collection=collection, position=9)


def test_of_two_equal_memories_that_of_the_session_with_the_answer_comes_first(mind: Mind) -> None:
    session(mind, "monday", "what we hear: the basement lamp fell on the basement stairs")
    session(mind, "tuesday", "a letter came from the bank")
    ranked = ids(mind.recall(ASKED, 20))
    assert ranked[0] == "monday-0"
    assert ranked.index("monday-last") < ranked.index("tuesday-last")
    assert "session 'monday'" in labels(mind, ASKED, "monday-last")


def test_a_session_of_the_same_name_in_another_collection_is_another_session(mind: Mind) -> None:
    session(mind, "monday", "what we hear: the basement lamp fell on the basement stairs")
    session(mind, "monday/work", "a letter came from the bank", collection="work")
    here, there = (labels(mind, ASKED, id)["best score in the session"] for id in ("monday-last", "monday/work-last"))
    assert here > there


def test_a_session_of_the_same_name_is_another_for_another_user(mind: Mind) -> None:
    session(mind, "monday", "what we hear: the basement lamp fell on the basement stairs")
    session(mind, "monday/bob", "a letter came from the bank")
    for memory in mind.list():
        if memory.id.startswith("monday/bob"):
            mind.edit(memory.id, user="bob")
    his, others = (labels(mind, ASKED, id)["best score in the session"] for id in ("monday/bob-last", "monday-last"))
    assert his < others


def test_an_answer_that_the_filter_leaves_out_lifts_nobody(mind: Mind) -> None:
    session(mind, "monday", "what we hear: the basement lamp fell on the basement stairs")
    session(mind, "tuesday", "a letter came from the bank")
    mind.edit("monday-0", user="bob")
    own, lent = [], set()
    for result in mind.recall(ASKED, 20, filter=Filter(user="")):
        if result.memory.session == "monday":
            (mine,) = [node for node in nodes(result.why) if node.label == "its own"]
            own.append(mine.parts[1].value)
            lent |= {node.value for node in nodes(result.why) if node.label == "best score in the session"}
    assert len(own) == 6
    assert lent == {max(own)}


def test_a_session_about_one_thing_counts_for_more_than_one_about_this_and_that(tmp_path: Path) -> None:
    tea = ["green tea from the tea shop", "a pot of green tea", "tea shop sells green tea"]
    bikes = ["the bike chain of my bike", "my bike needs a chain", "a chain for the bike"]
    shares = []
    for name, talks in (("sorted", (tea, bikes)), ("mixed", ((*tea[:2], bikes[0]), (*bikes[1:], tea[2])))):
        with open_mind(tmp_path / f"{name}.db", WOVEN) as mind:
            mind.remember_many({"text": text, "session": f"talk {n}"} for n, talk in enumerate(talks) for text in talk)
            recall = mind.recall("green tea or a bike chain?", track=False)
            coherence = step(recall, "session")["detail"]["coherence"]
            shared = next(node for node in nodes(recall[0].why) if node.label.startswith("session 'talk"))
            share = next(node.value for node in shared.parts if node.label == "share")
            assert share == pytest.approx(0.5 * min(1, max(0, 0.2 + 3 * coherence)), abs=1e-3)
            shares.append(share)
    assert shares[0] > 0.4 > 0.2 > shares[1]


def test_without_vectors_a_session_counts_for_little(tmp_path: Path) -> None:
    with open_mind(tmp_path / "plain.db", None) as mind:
        mind.remember_many({"text": f"cup number {n}", "session": f"talk {n % 2}"} for n in range(6))
        told = step(mind.recall("where is a cup?"), "session")
        assert (told["outcome"], told["detail"]["coherence"]) == ("ran", 0)


def test_without_sessions_the_stage_says_so(mind: Mind) -> None:
    mind.remember_many(["a red cup", "a blue cup"])
    told = step(mind.recall("red cup"), "session")
    assert (told["outcome"], told["reason"]) == ("skipped", "no candidate has a session")


# Speaker.


@pytest.fixture
def speakers(mind: Mind) -> Mind:
    for who in ("Anna", "Bob Miller", "Zoë", ""):
        mind.remember("I bought a tent for the trip", id=who or "nobody", speaker=who)
    return mind


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did Anna buy for the trip?", "Anna"),
        ("what has bob bought?", "Bob Miller"),
        ("What was Anna's tent for?", "Anna"),
        ("which tent is zoe's?", "Zoë"),
    ],
)
def test_who_is_named_comes_before_others_who_said_the_same(speakers: Mind, question: str, first: str) -> None:
    assert speakers.recall(question)[0].memory.id == first
    factors = {who: labels(speakers, question, who)[f"said by {who!r}"] for who in ("Anna", "Bob Miller", "Zoë")}
    assert factors.pop(first) == 1
    assert max(factors.values()) < 1
    assert labels(speakers, question, "nobody")["said by ''"] == 1, "what nobody said may be about anybody"


@pytest.mark.parametrize("question", ["Who bought a tent?", "what did Carla buy?", "did Annabel buy a tent?"])
def test_when_nobody_is_named_it_does_not_matter_who_spoke(speakers: Mind, question: str) -> None:
    recall = speakers.recall(question)
    assert step(recall, "speaker")["reason"] == "the question names nobody who speaks here"
    assert all("said by" not in str(result.why) for result in recall)


def test_two_who_are_named_both_count(speakers: Mind) -> None:
    asked = "Did Anna or Bob buy the tent?"
    factors = [labels(speakers, asked, who)[f"said by {who!r}"] for who in ("Anna", "Bob Miller", "Zoë")]
    assert factors[0] == factors[1] == 1 > factors[2]


@pytest.mark.parametrize("name", ["?!", "'", "—"])
def test_a_speaker_without_letters_is_nobody_to_name(mind: Mind, name: str) -> None:
    mind.remember("I bought a tent", speaker=name)
    assert mind.recall("who bought a tent?!").trace.failures == []


# Role.


def test_what_an_assistant_said_comes_after_what_it_was_told(mind: Mind) -> None:
    for role in ("assistant", "user", "tool", "system", "captain", ""):
        mind.remember("the tent is green", id=role or "none", role=role)
    scores = {result.memory.id: result.score for result in mind.recall("what colour has the tent?")}
    assert scores["user"] == scores["captain"] == scores["none"]
    assert max(scores["assistant"], scores["tool"], scores["system"]) < scores["user"]
    assert "role 'assistant'" in labels(mind, "what colour has the tent?", "assistant")


def test_without_an_assistant_the_stage_says_so(mind: Mind) -> None:
    mind.remember("the tent is green", role="user")
    assert "assistant" in step(mind.recall("what colour has the tent?"), "role")["reason"]


# Guests: results that are no stored memories.


def test_an_edge_between_names_passes_every_stage_and_is_not_held_to_a_date(mind: Mind) -> None:
    recipe = named("default")
    recipe = recipe.but(cues=Parallel(*recipe.cues.cues(), Relations()), fuse=FirstCome())
    mind.remember_many(
        {"text": f"alice met bob {days} days ago", "created": NOON - timedelta(days=days), "session": "s"}
        for days in (10, 300)
    )
    mind.relate("alice", "works_with", "bob")
    recall = mind.recall("when did alice see bob in May?", recipe=recipe, track=False)
    assert recall.trace.failures == []
    (edge,) = [result for result in recall if result.memory.kind == "relation"]
    assert edge.why.evaluate() == edge.score
    said = {node.label: node.value for node in nodes(edge.why)}
    assert said["undated"] == 1
    assert "no session: itself" in said


# Resuming.

MESSAGE = "I'm back from the market. The pears were sweet. What shall we cook?"
QUESTION = "what shall we cook with sweet pears from the market?"


def resumed(mind: Mind, query: str, id: str) -> dict[str, float]:
    (node,) = [node for node in nodes(mind.why(query, id, k=20)) if node.label == "after resuming"]
    return {part.label: part.value for part in node.parts[1:]}


def test_a_message_goes_on_where_the_talk_was_left(mind: Mind) -> None:
    for at in range(4):
        mind.remember("we cook sweet pears", id=f"p{at}", session="monday", position=at)
    assert ids(mind.recall(MESSAGE, 4))[0] == "p3"
    assert resumed(mind, MESSAGE, "p3") == {"0.0 days away": 1.0, "0 right after it in its session": 1.0}
    assert resumed(mind, MESSAGE, "p2")["1 right after it in its session"] == pytest.approx(0.85)
    assert resumed(mind, MESSAGE, "p0")["2 right after it in its session"] == pytest.approx(0.7)


def test_a_message_is_about_what_is_near_in_time_before_it_or_after(mind: Mind) -> None:
    for id, days in {"soon": 2, "last week": -7, "long ago": -300, "far ahead": 300}.items():
        mind.remember("we cook sweet pears", id=id, created=NOON + timedelta(days=days))
    assert ids(mind.recall(MESSAGE, 4))[:2] == ["soon", "last week"]
    assert resumed(mind, MESSAGE, "long ago") == {"300.0 days away": pytest.approx(0.7, abs=1e-3), **END}
    assert resumed(mind, MESSAGE, "far ahead") == resumed(mind, MESSAGE, "long ago")


END = {"0 right after it in its session": 1.0}


def test_memories_without_a_session_have_no_end_to_go_on_from(mind: Mind) -> None:
    for at in range(4):
        mind.remember("we cook sweet pears", id=f"p{at}", position=at)
    assert all(resumed(mind, MESSAGE, f"p{at}") == {"0.0 days away": 1.0, **END} for at in range(4))


@pytest.mark.parametrize(
    "question", [QUESTION, "I'm back. What shall we cook with sweet pears?", "pears cost 2.5. e.g. 3.1"]
)
def test_a_question_may_be_about_any_time(mind: Mind, question: str) -> None:
    mind.remember("we cook sweet pears", created=NOON - timedelta(days=300))
    assert step(mind.recall(question), "resuming")["outcome"] == "skipped"


def test_sentences_are_counted_in_chinese_too(mind: Mind) -> None:
    mind.remember("我们煮甜梨", created=NOON - timedelta(days=300))
    assert step(mind.recall("我回来了。梨很甜！我们煮什么？"), "resuming")["outcome"] != "skipped"
