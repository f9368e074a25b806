"""A, what abmind makes of what it found: penalty, boosts, diversity, remarks, use; settings and the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Memory, Mind, Use
from recollect.cli.app import run
from tests.systems.abmind.kit import (
    NOON,
    Details,
    Gate,
    Meaning,
    Open,
    ask,
    bm25,
    hits,
    note,
    score,
    stage,
    texts,
    worth,
)

Set = Callable[..., None]
Command = Callable[..., str]


# A10: the penalty.


@pytest.mark.contract("A10")
def test_hits_by_words_that_meaning_does_not_confirm_are_halved(at: Open) -> None:
    corpus = ["confirmed cup", "unconfirmed cup"]
    mind = at(Meaning(confirmed_cup=0.9, unconfirmed_cup=0.2, golden_goblet=0.6))
    mind.remember_many([*corpus, "golden goblet"])
    words_alone = ask(mind, "cup", search_mode="keyword")
    recall = ask(mind, "cup")
    assert score(recall, "confirmed cup") == score(words_alone, "confirmed cup")
    assert score(recall, "unconfirmed cup") == score(words_alone, "unconfirmed cup") * 0.5
    assert score(recall, "golden goblet") == pytest.approx(0.6, abs=1e-3)


@pytest.mark.contract("A10")
def test_nothing_is_halved_when_meaning_did_not_run(at: Open) -> None:
    mind = at(Meaning())
    mind.remember_many(["one cup", "two cups"])
    alone = ask(mind, "cup", search_mode="keyword", k=2)
    filled = ask(mind, "cup", k=2)
    off = ask(mind, "cup", embedding_enabled=False)
    assert [each.score for each in filled] == [each.score for each in alone] == [each.score for each in off]


@pytest.mark.contract("A10")
def test_meaning_that_ran_and_found_nothing_confirms_nothing(at: Open) -> None:
    mind = at(Meaning())
    mind.remember("one cup")
    assert ask(mind, "cup")[0].score == ask(mind, "cup", search_mode="keyword")[0].score * 0.5


# A11: context.


@pytest.mark.contract("A11")
@pytest.mark.parametrize(
    ("created", "hour", "boost"),
    [
        (6, 11, 0.02),
        (11, 6, 0.02),
        (11, 12, 0.0),
        (12, 17, 0.02),
        (17, 18, 0.0),
        (18, 22, 0.02),
        (22, 23, 0.0),
        (23, 5, 0.02),
        (5, 0, 0.02),
        (5, 6, 0.0),
    ],
)
def test_the_same_time_of_day_adds_two_hundredths(mind: Mind, created: int, hour: int, boost: float) -> None:
    mind.remember("a cup", created=f"2025-05-28T{created:02}:30")
    plain = ask(mind, "cup")[0].score
    assert ask(mind, "cup", current_context={"hour": hour})[0].score == plain + boost


@pytest.mark.contract("A11")
@pytest.mark.parametrize(
    ("day", "boost"),
    [(3, 0.015), (1, 0.0075), (5, 0.0075), (0, 0.0), (6, 0.0), ("wednesday", 0.015), ("Sunday", 0.0)],
)
def test_the_same_weekday_adds_and_the_same_kind_of_day_half(mind: Mind, day: int | str, boost: float) -> None:
    mind.remember("a cup", created="2025-05-28T10:00")  # a Wednesday
    plain = ask(mind, "cup")[0].score
    assert ask(mind, "cup", current_context={"dayOfWeek": day})[0].score == plain + boost


@pytest.mark.contract("A11")
def test_weekends_are_a_kind_of_day(mind: Mind) -> None:
    mind.remember("a cup", created="2025-05-31T10:00")  # a Saturday
    plain = ask(mind, "cup")[0].score
    assert ask(mind, "cup", current_context={"dayOfWeek": 0})[0].score == plain + 0.0075


@pytest.mark.contract("A11")
def test_the_same_topic_adds_three_hundredths_and_all_signals_add_up(mind: Mind) -> None:
    mind.remember("a cup", topic="kitchen", created="2025-05-28T10:00")
    plain = ask(mind, "cup")[0].score
    assert ask(mind, "cup", current_context={"topic": "kitchen"})[0].score == plain + 0.03
    assert ask(mind, "cup", current_context={"topic": "garden"})[0].score == plain
    everything = {"hour": 9, "dayOfWeek": 3, "topic": "kitchen"}
    assert ask(mind, "cup", current_context=everything)[0].score == pytest.approx(plain + 0.065, rel=1e-12)


@pytest.mark.contract("A11")
def test_hours_and_days_are_those_of_the_callers_time_zone(mind: Mind) -> None:
    mind.remember("a cup", created="2025-05-28T23:30+00:00")  # Thursday morning in Tokyo
    plain = ask(mind, "cup")[0].score
    morning = {"hour": 8, "dayOfWeek": 4}
    for zone in ("Asia/Tokyo", timezone(timedelta(hours=9))):
        assert ask(mind, "cup", current_context=morning, timezone=zone)[0].score == pytest.approx(plain + 0.035)
    assert ask(mind, "cup", current_context=morning, timezone="UTC")[0].score == pytest.approx(plain + 0.0075)


@pytest.mark.contract("A11")
def test_without_a_current_context_nothing_is_added(mind: Mind) -> None:
    mind.remember("a cup", topic="kitchen")
    assert stage(ask(mind, "cup"), "context boost")["reason"] == "no current context was given"


@pytest.mark.contract("A11")
@pytest.mark.parametrize(
    "context",
    [{"hour": 24}, {"hour": "noon"}, {"dayOfWeek": 7}, {"dayOfWeek": "someday"}, {"topic": 3}, {"mood": 1}, "now"],
)
def test_a_context_that_makes_no_sense_is_a_clear_error(mind: Mind, context: Any) -> None:
    with pytest.raises(InvalidInput, match=r"hour|dayOfWeek|topic"):
        ask(mind, "cup", current_context=context)


def test_a_time_zone_that_nobody_knows_is_a_clear_error(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="timezone"):
        ask(mind, "cup", timezone="Mars/Olympus")


# A12: emotion.


@pytest.mark.contract("A12")
@pytest.mark.parametrize(("emotion", "boost"), [(1, 0.02), (-2, 0.04), (5, 0.10), (-5, 0.10), (10, 0.10), (0.5, 0.01)])
def test_emotion_adds_two_hundredths_a_point_at_most_a_tenth(at: Open, emotion: float, boost: float) -> None:
    mind = at(Meaning(golden_goblet=0.75))
    mind.remember("golden goblet", emotion=emotion)
    (found,) = ask(mind, "question", search_mode="embedding")
    assert found.score == pytest.approx(found.why.parts[0].value + boost, rel=1e-12)
    assert found.why.parts[0].value == pytest.approx(0.75, abs=1e-3)


# A13: spacing.


@pytest.mark.contract("A13")
@pytest.mark.parametrize(
    ("days", "factor"),
    [
        ([], 1.0),
        ([10], 1.0),
        ([14, 7], 1.3),
        ([14, 7.1], 1.15),
        ([20, 19, 0], 1.3),  # the mean counts: 1 and 19 days
        ([1, 0], 1.15),
        ([0.9, 0], 1.0),
        ([3, 2, 1, 0], 1.15),
    ],
)
def test_spaced_recalls_multiply(at: Open, days: list[float], factor: float) -> None:
    times = tuple(NOON - timedelta(days=each) for each in days)
    mind = at(Meaning(golden_goblet=0.75))
    mind.remember(Memory("golden goblet", use=Use(recall_times=times)))
    assert ask(mind, "question", search_mode="embedding")[0].score == pytest.approx(0.75 * factor, abs=2e-3)


@pytest.mark.contract("A13")
@pytest.mark.parametrize(("recalls", "factor"), [(19, 1.3), (20, 1.3), (21, 1.0), (25, 1.0)])
def test_the_last_twenty_recalls_count_and_no_more_or_less(at: Open, recalls: int, factor: float) -> None:
    # One long pause after the first recall makes the mean long, if that recall is among those that count.
    times = (NOON - timedelta(days=200), *(NOON - timedelta(hours=each) for each in range(recalls - 1, 0, -1)))
    mind = at(Meaning(golden_goblet=0.75))
    mind.remember(Memory("golden goblet", use=Use(recall_times=times)))
    assert ask(mind, "question", search_mode="embedding")[0].score == pytest.approx(0.75 * factor, abs=2e-3)


@pytest.mark.contract("A13", "A17")
def test_spacing_comes_from_the_recalls_themselves(tmp_path: Path) -> None:
    now = NOON
    with Mind(tmp_path / "memory.db", embedder=None, clock=lambda: now) as mind:
        mind.remember("a cup")
        for _ in range(3):
            mind.recall("cup", recipe="abmind")
            now += timedelta(days=8)
        recall = mind.recall("cup", recipe="abmind", track=False)
    assert "spacing: recalled every 8.0 days" in str(recall[0].why)
    assert recall[0].why.operation == "×"
    assert recall[0].why.parts[1].value == 1.3


# A14: diversity.


def mmr(scored: Sequence[tuple[str, float]], share: float = 0.7) -> list[str]:
    """The document's four steps, with scores divided by the best."""
    best = max(score for _, score in scored)
    left = sorted(scored, key=lambda each: -each[1])
    chosen: list[tuple[str, float]] = [left.pop(0)]

    def jaccard(a: str, b: str) -> float:
        one, other = set(a.lower().split()), set(b.lower().split())
        return len(one & other) / len(one | other)

    while left:
        values = [
            share * score / best - (1 - share) * max(jaccard(text, other) for other, _ in chosen)
            for text, score in left
        ]
        chosen.append(left.pop(values.index(max(values))))
    return [text for text, _ in chosen]


@pytest.mark.contract("A14")
@pytest.mark.parametrize("recalls", [0, 500], ids=["small scores", "scores of ten and more"])
def test_the_order_is_that_of_marginal_relevance_whatever_the_scale(mind: Mind, recalls: int) -> None:
    said = ["red cup on shelf", "red cup on big shelf", "cup red red", "a cup of tea in bed", "Cup RED on shelf now"]
    said += ["the red wine was spilled over a table", "red", "a cup", "shelf and cup and red things everywhere here"]
    mind.remember_many([Memory(text, use=Use(recall_count=recalls)) for text in said])
    recall = ask(mind, "red cup", k=len(said), search_mode="keyword")
    scored = sorted(((each.text, each.score) for each in recall), key=lambda each: -each[1])
    assert len(scored) == len(said)
    assert max(score for _, score in scored) > (9 if recalls else 0)
    assert texts(recall) == mmr(scored)
    assert texts(recall) != [text for text, _ in scored]


@pytest.mark.contract("A14", "B2")
def test_a_result_that_diversity_moved_says_so_with_the_numbers(mind: Mind) -> None:
    mind.remember_many(["red cup on shelf", "red cup on shelf now", "a cup of tea in bed", "red"])
    recall = ask(mind, "red cup", search_mode="keyword")
    by_score = sorted(recall, key=lambda each: -each.score)
    assert texts(recall) != [each.text for each in by_score]
    for old, result in enumerate(by_score, 1):
        moves = [move for move in result.notes if move.startswith("moved")]
        assert bool(moves) == (old != result.rank)
        for move in moves:
            numbers = [float(number) for number in re.findall(r"\d+\.\d+", move)]
            value, share, relevance, rest, similarity = numbers
            assert move.startswith(f"moved from {old} to {result.rank} by MMR")
            assert relevance == pytest.approx(result.score / by_score[0].score, abs=1e-4)
            assert value == pytest.approx(share * relevance - rest * similarity, abs=1e-4)


@pytest.mark.contract("A14")
def test_the_best_comes_first_and_scores_stay_those_before_the_rerank(mind: Mind) -> None:
    plates = [f"green plate {number}" for number in range(5)]
    cups = [{"text": "red cup", "id": "1"}, {"text": "cup, red", "id": "2"}]  # equal scores, in the order of their ids
    mind.remember_many([*cups, {"text": "red door", "trust": 3}, *plates])
    recall = ask(mind, "red cup", search_mode="keyword")
    scores = [each.score for each in recall]
    assert texts(recall) == ["red cup", "red door", "cup, red"]
    assert scores[0] == scores[2] > scores[1]
    assert all(each.score == each.why.evaluate() for each in recall)


# A15: enrichment.


@pytest.mark.contract("A15")
def test_memories_that_share_a_topic_carry_their_timeline(mind: Mind) -> None:
    mind.remember("We moved to SQLite.", topic="database", created="2025-03-01")
    mind.remember("We chose MySQL.", topic="database", created="2025-01-05")
    mind.remember("We are hungry.", topic="lunch", created="2025-02-01")
    notes = {each.text: each.notes for each in ask(mind, "we moved chose hungry")}
    assert notes["We moved to SQLite."] == ("Timeline of “database”: 2025-01-05 “We chose MySQL.” → 2025-03-01 this",)
    assert notes["We chose MySQL."] == ("Timeline of “database”: 2025-01-05 this → 2025-03-01 “We moved to SQLite.”",)
    assert notes["We are hungry."] == ()


@pytest.mark.contract("A15")
def test_results_that_contradict_each_other_are_warned_of(mind: Mind) -> None:
    one = mind.remember("The cup is blue.").id
    other = mind.remember("The cup is red.").id
    third = mind.remember("The cup is old.").id
    absent = mind.remember("Nothing is here.").id
    mind.link(one, other, "contradicts")
    mind.link(third, absent, "contradicts")
    mind.link(one, third, "supports")
    notes = {each.memory.id: each.notes for each in ask(mind, "cup")}
    warning = ("⚠️ Conflicts with another result",)
    assert notes == {one: warning, other: warning, third: ()}


@pytest.mark.contract("A15")
def test_a_conflict_with_what_is_not_returned_is_no_warning(mind: Mind) -> None:
    one, other = mind.remember("cup cup").id, mind.remember("a cup far behind all the others").id
    mind.link(one, other, "contradicts")
    recall = ask(mind, "cup", k=1)
    assert [(each.memory.id, each.notes) for each in recall] == [(one, ())]


@pytest.mark.contract("A15", "B17")
def test_results_with_different_values_of_the_same_thing_are_warned_of_without_an_edge(at: Open) -> None:
    mind = at("local")
    old, new, other = (
        "The rent is 900 euros a month.",
        "The rent is now 950 euros a month.",
        "The rent is due on Monday.",
    )
    for day, text in enumerate((old, new, other), 1):
        mind.remember(text, created=f"2025-05-{day:02}")
    notes = {each.text: each.notes for each in ask(mind, "the rent")}
    reason = "near in meaning with different values, and the newer one tells of a change"
    warning = "⚠️ Conflicts with another result"
    assert notes == {old: (warning, f"{reason}: “{new}”"), new: (warning, f"{reason}: “{old}”"), other: ()}


@pytest.mark.contract("A15", "B17")
def test_opposite_opinions_are_warned_of_and_equal_ones_are_not(at: Open) -> None:
    mind = at("local")
    mind.remember("I love jazz concerts.", created="2025-01-05")
    mind.remember("I don't like jazz concerts.", created="2025-05-05")
    mind.remember("I love piano concerts.", created="2025-05-06")
    warned = {each.text for each in ask(mind, "concerts") if "⚠️ Conflicts with another result" in each.notes}
    assert warned == {"I love jazz concerts.", "I don't like jazz concerts."}


@pytest.mark.contract("A15", "B17")
@pytest.mark.parametrize("kind", ["supersedes", "same_as"])
def test_what_somebody_decided_is_no_conflict_by_rule(at: Open, kind: str) -> None:
    mind = at("local")
    old = mind.remember("The rent is 900 euros a month.", created="2025-01-05")
    new = mind.remember("The rent is now 950 euros a month.", created="2025-05-05")
    mind.link(new.id, old.id, kind)
    assert [each.notes for each in ask(mind, "the rent")] == [(), ()]


@pytest.mark.contract("A15")
def test_results_carry_topic_emotion_tags_flags_confidence_and_creation(mind: Mind) -> None:
    details: Details = {"topic": "kitchen", "emotion_tags": ["joy"], "flags": ["decision"], "confidence": 0.8}
    mind.remember("a cup", **details, created="2025-05-28T10:00")
    memory = ask(mind, "cup")[0].memory
    assert (memory.topic, memory.emotion_tags, memory.flags, memory.confidence) == (
        "kitchen",
        ("joy",),
        ("decision",),
        0.8,
    )
    assert memory.created == datetime(2025, 5, 28, 10, tzinfo=UTC)


# A16: order of the work.


@pytest.mark.contract("A16")
def test_post_processing_keeps_its_order(mind: Mind) -> None:
    mind.remember("a cup")
    assert [step.name for step in ask(mind, "cup").trace.steps if step.kind == "stage"] == [
        "cross-stage penalty",
        "context boost",
        "emotion boost",
        "spacing boost",
        "MMR rerank",
        "enrichment",
    ]


@pytest.mark.contract("A16", "A10", "A11", "A12", "A13")
def test_boosts_apply_one_after_the_other(at: Open) -> None:
    mind = at(Meaning())
    times = (NOON - timedelta(days=14), NOON)
    mind.remember(Memory("a cup", emotion=2.0, topic="kitchen", use=Use(recall_times=times)))
    base = worth(bm25("cup", "a cup", ["a cup"]), {"emotion": 2.0})
    found = ask(mind, "cup", current_context={"topic": "kitchen"})[0]
    assert found.score == pytest.approx((base * 0.5 + 0.03 + 0.04) * 1.3, rel=1e-12)


@pytest.mark.contract("A16")
def test_a_memory_keeps_the_score_of_the_first_stage_that_found_it(at: Open) -> None:
    mind = at(Meaning(red_cup=0.9))
    mind.remember("red cup")
    (found,) = ask(mind, "cup")
    assert found.score == pytest.approx(worth(bm25("cup", "red cup", ["red cup"]), {}), rel=1e-12)


# A17: tracking.


@pytest.mark.contract("A17")
def test_what_is_returned_is_counted_with_its_moments(tmp_path: Path) -> None:
    now = NOON
    with Mind(tmp_path / "memory.db", embedder=None, clock=lambda: now) as mind:
        cup, plate = mind.remember("a cup").id, mind.remember("a plate").id
        moments = []
        for _ in range(25):
            moments.append(now)
            mind.recall("cup", recipe="abmind")
            now += timedelta(hours=1)
        use = mind.show(cup).use
        assert (use.recall_count, use.last_recalled) == (25, moments[-1])
        assert use.recall_times == tuple(moments[-20:])
        assert (use.access_count, use.return_count) == (0, 0)
        assert mind.show(plate).use == Use()


@pytest.mark.contract("A17")
def test_what_is_cut_is_not_counted_and_notes_and_edges_do_no_harm(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "A cup.")
    mind.relate("cup", "stands_on", "shelf")
    mind.remember_many(["cup", "cup of tea in a far away kitchen"])
    recall = mind.recall("cup", 3, recipe="abmind", notes=tmp_path)
    assert len(recall) == 3
    assert sum(memory.use.recall_count for memory in mind.list()) == sum(r.memory.kind == "memory" for r in recall)


@pytest.mark.contract("A17")
def test_track_false_leaves_no_mark(mind: Mind) -> None:
    id = mind.remember("a cup").id
    mind.recall("cup", recipe="abmind", track=False)
    assert mind.show(id).use == Use()


# A18: settings.


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> Set:
    def set_(**settings: str) -> None:
        for name, value in settings.items():
            monkeypatch.setenv(f"RECOLLECT_ABMIND_{name}", value)

    return set_


@pytest.mark.contract("A18")
@pytest.mark.parametrize(
    ("mode", "ran"),
    [
        ("hybrid", ["Sf", "Se", "Ss", "S8"]),
        ("keyword", ["Sf", "S8"]),
        ("embedding", ["Se", "S8"]),
        ("signature", ["Ss", "S8"]),
    ],
)
def test_the_search_mode_chooses_the_stages(at: Open, env: Set, mode: str, ran: list[str]) -> None:
    mind = at(Meaning())
    mind.remember("a cup")
    env(MEMORY_SEARCH_MODE=mode)
    for recall in (ask(mind, "cup"), ask(mind, "cup", search_mode=mode)):
        assert list(hits(recall)) == ran
        off = [name for name in ("Sf", "Se", "Ss") if name not in ran]
        assert all(stage(recall, name)["reason"] == f"the search mode is {mode}" for name in off)


@pytest.mark.contract("A18")
def test_embedding_is_on_when_there_is_an_embedder_and_can_be_switched_off(at: Open, env: Set) -> None:
    mind = at(Meaning(golden_goblet=0.9))
    mind.remember("golden goblet")
    assert len(ask(mind, "cup")) == 1
    env(EMBEDDING_ENABLED="false")
    recall = ask(mind, "cup")
    assert (len(recall), stage(recall, "Se")["reason"]) == (0, "embedding is off")
    assert len(ask(mind, "cup", embedding_enabled=True)) == 1
    env(EMBEDDING_ENABLED="true")
    assert len(ask(mind, "cup")) == 1


@pytest.mark.contract("A18")
def test_an_embedder_that_is_off_is_not_asked(at: Open) -> None:
    gate = Gate()
    mind = at(gate)
    mind.remember("a cup")
    ask(mind, "cup", embedding_enabled=False)
    ask(mind, "cup", search_mode="keyword")
    assert not gate.asked.is_set()


@pytest.mark.contract("A18")
def test_numbers_come_from_the_environment_unless_they_are_given(at: Open, env: Set) -> None:
    mind = at(Meaning(golden_goblet=0.4))
    details: Details = {"created": "2025-05-02T12:00:00+00:00", "emotion": 2.0}
    mind.remember("a cup", **details)
    mind.remember("golden goblet")
    env(RECALL_DECAY_DAYS="40", RECALL_DECAY_FLOOR="0.2", RECALL_EMOTION_BOOST="0.5")
    env(EMBEDDING_SIMILARITY_THRESHOLD="0.3", SIGNATURE_BITS="512")
    recall = ask(mind, "cup", embedding_enabled=False)
    words_score = bm25("cup", "a cup", ["a cup", "golden goblet"])
    expected = worth(words_score, details, days=40, floor=0.2, boost=0.5) + 0.04
    assert recall[0].score == pytest.approx(expected, rel=1e-12)
    assert "golden goblet" in texts(ask(mind, "cup"))
    assert "golden goblet" not in texts(ask(mind, "cup", similarity_threshold=0.5))
    assert "of 512 bits" in str(ask(mind, "cup", search_mode="signature")[0].why)
    given = ask(mind, "cup", embedding_enabled=False, decay_days=365, decay_floor=0.3, emotion_boost=0.1)
    assert given[0].score == pytest.approx(worth(words_score, details) + 0.04, rel=1e-12)


@pytest.mark.contract("A18")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_SEARCH_MODE", "psychic"),
        ("EMBEDDING_ENABLED", "perhaps"),
        ("EMBEDDING_SIMILARITY_THRESHOLD", "2"),
        ("RECALL_DECAY_DAYS", "0"),
        ("RECALL_DECAY_FLOOR", "-1"),
        ("RECALL_EMOTION_BOOST", "lots"),
        ("SIGNATURE_BITS", "7"),
    ],
)
def test_a_setting_that_makes_no_sense_is_a_clear_error(mind: Mind, env: Set, name: str, value: str) -> None:
    env(**{name: value})
    with pytest.raises(InvalidInput):
        ask(mind, "cup")


@pytest.mark.contract("A18")
def test_an_empty_setting_is_none(mind: Mind, env: Set) -> None:
    env(MEMORY_SEARCH_MODE="", RECALL_DECAY_DAYS=" ", EMBEDDING_ENABLED="")
    mind.remember("a cup")
    assert len(ask(mind, "cup")) == 1


def test_an_unknown_setting_is_a_clear_error(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="no setting 'userId'"):
        ask(mind, "cup", userId="anna")


# A19: the command line.


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def command(*arguments: str) -> str:
        capsys.readouterr()
        assert run(["--db", str(tmp_path / "memory.db"), "--embedder", "none", *arguments]) == 0
        return capsys.readouterr().out

    return command


@pytest.mark.contract("A19")
def test_the_command_line_recalls_with_topic_and_limit_and_prints_a_stage_report(
    terminal: Command, tmp_path: Path
) -> None:
    note(tmp_path, "weekly/2025-W10", "---\ntopic: work\n---\nThe project was late.")
    for number in range(5):
        terminal("remember", f"The project deadline is on day {number}.", "--topic", "work")
    terminal("remember", "A project at home.", "--topic", "home")
    told = terminal(
        *("recall", "project deadline", "--recipe", "abmind", "--topic", "work", "--limit", "3"),
        *("--set", f"notes={tmp_path}"),
    )
    report = re.sub(r"\(\d+ ms\)", "(… ms)", told).splitlines()[:6]
    assert report == [
        "Stage Sf: 5 hits (… ms) — full text on “project”, “deadline”",
        "Stage Se: skipped (Sf found 3 already)",
        "Stage Ss: skipped (Sf found 3 already)",
        "Stage S6: 1 hit (… ms) — weekly notes mention “project”",
        "Stage S8: 0 hits (… ms) — no entity match",
        "→ 6 candidates → MMR rerank → enrichment → top 3 returned",
    ]
    assert "A project at home." not in told
    assert "3 results in" in told


@pytest.mark.contract("A19")
def test_a_translated_query_can_be_given_beside_the_original(terminal: Command) -> None:
    terminal("remember", "The project deadline is in May.")
    terminal("remember", "Der Abgabetermin ist im Mai.")
    terminal("remember", "A cup.")
    asked = ("recall", "Abgabetermin", "--recipe", "abmind", "--json")
    found = json.loads(terminal(*asked, "--translated", "project deadline"))["results"]
    assert {each["memory"]["text"] for each in found} == {
        *("The project deadline is in May.", "Der Abgabetermin ist im Mai.")
    }
    assert len(json.loads(terminal(*asked))["results"]) == 1


@pytest.mark.contract("A19")
def test_the_report_is_data_too_and_every_recipe_gives_it_on_request(terminal: Command) -> None:
    terminal("remember", "A cup.")
    told = json.loads(terminal("recall", "cup", "--recipe", "abmind", "--json"))
    assert told["trace"]["facts"]["stages"][-1] == "→ 1 candidate → MMR rerank → top 1 returned"
    assert "Stage words: 1 hit" in terminal("recall", "cup", "--stages")
    assert "Stage words" not in terminal("recall", "cup")


@pytest.mark.contract("A19")
def test_filters_and_settings_reach_the_recipe_from_the_command_line(terminal: Command) -> None:
    terminal("remember", "A cup of anna.", "--user", "anna", "--classification", "1")
    terminal("remember", "A cup of bob.", "--user", "bob", "--classification", "2")
    terminal("remember", "An old cup.", "--user", "anna", "--expires", "2020-01-01")

    def found(*options: str) -> set[str]:
        told = json.loads(terminal("recall", "cup", "--recipe", "abmind", "--json", *options))
        return {each["memory"]["text"] for each in told["results"]}

    assert found("--user", "anna") == {"A cup of anna."}
    assert found("--max-classification", "1") == {"A cup of anna."}
    assert found("--set", "include_expired=true", "--set", "user_id=anna") == {"A cup of anna.", "An old cup."}
    assert found("--since", "2019-01-01", "--set", "search_mode=signature") <= {"A cup of anna.", "A cup of bob."}


# B2, for this recipe.


@pytest.mark.contract("B2", "A4")
def test_why_not_names_the_step_that_left_a_memory_out(at: Open) -> None:
    mind = at(Meaning(golden_goblet=0.45))
    cup, plate, goblet = (mind.remember(text, topic="kitchen").id for text in ("a cup", "a plate", "golden goblet"))
    home = mind.remember("a cup at home", topic="home").id
    recall = ask(mind, "cup", topic="kitchen")
    assert recall.why_not(cup).returned
    assert recall.why_not(home).step == "filter"
    assert recall.why_not(plate).cues["Sf"] == "gives it no score: nothing in common with the query"
    assert recall.why_not(goblet).cues["Se"].startswith("scores it 0.4")
