"""A budget of tokens, spent on what is worth most: Recall.packed and Mind.context."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Filter, InvalidInput, Mind, Result, aio
from recollect.recall.packing import tokens
from recollect.text.words import words
from tests.conftest import examples

from .kit import NOON, open_mind


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with open_mind(tmp_path / "memory.db", None) as mind:
        yield mind


def talk(mind: Mind, *said: str, session: str = "monday", **details: Any) -> list[str]:
    """Things said in one session, one after another."""
    return [
        mind.remember(text, session=session, position=at, created=NOON - timedelta(hours=9 - at), **details).id
        for at, text in enumerate(said)
    ]


def lines(mind: Mind, query: str = "cup", budget: int = 1000, **options: Any) -> list[str]:
    """The texts of a context in their order, without what stands before each."""
    return [memory.text for memory in mind.context(query, budget, **options).memories]


# Packing.


def test_what_does_not_fit_makes_room_for_what_does(mind: Mind) -> None:
    mind.remember("cup cup cup " + "and so on and on " * 30)
    mind.remember("a cup on the shelf")
    recall = mind.recall("cup", 100)
    assert [result.text for result in recall.packed(5)] == ["a cup on the shelf"]
    assert len(recall.packed(500)) == 2
    assert recall.packed(1) == []


def test_of_two_that_score_alike_the_shorter_is_taken(mind: Mind) -> None:
    mind.remember("cup, cup, cup, cup, cup, cup and a shelf in the kitchen of the house by the lake", id="long")
    mind.remember("the cup, a cup", id="short")
    recall = mind.recall("cup", 100)
    assert [result.memory.id for result in recall] == ["long", "short"]
    assert recall[1].score > 0.9 * recall[0].score
    assert [result.memory.id for result in recall.packed(22)] == ["short"], "either would fit"
    assert len(recall.packed(25)) == 2


def test_what_is_said_twice_is_packed_once(mind: Mind) -> None:
    mind.remember_many(["The cup is blue.", "the cup is blue", "THE CUP: is blue!", "the cup is red"])
    packed = [result.text for result in mind.recall("cup", 100).packed(1000)]
    assert len(packed) == 2
    assert "the cup is red" in packed


def test_what_is_faint_is_not_worth_a_token(mind: Mind) -> None:
    mind.remember("a cup and a saucer and a spoon on a tray", id="best")
    mind.remember("the spoon " + "and other words of any kind that fill a page " * 40, id="faint")
    recall = mind.recall("cup saucer spoon tray", 100)
    assert recall[1].score < 0.1 * recall[0].score
    assert [result.memory.id for result in recall.packed(100_000)] == ["best"]


def test_the_packed_stand_in_the_order_of_their_ranks(mind: Mind) -> None:
    mind.remember_many(f"cup {'and more ' * (n % 7)} number {n}" for n in range(30))
    packed = mind.recall("cup number", 100).packed(80)
    assert len(packed) > 3
    assert [result.rank for result in packed] == sorted(result.rank for result in packed)


def test_tokens_are_counted_of_what_will_be_written(mind: Mind) -> None:
    mind.remember("the cup", title="A title of some length that will be written, too")
    recall = mind.recall("cup")
    assert len(recall.packed(2)) == 1
    assert recall.packed(2, lambda memory: f"{memory.title}: {memory.text}") == []


def test_nothing_found_packs_into_nothing(mind: Mind) -> None:
    assert mind.recall("submarine").packed(100) == []


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, "100", None, 2**70])
def test_a_budget_that_buys_nothing_is_refused(mind: Mind, budget: Any) -> None:
    mind.remember("a cup")
    with pytest.raises(InvalidInput, match="budget"):
        mind.recall("cup").packed(budget)
    with pytest.raises(InvalidInput, match="budget"):
        mind.context("cup", budget)
    assert mind.list()[0].use.access_count == 1, "no context was made for the refused"


# The context.


def test_it_is_told_with_day_and_speaker_in_the_order_of_events(mind: Mind) -> None:
    mind.remember("I found the cup.", speaker="Ann", created="2025-05-09")
    mind.remember("Where is the cup?", role="user", created="2025-05-08T23:59")
    mind.remember("Bob: the cup was mine.", speaker="Bob", created="2024-12-31")
    mind.remember("a cup, broken", created="2025-05-10")
    made = mind.context("cup")
    assert made.text.splitlines() == [
        "2024-12-31 Bob: the cup was mine.",
        "2025-05-08 user: Where is the cup?",
        "2025-05-09 Ann: I found the cup.",
        "2025-05-10 a cup, broken",
    ]
    assert str(made) == made.text
    assert made.memories[0].text == "Bob: the cup was mine."
    assert len(made.recall) == 4


def test_what_was_said_in_one_moment_stands_as_it_was_said(mind: Mind) -> None:
    """Imported at once, without positions: the best does not come first, but where it stood."""
    said = ["we came to the house", "then the cup fell", "a cup, the cup, that cup", "so we left again"]
    mind.remember_many({"text": text, "session": "monday"} for text in said)
    assert lines(mind) == said


def test_what_is_left_of_the_budget_goes_to_what_stands_around(mind: Mind) -> None:
    talk(mind, "hello there", "what do you need", "the cup please", "here you are", "goodbye then")
    assert lines(mind) == ["what do you need", "the cup please", "here you are"]
    assert lines(mind, budget=8) == ["the cup please"]
    assert lines(mind, budget=16) == ["what do you need", "the cup please"], "before comes first"


def test_around_a_better_result_first(mind: Mind) -> None:
    talk(mind, "one before", "a cup and other words", session="a")
    talk(mind, "two before", "the blue cup", session="b")
    needed = sum(tokens(f"2025-06-01 {text}\n") for text in ("a cup and other words", "the blue cup", "two before"))
    assert sorted(lines(mind, "blue cup", needed)) == sorted(["a cup and other words", "the blue cup", "two before"])


def test_what_stands_between_two_results_is_told_once(mind: Mind) -> None:
    said = ["the first cup", "nothing much", "another cup there"]
    talk(mind, *said)
    assert lines(mind) == said


def test_what_stands_around_is_not_said_twice_either(mind: Mind) -> None:
    talk(mind, "the cup fell down", "The cup fell down!", "oh no")
    talk(mind, "oh no", "a cup was bought", session="tuesday")
    told = lines(mind)
    assert len({text.lower().rstrip("!") for text in told}) == len(told) == 3


@pytest.mark.parametrize(
    ("details", "options"),
    [
        ({"user": "bob"}, {"filter": Filter(user="")}),
        ({"collection": "work"}, {"filter": {"collection": "main"}}),
        ({"collection": "work"}, {}),  # a session of the same name is another there
        ({"status": "forgotten"}, {}),
        ({"status": "superseded"}, {"filter": {"status": "active"}}),
        ({"expires": "2025-01-01"}, {}),
        ({"classification": 3}, {"filter": {"classification": 1}}),
        ({"valid_from": "2025-08-01"}, {}),
    ],
    ids=["user", "filtered collection", "collection", "forgotten", "superseded", "expired", "classified", "not yet"],
)
def test_what_may_not_come_back_does_not_stand_around_either(
    mind: Mind, details: dict[str, Any], options: dict[str, Any]
) -> None:
    talk(mind, "hello there")
    mind.remember("the cup", session="monday", position=5, created=NOON)
    assert lines(mind, **options) == ["hello there", "the cup"]
    mind.remember("a secret", session="monday", position=4, created=NOON, **details)
    assert "a secret" not in lines(mind, **options)


def test_a_bound_mind_keeps_to_its_collection(mind: Mind) -> None:
    talk(mind, "not yours", "the cup")
    with open_mind(Path(mind.path), None, collection="work") as bound:
        talk(bound, "mine", "my cup")
        assert lines(bound) == ["mine", "my cup"]


def test_what_was_not_known_at_the_moment_in_question_stays_out(mind: Mind) -> None:
    mind.remember("the cup", session="monday", created="2025-05-01")
    mind.remember("said later", session="monday", created="2025-05-10")
    assert lines(mind, as_of="2025-05-05") == ["the cup"]
    assert lines(mind, as_of="2025-05-15") == ["the cup", "said later"]


def test_a_fact_that_held_at_the_moment_in_question_is_not_called_superseded(mind: Mind) -> None:
    mind.remember("the cup is red", id="before", created="2025-05-01")
    mind.supersede("before", "the cup is blue", id="after")
    assert mind.context("cup", as_of="2025-05-10").text == "2025-05-01 the cup is red"
    assert "[superseded] the cup is red" in mind.context("cup").text


def test_nothing_found_is_an_empty_text(mind: Mind) -> None:
    talk(mind, "hello there", "the cup")
    made = mind.context("submarine")
    assert (made.text, list(made.memories), made.tokens, len(made.recall)) == ("", [], 0, 0)


def test_it_can_abstain(mind: Mind) -> None:
    talk(mind, "hello there", "the cup")
    made = mind.context("which submarine crossed an ocean under northern ice?", abstain=True)
    assert (made.text, made.tokens) == ("", 0)
    assert made.recall.why_not(mind.list()[0].id).step in ("abstain", "cues")
    with pytest.raises(InvalidInput, match="no measure of confidence"):
        mind.context("cup", recipe="openmem", abstain=True)


def test_it_takes_recipes_and_their_settings(mind: Mind) -> None:
    talk(mind, "hello there", "the cup")
    assert lines(mind, recipe="openclaw", min_score=0.0) == ["hello there", "the cup"]
    assert mind.context("cup", recipe="openmem").recall.trace.recipe == "openmem"
    with pytest.raises(InvalidInput):
        mind.context("cup", no_such_setting=1)
    with pytest.raises(InvalidInput, match="blank"):
        mind.context(" ")


def test_without_track_it_leaves_no_mark_of_use(mind: Mind) -> None:
    mind.remember("the cup")
    mind.context("cup", track=False)
    assert mind.list()[0].use.access_count == 0
    mind.context("cup")
    assert mind.list()[0].use.access_count == 1


def test_only_what_is_in_the_text_counts_as_used(mind: Mind) -> None:
    mind.remember("the cup is blue")
    mind.remember(
        "the cup, of which there is so very much more to say that no small budget would ever have room for it"
    )
    told = {memory.id for memory in mind.context("cup", 12).memories}
    assert len(told) == 1
    assert {memory.id for memory in mind.list() if memory.use.access_count} == told


def test_awaited_it_is_the_same(mind: Mind) -> None:
    talk(mind, "hello there", "the cup")

    async def asked() -> str:
        async with aio.AsyncMind(mind.path, embedder=None, clock=mind.clock) as other:
            return (await other.context("cup", 100, track=False)).text

    assert asyncio.run(asked()) == mind.context("cup", 100, track=False).text


def test_the_same_state_and_clock_give_the_same_text(mind: Mind) -> None:
    for n in range(40):
        talk(mind, f"before {n}", f"the cup {n}", f"after {n}", session=f"s{n % 9}")
    first = mind.context("cup", 300, track=False)
    with open_mind(Path(mind.path), None) as other:
        again = other.context("cup", 300, track=False)
    assert (again.text, again.tokens) == (first.text, first.tokens)


texts = st.lists(
    st.tuples(
        st.lists(
            st.sampled_from("cup cup, blue shelf the\n 杯子 📎 maxRetries x".split(" ")), min_size=1, max_size=30
        ).map(" ".join),
        st.sampled_from(["", "monday", "tuesday"]),
        st.sampled_from(["", "Ann", "Bartholomew the Elder"]),
        st.sampled_from(["", "user", "assistant"]),
    ).filter(lambda each: each[0].strip() != ""),
    min_size=1,
    max_size=12,
)


@given(texts, st.integers(1, 120))
@settings(max_examples=examples(25, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_budget_is_ever_exceeded_and_nothing_said_twice(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, str, str, str]], budget: int
) -> None:
    with open_mind(tmp_path_factory.mktemp("budget") / "memory.db", None) as mind:
        mind.remember_many(
            {"text": text, "session": session, "speaker": speaker, "role": role}
            for text, session, speaker, role in told
        )
        made = mind.context("blue cup 杯子", budget, track=False)
        assert tokens(made.text) <= made.tokens <= budget
        assert len({memory.id for memory in made.memories}) == len(made.memories)
        said = [frozenset(words(f"{m.speaker or m.role}: {m.text}")) for m in made.memories]
        assert len(set(said)) == len(said)

        recall = mind.recall("blue cup 杯子", 100, track=False)
        packed = recall.packed(budget)
        assert tokens("\n".join(result.text for result in packed)) <= budget
        left = budget - sum(tokens(result.text + "\n") for result in packed)
        for result in recall:
            if result not in packed and result.score > 0.1 * recall[0].score:
                assert tokens(result.text + "\n") > left or any(alike(result, other) for other in packed)


def alike(one: Result, other: Result) -> bool:
    mine, theirs = set(words(one.text)), set(words(other.text))
    return len(mine & theirs) >= 0.9 * len(mine | theirs)


# Statements of the same thing.


@pytest.mark.parametrize(
    ("question", "budget", "given"),
    [
        ("Where does Ida live?", 20, []),  # the old address alone would be wrong
        ("Where does Ida live?", 30, ["new"]),
        ("Where does Ida live?", 60, ["old", "new"]),
        ("Where did Ida live before?", 20, ["old"]),
    ],
)
def test_an_outdated_statement_never_takes_the_place_of_the_current_one(
    tmp_path: Path, question: str, budget: int, given: list[str]
) -> None:
    with Mind(tmp_path / "homes.db") as mind:
        mind.remember("Ida lives at 4 Mill Lane.", id="old", created="2025-03-01")
        moved = "Ida has moved again: she lives at 12 Harbour Road now, second floor, the blue door on the left."
        mind.remember(moved, id="new", created="2026-05-04")
        assert [memory.id for memory in mind.context(question, budget).memories] == given
        assert {result.id for result in mind.recall(question, 100).packed(budget)} == set(given)


def test_an_outdated_statement_is_marked_within_the_budget_and_in_the_fenced_form(tmp_path: Path) -> None:
    with Mind(tmp_path / "homes.db") as mind:
        mind.remember("Ida lives at 4 Mill Lane.", id="old", created="2025-03-01")
        mind.remember("Ida moved, she lives at 12 Harbour Road now.", id="new", created="2026-05-04")
        made = mind.context("Where does Ida live?")
        old = "2025-03-01 (earlier statement) Ida lives at 4 Mill Lane."
        assert made.text == f"{old}\n2026-05-04 Ida moved, she lives at 12 Harbour Road now."
        assert made.outdated == {"old"}
        assert [line for line in made.fenced().splitlines() if 'note="earlier statement"' in line] == [
            line for line in made.fenced().splitlines() if 'id="old"' in line
        ]
        assert made.tokens == sum(tokens(line + "\n") for line in made.text.splitlines())
        short = mind.context("Where does Ida live?", made.tokens - 1)  # enough without the mark
        assert [memory.id for memory in short.memories] == ["new"]


def test_what_no_newer_statement_replaces_is_not_marked(mind: Mind) -> None:
    talk(mind, "The blue cup is on the shelf.", "A red cup fell.")
    made = mind.context("cup")
    assert "earlier statement" not in made.text + made.fenced()
    assert made.outdated == frozenset()
