"""What somebody must not eat is found by any question for it: of all misses, that one does most harm."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Mind
from recollect.text.polarity import tells_intolerance

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
OTHERS = (
    "Had pizza with Lena, she does not eat meat.",
    "I like spaghetti with tomato sauce, and I eat it every Friday.",
    "Dinner with my parents in Kassel, we ate roast pork.",
    "I don't like olives.",
    "I should not eat so late in the evening.",
    "Not eating out this month, too expensive.",
    "What should we eat on Sunday?",
    "Should not forget to water the plants.",
)


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to hazelnuts.",
        "Shellfish makes me ill.",
        "Bin gegen Haselnüsse allergisch.",
        "Do not forget my allergy to hazelnuts.",
        "No more allergy tests: I'm allergic to hazelnuts.",
        "I'm not allergic to peanuts, but I'm allergic to hazelnuts.",
    ],
)
@pytest.mark.parametrize(
    "question",
    ["What should I not eat?", "Which foods do I have to avoid?", "Was darf ich nicht essen?", "我不能吃什么？"],
)
def test_what_makes_me_ill_is_among_what_i_should_not_eat(tmp_path: Path, text: str, question: str) -> None:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        mind.remember(text, id="ill", created="2026-01-12")
        for day, other in enumerate(OTHERS, 1):
            mind.remember(other, created=f"2026-10-{day:02}")
        assert "ill" in [result.id for result in mind.recall(question, k=3)]


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("No nuts because allergic.", True),
        ("I'm not allergic to nuts but allergic to milk.", True),
        ("我对花生不过敏，对虾过敏。", True),
        ("I have no allergies or food intolerance.", False),
        ("Keine Allergien und Unverträglichkeiten bekannt.", False),
        ("Lena is not lactose intolerant.", False),
        ("我没有过敏。", False),
    ],
)
def test_a_denial_counts_for_the_intolerance_that_it_is_about(text: str, tells: bool) -> None:
    assert tells_intolerance(text) == tells


def test_whose_allergy_it_is_counts(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        mind.remember("Lena is allergic to peanuts.", id="lena", created="2026-01-12")
        mind.remember("I'm allergic to hazelnuts.", id="mine", created="2026-01-13")
        for day, other in enumerate(OTHERS, 1):
            mind.remember(other, created=f"2026-10-{day:02}")
        assert "lena" in [result.id for result in mind.recall("What should Lena not eat?", k=2)]
        found = [result.id for result in mind.recall("What should I not eat?", k=10)]
        assert found.index("mine") < found.index("lena")
        why = mind.recall("What should I not eat?", k=3)
        assert any("makes ill" in str(result.why) for result in why if result.id == "mine")
