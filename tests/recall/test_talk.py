"""What was said in talks: its session, who said it, and in which role."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Mind
from recollect.recall.cues import AllCues
from recollect.recall.fusion import FirstCueWins
from recollect.recall.registry import get_recipe
from recollect.systems.abmind.cues import RelationsCue

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
            (mine,) = [node for node in nodes(result.why) if node.label == "own score"]
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
    assert step(recall, "speaker")["reason"] == "the query names no speaker"
    assert all("said by" not in str(result.why) for result in recall)


def test_what_somebody_said_comes_before_what_others_said_about_it(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        turns = [
            ("Ben", "Ann, did you say something?"),
            ("Ann", "I want to move to Lyon."),
            ("Ben", "What did Ann say? I can't hear."),
            ("Ann", "The kitchen needs paint."),
        ]
        for at, (who, text) in enumerate(turns, 1):
            mind.remember(text, speaker=who, session="talk", position=at)
        said = [result.memory.speaker for result in mind.recall("what did Ann say?")]
        assert said[:2] == ["Ann", "Ann"]
        assert mind.recall("what did Ben say?")[0].memory.speaker == "Ben"


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
    recipe = get_recipe("default")
    recipe = recipe.but(cues=AllCues(*recipe.cues.cues(), RelationsCue()), fuse=FirstCueWins())
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
    assert said["from May 2025"] == 1
    assert "no session: itself" in said


# Resuming.

MESSAGE = "I'm back from the market. The pears I bought were sweet. What shall we cook with them?"


def resumed(mind: Mind, id: str, **options: Any) -> dict[str, float]:
    (node,) = [node for node in nodes(mind.why(MESSAGE, id, k=20, **options)) if node.label == "after resuming"]
    return {part.label: part.value for part in node.parts[1:]}


def pears(mind: Mind, count: int = 4, session: str = "monday", **last: Any) -> None:
    for at in range(count):
        said = {"created": NOON, **(last if at == count - 1 else {})}
        mind.remember("we cook sweet pears", id=f"{session}-{at}", session=session, position=at, **said)


def test_a_message_goes_on_where_the_talk_was_left(mind: Mind) -> None:
    pears(mind)
    assert ids(mind.recall(MESSAGE, 4))[0] == "monday-3"
    left = {at: resumed(mind, f"monday-{at}") for at in (0, 2, 3)}
    assert left[3] == {"0.0 days from the message": 1.0, "0 of the next 2 follow in its session": 1.0}
    assert left[2]["1 of the next 2 follow in its session"] == pytest.approx(0.875)
    assert left[0]["2 of the next 2 follow in its session"] == pytest.approx(0.75)
    assert step(mind.recall(MESSAGE), "resuming")["outcome"] == "ran"
    reason = "the query is a message that continues a conversation"
    assert step(mind.recall(MESSAGE), "session")["reason"] == reason


HIDDEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "with a higher classification": ({"classification": 3}, {"filter": Filter(classification=1)}),
    "forgotten": ({"status": "forgotten"}, {}),
    "said later": ({"created": NOON - timedelta(days=1)}, {"as_of": NOON - timedelta(days=2)}),
}


@pytest.mark.parametrize(("details", "options"), HIDDEN.values(), ids=list(HIDDEN))
def test_what_may_not_be_seen_does_not_show_as_what_follows(
    mind: Mind, details: dict[str, Any], options: dict[str, Any]
) -> None:
    early = NOON - timedelta(days=9)
    mind.remember("we cook sweet pears", id="left", session="monday", position=0, created=early)
    mind.remember("we cook sweet pears", id="next", session="monday", position=1, **{"created": early, **details})
    assert "0 of the next 2 follow in its session" in resumed(mind, "left", **options)


def test_a_message_is_about_talks_that_are_near_in_time_before_it_or_after(mind: Mind) -> None:
    for session, days in {"soon": 2, "last week": -7, "long ago": -300, "far ahead": 300}.items():
        pears(mind, 1, session, created=NOON + timedelta(days=days))
    assert ids(mind.recall(MESSAGE, 4))[:2] == ["soon-0", "last week-0"]
    ago, ahead = (resumed(mind, f"{session}-0")["300.0 days from the message"] for session in ("long ago", "far ahead"))
    assert ago == ahead == pytest.approx(0.75, abs=1e-3)


def test_notes_without_a_session_are_of_any_time(mind: Mind) -> None:
    for at in range(12):  # so many that their order means something
        mind.remember("we cook sweet pears", id=f"note-{at}", created=NOON - timedelta(days=300 - at))
    assert step(mind.recall(MESSAGE), "resuming")["outcome"] == "skipped"
    pears(mind)
    assert resumed(mind, "note-3") == {"no session": 1.0}


@pytest.mark.parametrize(
    "question",
    [
        "what shall we cook with sweet pears from the market?",
        "I'm back from the market. What shall we cook with sweet pears?",
        "Hi! Thanks! So. Ok... What shall we cook with the pears?",
        "What shall Dr. J. Smith and Mr. E. Lee cook with pears, i.e. the sweet ones etc. from abroad?",
        "I'm back from the market. The pears there are so sweet. What did we cook with them in spring?",
    ],
)
def test_a_question_may_be_about_any_time(mind: Mind, question: str) -> None:
    pears(mind, 2, created=NOON - timedelta(days=300))
    assert step(mind.recall(question), "resuming")["outcome"] == "skipped"


def test_it_can_be_turned_off(mind: Mind) -> None:
    pears(mind)
    assert set(resumed(mind, "monday-0", resuming=0.0).values()) == {1.0}


def test_statements_are_counted_in_chinese_too(mind: Mind) -> None:
    mind.remember("我们煮甜梨", session="monday")
    asked = "我今天从市场回来了。我买的梨非常甜！我们今天晚上煮什么？"
    assert step(mind.recall(asked), "resuming")["outcome"] == "ran"


# Role.


@pytest.mark.parametrize(
    "question",
    [
        "what did you recommend for the starter?",
        "which flour have you suggested for the starter?",
        "what was your advice on the starter?",
        "what did the assistant say about the starter?",
    ],
)
def test_what_an_assistant_said_comes_first_when_it_is_asked_for(mind: Mind, question: str) -> None:
    mind.remember("My starter smells odd, the starter again.", session="monday", position=0, role="user")
    mind.remember("Feed the starter with flour.", session="monday", position=1, role="assistant")
    recall = mind.recall(question)
    assert recall[0].memory.role == "assistant"
    assert "role 'user'" in recall[1].why.summary()


def test_what_a_user_stated_comes_before_the_assistants_repetition(mind: Mind) -> None:
    mind.remember("My starter lives in the blue jar.", session="monday", position=0, role="user")
    mind.remember("Noted: the starter lives in the blue jar.", session="monday", position=1, role="assistant")
    recall = mind.recall("can you tell me where the starter lives?")
    assert [result.memory.role for result in recall] == ["user", "assistant"]


def test_a_question_that_names_a_user_prefers_the_memories_of_that_user(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        for user, car, town in (("anna", "Volvo", "York"), ("ben", "Fiat", "Hull"), ("cleo", "Tesla", "Bath")):
            mind.remember(f"I drive a {car}, it is my first car.", user=user, created="2025-01-01")
            mind.remember(f"I live in {town}.", user=user, created="2025-02-01")
        for user, car, town in (("anna", "Volvo", "York"), ("ben", "Fiat", "Hull")):
            assert car in mind.recall(f"What car does {user.title()} drive?")[0].text
            assert town in mind.recall(f"Where does {user.title()} live?")[0].text


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What may I drive to the office?", ""),
        ("What will I drive to the office in May?", ""),
        ("Mark where I drive to the office?", ""),
        ("What does May drive to the office?", "may"),
        ("What will Will drive to the office?", "will"),
        ("Mark's drive to the office?", "mark"),
        ("What does anna drive to the office?", "anna"),
    ],
)
def test_a_user_whose_name_is_an_ordinary_word_is_named_by_a_capital_letter(
    tmp_path: Path, question: str, named: str
) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        for user, car in (("will", "Volvo"), ("may", "Fiat"), ("mark", "Tesla"), ("anna", "Golf")):
            mind.remember(f"I drive a {car} to the office.", user=user, created="2025-01-01")
        lowered = {r.memory.user for r in mind.recall(question) if f"0.5000  of user '{r.memory.user}'" in str(r.why)}
        assert lowered == ({"will", "may", "mark", "anna"} - {named} if named else set())
