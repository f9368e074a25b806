"""What supersedes a memory takes its place, however little it has in common with the query, and says so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory, Mind
from tests.conftest import Clock

PAIRS = {  # statement, what superseded it, a question for now, one for before
    "editor": ("The favourite editor is vim.", "He works in Helix these days.", "what is his favourite editor?"),
    "standup": ("Standup is at 9:30 every morning.", "We meet at ten from now on.", "when is standup?"),
    "Schlüssel": ("Der Schlüssel liegt unter der Matte.", "Er ist jetzt bei Frau Okafor.", "wo liegt der Schlüssel?"),
    "密码": ("门的密码是 4711。", "现在改成 2088 了。", "门的密码是多少？"),
}
EARLIER = (
    "which editor did he like before?",
    "when was standup before?",
    "wo lag der Schlüssel früher?",
    "以前门的密码是多少？",
)


@pytest.fixture
def changed(path: Path, clock: Clock) -> Mind:
    mind = Mind(path, clock=clock)
    for at, (old, new, _) in enumerate(PAIRS.values()):
        mind.remember(old, id=f"old{at}", created="2024-03-01")
        mind.supersede(f"old{at}", new)
    mind.remember_many([{"text": f"The drill number {n} is in shed {n}."} for n in range(8)])
    return mind


@pytest.mark.parametrize("at", range(len(PAIRS)))
def test_what_supersedes_the_best_memory_comes_before_it(changed: Mind, at: int) -> None:
    old, new, question = [*PAIRS.values()][at]
    with changed as mind:
        texts = [result.text for result in mind.recall(question, k=4)]
        assert texts[0] == new
        assert old in texts


@pytest.mark.parametrize("at", range(len(PAIRS)))
def test_a_question_about_the_past_gets_the_superseded_memory_first(changed: Mind, at: int) -> None:
    with changed as mind:
        assert mind.recall(EARLIER[at], k=1)[0].text == [*PAIRS.values()][at][0]


def test_of_several_versions_the_last_one_comes_first(path: Path) -> None:
    with Mind(path) as mind:
        first = mind.remember("Standup is at 9:30 every morning.")
        second = mind.supersede(first.id, "We meet at ten from now on.")
        mind.supersede(second.id, "It is at noon, for Ana's sake.")
        assert mind.recall("when is standup?", k=1)[0].text == "It is at noon, for Ana's sake."


def test_a_version_from_after_the_asked_time_does_not_come_first(path: Path, clock: Clock) -> None:
    with Mind(path, clock=clock) as mind:
        mind.remember("Standup is at 9:30 every morning.", id="old", created="2024-03-04")
        mind.supersede("old", "We meet at ten from now on.")
        assert mind.recall("what did I say about standup in March 2024?", k=1)[0].id == "old"


def test_the_explanation_names_what_it_supersedes_and_whose_words_match(changed: Mind) -> None:
    with changed as mind:
        result = mind.recall("when is standup?", k=1)[0]
        assert result.why.summary().startswith("Supersedes old1, in which 'standup' matches; meaning ")
        assert "status" not in result.why.summary()
        assert result.why.evaluate() == result.score


def test_the_explanation_of_a_linked_memory_names_the_link_and_not_the_factors_of_the_other(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("The cat is afraid of the vacuum cleaner.", id="cat", created="2020-01-01")
        mind.remember("Tom plays chess.", id="tom")
        mind.remember("Zebras are striped.", id="zebra")
        mind.link("tom", "cat", "supports")
        mind.link("zebra", "tom", "mentions")
        why = {result.id: result.why.summary() for result in mind.recall("cat vacuum cleaner")}
        assert why["tom"].startswith("Linked by 'supports' to cat, in which 'cat', 'vacuum' and 'cleaner' match; ")
        assert why["zebra"].startswith("Linked by 'mentions' to tom, which is linked by 'supports' to cat, in which ")
        assert "recency" in why["cat"]
        assert "recency" not in why["tom"]


def test_a_version_that_holds_only_later_does_not_come_first_for_a_time_before(path: Path, clock: Clock) -> None:
    def day(month: int) -> datetime:
        return datetime(2024, month, 1, tzinfo=UTC)

    with Mind(path, clock=clock) as mind:
        mind.remember("The rent is 800 euros.", id="old", created="2024-01-10")
        mind.supersede("old", Memory("It rises to 950 then.", created=day(3), valid_from=day(7)))
        assert mind.recall("How much was the rent in May 2024?", k=1)[0].id == "old"


def test_the_last_version_comes_first_although_the_one_between_was_forgotten(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("Standup is at 9:30 every morning.", id="nine")
        ten = mind.supersede("nine", "We meet at ten from now on.")
        mind.supersede(ten.id, "It is at noon, for Ana's sake.")
        mind.forget(ten.id)
        assert mind.recall("when is standup?", k=1)[0].text == "It is at noon, for Ana's sake."


@pytest.mark.parametrize("question", ["What was the last concert?", "What food should I not eat?"])
def test_asking_for_more_does_not_change_the_first_results_of_these_stages(path: Path, question: str) -> None:
    with Mind(path, embedder=None, clock=lambda: datetime(2025, 6, 1, tzinfo=UTC)) as mind:
        words = ("concert", "food") if "concert" in question else ("food", "concert")
        mind.remember_many(
            [
                {"text": f"A {words[0]} with number {n} " + "and more " * (n % 9), "created": f"2025-0{1 + n % 5}-11"}
                for n in range(60)
            ]
        )
        mind.remember("The concert is on 9 December, " + "and more of it all " * 12, created="2025-05-01")
        mind.remember("I am allergic to nuts, " + "and more of it all " * 12, created="2025-05-01")
        few, many = mind.recall(question, k=10), mind.recall(question, k=62)
        assert [(each.id, each.score) for each in few] == [(each.id, each.score) for each in many[:10]]


def test_a_plan_does_not_switch_off_that_the_last_one_is_asked_for(path: Path) -> None:
    with Mind(path, clock=lambda: datetime(2025, 6, 1, tzinfo=UTC)) as mind:
        mind.remember("I heard a Bach concert.", id="bach", created="2024-11-12")
        mind.remember("I heard a Mahler concert.", id="mahler", created="2025-05-12")
        mind.remember("I go to a Verdi concert tomorrow.", id="verdi", created="2025-05-31")
        assert mind.recall("What was the last concert?", k=1)[0].id == "mahler"


def test_what_held_before_the_asked_time_is_not_shown_as_of_another_time(path: Path) -> None:
    with Mind(path, clock=lambda: datetime(2025, 6, 1, tzinfo=UTC)) as mind:
        mind.remember("I live in York.", created="2025-01-10")
        assert mind.recall("Where was I living in March?").missing_time == ""
        assert mind.recall("What did I eat in March?").missing_time.startswith("“March”")
