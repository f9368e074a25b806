"""Questions for what was so at a past time or is planned for a coming one; and what answers a follow-up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Mind

NOW = datetime(2026, 8, 20, 12, tzinfo=UTC)
HOMES = {
    "en": [
        (
            "I live at 4 Mill Road, top floor.",
            "Somebody is living in the shed, a hedgehog.",
            "I moved to 9 Hill Street.",
        ),
        "Where was I living in March?",
    ],
    "de": [
        ("Ich wohne in der Mühlgasse 4.", "Im Schuppen wohnt ein Igel.", "Ich bin in die Bergstraße 9 gezogen."),
        "Wo habe ich im März gewohnt?",
    ],
    "zh": [
        ("我住在玉林路4号。", "房东来修了水管。", "我搬到桐梓林路9号了。"),
        "三月我住在哪里？",
    ],
}


def fill(mind: Mind, texts: tuple[str, ...], days: tuple[str, ...], session: str = "") -> None:
    for number, (text, day) in enumerate(zip(texts, days, strict=True)):
        mind.remember(text, id=str(number), created=day, session=session or f"s{number}", role="user")


@pytest.mark.parametrize("language", HOMES)
def test_where_somebody_lived_in_a_month_is_what_was_told_before_it(tmp_path: Path, language: str) -> None:
    texts, question = HOMES[language]
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, tuple(texts), ("2025-11-02", "2026-03-10", "2026-06-15"))
        assert mind.recall(str(question))[0].id == "0"


def test_of_a_state_that_changed_the_value_of_that_time_comes_first(tmp_path: Path) -> None:
    texts = (
        "I'm on levothyroxine, 50 micrograms a day.",
        "The levothyroxine is 100 micrograms now, since Tuesday.",
        "Planted tulips with my neighbour.",
        "Back to 75 micrograms of levothyroxine from today.",
    )
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, texts, ("2025-09-01", "2026-02-12", "2026-04-20", "2026-06-03"))
        found = mind.recall("Which dose of levothyroxine was I on in April?")
        assert found[0].id == "1"
        assert mind.recall("Which dose of levothyroxine do I take?")[0].id == "3"


def test_an_event_of_a_month_is_still_one_of_that_month(tmp_path: Path) -> None:
    texts = ("I eat at the Anchor every Friday.", "We had dinner at the Old Mill, lovely trout.", "Painted the fence.")
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, texts, ("2026-01-09", "2026-03-11", "2026-03-12"))
        assert mind.recall("Where did we eat in March?")[0].id == "1"


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (
            (
                "In August Nadia goes to Crete for two weeks.",
                "Nadia goes to the gym every day.",
                "Nadia went home early.",
            ),
            "Where does Nadia go in August?",
        ),
        (
            ("Im August fährt Nadia nach Kreta.", "Nadia fährt jeden Tag ins Studio.", "Nadia fährt jetzt heim."),
            "Wohin fährt Nadia im August?",
        ),
        (
            ("八月小雅要去克里特岛两个星期。", "小雅天天去健身房。", "小雅要去睡觉。"),
            "小雅八月要去哪里？",
        ),
    ],
)
def test_what_is_planned_for_a_time_comes_before_what_was_written_in_it(
    tmp_path: Path, texts: tuple[str, ...], question: str
) -> None:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, texts, ("2026-05-02", "2026-08-03", "2026-08-05"))
        assert mind.recall(question)[0].id == "0"


@pytest.mark.parametrize(
    ("answer", "others", "history", "question"),
    [
        (
            "My aunt gave me her silver locket. I keep it in the piano stool.",
            ("I never keep receipts, where would I?", "The fridge hums."),
            ("What did my aunt give me?", "Her silver locket."),
            "Where do I keep it?",
        ),
        (
            "Oma hat mir ihre Taschenuhr geschenkt, sie liegt in der Keksdose.",
            ("Die Katze schläft gern im Korb.", "Der Schlüssel war im Kühlschrank."),
            ("Was hat mir Oma geschenkt?", "Ihre Taschenuhr."),
            "Und wo liegt sie?",
        ),
        (
            "奶奶送了我一块怀表，我把它放在饼干盒里。",
            ("雨伞我总是忘在办公室。", "备用钥匙放在电表后面。"),
            ("奶奶送了我什么？", "一块怀表。"),
            "那它放在哪里？",
        ),
    ],
)
def test_what_has_been_answered_in_part_may_answer_a_follow_up(
    tmp_path: Path, answer: str, others: tuple[str, ...], history: tuple[str, str], question: str
) -> None:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, (answer, *others), ("2026-05-01T10:00", "2026-05-01T10:01", "2026-05-01T10:02"), "talk")
        turns = [("user", history[0]), ("assistant", history[1])]
        assert mind.recall(question, history=turns)[0].id == "0"


@pytest.mark.parametrize("question", ["How did we do?", "How did it go for us?"])
def test_a_question_about_us_alone_depends_on_the_turns_before(tmp_path: Path, question: str) -> None:
    texts = (
        "Regatta yesterday: Ida and I came fourth of eleven.",
        "The oven does what it wants again.",
        "Went to the cinema, it was fine.",
    )
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, texts, ("2026-05-04", "2026-05-08", "2026-05-15"))
        turns = [("user", "Did Ida sail with me in the regatta?"), ("assistant", "Yes, she did.")]
        assert mind.recall(question, history=turns)[0].id == "0"
        assert "follow-up" in str(mind.recall(question, history=turns).trace)


def test_a_question_about_the_one_who_asks_stands_alone(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", clock=lambda: NOW) as mind:
        fill(mind, ("I turned 41 in June.", "Ida is a vet."), ("2026-06-05", "2026-05-08"))
        alone = mind.recall("How old am I?", track=False)
        turns = [("user", "What does Ida do?"), ("assistant", "She is a vet.")]
        after = mind.recall("How old am I?", history=turns, track=False)
        assert [(each.id, each.score) for each in alone] == [(each.id, each.score) for each in after]
