"""B14, B16, B17: the present value first, what users stated counts, and possible conflicts are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMind, InvalidInput, Mind, NotFound
from recollect.embed.local import LocalEmbedder
from tests.recall.kit import step

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    with Mind(path, embedder=LocalEmbedder(), clock=lambda: NOW, durability="fast") as mind:
        yield mind


def write_moves(mind: Mind, **owner: Any) -> None:
    """Three addresses of one person, among other things that she said."""
    mind.remember("My address is 12 Mill Lane, second floor.", id="mill", created="2024-02-01", **owner)
    mind.remember("The bakery on Mill Lane closes at noon.", id="bakery", created="2024-02-02", **owner)
    mind.remember("I moved: my address is 7 Orchard Road now.", id="orchard", created="2025-03-05", **owner)
    mind.remember("We had soup for dinner.", id="soup", created="2025-03-06", **owner)
    mind.remember("My new address is 40 Harbour Street.", id="harbour", created="2026-01-20", **owner)
    mind.remember("The cat sleeps on the radiator.", id="cat", created="2026-02-11", **owner)


# B14: the present value first.


@pytest.mark.contract("B14")
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is my address?", "harbour"),
        ("What's my address these days?", "harbour"),
        ("What was my previous address?", "orchard"),
        ("What was my address at the very beginning?", "mill"),
        ("What is my latest address?", "harbour"),
    ],
)
def test_the_question_decides_which_statement_is_first(mind: Mind, question: str, first: str) -> None:
    write_moves(mind)
    recall = mind.recall(question)
    assert recall[0].id == first
    assert {"mill", "orchard", "harbour"} <= {result.id for result in recall}  # none is hidden
    for result in recall:
        assert result.why.evaluate() == result.score


@pytest.mark.contract("B14")
@pytest.mark.parametrize(
    ("texts", "question", "first"),
    [
        (("Meine Nummer ist 030 1111.", "Ich habe jetzt die Nummer 030 2222."), "Welche Nummer habe ich?", 1),
        (("Meine Nummer ist 030 1111.", "Ich habe jetzt die Nummer 030 2222."), "Wie war meine alte Nummer?", 0),
        (("我的电话号码是5551111。", "我的电话号码换了，现在是5552222。"), "我现在的电话号码是多少？", 1),
        (("我的电话号码是5551111。", "我的电话号码换了，现在是5552222。"), "我以前的电话号码是多少？", 0),
    ],
)
def test_german_and_chinese_questions_are_understood(
    mind: Mind, texts: tuple[str, str], question: str, first: int
) -> None:
    for number, text in enumerate(texts):
        mind.remember(text, id=str(number), created=f"2026-0{number + 1}-01")
    assert mind.recall(question)[0].id == str(first)


@pytest.mark.contract("B14")
def test_notes_say_which_statement_is_newer(mind: Mind) -> None:
    write_moves(mind)
    notes = {result.id: " ".join(result.notes) for result in mind.recall("What is my address?")}
    assert "an earlier statement about this: “I moved" in notes["harbour"]
    assert "a newer statement about this: “My new address is 40 Harbour Street.” (2026-01-20)" in notes["mill"]
    assert notes["soup"] == ""


@pytest.mark.contract("B14")
def test_a_question_about_an_event_moves_nothing(mind: Mind) -> None:
    write_moves(mind)
    recall = mind.recall("What did I say when the bakery on Mill Lane closed?")
    assert step(recall, "statements")["outcome"] == "skipped"


@pytest.mark.contract("B14")
def test_a_correction_comes_before_what_it_corrects_whatever_is_asked(mind: Mind) -> None:
    turn: dict[str, Any] = {"session": "monday", "role": "user"}
    mind.remember("The crate weighs 214 kilos.", id="wrong", created="2026-05-01T10:00", position=0, **turn)
    mind.remember("No wait, 241 kilos.", id="right", created="2026-05-01T10:01", position=1, **turn)
    assert mind.recall("How much did the crate weigh?")[0].id == "right"


@pytest.mark.contract("B14")
def test_what_another_user_stated_is_no_newer_statement(mind: Mind) -> None:
    mind.remember("My locker is number 27.", id="ann", user="ann", created="2025-01-01")
    mind.remember("My locker is number 31 now.", id="ben", user="ben", created="2026-01-01")
    recall = mind.recall("What is the number of my locker?", filter={"user": "ann"})
    assert [(result.id, result.notes) for result in recall] == [("ann", ())]


@pytest.mark.contract("B14")
def test_asking_for_more_does_not_change_the_first_results(mind: Mind) -> None:
    write_moves(mind)
    few, many = (mind.recall("What is my address?", k) for k in (2, 6))
    assert [(each.id, each.score) for each in few] == [(each.id, each.score) for each in many][:2]


@pytest.mark.contract("B14")
def test_a_long_question_is_answered(mind: Mind) -> None:
    write_moves(mind)
    assert mind.recall("first before now or last " * 350 + "what is my address?")


# B16: what users stated counts.


@pytest.mark.contract("B14", "B16")
def test_a_stored_memory_can_supersede_another(mind: Mind) -> None:
    write_moves(mind)
    assert mind.supersede("mill", "orchard").id == "orchard"
    old = mind.show("mill")
    assert (old.status, old.valid_to) == ("superseded", datetime(2025, 3, 5, tzinfo=UTC))
    assert [(edge.source, edge.target, edge.kind) for edge in mind.edges("mill")] == [("orchard", "mill", "supersedes")]
    assert mind.recall("What was my first address?")[0].id == "mill"
    mind.undo()
    assert mind.show("mill").status == "active"


@pytest.mark.contract("B14", "B16")
def test_a_supersession_can_be_turned_round(mind: Mind) -> None:
    write_moves(mind)
    mind.supersede("mill", "orchard")
    mind.supersede("orchard", "mill")  # back at the first address
    back, left = mind.show("mill"), mind.show("orchard")
    assert (back.status, back.valid_to) == ("active", None)
    assert (left.status, left.valid_to) == ("superseded", NOW)
    assert [(edge.source, edge.target, edge.kind) for edge in mind.edges("mill")] == [("mill", "orchard", "supersedes")]
    mind.undo()
    assert (mind.show("mill").status, mind.show("orchard").status) == ("superseded", "active")


@pytest.mark.contract("B16")
def test_a_wrong_supersession_is_refused(mind: Mind) -> None:
    write_moves(mind)
    with pytest.raises(InvalidInput, match="cannot supersede itself"):
        mind.supersede("mill", "mill")
    with pytest.raises(InvalidInput, match="stored memory: change its topic"):
        mind.supersede("mill", "orchard", topic="home")
    with pytest.raises(NotFound):
        mind.supersede("nothing", "orchard")


SCENARIOS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, ...]], str, list[str]]] = {
    "contradiction: the more confident first": (
        [
            {"text": "The meeting room is upstairs.", "id": "sure", "confidence": 0.9},
            {"text": "The meeting room is downstairs, the meeting room.", "id": "unsure", "confidence": 0.4},
        ],
        [("sure", "unsure", "contradicts")],
        "Where is the meeting room?",
        ["sure", "unsure"],
    ),
    "contradiction: then the stronger": (
        [
            {"text": "The valve opens to the left.", "id": "fresh", "strength": 0.9},
            {"text": "The valve opens to the right, the valve.", "id": "faded", "strength": 0.2},
        ],
        [("fresh", "faded", "contradicts")],
        "How does the valve open?",
        ["fresh", "faded"],
    ),
    "temporal: what was superseded comes after": (
        [
            {"text": "The deploy runs on Friday, the deploy.", "id": "old", "status": "superseded"},
            {"text": "The deploy runs on Monday.", "id": "new"},
        ],
        [("new", "old", "supersedes")],
        "When does the deploy run?",
        ["new", "old"],
    ),
    "multi-hop: two edges away": (
        [
            {"text": "The parser crashed on Monday.", "id": "crash"},
            {"text": "A null byte was in row nine.", "id": "cause"},
            {"text": "Exports come from the legacy tool.", "id": "source"},
        ],
        [("crash", "cause", "depends_on"), ("cause", "source", "depends_on")],
        "parser crashed",
        ["crash", "cause", "source"],
    ),
    "graph: a neighbour without a common word": (
        [
            {"text": "The gripper slips on glass.", "id": "slip"},
            {"text": "Rubber pads fixed it.", "id": "fix"},
            {"text": "Lunch is at noon.", "id": "lunch"},
        ],
        [("slip", "fix", "supports")],
        "gripper slips",
        ["slip", "fix"],
    ),
}


@pytest.mark.contract("B16")
@pytest.mark.parametrize("recipe", ["openmem", "default"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_default_recipe_answers_what_openmem_answers(path: Path, scenario: str, recipe: str) -> None:
    memories, edges, question, expected = SCENARIOS[scenario]
    with Mind(path, embedder=None, clock=lambda: NOW, durability="fast") as mind:
        mind.remember_many(memories)
        for source, target, kind in edges:
            mind.link(source, target, kind)
        recall = mind.recall(question, recipe=recipe)
        assert [result.id for result in recall][: len(expected)] == expected
        for result in recall:
            assert result.why.evaluate() == result.score


@pytest.mark.contract("B16")
def test_contradicting_memories_have_a_note(mind: Mind) -> None:
    mind.remember("The shop opens at eight.", id="eight", confidence=0.9)
    mind.remember("The shop opens at nine.", id="nine", confidence=0.3)
    mind.contradict("eight", "nine")
    recall = mind.recall("When did the shop open?")
    assert [result.id for result in recall] == ["eight", "nine"]
    assert recall[0].notes == ("contradicts “The shop opens at nine.” (2026-06-01), which is less certain",)
    assert recall[1].notes == ("contradicted by “The shop opens at eight.” (2026-06-01), which is more certain",)


@pytest.mark.contract("B16")
def test_the_note_of_a_contradiction_says_what_decided(mind: Mind) -> None:
    mind.remember("Parking is in lot A.", id="a", created="2025-01-01")
    mind.remember("Parking is in lot B.", id="b", created="2025-06-01")
    mind.contradict("a", "b")
    recall = mind.recall("Where is the parking?")
    assert [result.id for result in recall] == ["b", "a"]
    assert recall[0].notes[-1] == "contradicts “Parking is in lot A.” (2025-01-01), which is older"


@pytest.mark.contract("B16")
def test_what_supersedes_a_memory_has_a_note(mind: Mind) -> None:
    mind.remember("The team lunch is at Corvo on Fridays.", id="old", created="2025-01-01")
    mind.supersede("old", "It is at Basil's now.", created="2025-06-01")
    new, old = mind.recall("Where is the team lunch?")
    assert new.notes[0] == "supersedes “The team lunch is at Corvo on Fridays.” (2025-01-01)"
    assert old.notes[0] == "superseded by “It is at Basil's now.” (2026-06-01)"


@pytest.mark.contract("B16")
def test_little_confidence_or_strength_lowers_a_score(path: Path) -> None:
    with Mind(path, embedder=None, clock=lambda: NOW, durability="fast") as mind:
        mind.remember("The drill is in the shed.", id="faded", strength=0.1, confidence=0.2)
        mind.remember("The drill is in the barn.", id="unsure", confidence=0.2)
        mind.remember("The drill is in the attic.", id="sure")
        recall = mind.recall("drill")
        assert [result.id for result in recall] == ["sure", "unsure", "faded"]
        assert "confidence 0.20" in recall.why("unsure").summary()


@pytest.mark.contract("B16")
def test_a_relation_between_names_brings_memories_of_the_other_name(path: Path) -> None:
    with Mind(path, embedder=None, clock=lambda: NOW, durability="fast") as mind:
        mind.remember("Alice likes trains.", id="alice")
        mind.remember("Bob keeps bees behind the school.", id="bob")
        mind.remember("Carol sings.", id="carol")
        mind.relate("Alice", "works_with", "Bob")
        recall = mind.recall("Whom does Alice work with?")
        assert [result.id for result in recall] == ["alice", "bob"]
        assert "Alice —[works_with]→ Bob" in str(recall.why("bob"))
        assert recall[1].why.evaluate() == recall[1].score


@pytest.mark.contract("B16", "B18")
def test_links_and_relations_bring_nothing_that_a_filter_leaves_out(path: Path) -> None:
    with Mind(path, embedder=None, clock=lambda: NOW, durability="fast") as mind:
        mind.remember("Alice likes trains.", id="alice", user="ann")
        mind.remember("Bob keeps bees.", id="bob", user="ben")
        mind.relate("Alice", "works_with", "Bob", user="ben")
        mind.link("alice", "bob", "supports")
        assert [result.id for result in mind.recall("Alice", filter={"user": "ann"})] == ["alice"]


# B17: possible conflicts.


@pytest.mark.contract("B17")
def test_different_values_of_the_same_thing_are_reported_and_nothing_is_changed(mind: Mind) -> None:
    write_moves(mind)
    before = list(mind.export())
    found = mind.conflicts()
    pairs = {(pair.older.id, pair.newer.id): pair for pair in found}
    assert ("orchard", "harbour") in pairs
    assert not {"bakery", "soup", "cat"} & {id for pair in pairs for id in pair}
    pair = pairs["orchard", "harbour"]
    assert pair.rule == "change"
    assert pair.as_dict()["choices"] == [
        "supersede('orchard', 'harbour')",
        "contradict('orchard', 'harbour')",
        "keep both",
    ]
    assert list(mind.export()) == before


@pytest.mark.contract("B17")
def test_opposite_opinions_and_corrections_are_reported(mind: Mind) -> None:
    mind.remember("I really like olives on pizza.", id="like", created="2025-01-01")
    mind.remember("I don't like olives on pizza.", id="dislike", created="2026-01-01")
    turn: dict[str, Any] = {"session": "monday", "role": "user"}
    mind.remember("The crate weighs 214 kilos.", id="wrong", created="2026-05-01T10:00", position=0, **turn)
    mind.remember("No wait, 241.", id="right", created="2026-05-01T10:01", position=1, **turn)
    found = {(pair.older.id, pair.newer.id): pair.rule for pair in mind.conflicts()}
    assert found == {("like", "dislike"): "polarity", ("wrong", "right"): "correction"}


@pytest.mark.contract("B17")
def test_pairs_that_are_decided_are_not_reported(mind: Mind) -> None:
    write_moves(mind)
    count = len(mind.conflicts())
    mind.contradict("orchard", "harbour")
    after = {(pair.older.id, pair.newer.id) for pair in mind.conflicts()}
    assert ("orchard", "harbour") not in after
    assert len(after) == count - 1
    mind.supersede("mill", "harbour")
    assert all("mill" not in (pair.older.id, pair.newer.id) for pair in mind.conflicts())


@pytest.mark.contract("B17", "B18")
def test_conflicts_stay_within_the_bound_and_the_filter(path: Path) -> None:
    options: dict[str, Any] = {"embedder": LocalEmbedder(), "clock": lambda: NOW, "durability": "fast"}
    with Mind(path, **options) as mind:
        mind.remember("My locker is number 27.", id="ann", user="ann", created="2025-01-01")
        mind.remember("My new locker is number 31.", id="ann-new", user="ann", created="2025-06-01")
        mind.remember("My locker is number 64 now.", id="ben", user="ben", created="2026-01-01")
        assert [(pair.older.id, pair.newer.id) for pair in mind.conflicts()] == [("ann", "ann-new")]
        assert mind.conflicts(filter={"user": "ben"}) == []
    with Mind(path, user="ben", **options) as mind:
        assert mind.conflicts() == []
        assert mind.supersede("ben", "ann-new").text == "ann-new"  # no memory of Ben has that id: it is a text
    with Mind(path, **options) as mind:
        assert [edge.kind for edge in mind.edges("ann-new")] == []


@pytest.mark.contract("B17")
def test_progress_and_limit(mind: Mind) -> None:
    write_moves(mind)
    steps: list[tuple[int, int]] = []
    assert len(mind.conflicts(limit=1, progress=lambda done, of: steps.append((done, of)))) == 1
    assert steps == [(6, 6)]
    assert mind.conflicts(limit=0) == []
    for wrong in (-1, 1.5, "many"):
        with pytest.raises(InvalidInput, match="limit"):
            mind.conflicts(limit=wrong)  # type: ignore[arg-type]


@pytest.mark.contract("B17")
def test_without_vectors_only_corrections_are_found(path: Path) -> None:
    with Mind(path, embedder=None, clock=lambda: NOW, durability="fast") as mind:
        write_moves(mind)
        turn: dict[str, Any] = {"session": "monday", "role": "user"}
        mind.remember("The crate weighs 214 kilos.", id="wrong", created="2026-05-01T10:00", position=0, **turn)
        mind.remember("No wait, 241.", id="right", created="2026-05-01T10:01", position=1, **turn)
        assert [(pair.older.id, pair.newer.id) for pair in mind.conflicts()] == [("wrong", "right")]


@pytest.mark.contract("B17")
def test_conflicts_are_found_asynchronously(path: Path) -> None:
    async def find() -> tuple[str, str]:
        async with AsyncMind(path, embedder=LocalEmbedder(), clock=lambda: NOW) as mind:
            await mind.remember("My locker is number 27.", id="old", created="2025-01-01")
            await mind.remember("My locker is number 31 now.", id="new", created="2026-01-01")
            (pair,) = await mind.conflicts(limit=5)
            return pair.older.id, pair.newer.id

    assert asyncio.run(find()) == ("old", "new")


MOVES = {
    "en": (
        "I live at 4 Mill Lane.",
        "I moved to 12 Harbour Road in May.",
        "Where do I live now?",
        "Where did I live before?",
    ),
    "de": ("Ich wohne in Halle.", "Ich bin nach Leipzig gezogen.", "Wo wohne ich?", "Wo habe ich früher gewohnt?"),
    "zh": ("我住在柏林。", "我搬到慕尼黑了。", "我现在住在哪里？", "我以前住在哪里？"),
}


@pytest.mark.contract("B14")
@pytest.mark.parametrize("language", MOVES)
def test_a_move_states_where_somebody_lives(mind: Mind, language: str) -> None:
    old, new, now, before = MOVES[language]
    mind.remember(old, created="2025-01-03")
    mind.remember(new, created="2026-05-03")
    mind.remember("The blue cup is on the top shelf.", created="2026-06-01")
    recall = mind.recall(now, track=False)
    assert recall[0].text == new
    assert recall[0].why.evaluate() == recall[0].score
    assert mind.recall(before, track=False)[0].text == old


@pytest.mark.contract("B14")
def test_a_move_of_somebody_else_or_of_something_is_not_where_one_lives(mind: Mind) -> None:
    mind.remember("Ida lives in York.", created="2025-01-03")
    mind.remember("Ben moved to Leeds.", created="2026-05-03")
    mind.remember("The meeting moved to Tuesday.", created="2026-06-03")
    assert mind.recall("Where does Ida live now?", track=False)[0].text == "Ida lives in York."


@pytest.mark.contract("B14")
@pytest.mark.parametrize(
    ("earlier", "later", "now", "before"),
    [
        ("Ana prefers tea.", "Ana now prefers coffee.", "What does Ana prefer?", "What did Ana prefer before?"),
        ("Ben plays the violin.", "Ben plays the cello now.", "What does Ben play?", "What did Ben play before?"),
        (
            "Ich trinke morgens Tee.",
            "Ich trinke morgens jetzt Kaffee.",
            "Was trinke ich morgens?",
            "Was habe ich früher morgens getrunken?",
        ),
    ],
)
def test_the_same_words_with_another_one_are_a_change_if_the_newer_text_says_so(
    mind: Mind, earlier: str, later: str, now: str, before: str
) -> None:
    mind.remember(earlier, id="earlier", created="2025-02-01")
    mind.remember(later, id="later", created="2026-02-01")
    mind.remember("Tea and coffee are in the left cupboard.", created="2025-03-02")
    assert mind.recall(now)[0].id == "later"
    assert mind.recall(before)[0].id == "earlier"
    assert mind.recall(now)[0].notes[0].startswith("an earlier statement about this")


@pytest.mark.contract("B14")
def test_two_things_without_a_word_of_change_are_no_change(mind: Mind) -> None:
    mind.remember("Ana plays the violin.", id="violin", created="2025-02-01")
    mind.remember("Ana plays the cello.", id="cello", created="2026-02-01")
    assert not any(result.notes for result in mind.recall("What does Ana play?"))


@pytest.mark.contract("B17")
def test_a_changed_preference_is_a_possible_conflict(mind: Mind) -> None:
    mind.remember("Ana prefers tea.", id="tea", created="2025-02-01")
    mind.remember("Ana now prefers coffee.", id="coffee", created="2026-02-01")
    assert [(pair.older.id, pair.newer.id) for pair in mind.conflicts()] == [("tea", "coffee")]
