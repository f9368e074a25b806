"""A, the stages of abmind: their order, the words and what a match is worth, meaning, signatures, notes, names."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from recollect import Filter, InvalidInput, Memory, Mind, Not, Use
from recollect.text.signatures import hamming_similarity, text_signature
from recollect.text.words import words
from tests.systems.abmind.kit import (
    NOON,
    Details,
    Gate,
    Meaning,
    Open,
    ask,
    bm25,
    hits,
    nodes,
    note,
    score,
    stage,
    texts,
    worth,
)

# A1: the stages and their order.


@pytest.mark.contract("A1")
def test_the_five_stages_run_in_the_order_of_their_priority(mind: Mind) -> None:
    mind.remember("a cup")
    names = [step.name for step in ask(mind, "cup").trace.steps if step.kind == "cue"]
    assert names == ["Sf", "Se", "Ss", "S6", "S8"]


@pytest.mark.contract("A1")
def test_words_that_fill_the_limit_skip_meaning_and_signatures_but_not_notes_and_names(
    at: Open, tmp_path: Path
) -> None:
    mind = at(Meaning())
    note(tmp_path, "daily/2025-05-30", "The cup broke.")
    mind.remember_many([f"cup number {n}" for n in range(5)])
    recall = ask(mind, "cup", notes=tmp_path)
    for name in ("Se", "Ss"):
        assert (stage(recall, name)["outcome"], stage(recall, name)["reason"]) == ("skipped", "Sf found 5 already")
    assert [stage(recall, name)["outcome"] for name in ("Sf", "S6", "S8")] == ["ran"] * 3
    assert hits(recall) == {"Sf": 5, "S6": 1, "S8": 0}


@pytest.mark.contract("A1")
def test_one_hit_fewer_than_the_limit_lets_meaning_and_signatures_run(at: Open) -> None:
    mind = at(Meaning())
    mind.remember_many([f"cup number {n}" for n in range(4)])
    recall = ask(mind, "cup", k=5)
    assert [stage(recall, name)["outcome"] for name in ("Sf", "Se", "Ss")] == ["ran"] * 3


@pytest.mark.contract("A1", "A16")
def test_hits_are_counted_after_deduplication_with_their_milliseconds(at: Open) -> None:
    mind = at(Meaning(red_cup=0.9, crimson_goblet=0.8))
    mind.remember_many(["red cup", "crimson goblet", "wooden door"])
    recall = ask(mind, "cup")
    assert stage(recall, "Se")["out"] == 2
    assert hits(recall) == {"Sf": 1, "Se": 1, "Ss": 0, "S8": 0}
    assert all(step.milliseconds > 0 for step in recall.trace.steps)
    assert len({result.memory.id for result in recall}) == len(recall) == 2


@pytest.mark.contract("A1")
def test_a_stage_that_cannot_run_says_why(mind: Mind) -> None:
    mind.remember("a cup")
    recall = ask(mind, "cup")
    assert stage(recall, "Se")["reason"] == "there is no embedder"
    assert stage(recall, "S6")["reason"] == "no folder of notes was given"


@pytest.mark.contract("A1")
def test_a_failing_embedder_leaves_the_answer_to_the_other_stages(at: Open) -> None:
    class Broken(Meaning):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            if query:
                raise ConnectionError("nobody there")
            return super().embed(texts)

    mind = at(Broken())
    mind.remember("a cup")
    recall = ask(mind, "cup")
    assert texts(recall) == ["a cup"]
    assert "nobody there" in stage(recall, "Se")["reason"]
    assert stage(recall, "cross-stage penalty")["reason"] == "Se did not run"


# A2: the embedding beside the words.


@pytest.mark.contract("A2")
def test_the_embedding_is_begun_with_the_words_and_dropped_unawaited_when_they_fill_the_limit(at: Open) -> None:
    gate = Gate()
    mind = at(gate)
    mind.remember_many(["one cup", "two cups"])
    recall = ask(mind, "cup", k=2)  # comes back although the gate stays shut
    assert len(recall) == 2
    assert gate.asked.wait(30)
    assert not gate.opened.is_set()
    gate.opened.set()


@pytest.mark.contract("A2")
def test_the_embedding_is_awaited_when_the_words_leave_places(at: Open) -> None:
    gate = Gate(golden_goblet=0.9)
    mind = at(gate)
    mind.remember_many(["one cup", "golden goblet"])
    threading.Timer(0.05, gate.opened.set).start()
    assert set(texts(ask(mind, "cup"))) == {"one cup", "golden goblet"}


# A3: the three look-ups of Sf.


@pytest.mark.contract("A3")
def test_words_are_found_by_their_stems(mind: Mind) -> None:
    mind.remember("She was running three databases.")
    assert len(ask(mind, "run database", search_mode="keyword")) == 1


@pytest.mark.contract("A3")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("postgre", "We use PostgreSQL."),  # a part of a word, from its beginning
        ("gres", "We use PostgreSQL."),  # and from its middle
        ("databse", "The database is small."),  # typos
        ("kuberentes", "Kubernetes runs it."),
        ("naive cafe", "The café is naïve."),  # diacritics, on either side
        ("Müller", "Mr Muller called."),
    ],
)
def test_parts_of_words_typos_and_diacritics_are_found(mind: Mind, query: str, text: str) -> None:
    mind.remember_many([text, "An unrelated sentence."])
    assert texts(ask(mind, query, search_mode="keyword")) == [text]


@pytest.mark.contract("A3")
def test_a_typo_in_a_memory_is_found_though_the_right_word_is_known(mind: Mind) -> None:
    mind.remember_many(["the database moved", "the databse is slow"])
    assert set(texts(ask(mind, "database", search_mode="keyword"))) == {"the database moved", "the databse is slow"}


@pytest.mark.contract("A3")
def test_a_part_of_a_word_is_found_though_it_is_a_word_here_and_another_word_is_not(mind: Mind) -> None:
    mind.remember_many(["a cup", "the cupboard", "my cap"])
    assert texts(ask(mind, "cup", search_mode="keyword")) == ["a cup", "the cupboard"]


@pytest.mark.contract("A3")
@pytest.mark.parametrize("query", ["Jürgen", "jurgen", "jurge"])
def test_preserved_keywords_are_found_by_trigrams(mind: Mind, query: str) -> None:
    mind.remember("He called twice.", keywords=["Jürgen"])
    recall = ask(mind, query, search_mode="keyword")
    assert texts(recall) == ["He called twice."]
    assert stage(recall, "Sf")["detail"]["trigrams"] == 1


@pytest.mark.contract("A3")
def test_the_original_language_is_asked_when_results_are_short(mind: Mind) -> None:
    mind.remember("The dog is asleep.", original="A kutyám alszik.")
    recall = ask(mind, "kutyam", search_mode="keyword")
    assert texts(recall) == ["The dog is asleep."]
    assert stage(recall, "Sf")["detail"]["original trigrams"] == 1


@pytest.mark.contract("A3")
def test_the_original_language_is_not_asked_when_the_others_fill_the_limit(mind: Mind) -> None:
    mind.remember_many(["one hotel", "two hotels", {"text": "A house.", "original": "ein Hotel"}])
    assert len(ask(mind, "hotel", k=3, search_mode="keyword")) == 3
    recall = ask(mind, "hotel", k=2, search_mode="keyword")
    assert "A house." not in texts(recall)
    assert stage(recall, "Sf")["detail"]["original trigrams"] == "not needed: 2 found"


@pytest.mark.contract("A3", "A16")
def test_a_memory_that_several_lookups_find_counts_once_as_the_first_found_it(mind: Mind) -> None:
    mind.remember("The database.", keywords=["database"], original="database")
    recall = ask(mind, "database", search_mode="keyword")
    detail = stage(recall, "Sf")["detail"]
    assert (detail["full text"], detail["trigrams"], detail["original trigrams"]) == (1, 0, 0)
    assert "full text: BM25" in str(recall[0].why)


@pytest.mark.contract("A3")
@pytest.mark.parametrize("query", ['"', "NEAR(", "a* AND", "'; DROP TABLE memories", "\0", "?!", "-cup"])
def test_no_question_is_a_syntax_error(mind: Mind, query: str) -> None:
    mind.remember("a cup")
    recall = ask(mind, query)
    assert recall.trace.failures == []


# A4: filters in every stage.

FILTERS: list[tuple[Details, Details]] = [
    ({"user_id": "anna"}, {"user": "anna"}),
    ({"max_classification": 1}, {"classification": 1}),
    ({"time_start": "2025-03-01"}, {"created": "2025-03-02"}),
    ({"time_end": "2024-12-31"}, {"created": "2024-06-01"}),
    ({"topic": "work"}, {"topic": "work"}),
    ({"tier": "core"}, {"tier": "core"}),
]
OTHER: Details = {
    "user": "bob",
    "classification": 2,
    "created": "2025-01-15",
    "topic": "home",
    "tier": "general",
}


@pytest.mark.contract("A4")
@pytest.mark.parametrize(("setting", "field"), FILTERS, ids=[next(iter(setting)) for setting, _ in FILTERS])
@pytest.mark.parametrize("mode", ["keyword", "embedding", "signature"])
def test_filters_hold_in_every_stage_before_the_cut(at: Open, mode: str, setting: Details, field: Details) -> None:
    mind = at(Meaning(small_blue_cup=0.9))
    mind.remember_many([{"text": "small blue cup", **OTHER} for _ in range(20)])
    wanted = mind.remember("small blue cup", **{**OTHER, **field})
    assert len(ask(mind, "small blue cup", k=1, search_mode=mode)) == 1
    recall = ask(mind, "small blue cup", k=1, search_mode=mode, **setting)
    assert [result.memory.id for result in recall] == [wanted.id]


@pytest.mark.contract("A4")
@pytest.mark.parametrize("mode", ["keyword", "embedding", "signature"])
def test_expired_memories_are_out_unless_they_are_asked_for(at: Open, mode: str) -> None:
    mind = at(Meaning(old_cup=0.9))
    mind.remember("old cup", expires="2025-01-01")
    assert len(ask(mind, "old cup", search_mode=mode)) == 0
    assert len(ask(mind, "old cup", search_mode=mode, include_expired=True)) == 1


@pytest.mark.contract("A4")
def test_both_ends_of_the_time_are_included(mind: Mind) -> None:
    mind.remember("a cup", created="2025-03-01T10:00")
    assert len(ask(mind, "cup", time_start="2025-03-01T10:00", time_end="2025-03-01T10:00")) == 1
    assert len(ask(mind, "cup", time_end="2025-03-01T09:59:59")) == 0


@pytest.mark.contract("A4")
@pytest.mark.parametrize(
    "setting",
    [*(setting for setting, _ in FILTERS if "time" not in str(setting)), {"filter": Filter(session="s1")}],
    ids=lambda setting: next(iter(setting)),
)
def test_a_note_without_a_filtered_field_is_left_out(mind: Mind, tmp_path: Path, setting: Details) -> None:
    note(tmp_path, "daily/2025-03-14", "The cup broke.")
    assert len(ask(mind, "cup", notes=tmp_path)) == 1
    recall = ask(mind, "cup", notes=tmp_path, **setting)
    assert len(recall) == 0
    assert stage(recall, "S6")["detail"]["how"] == "the filter left out 1 that match"


@pytest.mark.contract("A4")
def test_a_filter_that_says_not_leaves_out_a_note_without_the_field_too(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "The cup broke.")
    assert len(ask(mind, "cup", notes=tmp_path, filter=Not(Filter(topic="home")))) == 0


@pytest.mark.contract("A4")
def test_a_note_may_say_its_fields_itself(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "---\ntopic: work\nclassification: 1\nuser: anna\n---\n\nThe cup broke.")
    for setting in ({"topic": "work"}, {"max_classification": 1}, {"user_id": "anna"}):
        assert texts(ask(mind, "cup", notes=tmp_path, **setting)) == ["The cup broke."]
    for setting in ({"topic": "home"}, {"max_classification": 0}, {"user_id": "bob"}):
        assert len(ask(mind, "cup", notes=tmp_path, **setting)) == 0


@pytest.mark.contract("A4")
def test_edges_between_names_are_filtered_by_the_fields_they_have(mind: Mind) -> None:
    mind.relate("alice", "works_with", "bob", user="anna", classification=2, created="2025-03-02")
    for passing in ({"user_id": "anna"}, {"max_classification": 2}, {"time_start": "2025-03-01"}):
        assert len(ask(mind, "alice", **passing)) == 1
    refused: list[Details] = [
        {"user_id": "bob"},
        {"max_classification": 1},
        {"time_end": "2025-03-01"},
        {"topic": "work"},
        {"tier": "core"},
        {"filter": Filter(collection="elsewhere")},
    ]
    for setting in refused:
        assert len(ask(mind, "alice", **setting)) == 0


@pytest.mark.contract("A4")
def test_a_mind_bound_to_a_collection_sees_the_edges_of_that_collection_only(at: Open) -> None:
    mind = at()
    mind.relate("alice", "knows", "bob", collection="one")
    mind.relate("alice", "knows", "carol", collection="two")
    with Mind(mind.path, embedder=None, collection="two") as bound:
        assert texts(ask(bound, "alice")) == ["alice —[knows]→ carol"]


@pytest.mark.contract("A4")
def test_as_of_leaves_out_notes_and_edges_that_came_later(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "The cup broke.")
    mind.relate("cup", "stands_on", "shelf", created="2025-03-15")
    assert len(ask(mind, "cup", notes=tmp_path, as_of="2025-04-01")) == 2
    assert len(ask(mind, "cup", notes=tmp_path, as_of="2025-03-01")) == 0


# A5: what a match is worth.


CORPUS = ["blue cup on shelf", "red cup", "green plate under big table", "cup cup cup"]
WORTHS: list[Details] = [
    {},
    {"emotion": 4.0},
    {"emotion": -2.5},
    {"relevance": 0.7},
    {"relevance": -1.0},
    {"trust": 0},
    {"trust": 1},
    {"trust": 3},
    {"credibility": 1},
    {"credibility": 2},
    {"credibility": 3},
    {"tier": "core"},
    {"tier": "general"},
    {"created": "2025-05-02T12:00:00+00:00"},  # 30 days
    {"created": "2024-09-01T12:00:00+00:00"},  # 273 days: just above the floor
    {"created": "2020-01-01T12:00:00+00:00"},  # on the floor
    {"created": "2026-01-01T12:00:00+00:00"},  # still to come: no age below 0
    {"emotion": -5, "relevance": 2, "trust": 2, "credibility": 1, "tier": "core", "created": "2025-01-01T00:00+00:00"},
]


@pytest.mark.contract("A5")
@pytest.mark.parametrize("details", WORTHS, ids=str)
def test_a_full_text_hit_is_scored_by_the_formula(mind: Mind, details: Details) -> None:
    mind.remember_many(CORPUS[1:])
    id = mind.remember(CORPUS[0], **details).id
    (found,) = [each for each in ask(mind, "blue cup", k=9, search_mode="keyword") if each.memory.id == id]
    (base,) = [node.value for node in nodes(found.why) if node.label == "full-text score"]
    assert base == pytest.approx(worth(bm25("blue cup", CORPUS[0], CORPUS), details), rel=1e-12)


@pytest.mark.contract("A5")
@pytest.mark.parametrize("text", CORPUS[:2] + CORPUS[3:])
def test_every_hit_is_scored_by_the_formula(mind: Mind, text: str) -> None:
    mind.remember_many(CORPUS)
    recall = ask(mind, "blue cup", search_mode="keyword")
    assert score(recall, text) == pytest.approx(worth(bm25("blue cup", text, CORPUS), {}), rel=1e-12)


@pytest.mark.contract("A5")
@pytest.mark.parametrize("recalls", [0, 1, 7])
def test_every_recall_adds_a_tenth(mind: Mind, recalls: int) -> None:
    mind.remember_many(CORPUS[1:])
    mind.remember(Memory(CORPUS[0], use=Use(recall_count=recalls)))
    recall = ask(mind, "blue cup", search_mode="keyword")
    expected = worth(bm25("blue cup", CORPUS[0], CORPUS), {}, recalls)
    assert score(recall, CORPUS[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.contract("A5", "A18")
def test_the_decay_is_settable(mind: Mind) -> None:
    details: Details = {"created": "2025-05-02T12:00:00+00:00", "emotion": 2.0}
    mind.remember("one cup", **details)
    settings: Details = {"decay_days": 40, "decay_floor": 0.2, "emotion_boost": 0.5}
    expected = worth(bm25("cup", "one cup", ["one cup"]), details, days=40, floor=0.2, boost=0.5) + 0.04
    assert ask(mind, "cup", search_mode="keyword", **settings)[0].score == pytest.approx(expected, rel=1e-12)


@pytest.mark.contract("A5", "B2")
def test_every_score_is_a_tree_that_evaluates_to_it_bit_for_bit(at: Open, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "A cup broke, alice said.")
    mind = at(Meaning(red_cup=0.9, crimson_goblet=0.7))
    for text in ("red cup", "crimson goblet", "cups and cupboards"):
        mind.remember(text, emotion=-3.3, trust=1, created="2025-02-02T07:00", topic="kitchen")
    mind.relate("alice", "owns", "cup")
    context = {"hour": 8, "dayOfWeek": 0, "topic": "kitchen"}
    recall = ask(mind, "alice red cup", k=9, notes=tmp_path, current_context=context)
    assert len(recall) == 5
    assert all(result.why.evaluate() == result.score for result in recall)
    assert recall.why(recall[-1].memory.id).value == recall[-1].score


# A6: meaning.


@pytest.mark.contract("A6")
def test_meaning_brings_what_reaches_the_threshold_with_the_cosine_as_its_score(at: Open) -> None:
    mind = at(Meaning(near=0.75, just_near=0.51, just_far=0.49, far=-0.5))
    mind.remember_many(["near", "just near", "just far", "far"])
    recall = ask(mind, "question")
    assert set(texts(recall)) == {"near", "just near"}
    assert score(recall, "near") == pytest.approx(0.75, abs=1e-3)  # kept with half precision
    assert score(recall, "just near") == pytest.approx(0.51, abs=1e-3)


@pytest.mark.contract("A6", "A18")
def test_the_similarity_threshold_is_settable(at: Open) -> None:
    mind = at(Meaning(near=0.75, far=0.3))
    mind.remember_many(["near", "far"])
    assert texts(ask(mind, "question", similarity_threshold=0.2)) == ["near", "far"]


@pytest.mark.contract("A6")
def test_meaning_brings_up_to_three_times_the_limit(at: Open) -> None:
    names = [f"thing{n}" for n in range(10)]
    mind = at(Meaning(**{name: 0.9 - n / 100 for n, name in enumerate(names)}))
    mind.remember_many(names)
    recall = ask(mind, "question", k=2)
    assert (stage(recall, "Se")["out"], len(recall)) == (6, 2)


# A7: signatures.


@pytest.mark.contract("A7")
def test_signatures_find_what_shares_words_and_letters_without_a_model(mind: Mind) -> None:
    near = "The project uses PostgreSQL as its main database."
    mind.remember_many([near, "Anna is allergic to peanuts.", "It rained on Sunday."])
    recall = ask(mind, "what database does the project use?", search_mode="signature")
    assert texts(recall) == [near]
    assert recall[0].score >= 0.65


@pytest.mark.contract("A7")
@pytest.mark.parametrize("bits", [64, 256, 1024])
def test_the_score_is_the_share_of_equal_bits_of_any_width(mind: Mind, bits: int) -> None:
    text, question = "A blue cup stands on the shelf.", "blue cup shelf"
    mind.remember(text)
    recall = ask(mind, question, search_mode="signature", signature_bits=bits)
    one, other = text_signature(words(question), bits), text_signature(words(text), bits)
    equal = sum(bits_of(one)[at] == bits_of(other)[at] for at in range(bits))
    assert len(bits_of(one)) == bits
    assert recall[0].score == equal / bits


def bits_of(packed: Any) -> str:
    return "".join(f"{byte:08b}" for byte in packed.tolist())


@pytest.mark.contract("A7")
def test_texts_with_nothing_in_common_share_about_half_of_their_bits(mind: Mind) -> None:
    one, other = text_signature(["quick", "brown", "fox"], 1024), text_signature(["lazy", "dog", "sleeps"], 1024)
    assert 0.4 < float(hamming_similarity(one, other, 1024)) < 0.6
    assert float(hamming_similarity(one, one, 1024)) == 1.0


@pytest.mark.contract("A7")
def test_less_than_65_percent_of_equal_bits_is_not_enough(mind: Mind) -> None:
    question = "blue cup shelf"
    texts_by_share: dict[float, str] = {}
    for number in range(200):
        text = f"{question} " + " ".join(f"other{number}x{at}" for at in range(number % 9))
        share = float(hamming_similarity(text_signature(words(question), 256), text_signature(words(text), 256), 256))
        texts_by_share[share] = text
    enough = [text for share, text in sorted(texts_by_share.items()) if share >= 0.65][:4]
    short_of = [text for share, text in sorted(texts_by_share.items()) if 0.6 <= share < 0.65][-4:]
    assert enough
    assert short_of
    mind.remember_many(enough + short_of)
    assert set(texts(ask(mind, question, k=9, search_mode="signature"))) == set(enough)


@pytest.mark.contract("A7")
def test_signatures_bring_at_most_five_the_most_alike_first(mind: Mind) -> None:
    mind.remember_many([f"blue cup shelf {'x' * n}" for n in range(1, 9)])
    recall = ask(mind, "blue cup shelf", k=8, search_mode="signature")
    assert stage(recall, "Ss")["out"] == 5
    scores = [result.score for result in recall]
    assert len(scores) == 5
    assert min(scores) >= 0.65


@pytest.mark.contract("A7")
def test_signatures_follow_changes_and_are_the_same_in_another_process(mind: Mind) -> None:
    id = mind.remember("A blue cup stands on the shelf.").id
    mind.remember("Something else entirely, about trains.")
    before = ask(mind, "blue cup shelf", search_mode="signature")
    assert len(before) == 1
    with Mind(mind.path, embedder=None, clock=lambda: NOON) as other:  # an image of its own
        assert ask(other, "blue cup shelf", search_mode="signature")[0].score == before[0].score
    mind.edit(id, text="The plate is in the cupboard.")
    assert len(ask(mind, "blue cup shelf", search_mode="signature")) == 0
    mind.remember("Blue cup, shelf.")
    assert texts(ask(mind, "blue cup shelf", search_mode="signature")) == ["Blue cup, shelf."]


@pytest.mark.contract("A7", "A16")
def test_what_earlier_stages_found_takes_no_place_of_the_signatures(mind: Mind) -> None:
    mind.remember_many([f"blue cup shelf {n}" for n in "abcdef"])
    recall = ask(mind, "blue cup shelf", k=9)
    assert hits(recall) == {"Sf": 6, "Ss": 0, "S8": 0}


@pytest.mark.contract("A7")
@pytest.mark.parametrize("bits", [0, 12, 5000, "many"])
def test_bits_come_in_whole_bytes(mind: Mind, bits: Any) -> None:
    with pytest.raises(InvalidInput, match=r"(?i)signature_bits"):
        ask(mind, "cup", signature_bits=bits)


# A8: notes.


@pytest.mark.contract("A8")
def test_paragraphs_with_a_keyword_come_from_daily_weekly_and_quarterly_notes(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/daily_2025-03-14", "We tried DuckDB.\n\nAnna bought a database book.")
    note(tmp_path, "weekly/weekly_2025-W10", "# Week 10\n\nMigrated the databases\nto SQLite.\n\nAte cake.")
    note(tmp_path, "quarterly/quarterly_2025-Q1", "One database for all.")
    note(tmp_path, "yearly/2025", "A database.")
    (tmp_path / "consolidation" / "daily" / "readme.txt").write_text("database")
    recall = ask(mind, "what database do we use?", notes=tmp_path)
    found = {result.text: result.memory for result in recall}
    assert set(found) == {"Anna bought a database book.", "Migrated the databases\nto SQLite.", "One database for all."}
    assert {result.score for result in recall} == {0.5}
    weekly = found["Migrated the databases\nto SQLite."]
    assert (weekly.path, weekly.lines, weekly.title) == ("consolidation/weekly/weekly_2025-W10.md", (3, 4), "Week 10")
    assert weekly.created == datetime(2025, 3, 3, tzinfo=UTC)
    assert found["Anna bought a database book."].created == datetime(2025, 3, 14, tzinfo=UTC)
    assert found["One database for all."].created == datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.contract("A8")
@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        ("2025-03-14", "2025-03-14T23:00", {"daily", "quarterly"}),
        ("2025-03-15", None, {"quarterly"}),
        ("2025-04-01", None, set()),
        (None, "2024-12-31", set()),
        ("2025-03-05", "2025-03-06", {"weekly", "quarterly"}),  # the week has a part in it
        ("2025-03-10", "2025-03-13", {"quarterly"}),  # the week is over
        (None, None, {"daily", "weekly", "quarterly", "undated"}),
    ],
)
def test_notes_are_those_of_the_time_range(
    mind: Mind, tmp_path: Path, start: str | None, end: str | None, found: set[str]
) -> None:
    note(tmp_path, "daily/2025-03-14", "cup daily")
    note(tmp_path, "weekly/2025-W10", "cup weekly")  # 3 to 9 March
    note(tmp_path, "quarterly/2025-Q1", "cup quarterly")
    note(tmp_path, "daily/scratch", "cup undated")
    recall = ask(mind, "cup", notes=tmp_path, time_start=start, time_end=end)
    assert {text.split()[1] for text in texts(recall)} == found


@pytest.mark.contract("A8", "A16")
def test_paragraphs_alike_in_80_characters_and_time_come_once(mind: Mind, tmp_path: Path) -> None:
    same = "cup " * 20  # 80 characters
    note(tmp_path, "daily/2025-03-14", f"{same}one\n\n{same}two")
    note(tmp_path, "daily/2025-03-15", f"{same}three")
    assert set(texts(ask(mind, "cup", notes=tmp_path))) == {f"{same}one", f"{same}three"}


@pytest.mark.contract("A8")
def test_notes_are_read_again_when_they_change(mind: Mind, tmp_path: Path) -> None:
    note(tmp_path, "daily/2025-03-14", "A cup.")
    assert texts(ask(mind, "cup", notes=tmp_path)) == ["A cup."]
    note(tmp_path, "daily/2025-03-14", "A cup and a saucer.")
    assert texts(ask(mind, "cup", notes=tmp_path)) == ["A cup and a saucer."]
    (tmp_path / "consolidation/daily/2025-03-14.md").unlink()
    assert texts(ask(mind, "cup", notes=tmp_path)) == []


@pytest.mark.contract("A8")
def test_a_folder_that_is_not_there_is_said_and_strange_bytes_do_no_harm(mind: Mind, tmp_path: Path) -> None:
    recall = ask(mind, "cup", notes=tmp_path / "nowhere")
    assert "there is no folder" in stage(recall, "S6")["reason"]
    note(tmp_path, "daily/2025-99-99", "A cup.")
    (tmp_path / "consolidation/daily/2025-03-14.md").write_bytes(b"\xff\xfe cup \x00")
    (tmp_path / "consolidation/daily/folder.md").mkdir()
    recall = ask(mind, "cup", notes=tmp_path)
    assert len(recall) == 2
    assert "folder.md" in str(stage(recall, "S6")["detail"]["unreadable"])


# A9: names.


@pytest.mark.contract("A9")
def test_the_first_word_that_is_a_known_name_brings_its_edges(mind: Mind) -> None:
    mind.relate("alice", "works_with", "bob")
    mind.relate("carol", "manages", "alice")
    mind.relate("bob", "likes", "tea")
    recall = ask(mind, "who does Alice know, and Bob?")
    assert set(texts(recall)) == {"alice —[works_with]→ bob", "carol —[manages]→ alice"}
    assert {result.score for result in recall} == {0.6}
    assert stage(recall, "S8")["detail"]["entity"] == "alice"


@pytest.mark.contract("A9")
@pytest.mark.parametrize("query", ["alice's cat", "ALICE!", "(alice)", "is it Alice?", "“Alice”"])
def test_a_name_is_known_in_any_case_and_beside_any_mark(mind: Mind, query: str) -> None:
    mind.relate("Alice", "works_with", "Bob")
    assert texts(ask(mind, query)) == ["Alice —[works_with]→ Bob"]


@pytest.mark.contract("A9")
@pytest.mark.parametrize("name", ["New York", "node.js", "Bank of England"])
def test_a_name_may_have_several_words(mind: Mind, name: str) -> None:
    mind.relate(name, "is_a", "thing")
    assert texts(ask(mind, f"what is {name.lower()} about?")) == [f"{name} —[is_a]→ thing"]


@pytest.mark.contract("A9")
def test_no_known_name_brings_nothing(mind: Mind) -> None:
    mind.relate("alice", "works_with", "bob")
    recall = ask(mind, "what about dave?")
    assert len(recall) == 0
    assert stage(recall, "S8")["detail"]["how"] == "no entity match"


@pytest.mark.contract("A2")
def test_a_program_may_end_while_the_dropped_embedding_still_runs(tmp_path: Path) -> None:
    """The real model, torn down in the middle of its work, would take the program with it."""
    code = (
        "from recollect import Mind\n"
        f"mind = Mind({str(tmp_path / 'memory.db')!r})\n"
        "mind.remember('the blue cup is on the shelf')\n"
        "mind.recall('blue cup', 1, recipe='abmind')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.contract("A8")
def test_paragraphs_are_equal_by_their_first_80_characters(mind: Mind, tmp_path: Path) -> None:
    begin = "The boiler ".ljust(79, "x")
    for number, (ending, day) in enumerate([("a", 1), ("b", 1), ("bcd", 1), ("b", 2)]):
        note(tmp_path, f"daily/{number}_2025-03-{day:02}", begin + ending)
    found = texts(ask(mind, "boiler", notes=tmp_path))
    assert sorted(found) == [f"{begin}a", f"{begin}b", f"{begin}b"]  # the 80th letter or the day is another


@pytest.mark.contract("A1", "A8")
def test_a_folder_of_notes_that_a_mind_was_opened_with_is_always_searched(tmp_path: Path) -> None:
    note(tmp_path / "diary", "weekly/2025-W10", "We moved the boiler.")
    settings = {"abmind": {"notes": tmp_path / "diary"}}
    with Mind(tmp_path / "memory.db", embedder=None, recipe_settings=settings) as mind:
        mind.remember("The boiler is old.")
        both = {"The boiler is old.", "We moved the boiler."}
        assert set(texts(mind.recall("boiler", recipe="abmind"))) == both
        assert set(texts(mind.compare("boiler", ["abmind"]).recalls["abmind"])) == both
        assert "moved" in mind.context("boiler", recipe="abmind").text
        assert texts(mind.recall("boiler", recipe="abmind", notes=tmp_path)) == ["The boiler is old."]  # the call wins
        assert texts(mind.recall("boiler")) == ["The boiler is old."]  # another recipe


@pytest.mark.parametrize(
    "settings",
    [{"abmind": {"folder": "x"}}, {"abmint": {}}, {"abmind": 3}, 3, {"abmind": {"search_mode": "psychic"}}],
)
def test_settings_of_recipes_are_checked_when_a_mind_is_opened(tmp_path: Path, settings: Any) -> None:
    with pytest.raises(InvalidInput):
        Mind(tmp_path / "memory.db", embedder=None, recipe_settings=settings)
    assert not (tmp_path / "memory.db").exists()


# Translated queries.


def test_vectors_are_those_of_the_translation_and_the_words_of_both_are_looked_up(at: Open) -> None:
    class Asked(Meaning):
        asked: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            self.asked.extend(texts if query else [])
            return super().embed(texts, query)

    mind = at(Asked())
    mind.remember("The deadline is in May.", original="Der Termin ist im Mai.")
    mind.remember("Abgabetermin verschoben")
    found = ask(mind, "Abgabetermin", translated="deadline")
    assert set(texts(found)) == {"The deadline is in May.", "Abgabetermin verschoben"}
    assert Asked.asked == ["deadline"]
    assert "deadline" in str(found.trace)
    with pytest.raises(InvalidInput, match="translated is blank"):
        ask(mind, "Termin", translated=" ")
